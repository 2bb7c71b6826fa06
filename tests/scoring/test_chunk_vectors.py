"""Vectors of chunks with judgments of documents: a document counts with its best chunk."""

import numpy as np
import pytest

import fastndcg as fn

N_QUERIES, N_CHUNKS, N_DOCUMENTS, DEPTH = 6, 90, 25, 5
METRICS = "ndcg@5, recall@5, rr@5"


def draw(seed):
    """Return a model of chunks, the number of each chunk's document, and judgments of documents."""
    random = np.random.default_rng(seed)
    owners = np.append(np.arange(N_DOCUMENTS), random.integers(0, N_DOCUMENTS, N_CHUNKS - N_DOCUMENTS))
    vectors = random.integers(-9, 9, (N_QUERIES, 4)).astype("f8"), random.standard_normal((N_CHUNKS, 4))
    ids = {"query_ids": [f"q{n}" for n in range(N_QUERIES)]}
    names = [f"d{owner}#{place}" for place, owner in enumerate(owners)]
    qrels = {query: {f"d{n}": int(label) for n, label in enumerate(random.integers(0, 3, N_DOCUMENTS))}
        for query in ids["query_ids"]}  # fmt: skip
    return fn.Embeddings(*vectors, document_ids=names, **ids), vectors[0] @ vectors[1].T, owners, qrels


@pytest.mark.parametrize("seed", range(4))
def test_documents_have_the_score_of_their_best_chunk(seed):
    """The best 5·c chunks, where no document has more than c, hold the best 5 documents."""
    model, scores, owners, qrels = draw(seed)
    best = {f"q{q}": {f"d{n}": scores[q, owners == n].max() for n in range(N_DOCUMENTS)} for q in range(N_QUERIES)}
    expected = fn.evaluate(qrels, best, METRICS).values
    chunks = model.top(DEPTH * int(np.bincount(owners).max()))
    parents = {name: name.split("#")[0] for name in model.document_ids.names().tolist()}
    for rule in ("before #", parents):
        run = fn.Run(chunks, parents=rule, ranks="closed")
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            np.testing.assert_allclose(evaluate(qrels, run, METRICS).values, expected, rtol=1e-14)
        assert "@k counts documents" in str(fn.evaluate(qrels, run, METRICS))
    whole = fn.Run(model.top(N_CHUNKS), parents="before #", duplicates="best", ranks="closed")
    np.testing.assert_allclose(fn.evaluate(qrels, whole, "ndcg, AP, RR").values,
                               fn.evaluate(qrels, best, "ndcg, AP, RR").values, rtol=1e-14)  # fmt: skip
    assert fn.Run(chunks).to_dict() == chunks.to_run().to_dict()


def test_kept_ranks_count_chunks():
    """Of the first two chunks, both are of d1: a prompt of two chunks lacks d2."""
    model = fn.Embeddings(
        [[1.0, 0.5]], [[3.0, 0], [2.0, 0], [0, 1.0]], query_ids=["q"], document_ids=["d1#0", "d1#1", "d2#0"]
    )
    for ranks, recall in (("kept", 1 / 2), ("closed", 1.0)):
        run = fn.Run(model.top(3), parents="before #", ranks=ranks)
        assert fn.evaluate({"q": {"d1", "d2"}}, run, "recall@2").means() == [recall]


def test_numbers_of_chunks_and_padding():
    """A model without ids numbers queries and chunks. Places without a candidate are no chunks."""
    model = fn.Embeddings([[1.0], [1.0]], [[3.0], [2.0], [1.0]], candidates=[{0, 2}, {1}])
    run = fn.Run(model.top(3), parents={0: 7, 1: 7, 2: 8})
    assert run.to_dict() == {0: {7: 3.0, 8: 1.0}, 1: {7: 2.0}}
    assert fn.evaluate({0: {8}, 1: {7}}, run, "rr").means() == [3 / 4]


def test_documents_in_place_of_chunks_say_what_to_give():
    model, _, _, qrels = draw(0)
    with pytest.raises(
        fn.InvalidInputError, match=r"has no embedding .* for vectors of chunks give fn\.Run\(model\.top"
    ):
        fn.evaluate(qrels, model, METRICS)
    with pytest.raises(
        fn.InvalidInputError, match=r"'d' stands again in place 1\. Keep one, or give chunks ids of their"
    ):
        fn.Embeddings([[1.0]], [[1.0], [2.0]], document_ids=["d", "d"])
    with pytest.raises(fn.InvalidInputError, match=r"'q' stands again in place 1\. Keep one$"):
        fn.Embeddings([[1.0], [1.0]], [[1.0]], query_ids=["q", "q"])
    with pytest.raises(fn.InvalidTypeError, match="must have ids of queries, but has numbers by position"):
        fn.Run(fn.Recommendations([[1, 2]]))
    with pytest.raises(fn.InvalidTypeError):
        fn.Qrels(model.top(2))
