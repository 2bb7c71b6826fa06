"""Ranks where rounding could change them: vectors far from 0, lengths in batches, ties by id, large models, chunks."""

import numpy as np
import pytest
from model_options import choose
from refusals import refused

import fastndcg as fn
from fastndcg.inputs.messages import Options
from fastndcg.scoring import consumers, sources
from fastndcg.scoring.sources import Factors, Operands

METRICS = "rank, rr, auc"
BEST, WORST = "default(ties=best)", "default(ties=worst)"


def make_interactions(items):
    return fn.Interactions(items, offsets=np.arange(len(items) + 1))


@pytest.mark.parametrize("mean", [0, 10, 1000, 1e5])
def test_distances_of_vectors_far_from_0(mean):
    """float32 vectors with a large common part have the ranks and the distances of float64."""
    rng = np.random.default_rng(1)
    users, items = (rng.normal(mean, 1, (n, 33)).astype("f4") for n in (50, 700))
    items[::7] = items[0]
    liked = make_interactions(rng.integers(0, 700, 50))
    distances = np.linalg.norm(users.astype("f8")[:, None] - items.astype("f8"), axis=2)
    model = fn.Embeddings(users, items, similarity="euclidean")
    for convention in (BEST, WORST):
        ranks, expected = (
            fn.evaluate(liked, own, METRICS, convention=convention).values for own in (model, -distances)
        )
        assert ranks.tolist() == expected.tolist()
    best = model.top(9)
    np.testing.assert_allclose(best.scores, -np.sort(distances, axis=1)[:, :9], rtol=1e-6)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_equal_long_vectors_tie_in_any_batch(similarity, dtype):
    """Sums over more columns than a buffer of NumPy do not depend on the number of rows."""
    rng = np.random.default_rng(2)
    user, item = rng.standard_normal((2, 9000), dtype=dtype)
    model = fn.Embeddings(user[None], np.repeat(item[None], 50, axis=0), similarity=similarity)
    for convention, rank in ((BEST, 1), (WORST, 50)):
        assert fn.evaluate(make_interactions([3]), model, "rank", convention=convention).values.tolist() == [[rank]]


IDS = {"text": lambda n: [f"d{n - item:03}" for item in range(n)], "number": lambda n: list(range(5 * n, 0, -5))}


@pytest.mark.parametrize("make_ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("ties", ["id_ascending", "id_descending"])
@pytest.mark.parametrize("selection", ["all", "exclude", "candidates", "own candidates"])
def test_ties_by_id_are_those_of_a_run(make_ids, ties, selection):
    rng = np.random.default_rng(3)
    users, items = (rng.integers(0, 2, (n, 3)).astype("f4") for n in (6, 40))
    documents, queries = make_ids(40), [f"q{user}" for user in range(6)]
    judged = rng.random((6, 40)) < 0.3
    hidden = (rng.random((6, 40)) < 0.3) & ~judged
    if selection == "all":
        hidden[:] = False
    elif selection == "candidates":
        hidden[:] = ~judged.any(axis=0) & (np.arange(40) % 3 == 0)
    qrels, run, seen, shown = (
        {q: {documents[i]: float(values[u, i]) for i in np.flatnonzero(mask[u])} for u, q in enumerate(queries)}
        for values, mask in ((judged, judged), (users @ items.T, ~hidden), (hidden, hidden), (~hidden, ~hidden))
    )
    options = {"exclude": seen} if selection == "exclude" else {}
    if selection.endswith("candidates"):
        options = {"candidates": set(shown["q0"]) if selection == "candidates" else shown}
    model = fn.Embeddings(users, items, query_ids=queries, document_ids=documents)
    scorer = fn.Scorer(lambda rows: users[rows] @ items.T, n_items=40, query_ids=queries, document_ids=documents)
    convention = f"default(ties={ties})"
    for metrics in ("ndcg@5, ap, rr", "bpref, Judged@5"):
        expected = fn.evaluate(qrels, run, metrics, convention=convention)
        for own in (model, scorer):
            found = fn.evaluate(qrels, choose(own, **options), metrics, convention=convention)
            assert found.to_dict() == expected.to_dict()
    rankings = [
        fn.explain(qrels, own, "ap", query="q2", convention=convention).ranking
        for own in (run, choose(model, **options))
    ]
    assert [str(document) for document in rankings[0]] == [str(document) for document in rankings[1]]


def test_ties_by_id_count_the_rows_with_ties_again(noted):
    rows = noted(sources.TileWorker, "load_users", lambda worker, first, stop: stop - first)
    items = np.array([[3.0], [2.0], [1.0]], "f4")
    names = {"query_ids": ["a", "b"], "document_ids": ["x", "y", "z"]}
    qrels = {"a": {"y": 1}, "b": {"y": 1}}
    model = fn.Embeddings(np.array([[1.0], [0.0]], "f4"), items, **names)  # all scores of b are 0
    result = fn.evaluate(qrels, model, "rank", convention="default(ties=id_ascending)", threads=1)
    assert result.values.tolist() == [[2], [2]]
    assert sum(rows) == 3
    rows.clear()
    fn.evaluate(qrels, fn.Embeddings(np.ones((2, 1), "f4"), items, **names), "rank", convention="trec_eval", threads=1)
    assert sum(rows) == 2


@pytest.mark.parametrize("kind", ["dot", "euclidean", "int8", "hamming", "biases"])
def test_explain_shows_scores_of_the_similarity(kind):
    rng = np.random.default_rng(4)
    users, items = (rng.integers(0, 9, (n, 4)).astype("u1" if kind == "hamming" else "i1") for n in (3, 8))
    if kind in ("dot", "euclidean", "biases"):
        users, items = users.astype("f4"), items.astype("f4")
    similarity = {"int8": "euclidean", "biases": "dot"}.get(kind, kind)
    biases = {"user_biases": [5.0, 6.0, 7.0]} if kind == "biases" else {}
    model = fn.Embeddings(users, items, similarity=similarity, **biases)
    best = model.top(8)
    explanation = fn.explain(make_interactions([1, 2, 3]), model, "rr", query=2)
    assert [document.score for document in explanation.ranking] == pytest.approx(best.scores[2].tolist(), rel=1e-6)


def test_tiles_with_many_labels_end_soon():
    """A kernel call has a bounded number of terms, those of labels included, wherever the labels are."""
    factors = Factors(np.ones((20_000, 16), "f4"), np.ones((30_000, 16), "f4"), "dot", None, None)
    columns = consumers.make_all_columns(30_000)
    sizes = np.where(np.arange(20_000) < 10_000, 1000, 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    consumer = consumers.RowWriter(1, 1, np.dtype("f4"))
    for label_offsets in (None, offsets):
        consumer.label_offsets = label_offsets
        tiling = sources.Tiling(Operands(factors), np.arange(20_000), columns, Options(threads=1), consumer)
        n_labels = 1000 * min(tiling.n_rows, 10_000) if label_offsets is not None else 0
        n_terms = tiling.n_tile_columns * (16 * tiling.n_rows + sources.LABEL_TERMS * n_labels)
        assert sources.MOST_TERMS / 4 < n_terms <= sources.MOST_TERMS or label_offsets is None


def test_query_is_left_out_by_its_id():
    vectors = np.random.default_rng(5).standard_normal((5, 4), dtype="f4")
    documents = [f"d{item}" for item in range(5)]
    ids = {"query_ids": ["d3", "d1"], "document_ids": documents}
    model = fn.Embeddings(vectors[[3, 1]], vectors, **ids, leave_query_out=True)
    lists = model.top(5).to_run().to_dict()
    assert {query: set(documents) - set(row) for query, row in lists.items()} == {"d3": {"d3"}, "d1": {"d1"}}
    qrels = {"d3": {"d0": 1}, "d1": {"d2": 1}}
    expected = fn.evaluate(qrels, lists, METRICS)
    for convention in ("default", "trec_eval"):
        ours, theirs = (fn.evaluate(qrels, own, METRICS, convention=convention).to_dict() for own in (model, lists))
        assert ours == theirs
    assert expected.to_dict() == fn.evaluate(qrels, model, METRICS).to_dict()
    exclude = {"d3": {"d4": 1}, "d1": {"d3": 1}}
    both = fn.Embeddings(vectors[[3, 1]], vectors, **ids, leave_query_out=True, exclude=exclude)
    rest = both.top(5).to_run().to_dict()
    assert {query: set(documents) - set(row) for query, row in rest.items()} == {"d3": {"d3", "d4"}, "d1": {"d1", "d3"}}
    assert fn.evaluate(qrels, both, METRICS).to_dict() == fn.evaluate(qrels, rest, METRICS).to_dict()
    square = fn.Embeddings(vectors, vectors, leave_query_out=True).top(5).items
    assert all(user not in row for user, row in enumerate(square.tolist()))
    with pytest.raises(fn.InvalidInputError, match=r"document 'd3' of query 'd3' is.*Take it out of the truth"):
        fn.evaluate({"d3": {"d3": 1}, "d1": {"d2": 1}}, model, "rr")
    other = fn.Embeddings(vectors, vectors, query_ids=list("abcde"), document_ids=documents, leave_query_out=True)
    refused(r"`document_ids` must have ids of queries .* such as 'a'", other.top, 2)


def test_lists_of_each_query_hold_ids():
    users, items = np.ones((2, 1), "f4"), np.arange(6, dtype="f4")[:, None]
    model = fn.Embeddings(users, items, query_ids=["a", "b"], document_ids=range(100, 106))
    qrels = {"a": {101: 1}, "b": {102: 1}}
    forms = ([{105}, {104, 105}], np.array([[105, -1], [104, 105]]), {"a": {105: 1}, "b": {104: 1, 105: 1}})
    for exclude in forms:
        best = choose(model, exclude=exclude).top(2).to_run()
        assert best.to_dict() == {"a": {104: 4, 103: 3}, "b": {103: 3, 102: 2}}
        assert fn.evaluate(qrels, choose(model, exclude=exclude), "rank").values.tolist() == [[4], [2]]
    result = fn.evaluate(qrels, choose(model, exclude={105, 7, 8}), "rank")
    assert result.notes == ("documents of `exclude` that the model lacks, left out: 2",)
    left_out = fn.evaluate(qrels, choose(model, exclude={101, 7}, missing_truth="skip"), "rank")
    assert left_out.notes[:2] == (
        "documents of `exclude` that the model lacks, left out: 1",
        "items of the truth that are no candidates, left out of the truth: 1, of 1 users",
    )
    for exclude in ({1}, [{1}, {2}], {"a": {1: 1}}):
        refused(r"`exclude` must have a document of `predictions`.* such as 1", choose(model, exclude=exclude).top, 2)
    refused("`exclude` must have one row per query of the model, 2, but has 1", choose(model, exclude=[{101}]).top, 2)
    with pytest.raises(fn.InvalidTypeError, match="lists for each user must hold whole numbers, but one has 'x'"):
        choose(model, exclude=[{"x"}, {"y"}]).top(2)


@pytest.mark.parametrize("kind", ["embeddings", "scorer"])
def test_queries_of_the_truth_in_any_order(kind):
    rng = np.random.default_rng(12)
    users, items = (rng.integers(-2, 3, (n, 4)).astype("f4") for n in (70, 90))
    order = rng.permutation(70)
    scores = users @ items.T
    ids = {"query_ids": np.arange(70), "document_ids": np.arange(90)}
    model = fn.Embeddings(users, items, **ids)
    if kind == "scorer":
        model = fn.Scorer(lambda rows: scores[rows], n_items=90, **ids)
    liked = {int(user): dict.fromkeys(rng.choice(90, user % 4 + 1, replace=False).tolist(), 1) for user in order}
    run = {user: dict(enumerate(scores[user].tolist())) for user in liked}
    for metrics in ("rank, ap", "rank, judged@5"):
        values, expected = (fn.evaluate(liked, own, metrics).to_dict() for own in (model, run))
        assert values == expected


N_QUERIES, N_CHUNKS, N_DOCUMENTS, DEPTH = 6, 90, 25, 5
OF_CHUNKS = "ndcg@5, recall@5, rr@5"


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
    expected = fn.evaluate(qrels, best, OF_CHUNKS).values
    chunks = model.top(DEPTH * int(np.bincount(owners).max()))
    parents = {name: name.split("#")[0] for name in model.document_ids.names().tolist()}
    for rule in ("before #", parents):
        run = fn.Run(chunks, parents=rule, ranks="closed")
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            np.testing.assert_allclose(evaluate(qrels, run, OF_CHUNKS).values, expected, rtol=1e-14)
        assert "@k counts documents" in str(fn.evaluate(qrels, run, OF_CHUNKS))
    whole = fn.Run(model.top(N_CHUNKS), parents="before #", duplicates="best", ranks="closed")
    np.testing.assert_allclose(fn.evaluate(qrels, whole, "ndcg, AP, RR").values,
                               fn.evaluate(qrels, best, "ndcg, AP, RR").values, rtol=1e-14)  # fmt: skip
    assert fn.Run(chunks).to_dict() == chunks.to_run().to_dict()


def test_kept_ranks_count_chunks():
    """Of the first two chunks, both are of d1: a prompt of two chunks lacks d2."""
    ids = {"query_ids": ["q"], "document_ids": ["d1#0", "d1#1", "d2#0"]}
    model = fn.Embeddings([[1.0, 0.5]], [[3.0, 0], [2.0, 0], [0, 1.0]], **ids)
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
    refused(r"has no embedding .* for vectors of chunks give fn\.Run\(model\.top", fn.evaluate, qrels, model, OF_CHUNKS)
    message = r"'d' stands again in place 1\. Keep one, or give chunks ids of their"
    refused(message, fn.Embeddings, [[1.0]], [[1.0], [2.0]], document_ids=["d", "d"])
    refused(r"'q' stands again in place 1\. Keep one$", fn.Embeddings, [[1.0], [1.0]], [[1.0]], query_ids=["q", "q"])
    with pytest.raises(fn.InvalidTypeError, match="must have ids of queries, but has numbers by position"):
        fn.Run(fn.Recommendations([[1, 2]]))
    with pytest.raises(fn.InvalidTypeError):
        fn.Qrels(model.top(2))
