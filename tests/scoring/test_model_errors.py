"""Errors of embeddings and scorers, raised before scores are computed, arguments that allow the cases, cut files."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from model_options import choose
from refusals import refused

import fastndcg as fn
from fastndcg.kernels.shared import RankCounts
from fastndcg.scoring import sources

USERS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "f4")
ITEMS = np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 2.0], [0.5, 4.0]], "f4")
SCORES = USERS @ ITEMS.T
LIKED = fn.Interactions([0, 1, 2], offsets=[0, 1, 2, 3])
METRICS = "rr, recall@1"
SUBTOPICS = [{"query": "a", "subtopic": "1", "document": "x", "label": 1}]
SKIPPING = "default(no_relevant=skipped)"


def replace(vectors, place, value):
    changed = vectors.copy()
    changed[place] = value
    return changed


def make_model(kind, **options):
    if kind == "scorer":
        return fn.Scorer(lambda users: SCORES[users], n_items=4, **options)
    return fn.Embeddings(USERS, ITEMS, **options) if kind == "embeddings" else SCORES


@pytest.fixture
def no_scores(monkeypatch):
    def refuse(*arguments):
        pytest.fail("scores were computed")

    monkeypatch.setattr(sources.TileWorker, "__init__", refuse)


WRONG = {
    "NaN of a user": ((replace(USERS, (2, 1), np.nan), ITEMS), {}, r"users\[2, 1\] is nan"),
    "infinite number of an item": ((USERS, replace(ITEMS, (3, 0), np.inf)), {}, r"items\[3, 0\] is inf"),
    "overflow": ((replace(USERS, (1, 0), 1e30), replace(ITEMS, (2, 0), 1e10)), {},
        "fit float32, but that of row 1 of `users`, .* and row 2 of `items`, .* could be infinite"),
    "overflow of distances": ((USERS, ITEMS * np.float32(1e19)), {"similarity": "euclidean"}, "could be infinite"),
    "zero vector of a user": ((USERS * [[1], [0], [1]], ITEMS), {"similarity": "cosine"}, "`users` .* row 1 has"),
    "zero vector of an item": ((USERS, ITEMS * [[1], [1], [1], [0]]), {"similarity": "cosine"}, "`items` .* row 3 has"),
    "dimensions": ((USERS, ITEMS[:, :1]), {}, "vectors of one length, but theirs are 2 and 1"),
    "one dimension": ((USERS[0], ITEMS), {}, "one row per vector"),
    "bfloat16 of a file": ((USERS.astype("f2").view("V2"), ITEMS), {}, r"take users.view\(ml_dtypes.bfloat16\)"),
    "None": ((None, ITEMS), {}, r"`users` must be an array of vectors, .* but is None"),
    "sparse": ((scipy.sparse.csr_array(USERS), ITEMS), {}, r"is a sparse matrix. Take users.toarray\(\)"),
    "similarity": ((USERS, ITEMS), {"similarity": "manhattan"}, "`similarity` must be 'dot'"),
    "repeated id": ((USERS, ITEMS), {"query_ids": ["a", "b", "a"]}, "each id once, but 'a' stands again in place 2"),
    "number of ids": ((USERS, ITEMS), {"document_ids": ["a"]}, "`document_ids` must have length 4"),
    "number of biases": ((USERS, ITEMS), {"item_biases": [1.0]}, r"`item_biases` must have shape \(4,\)"),
    "biases of distances": ((USERS, ITEMS), {"similarity": "euclidean", "item_biases": [1, 2, 3, 4]}, "is a distance"),
    "infinite sum of biases": ((USERS, ITEMS), {"item_biases": [1, 2e38, 3, 4], "user_biases": [2e38, 0, 0]},
        r"item_biases\[1\], which is 2e\+38, could be infinite. Rescale the biases, or cast the vectors"),
    "infinite bias of bits": ((np.packbits(USERS > 0, axis=1), np.packbits(ITEMS > 0, axis=1)),
        {"similarity": "hamming", "user_biases": [0, 1e39, 0]}, r"user_biases\[1\], which is 1e\+39"),
    "NaN bias": ((USERS, ITEMS), {"user_biases": [1.0, np.nan, 0.0]}, r"user_biases\[1\] is nan"),
}  # fmt: skip


@pytest.mark.parametrize(("vectors", "options", "message"), WRONG.values(), ids=WRONG)
def test_error_of_vectors(vectors, options, message, monkeypatch):
    for n_bytes in (1 << 20, 1):  # all rows are measured at once, or each alone
        monkeypatch.setattr("fastndcg.scoring.vectors.BLOCK_BYTES", n_bytes)
        refused(message, fn.Embeddings, *vectors, error=(fn.InvalidInputError, fn.InvalidTypeError), **options)


WRONG_CALLS = {
    "excluded truth": (LIKED, {"exclude": [[3], [1, 2], []]}, r"item 1 of user 1 is in `exclude` \(in all 1\)"),
    "no candidate": (LIKED, {"candidates": [1, 2]}, r"item 0 of user 0 is not in `candidates`"),
    "unknown item": (fn.Interactions([0, 1, 9], offsets=[0, 1, 2, 3]), {}, r"user 2 likes item 9 .* \(in all 1\)"),
    "wider truth": (scipy.sparse.csr_array(np.eye(3, 5)), {}, r"\(3, 5\), but its shape is \(3, 4\)"),
    "fewer users": (fn.Interactions([0], offsets=[0, 1]), {}, r"\(1, n_items\), but its shape is \(3, 4\)"),
    "no truth": (fn.Interactions([0, 1], offsets=[0, 1, 1, 2]), {}, r"user 1 has none \(in all 1\)"),
    "excluded item beyond": (LIKED, {"exclude": [[], [4], []]}, "`exclude` must hold items below 4, .* user 1 is 4"),
    "candidate beyond": (LIKED, {"candidates": [0, 1, 2, 7]}, "`candidates` must hold items below 4, .* one is 7"),
    "negative item": (LIKED, {"exclude": [[-2], [], []]}, "`exclude`: `items` must be 0 or more"),
    "users of exclude": (LIKED, {"exclude": [[1], []]}, "`exclude` must have one row per user, 3, but has 2"),
    "labels": (np.eye(3, 4), {}, "`truth` must be items that users like, or judgments with ids"),
}


@pytest.mark.parametrize(("truth", "options", "message"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_error_of_a_call_comes_before_scores(no_scores, truth, options, message):
    for evaluate in (fn.evaluate, lambda truth, model, metrics: fn.Evaluator(truth, metrics)(model)):
        call = lambda evaluate=evaluate: evaluate(truth, make_model("embeddings", **options), METRICS)  # noqa: E731
        refused(message, call, error=fn.FastndcgError)


def test_wrong_label_names_its_user(no_scores):
    liked = fn.Interactions([0, 1, 2, 3], [1, 1, 1, -1], offsets=[0, 1, 2, 4])
    with pytest.raises(fn.InvalidInputError, match=r"`labels` must not be negative, but .* \(query 2\) is -1"):
        fn.evaluate(liked, make_model("embeddings"), "ndcg@2")


def test_errors_of_metrics_come_before_scores(no_scores):
    model = make_model("embeddings")
    subtopics = "alpha_ndcg@5"
    refused("subtopic", fn.evaluate, LIKED, model, subtopics)
    refused("rel", fn.evaluate_pairs, LIKED, model, "R(rel=1)@2, R(rel=2)@2")
    refused("`out` must", lambda: fn.Evaluator(LIKED, METRICS).evaluate(model, out=np.empty((1, 7))))
    with pytest.raises(fn.InvalidInputError, match=r"system 'b': .*\(3, n_items\), but its shape is \(2, 4\)"):
        fn.compare(LIKED, {"a": model, "b": fn.Embeddings(USERS[:2], ITEMS)}, METRICS)
    refused("Give the truth first", fn.evaluate, model, LIKED, METRICS, error=fn.InvalidTypeError)


TWO = [1, 2], [2, 0]  # scores 1, 2 and 2, 0
SCORER_BLOCKS = {
    "shape": (lambda rows: SCORES[rows, :3], r"of users 0 to 2 must have shape \(3, 4\), .* returned \(3, 3\)"),
    "NaN": (lambda rows: replace(SCORES, TWO, np.nan)[rows], "the score of user 1 for item 2 must be a number"),
    "None": (lambda rows: None, "of users 0 to 2 must be an array or a tensor, but `function` returned None"),
    "sparse": (lambda rows: scipy.sparse.csr_array(SCORES[rows]), "returned a sparse matrix"),
    "texts": (lambda rows: np.full((3, 4), "x"), "must be floats or integers"),
    **{
        f"{number} of {dtype}": (replace(np.zeros((3, 4), dtype), TWO, number).__getitem__,
            f"the score of user 1 for item 2 must fit float64 exactly, but is {number}. Round")
        for dtype, number in (("i8", 2**53 + 1), ("i8", -(2**53) - 1), ("i8", 2**63 - 1), ("u8", 2**64 - 1))
    },
}  # fmt: skip


@pytest.mark.parametrize(("function", "message"), SCORER_BLOCKS.values(), ids=SCORER_BLOCKS)
def test_wrong_blocks_of_a_scorer_name_their_users(function, message):
    model = fn.Scorer(function, n_items=4, n_users=3)
    for call in (lambda: fn.evaluate(LIKED, model, "rr"), lambda: model.top(2)):
        refused(message, call, error=fn.FastndcgError)


def test_scorer_is_called_with_slices():
    slices = []

    def score(rows):
        slices.append((rows.start, rows.stop))
        return np.asarray(np.tile(SCORES, (40, 1))[rows])

    liked = fn.Interactions(np.tile([0, 1, 2], 40), offsets=np.arange(121))
    result = fn.evaluate(liked, fn.Scorer(score, n_items=4), "bpref, rr")
    assert len(slices) < 20
    assert result["rr"].tolist() == fn.evaluate(liked, np.tile(SCORES, (40, 1)), "rr")["rr"].tolist()
    model = fn.Scorer(score, n_items=4, n_users=120)
    tops = [model.top(3, threads=threads) for threads in (1, 5)]
    assert tops[0].items.tolist() == tops[1].items.tolist() == np.argsort(-np.tile(SCORES, (40, 1)))[:, :3].tolist()


WRONG_IDS = {
    "unknown document": ({"a": {"x": 1, "u": 1}}, {}, "document 'u' of query 'a' has no embedding"),
    "excluded": ({"a": {"x": 1}}, {"exclude": {"a": {"x"}}}, "document 'x' of query 'a' is in `exclude`"),
    "no candidate": ({"a": {"x": 1}}, {"candidates": {"y", "z"}}, "document 'x' of query 'a' is not in `candidates`"),
    "no known candidate": ({"a": {"x": 1}}, {"candidates": ["u", "v"]}, "`candidates` must have a document"),
    "no query": ({"u": {"x": 1}}, {},
        "a query in common, but the truth has 'u', and the predictions have 'a', 'b', 'c'"),
    "subtopics": (SUBTOPICS, {}, "one label per document for embeddings"),
}  # fmt: skip


@pytest.mark.parametrize(("truth", "options", "message"), WRONG_IDS.values(), ids=WRONG_IDS)
def test_error_with_ids_names_query_and_document(no_scores, truth, options, message):
    ids = {"query_ids": ["a", "b", "c"], "document_ids": ["x", "y", "z", "w"]}
    refused(message, lambda: fn.evaluate(truth, make_model("embeddings", **ids, **options), METRICS))


@pytest.mark.parametrize("kind", ["embeddings", "scorer", "matrix"])
def test_unknown_items_are_skipped_or_ranked_last(kind):
    truth = fn.Interactions([0, 7, 1, 2, 9], offsets=[0, 2, 3, 5], n_items=12)
    known = fn.evaluate(LIKED, make_model(kind), METRICS)
    skipped = fn.evaluate(truth, choose(make_model(kind), missing_truth="skip"), METRICS)
    last = fn.evaluate(truth, choose(make_model(kind), missing_truth="unretrieved"), METRICS)
    assert skipped.values.tolist() == known.values.tolist()
    assert last["rr"].tolist() == known["rr"].tolist()
    assert last["recall@1"].tolist() == (known["recall@1"] / [2, 1, 2]).tolist()
    assert skipped.notes == ("items of the truth that are no candidates, left out of the truth: 2, of 2 users",)
    assert last.notes == ("items of the truth that are no candidates, counted as not retrieved: 2, of 2 users",)


@pytest.mark.parametrize("kind", ["embeddings", "scorer"])
@pytest.mark.parametrize("metrics", [METRICS, "rr, Judged@1"])
def test_users_without_truth_are_skipped_or_kept(kind, metrics):
    truth = fn.Interactions([0, 1], offsets=[0, 1, 1, 2])
    refused(r"user 1 has none \(in all 1\)", lambda: fn.evaluate(truth, make_model(kind), metrics))
    skipped = fn.evaluate(truth, make_model(kind), metrics, convention=SKIPPING)
    kept = fn.evaluate(truth, choose(make_model(kind), missing_truth="unretrieved"), metrics)
    assert np.isnan(skipped["rr"]).tolist() == [False, True, False]
    assert kept["rr"][1] == 0
    for result in (skipped, kept):
        assert result.notes == ("users without truth, with the values of the convention: 1",)


def test_queries_without_judgments_and_without_embedding_are_counted():
    """With ids, the convention decides: a query without judgments is skipped, one without embedding has no hits."""
    model = make_model("embeddings", query_ids=["a", "b", "c"], document_ids=["x", "y", "z", "w"])
    truth = {"a": {"x": 1}, "unknown": {"x": 1}}
    result = fn.evaluate(truth, model, METRICS)
    skipped = fn.evaluate(truth, model, METRICS, convention="default(missing_in_run=skip)")
    assert result.to_dict() == {"a": {"RR": 1.0, "R@1": 1.0}, "unknown": {"RR": 0.0, "R@1": 0.0}}
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (1, 2)
    assert skipped.to_dict() == {"a": {"RR": 1.0, "R@1": 1.0}}
    for field in ("missing_in_run", "missing_in_qrels"):
        with pytest.raises(fn.InvalidInputError, match="same queries in truth and predictions"):
            fn.evaluate(truth, model, METRICS, convention=f"default({field}=raise)")


def test_scorer_without_users_takes_those_of_the_truth():
    """`n_users` is that of the truth or of ids. Otherwise, and for `top`, an error says to give it."""
    model = make_model("scorer")
    expected = fn.evaluate(LIKED, SCORES, "rr")
    for truth in (LIKED, {0: {0: 1}, 1: {1: 1}, 2: {2: 1}}):
        assert fn.evaluate(truth, model, "rr").values.tolist() == expected.values.tolist()
    assert make_model("scorer", query_ids=["a", "b", "c"]).n_users == 3
    refused("`query_ids` must be given", fn.evaluate, {"a": {0: 1}}, model, "rr")
    refused("`n_users` must be given for `top`", model.top, 2)


def test_contradictory_counts_are_no_ranks(monkeypatch):
    """Check that counts of vectors that another thread overwrites meanwhile give finite values, or an error."""
    rng = np.random.default_rng(0)
    liked = fn.Interactions(np.tile([0, 1, 2], 20), rng.integers(0, 3, 60), np.arange(21) * 3)

    def count_ranks(self, task, options):
        return RankCounts(*rng.integers(0, 7, (3, len(task.matched.labels)), dtype="i4"))

    monkeypatch.setattr(fn.Embeddings, "count_ranks", count_ranks)
    model = fn.Embeddings(np.ones((20, 2)), np.ones((5, 2)))
    outcomes = []
    for number in range(200):
        convention = f"default(ties={('average', 'input', 'input_reversed', 'best', 'worst')[number % 5]})"
        try:
            values = fn.evaluate(liked, model, "ndcg, ndcg@2, ap, rr, p@2", convention=convention).values
            outcomes.append(bool(np.isfinite(values[~np.isnan(values)]).all()))
        except fn.InvalidInputError as error:
            outcomes.append("must not change during an evaluation" in str(error) and "an error")
    assert set(outcomes) == {True, "an error"}


SCRIPT = """
import os
import numpy as np, fastndcg as fn
from fastndcg.scoring.files import read_embeddings
rng = np.random.default_rng(0)
liked = fn.Interactions(rng.integers(0, 400_000, 200), offsets=np.arange(201), n_items=400_000)
users = rng.standard_normal((200, 16), "f4")

def expect(call, name):
    try:
        call()
    except fn.InvalidInputError as error:
        assert name in str(error) and "another program cut it" in str(error), error
        print("refused")

np.save("items.npy", np.tile(users, (2000, 1)))
np.save("users.npy", users)
model = read_embeddings("users.npy,items.npy")
cut = lambda n, total: os.truncate("items.npy", 100_000)
expect(lambda: fn.evaluate(liked, model, "rr", progress=cut, threads=1), "items.npy")
os.truncate("users.npy", 1000)
expect(lambda: model.top(3), "users.npy")
"""


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="such a file cannot be cut on Windows")
def test_a_cut_file_is_an_error(tmp_path):
    """The error names the file and its sizes. Without the checks, the process ends by SIGBUS."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["refused"] * 2
