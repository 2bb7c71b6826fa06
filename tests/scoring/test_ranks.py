"""Embeddings and scorers as predictions: the values are those of the dense score matrix, and of the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_options import ITEMS, LIKED, N_ITEMS, N_USERS, SCORES, SELECTIONS, USERS, choose, draw_case, make_model
from strategies import examples

import fastndcg as fn
from fastndcg.reference import list_scores

METRICS = "ndcg@10, ndcg, recall@100, rr, auc, ap, p@10, rank, num_ret"
TIES = ("average", "input", "input_reversed", "id_ascending", "id_descending", "best", "worst")
MODELS = ("embeddings", "scorer")
MISSING = {
    "skip": {"exclude": set(range(90)), "missing_truth": "skip"},
    "unretrieved": {"candidates": range(200), **SELECTIONS["exclude"], "missing_truth": "unretrieved"},
}


def assert_same(results, others):
    assert results.values.tobytes() == others.values.tobytes()
    assert np.array_equal(results.query_ids, others.query_ids)
    assert results.n_tied == others.n_tied
    assert results.notes == others.notes


def check_same(scores, model, metrics, convention="default", **selection):
    """Compare the results of a matrix of scores and of a model with the same options."""
    results = [fn.evaluate(LIKED, choose(own, **selection), metrics, convention=convention) for own in (scores, model)]
    assert_same(*results)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("selection", (SELECTIONS | MISSING).values(), ids=SELECTIONS | MISSING)
def test_values_are_those_of_the_score_matrix(kind, selection):
    for ties in TIES:
        check_same(SCORES, make_model(kind), METRICS, f"default(ties={ties})", **selection)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rows", ["query", "pair"])
@pytest.mark.parametrize("competitors", ["all", "nonrelevant"])
def test_pairs_are_those_of_the_score_matrix(kind, rows, competitors):
    for selection in (SELECTIONS["exclude"], MISSING["unretrieved"]):
        for ties in ("average", "input", "worst", "mean_rank"):
            dense, model = (
                fn.evaluate_pairs(
                    LIKED, choose(predictions, **selection), "rr, success@10, rank", rows=rows, competitors=competitors,
                    convention=f"default(ties={ties})",
                )
                for predictions in (SCORES, make_model(kind))
            )  # fmt: skip
            assert_same(model, dense)
            if rows == "pair":
                assert np.array_equal(model.document_ids, dense.document_ids)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("metrics", ["bpref", "Judged@10, ndcg@10"])
def test_metrics_that_read_unjudged_items(kind, metrics):
    check_same(SCORES, make_model(kind), metrics, **SELECTIONS["exclude"])


@pytest.mark.parametrize("field", ["unjudged='removed'", "score_dtype='float32'", "nan_scores='last'"])
def test_conventions_that_change_candidates(field):
    convention = fn.conventions["default"].replace(**dict([field.replace("'", "").split("=")]))
    users, items = USERS.astype("f8") / 3, ITEMS.astype("f8")
    scores = np.array([[float(np.dot(user, item)) for item in items] for user in users])
    dense, model = (
        fn.evaluate(LIKED, predictions, "ndcg@10, ap", convention=convention)
        for predictions in (scores, fn.Embeddings(users, items))
    )
    np.testing.assert_allclose(model.values, dense.values, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("n_columns", [1, 7, 64, 131])
def test_dtypes_and_lengths_of_vectors(dtype, n_columns):
    liked, users, items = draw_case(dtype, n_columns)
    dense = users.astype("f8") @ items.T.astype("f8")
    assert_same(fn.evaluate(liked, fn.Embeddings(users, items), METRICS), fn.evaluate(liked, dense, METRICS))


def test_similarities_and_biases():
    rng = np.random.default_rng(8)
    users, items = rng.standard_normal((N_USERS, 6)), rng.standard_normal((N_ITEMS, 6))
    lengths = np.linalg.norm(users, axis=1)[:, None] * np.linalg.norm(items, axis=1)
    distances = np.linalg.norm(users[:, None] - items, axis=2)
    item_biases, user_biases = rng.standard_normal(N_ITEMS), rng.standard_normal(N_USERS)
    for similarity, scores in (("cosine", users @ items.T / lengths), ("euclidean", -distances)):
        model = fn.Embeddings(users, items, similarity=similarity)
        check_same(scores, model, METRICS)
        best = model.top(5)
        np.testing.assert_allclose(best.scores, np.take_along_axis(scores, best.items, axis=1), rtol=1e-9)
    model = fn.Embeddings(users, items, item_biases=item_biases, user_biases=user_biases)
    scores = users @ items.T + item_biases
    check_same(scores, model, METRICS)
    best = model.top(5)
    expected = np.take_along_axis(scores, best.items, axis=1) + user_biases[:, None]
    np.testing.assert_allclose(best.scores, expected, rtol=1e-12)


def test_bits_do_not_depend_on_threads_memory_or_users():
    rng = np.random.default_rng(9)
    users, items = rng.standard_normal((200, 33), dtype="f4"), rng.standard_normal((3001, 33), dtype="f4")
    liked = fn.Interactions(rng.integers(0, 3001, 200), offsets=np.arange(201), n_items=3001)
    whole = fn.evaluate(liked, fn.Embeddings(users, items), METRICS)
    for threads, memory in ((1, None), (3, "200kB"), (2, "1MB"), (5, "40MB")):
        again = fn.evaluate(liked, fn.Embeddings(users, items, memory=memory), METRICS, threads=threads)
        assert again.values.tobytes() == whole.values.tobytes()
    some = fn.Interactions(liked.items[50:57], offsets=np.arange(8), n_items=3001)
    part = fn.evaluate(some, fn.Embeddings(users[50:57], items), METRICS)
    assert part.values.tobytes() == whole.values[50:57].tobytes()
    model = fn.Embeddings(users, items)
    tops = [choose(model, memory=memory).top(20, threads=threads) for threads, memory in ((1, "200kB"), (3, None))]
    assert tops[0].items.tobytes() == tops[1].items.tobytes()
    assert tops[0].scores.tobytes() == tops[1].scores.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_equal_vectors_tie_at_any_position(dtype):
    rng = np.random.default_rng(10)
    users = rng.standard_normal((40, 77), dtype=dtype)
    items = rng.standard_normal((5003, 77), dtype=dtype)
    copies = rng.choice(5003, 900, replace=False)
    items[copies] = items[copies[0]]
    liked = fn.Interactions(rng.choice(copies, 40), offsets=np.arange(41), n_items=5003)
    ranks = fn.evaluate(liked, fn.Embeddings(users, items), "rank", convention="default(ties=best)")["rank"]
    worst = fn.evaluate(liked, fn.Embeddings(users, items), "rank", convention="default(ties=worst)")["rank"]
    assert (worst - ranks == 899).all()


def draw_vectors(data, n, n_columns):
    size = n * n_columns
    numbers = data.draw(st.lists(st.integers(-2, 2), min_size=size, max_size=size))
    return np.array(numbers, "f4").reshape(n, -1)


@examples(25)
@given(st.data())
def test_equals_reference(data):
    ties = data.draw(st.sampled_from(TIES))
    few = st.integers(1, 6) if ties == "average" else st.sampled_from([1, 6, 70])  # all orders, or more than a tile
    n_users, n_items, n_columns = map(data.draw, (st.integers(1, 4), few, st.integers(1, 3)))
    users, items = (draw_vectors(data, n, n_columns) for n in (n_users, n_items))
    similarity = data.draw(st.sampled_from(["dot", "euclidean", "cosine", "hamming"]))
    dtype = data.draw(st.sampled_from(["f4", "f8", "i1"]))
    if similarity == "cosine":
        users[:, 0], items[:, 0] = 3, 3  # a direction for each vector
        dtype = "f8"
    if similarity == "hamming":
        dtype = "u1"
    users, items = ((vectors if dtype != "u1" else vectors + 2).astype(dtype) for vectors in (users, items))
    biases = {}
    if similarity == "dot" and data.draw(st.booleans()):
        biases = {
            "item_biases": draw_vectors(data, n_items, 1)[:, 0],
            "user_biases": draw_vectors(data, n_users, 1)[:, 0],
        }
    own = [sorted(data.draw(st.sets(st.integers(0, n_items - 1)))) for _ in range(n_users)]
    offsets = np.cumsum([0, *map(len, own)]).tolist()
    labels = data.draw(st.lists(st.integers(0, 3), min_size=offsets[-1], max_size=offsets[-1]))
    liked = fn.Interactions(np.array([i for row in own for i in row], "i4"), np.array(labels, "i4"), offsets)
    exclude = [data.draw(st.sets(st.integers(0, n_items - 1))) for _ in range(n_users)]
    convention = f"default(ties={ties})"
    model = fn.Embeddings(users, items, similarity=similarity, **biases)
    arguments = (liked, choose(model, exclude=exclude, missing_truth="skip"), "ndcg@2, rr, ap, recall@3")
    values = fn.evaluate(*arguments, convention=convention).values
    if similarity != "cosine":  # whose rounding decides between equal directions
        expected = fn.reference.evaluate(*arguments, convention=convention).values
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    scores = list_scores(model) + (biases["user_biases"][:, None] if biases else 0)
    scorer = fn.Scorer(lambda rows: scores[rows].astype("f4"), n_items=n_items, n_users=n_users)
    for own in (model, scorer):
        np.testing.assert_allclose(own.top(3).scores, -np.sort(-scores, axis=1)[:, :3], rtol=1e-6, atol=1e-9)


def test_evaluator_and_compare_take_models():
    other = fn.Embeddings(-USERS, ITEMS)
    evaluator = fn.Evaluator(LIKED, METRICS)
    for model, scores in ((make_model("embeddings"), SCORES), (other, -SCORES)):
        model, scores = (choose(own, **SELECTIONS["exclude"]) for own in (model, scores))
        assert_same(evaluator.evaluate(model), evaluator.evaluate(scores))
    table = fn.compare(LIKED, {"a": make_model("embeddings"), "b": SCORES, "c": other}, "ndcg@10")
    assert table.results["a"].mean() == table.results["b"].mean()
