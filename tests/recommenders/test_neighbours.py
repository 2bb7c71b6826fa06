"""What vector indexes return: pairs of arrays, ids and scores or distances, give the values of their ids."""

from dataclasses import dataclass

import numpy as np
import pytest

import fastndcg as fn

IDS = np.array([[3, 1, 4], [2, 0, -1]])
SCORES = np.array([[0.9, 0.5, 0.5], [0.8, 0.7, -3.4e38]], "f4")
EXACT = np.array([[3, 4], [0, -1]])
METRICS = "recall@2, rr, ndcg"


@dataclass
class BatchMatches:
    """What usearch returns for several vectors. Places behind the counts hold any keys."""

    keys: np.ndarray
    distances: np.ndarray
    counts: np.ndarray

    def __len__(self):
        return len(self.keys)


PAIRS = {
    "scores and ids, as FAISS": (SCORES, IDS), "distances and ids, as FAISS": (-SCORES, IDS),
    "ids and distances, as hnswlib": (IDS.astype("i4"), -SCORES), "a list": [IDS, SCORES],
    "float64": (SCORES.astype("f8"), IDS),
    "usearch": BatchMatches(np.array([[3, 1, 4], [2, 0, 2]], "u8"), -SCORES, np.array([3, 2])),
}  # fmt: skip


@pytest.mark.parametrize("form", PAIRS)
def test_pairs_give_the_values_of_their_ids(form):
    """Equal scores keep the order of the row; -1 is padding."""
    found = PAIRS[form]
    expected = fn.evaluate(fn.Interactions(EXACT), fn.Recommendations(IDS), METRICS).values.tolist()
    assert expected[0][:2] == [0.5, 1.0]
    truths = fn.Interactions(EXACT), {0: [3, 4], 1: [0]}, EXACT, fn.Interactions((EXACT, SCORES[:, :2]))
    for truth in (*truths, (EXACT, SCORES[:, :2])):
        assert fn.evaluate(truth, found, METRICS).values.tolist() == expected
    assert fn.reference.evaluate({0: [3, 4], 1: [0]}, found, METRICS).values.tolist() == expected
    assert fn.Evaluator(truths[0], METRICS)(found).values.tolist() == expected
    assert fn.evaluate(truths[0], fn.Recommendations(found, duplicates="first"), METRICS).values.tolist() == expected
    systems = {"index": found, "ids": fn.Recommendations(IDS)}
    assert fn.compare(truths[0], systems, "rr").rows[1].difference == 0
    assert fn.Interactions(found)[1] == {2: 1, 0: 1}


@pytest.mark.parametrize("form", PAIRS)
def test_runs_of_pairs_have_scores(form):
    """Distances are negative scores, which a note says."""
    run = fn.Run(PAIRS[form])
    rows = SCORES.tolist()
    expected = {0: {3: rows[0][0], 1: rows[0][1], 4: rows[0][2]}, 1: {2: rows[1][0], 0: rows[1][1]}}
    assert run.to_dict() == expected
    assert fn.Run(PAIRS[form], duplicates="first").to_dict() == expected
    are_distances = "distances" in form or form == "usearch"
    assert ("read as distances" in str(fn.evaluate({0: [3], 1: [0]}, run, "rr"))) == are_distances


@pytest.mark.peers
def test_a_pair_of_tensors_is_a_pair():
    torch = pytest.importorskip("torch")
    found = torch.topk(torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), 2)
    assert fn.evaluate([{2}, {0}], fn.Run(found), "rr").means() == [0.75]
    assert fn.evaluate(fn.Interactions([[2], [0]]), found, "rr").means() == [0.75]


def test_one_neighbour_a_row_has_no_direction():
    pair = np.array([[0.4], [0.2]]), IDS[:, :1]
    assert fn.evaluate(fn.Interactions([[3], [0]]), pair, "hit_rate@1").means() == [0.5]


BOTH = SCORES[:, :2]
REFUSED = {
    "one row that rises": ((np.array([[0.9, 0.5], [0.2, 0.7]]), IDS[:, :2]), r"but row 1 has \[0.2, 0.7\]. Sort ids"),
    "a row without an order": ((np.array([[1, 0.5, 0.7], [0.2, 0.1, 0]]), IDS), "distances rise in all, but row 0 has"),
    "NaN": ((np.array([[1, np.nan, 0.7], [0.2, 0.1, 0]]), IDS), r"but row 0 has \[1.0, nan, 0.7\]"),
    "shapes": ((BOTH, IDS), r"of one shape, \(n_queries, k\), but theirs are \(2, 3\) and \(2, 2\). Take both"),
    "a gap": ((BOTH, np.array([[-1, 3], [1, 2]])), "-1 behind them only, but place 0 of user 0 is -1"),
    "two arrays of scores": ((BOTH, BOTH), r"is a tuple of several \(2 in all\)"),
    "two arrays of ids": ((EXACT, EXACT), r"is a tuple of several \(2 in all\).* Of ids with Hamming distances give"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_pair_of_neighbours(case):
    found, message = REFUSED[case]
    for truth in (fn.Interactions(EXACT), {0: [3], 1: [0]}):
        with pytest.raises(fn.FastndcgError, match=message):
            fn.evaluate(truth, found, "rr")


def test_labels_beside_a_pair_are_refused():
    with pytest.raises(fn.InvalidTypeError, match=r"`predictions` must be an array of scores.* fn.Recommendations"):
        fn.Evaluator([[1, 0], [0, 1]], "rr")((SCORES, IDS))


def test_exact_neighbours_of_a_model_are_a_truth():
    """`top` gives predictions, and `Interactions` of its items the truth for an approximate index."""
    vectors = np.random.default_rng(7).normal(size=(30, 4)).astype("f4")
    exact = fn.Embeddings(vectors[:5], vectors).top(3)
    with pytest.raises(fn.InvalidTypeError, match=r"give fn.Interactions\(truth.items\)"):
        fn.evaluate(exact, exact.items, "recall@3")
    assert fn.evaluate(fn.Interactions(exact.items), (exact.scores, exact.items), "recall@3").means() == [1.0]
