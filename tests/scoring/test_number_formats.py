"""Vectors of every dtype and similarity: values are those of the score matrix, whose whole numbers are exact."""

import numpy as np
import pytest
from model_options import LIKED, N_ITEMS, N_USERS
from refusals import refuses

import fastndcg as fn

LIMITS = {"i1": (-128, 128), "u1": (0, 256)}


def draw(dtype, n, n_columns):
    """Return n vectors of the whole range of a dtype of whole numbers, half of them its ends."""
    rng, (low, high) = np.random.default_rng(n + n_columns), LIMITS[dtype]
    values = rng.integers(low, high, (n, n_columns))
    return np.where(rng.random(values.shape) < 0.5, values, rng.choice([low, high - 1], values.shape)).astype(dtype)


def compute_distances(users, items):
    """Return the squared distances of vectors of whole numbers, exact."""
    users, items = users.astype("i8"), items.astype("i8")
    return (users * users).sum(1)[:, None] + (items * items).sum(1) - 2 * (users @ items.T)


def assert_values_of(model, scores, **selection):
    for ties in ("average", "input", "id_descending", "best", "worst"):
        results = [
            fn.evaluate(LIKED, own, "ndcg@10, rank, auc, ap", convention=f"default(ties={ties})", **selection)
            for own in (model, scores.astype("f8"))
        ]
        assert results[0].values.tobytes() == results[1].values.tobytes()
    best = model.top(7)
    order = np.argsort(-scores.astype("f8"), axis=1, kind="stable")[:, :7]
    assert np.array_equal(best.items, order)
    np.testing.assert_allclose(best.scores, np.take_along_axis(scores, order, axis=1), rtol=1e-6)


@pytest.mark.parametrize("n_columns", [1, 2, 77, 900])
@pytest.mark.parametrize(("left", "right"), [("i1", "i1"), ("u1", "u1"), ("i1", "u1"), ("u1", "i1")])
def test_sums_of_whole_numbers_are_exact(left, right, n_columns):
    """Dot products and distances of int8 and uint8 are exact, also where float32 rounds their sums."""
    users, items = draw(left, N_USERS, n_columns), draw(right, N_ITEMS, n_columns)
    assert_values_of(fn.Embeddings(users, items), users.astype("i8") @ items.T.astype("i8"))
    model = fn.Embeddings(users, items, similarity="euclidean")
    assert_values_of(model, -np.sqrt(compute_distances(users, items)))


@pytest.mark.parametrize("n_bytes", [1, 8, 96, 300])
def test_hamming_distance_of_packed_bits(n_bytes):
    users, items = draw("u1", N_USERS, n_bytes), draw("u1", N_ITEMS, n_bytes)
    scores = -np.unpackbits(users[:, None] ^ items, axis=2).sum(axis=2, dtype="i8")
    model = fn.Embeddings(users, items, similarity="hamming")
    assert model.score_dtype == np.float32
    assert_values_of(model, scores)


@pytest.mark.parametrize("dtype", ["f2", "bfloat16", ">f4"])
def test_short_floats_are_multiplied_as_float32(dtype):
    """float16, bfloat16 and floats of the other byte order give the scores of float32."""
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(1)
    users, items = (rng.integers(-3, 4, (n, 33)).astype(dtype) for n in (N_USERS, N_ITEMS))
    assert fn.Embeddings(users, items).score_dtype == np.float32
    assert_values_of(fn.Embeddings(users, items), users.astype("f4") @ items.astype("f4").T)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_scores_of_a_function_are_those_of_the_matrix(dtype):
    high = min(np.iinfo(dtype).max, 2**53) if dtype[0] in "iu" else 2048
    scores = np.array([[high - 1, 0, high, 1], [1, high, high - 1, 0]], dtype)
    scorer = fn.Scorer(lambda users: scores[users], n_items=4)
    liked = fn.Interactions([0, 2], offsets=[0, 1, 2], n_items=4)
    assert fn.evaluate(liked, scorer, "rr")["rr"].tolist() == [1 / 2, 1 / 2]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1"])
@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
def test_biases_of_every_dtype(dtype, similarity):
    rng = np.random.default_rng(2)
    users, items = (rng.integers(-3, 4, (n, 9)).astype(dtype) for n in (N_USERS, N_ITEMS))
    item_biases, user_biases = rng.integers(-5, 6, N_ITEMS), rng.integers(-5, 6, N_USERS)
    model = fn.Embeddings(users, items, similarity=similarity, user_biases=user_biases)
    scores = (users.astype("f8") @ items.T.astype("f8")) if similarity == "dot" else -compute_distances(users, items)
    ranks = fn.evaluate(LIKED, model, "rank").values
    assert ranks.tobytes() == fn.evaluate(LIKED, scores.astype("f8"), "rank").values.tobytes()
    if similarity == "dot":
        model = fn.Embeddings(users, items, user_biases=user_biases, item_biases=item_biases)
        assert_values_of(model, scores + item_biases + user_biases[:, None])


def test_bfloat16_biases_and_blocks():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(5)
    users, items = (rng.integers(-3, 4, (n, 4)).astype(bfloat16) for n in (N_USERS, N_ITEMS))
    biases = rng.integers(-5, 6, N_ITEMS)
    scores = users.astype("f4") @ items.astype("f4").T
    assert_values_of(fn.Embeddings(users, items, item_biases=biases.astype(bfloat16)), scores + biases)
    model = fn.Scorer(lambda rows: scores[rows].astype(bfloat16), n_items=N_ITEMS, n_users=N_USERS)
    assert_values_of(model, scores.astype(bfloat16).astype("f4"))


test_wrong_dtypes = refuses(lambda dtype, options: fn.Embeddings(*np.zeros((2, 1, 2), dtype), **options), [
    ("f4", {"similarity": "hamming"}, "packed bits of dtype uint8"),
    ("u1", {"similarity": "hamming", "item_biases": [0.0]}, "`item_biases` must be left out"),
    ("i2", {}, "must be of dtype float16, bfloat16"), ("i1", {"similarity": "cosine"}, "vectors with a direction"),
], error=fn.FastndcgError)  # fmt: skip
