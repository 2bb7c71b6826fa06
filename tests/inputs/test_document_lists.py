"""Rows of lists with document ids: a repeated document raises an error, and ties are ordered by id as in flat rows."""

import re
from itertools import combinations, product

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.inputs import streams

pa, pl, pq = map(pytest.importorskip, ("pyarrow", "polars", "pyarrow.parquet"))

SIZES = np.array([3, 0, 10, 1, 7, 7, 2, 9, 0, 5, 8, 4])
OFFSETS = np.append(0, np.cumsum(SIZES))
N, RANGE = OFFSETS[-1], range(len(SIZES))
QUERIES = [f"q{number}" for number in RANGE]
RANDOM = np.random.default_rng(7)
DOCUMENTS = np.concatenate([RANDOM.permutation(50)[:size] for size in SIZES])
ROWS = np.arange(N)
KINDS = {
    "numbers": lambda ids: pa.array(ids),
    "beyond int64": lambda ids: pa.array(ids.astype("u8") + np.where(ids > 25, np.uint64(2**63), np.uint64(0))),
    "texts": lambda ids: pa.array([f"d{one:02}" for one in ids]),
    "categories": lambda ids: pa.array([f"d{one:02}" for one in ids]).dictionary_encode(),
}


def pairs(*values):
    """Return few combinations of values such that any two values of two parameters are together in one of them."""

    def parts(row):
        return {(i, row[i], j, row[j]) for i, j in combinations(range(len(values)), 2)}

    rows = list(product(*values))
    missing, chosen = set().union(*map(parts, rows)), []
    while missing:
        chosen.append(max(rows, key=lambda row: len(parts(row) & missing)))
        missing -= parts(chosen[-1])
    return chosen


def views_of(table):
    columns = [column.combine_chunks() for column in table.columns]
    views = [
        pa.ListViewArray.from_arrays(one.offsets[:-1], pa.array(SIZES, "i4"), one.values)
        if pa.types.is_list(one.type)
        else one
        for one in columns
    ]
    return pa.table(views, table.column_names)


def parquet_of(table, path):
    pq.write_table(table, path, row_group_size=5)
    return path


FORMS = {
    "pyarrow": lambda table, _: table, "pyarrow in chunks": lambda table, _: pa.concat_tables([table[:4], table[4:]]),
    "polars": lambda table, _: pl.from_arrow(table), "views": lambda table, _: views_of(table), "parquet": parquet_of,
}  # fmt: skip


def lists_of(documents, **others):
    columns = {"docno": documents, "score": pa.array(ROWS % 3 / 2), "label": pa.array(ROWS % 4 % 3), "row": ROWS}
    offsets = pa.array(OFFSETS, "i4")
    lists = {name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in columns.items()}
    return pa.table(lists | others)


@pytest.mark.parametrize(("kind", "form", "ties"), pairs(KINDS, FORMS, ["id_ascending", "id_descending"]))
def test_ties_by_id(tmp_path, kind, form, ties, monkeypatch):
    monkeypatch.setattr(streams, "MOST_ROWS", 3)
    documents, convention = KINDS[kind](DOCUMENTS), f"default(ties={ties})"
    flat = {"docno": documents, "qid": np.repeat(RANGE, SIZES), "score": ROWS % 3 / 2, "label": ROWS % 4 % 3}
    expected = fn.evaluate(pa.table(flat), metrics="ndcg@3,rr", convention=convention).values
    assert not np.array_equal(expected, fn.evaluate(pa.table(flat), metrics="ndcg@3,rr").values, equal_nan=True)
    given = FORMS[form](lists_of(documents), tmp_path / "lists.parquet")
    for memory in (None, "9kB") if form == "parquet" else (None,):
        result = fn.evaluate(fn.Rows(given, memory=memory), metrics="ndcg@3,rr", convention=convention)
        np.testing.assert_array_equal(result.values[SIZES > 0], expected)
    reference = fn.reference.evaluate(given, metrics="ndcg@3,rr", convention=convention)
    np.testing.assert_allclose(reference.values[SIZES > 0], expected, rtol=1e-14)


REPEATED = [(0, (0, 2)), (2, (8, 9)), (11, (1, 3))]  # a row, and two places in its list


@pytest.mark.parametrize(("kind", "form", "repeated", "has_ids"), pairs(KINDS, FORMS, REPEATED, [True, False]))
def test_document_lists_raise_on_repeated_document(tmp_path, kind, form, repeated, has_ids):
    row, places = repeated
    documents = DOCUMENTS.copy()
    first, second = (OFFSETS[row] + place for place in places)
    documents[second] = documents[first]
    ids = KINDS[kind](documents)
    others = {"qid": QUERIES} if has_ids and form != "views" else {}
    given = FORMS[form](lists_of(ids, **others), tmp_path / "lists.parquet")
    message = (
        f"{given if form == 'parquet' else '`truth`'}: a document must stand once in a query, but document "
        f"{ids[second]} of query {QUERIES[row] if others else row} is in places {places[0]} and {places[1]} of "
        f"row {row}. Keep one of them, name a column that tells them apart: columns={{'document': NAME}}, or take "
        "fn.Rows(…, duplicates='first')"
    )
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        refused(f"^{re.escape(message)}$", evaluate, given, metrics="rr")
    assert len(fn.evaluate(fn.Rows(given, columns={"document": "row"}), metrics="rr")) == len(SIZES)


@pytest.mark.parametrize("form", ["pyarrow", "polars", "parquet"])
@pytest.mark.parametrize(("wrong", "message"), [
    ({"docno": [["a", "x"], ["b"], ["c", "d"]]},
        "NAME must have the same number of documents as scores in each row, but row 2 has 2 and 1. "
        "Give each score its document"),
    ({"label": [[1, 0], [1], [0, 1]]},
        "NAME must have the same number of labels as scores in each row, but row 2 has 2 and 1. "
        "Give each score its label"),
    ({"docno": [["a", "x"], ["b"], [None]]},
        "`NAME` must have no null, but column 'docno' has one in row 2. Drop or fill it"),
    ({"docno": [["a", "x"], ["b"], None]},
        "`NAME` must have no null, but column 'docno' has one in row 2. Drop or "),
    ({"score": [[0.5, 1.0], [0.5], [None]]},
        "`NAME` must have no null, but column 'score' has one in row 2. Drop or "),
    ({"docno": [[0.5]] * 3},
        "column 'docno' of `NAME` must hold texts or whole numbers, but the type in its lists "),
    ({"docno": [1, 2, 3]},
        "`NAME` must have lists of scores and of documents, or neither, but column 'score' has the type "),
    ({"label": [1, 2, 3]},
        "`NAME` must have lists of scores and of labels, or neither, but column 'score' has the type "),
    ({"score": [1, 2, 3], "label": [1, 2, 3]},
        "`NAME` must have lists of scores and of documents, or neither, but column 'score' has the type "),
])  # fmt: skip
def test_lists_that_do_not_fit(tmp_path, form, wrong, message):
    columns = {
        "qid": [7, 8, 9], "docno": [["a", "x"], ["b"], ["c"]], "label": [[1, 0], [1], [1]],
        "score": [[0.5, 1.0], [0.5], [0.5]],
    } | wrong  # fmt: skip
    given = FORMS[form](pa.table(columns), tmp_path / "lists.parquet")
    if form == "parquet":
        pq.write_table(pa.table(columns), given, row_group_size=2)
    name = str(given) if form == "parquet" else "truth" if message.startswith(("`", "column")) else "`truth`"
    refused(f"^{re.escape(message.replace('NAME', name))}", fn.evaluate, given, metrics="rr")


def test_document_lists_raise_on_null_category():
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(["a", None]))
    lists = {"label": [[1], [1, 1]], "score": [[0.5], [1.0, 2.0]], "docno": pa.ListArray.from_arrays([0, 1, 3], ids)}
    with pytest.raises(fn.InvalidInputError, match=r"^`truth` must have no null, but column 'docno' has one in row"):
        fn.evaluate(pa.table(lists), metrics="rr")


def test_memory_counts_documents(tmp_path):
    path, table = tmp_path / "lists.parquet", lists_of(DOCUMENTS)
    n_read = {}
    for has_documents in (False, True):
        pq.write_table(table if has_documents else table.drop_columns("docno"), path)
        calls = n_read[has_documents] = []
        memory = 4 * 4 * streams.ROW_BYTES * streams.LIST_ROWS
        note = lambda done, _, calls=calls: calls.append(done)  # noqa: E731
        fn.evaluate(fn.Rows(path, memory=memory), metrics="rr", progress=note)
    assert n_read == {False: [4, 8, 12], True: [2, 4, 6, 8, 10, 12]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["texts", "numbers"])
@pytest.mark.parametrize("rows", [(2, 3), (0, 11), (4, 5)])
def test_document_lists_raise_on_repeated_query(form, kind, rows, tmp_path):
    ids = np.array(RANGE) * 7 + 3
    ids[rows[1]] = ids[rows[0]]
    ids[7] = ids[8] if rows != (4, 5) else ids[7]  # later, and not the first that is named
    names = pa.array(ids if kind == "numbers" else [f"q{number}" for number in ids])
    truth = FORMS[form](lists_of(DOCUMENTS, qid=names), tmp_path / "lists.parquet")
    first = (7, 8) if rows == (0, 11) else rows
    message = f"query {names[first[0]]} has rows {first[0]} and {first[1]}. Join their lists, or name a column"
    refused(re.escape(message), fn.evaluate, truth, metrics="rr")
    without = FORMS[form](lists_of(DOCUMENTS), tmp_path / "without.parquet")
    assert len(fn.evaluate(without, metrics="rr")) == len(SIZES)


N_ROWS, N_EACH = 120, 10
FLAT_ROWS = np.arange(N_ROWS)
RNG = np.random.default_rng(7)
FLAT_DOCUMENTS = np.concatenate([RNG.permutation(50)[:N_EACH] for _ in range(N_ROWS // N_EACH)])


def table_of(queries, documents):
    return pa.table(
        {"qid": queries, "docno": documents, "score": FLAT_ROWS % 3 / 2, "label": FLAT_ROWS % 4 % 3, "row": FLAT_ROWS}
    )


REPEATED_ROWS = [(0, (0, 1)), (3, (0, 8)), (3, (8, 9)), (11, (0, 9))]


@pytest.mark.parametrize(
    ("kind", "order", "group", "ties", "repeated"),
    pairs(KINDS, ["sorted", "mixed"], [1, 25, N_ROWS], ["id_ascending", "id_descending"], REPEATED_ROWS),
)
def test_rows_of_parquet_are_ordered_by_id_and_may_not_repeat(
    tmp_path, kind, order, group, ties, repeated, monkeypatch
):
    monkeypatch.setattr(streams, "MOST_ROWS", 50)
    queries = FLAT_ROWS // N_EACH if order == "sorted" else RNG.permutation(FLAT_ROWS // N_EACH)
    documents = np.empty(N_ROWS, "i8")
    documents[np.argsort(queries, kind="stable")] = FLAT_DOCUMENTS
    path, table = tmp_path / "rows.parquet", table_of(queries, KINDS[kind](documents))
    pq.write_table(table, path, row_group_size=group)
    given = {"metrics": "ndcg@3,rr", "convention": f"default(ties={ties})"}
    expected = fn.evaluate(table, **given)
    for memory in (None, "9kB"):
        assert fn.evaluate(fn.Rows(path, memory=memory), **given).to_dict() == expected.to_dict()
    np.testing.assert_allclose(fn.reference.evaluate(path, **given).values, expected.values, rtol=1e-14)

    query, places = repeated
    first, second = np.flatnonzero(queries == query)[list(places)].tolist()
    documents[second] = documents[first]
    table = table_of(queries, KINDS[kind](documents))
    pq.write_table(table, path, row_group_size=group)
    message = (
        f"{path}: a document must stand once in a query, but document {table['docno'][second]} of query "
        f"{query} is in rows {first} and {second}. Keep one of them, name a column that tells them "
        "apart: columns={'document': NAME}, or take fn.Rows(…, duplicates='first')"
    )
    refused(f"^{re.escape(message)}$", fn.evaluate, path, metrics="rr")
    assert len(fn.evaluate(fn.Rows(path, columns={"document": "row"}), metrics="rr")) == N_ROWS // N_EACH
