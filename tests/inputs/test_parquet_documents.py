"""Parquet rows with document ids: a repeated document raises an error, and ties are ordered by id as in frames."""

import re

import numpy as np
import pytest
from pairwise_cover import pairs

import fastndcg as fn
from fastndcg.inputs import streams

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, SIZE = 120, 10
ROWS = np.arange(N)
RANDOM = np.random.default_rng(7)
DOCUMENTS = np.concatenate([RANDOM.permutation(50)[:SIZE] for _ in range(N // SIZE)])
KINDS = {
    "numbers": lambda ids: pa.array(ids),
    "beyond int64": lambda ids: pa.array(ids.astype("u8") + np.where(ids > 25, np.uint64(2**63), np.uint64(0))),
    "texts": lambda ids: pa.array([f"d{one:02}" for one in ids]),
    "categories": lambda ids: pa.array([f"d{one:02}" for one in ids]).dictionary_encode(),
}


def table_of(queries, documents):
    """Return rows with many tied scores."""
    return pa.table({"qid": queries, "docno": documents, "score": ROWS % 3 / 2, "label": ROWS % 4 % 3, "row": ROWS})


REPEATED = [(0, (0, 1)), (3, (0, 8)), (3, (8, 9)), (11, (0, 9))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("order", "group", "repeated"), pairs(["sorted", "mixed"], [7, 25, N], REPEATED))
def test_parquet_raises_on_repeated_document(tmp_path, kind, order, group, repeated):
    """A repeated document raises an error that names query, document and both rows, unless another column is named."""
    query, places = repeated
    queries = ROWS // SIZE if order == "sorted" else ROWS % (N // SIZE)
    documents = np.empty(N, "i8")
    documents[np.argsort(queries, kind="stable")] = DOCUMENTS
    first, second = np.flatnonzero(queries == query)[list(places)].tolist()
    documents[second] = documents[first]
    path = tmp_path / "rows.parquet"
    table = table_of(queries, KINDS[kind](documents))
    pq.write_table(table, path, row_group_size=group)
    message = (
        f"{path}: a document must stand once in a query, but document {table['docno'][second]} of query "
        f"{query} is in rows {first} and {second}. Keep one of them, or name a column that tells them "
        "apart: columns={'document': NAME}"
    )
    with pytest.raises(fn.InvalidInputError, match=f"^{re.escape(message)}$"):
        fn.evaluate(path, metrics="rr")
    told_apart = fn.evaluate(path, metrics="rr", columns={"document": "row"})
    assert len(told_apart) == N // SIZE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("order", "group", "ties"), pairs(["sorted", "mixed"], [1, 33], ["id_ascending", "id_descending"])
)
def test_ties_by_id(tmp_path, kind, order, group, ties, monkeypatch):
    """Parquet rows give the values of the frame under every memory limit. The reference gives equal values."""
    monkeypatch.setattr(streams, "MOST_ROWS", 50)
    queries = ROWS // SIZE if order == "sorted" else RANDOM.permutation(ROWS // SIZE)
    documents = np.empty(N, "i8")
    documents[np.argsort(queries, kind="stable")] = DOCUMENTS
    table = table_of(queries, KINDS[kind](documents))
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=group)
    convention = f"default(ties={ties})"
    expected = fn.evaluate(table, metrics="ndcg@3,rr", convention=convention)
    for memory in (None, "9kB"):
        result = fn.evaluate(path, metrics="ndcg@3,rr", convention=convention, memory=memory)
        assert result.to_dict() == expected.to_dict()
    reference = fn.reference.evaluate(path, metrics="ndcg@3,rr", convention=convention)
    np.testing.assert_allclose(reference.values, expected.values, rtol=1e-14)
