"""The drop-in for ranx on arrays: `evaluate`, the functions of `metrics`, and differences from the library."""

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.compat import ranx as ours
from fastndcg.compat.ranx import metrics

QRELS = [np.array([[7, 3], [8, 0], [9, 1]]), np.array([[7, 1]])]
RUN = [np.array([[9, 0.9], [8, 0.8], [5, 0.7], [7, 0.6]]), np.array([[4, 0.5], [7, 0.4]])]
FUNCTIONS = {
    "hits": metrics.hits, "hit_rate": metrics.hit_rate, "precision": metrics.precision, "recall": metrics.recall,
    "f1": metrics.f1, "r-precision": metrics.r_precision, "bpref": metrics.bpref, "mrr": metrics.reciprocal_rank,
    "map": metrics.average_precision, "dcg": metrics.dcg, "dcg_burges": metrics.dcg_burges, "ndcg": metrics.ndcg,
    "ndcg_burges": metrics.ndcg_burges,
}  # fmt: skip


@st.composite
def arrays(draw):
    ids = st.integers(1, 9)
    qrels, run = [], []
    for _ in range(draw(st.integers(1, 3))):
        documents = draw(st.lists(ids, min_size=2, max_size=6, unique=True))
        others = draw(st.lists(st.integers(0, 4), min_size=len(documents) - 2, max_size=len(documents) - 2))
        labels = sorted([2, 0, *others], reverse=True)
        qrels.append(np.array([documents, labels], "f8").T.copy())
        ranked = draw(st.lists(ids, min_size=1, max_size=8, unique=True))
        scores = draw(st.permutations(range(len(ranked))))  # of any order, because the order of rows counts
        run.append(np.array([ranked, scores], "f8").T.copy())
    return qrels, run


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@given(data=arrays())
@strategies.examples(20)
def test_ranx_arrays_equal_library(ranx_library, data):
    numba = pytest.importorskip("numba")
    typed_lists = [numba.typed.List(side) for side in data]
    names = [f"{name}{cutoff}{level}" for name in ours.METRICS for cutoff in ("", "@2") for level in ("", "-l2")]
    expected = ranx_library.evaluate(*typed_lists, names, return_mean=False)
    for sides in (data, typed_lists):
        result = ours.evaluate(*sides, names, return_mean=False)
        for name in names:
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-12, err_msg=name)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@given(data=arrays())
@strategies.examples(10)
def test_ranx_metric_functions_equal_library(ranx_library, data):
    numba = pytest.importorskip("numba")
    theirs = __import__("ranx.metrics", fromlist=["_"])
    typed_lists = [numba.typed.List(side) for side in data]
    for function in FUNCTIONS.values():
        expected = getattr(theirs, function.__name__)(*typed_lists, 3, 2)
        np.testing.assert_allclose(function(*data, 3, 2), expected, rtol=1e-12, err_msg=function.__name__)
    expected = theirs.interpolated_precision_at_recall(*typed_lists)
    np.testing.assert_allclose(metrics.interpolated_precision_at_recall(*data), expected, rtol=1e-12)
    for hit_list, wanted in zip(metrics.get_hit_lists(*data, 2), theirs.get_hit_lists(*typed_lists, 2), strict=True):
        np.testing.assert_array_equal(hit_list, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ranx_metric_functions_equal_evaluate(name):
    for k, level in ((0, 1), (2, 1), (2, 2)):
        text = f"{name}{f'@{k}' if k else ''}-l{level}"
        expected = ours.evaluate(QRELS, RUN, text, return_mean=False)
        np.testing.assert_array_equal(FUNCTIONS[name](QRELS, RUN, k, level), expected)


EXAMPLES = [  # rows of a query's judgments, rows of its run, and values
    ([[1, 1]], [[2, 0.1], [1, 0.9]], {"mrr": 0.5}),  # the order of the rows counts, not their scores
    ([[9, 1], [6, 1], [6, 1]], [[6, 1], [9, 0.5]], {"recall": 2 / 3}),  # a label that stands twice counts twice
    ([[1, 1], [2, 3], [3, 2]], [[2, 3], [3, 2], [1, 1]], {"ndcg": 1, "ndcg@2": 1}),  # the ideal is by label
    *(
        ([[-1, 1], [-5, 1], [0, 0]], run, {"precision": 2 / 3, "hits": 2, "recall@1": 0.5})
        for run in ([[-5, 3], [4, 2], [-1, 1]], [[-5, 3.0], [4, 2], [-1, 1]])
    ),
]


@pytest.mark.parametrize(("judged", "ranked", "expected"), EXAMPLES)
def test_ranx_arrays_of_examples(judged, ranked, expected):
    found = ours.evaluate([np.array(judged)], [np.array(ranked)], [*expected, "f1"])
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    for k, level in ((-1, 1), (1, 0)):
        for function in (metrics.hits, metrics.get_hit_lists):
            with pytest.raises(AssertionError, match="the cutoff must be 0 or more and the level 1 or more"):
                function(QRELS, RUN, k, level)


def test_ranx_arrays_pair_with_tables():
    qrels, run = ours.Qrels({"b": {"x": 1}, "a": {"y": 2, "z": 0}}), ours.Run({"a": {"z": 1, "y": 0}, "b": {"x": 5}})
    expected = ours.evaluate(qrels, run, "ndcg", return_mean=False)
    for sides in ((qrels, run.to_typed_list()), (qrels.to_typed_list(), run), (qrels.to_typed_list(), run.to_dict())):
        np.testing.assert_array_equal(ours.evaluate(*sides, "ndcg", return_mean=False), expected)
    ours.evaluate(qrels.to_typed_list(), run, "mrr")
    assert (run.scores["mrr"], run.mean_scores["mrr"]) == ({"a": 0.5, "b": 1.0}, 0.75)


def test_ranx_arrays_of_three_dimensions():
    """Queries of equal length may be one array. Padding that is not relevant may repeat an id."""
    qrels = np.array([[[1, 2], [0, 0]], [[4, 1], [5, 1]]])
    run = np.array([[[1, 9], [0, 0], [0, 0]], [[5, 9], [6, 8], [4, 7]]])
    recall = ours.evaluate(qrels, run, ["recall@2", "precision@3"], return_std=True)
    assert recall["recall@2"] == {"mean": 0.75, "std": 0.25}
    assert recall["precision@3"]["mean"] == (1 / 3 + 2 / 3) / 2


def test_ranx_labels_of_arrays_may_be_fractions():
    """A label of 1 or more is relevant with its fraction as gain, and a label between 0 and 1 is not relevant."""
    qrels, run = [np.array([[1, 1.5], [2, 0.5]])], [np.array([[2, 1.0], [1, 0.5]])]
    assert metrics.dcg(qrels, run) == pytest.approx([1.5 / np.log2(3)], rel=1e-15)
    assert metrics.hits(qrels, run).tolist() == [1]
    assert metrics.bpref(qrels, run).tolist() == [0]


def test_ranx_large_ids_are_exact():
    """Whole ids beyond 2**53 stay distinct, and raise an error if float64 would have to hold them."""
    qrels = [np.array([[2**53, 1], [2**53 + 1, 0]])]
    assert metrics.hits(qrels, [np.array([[2**53 + 1, 1]])]).tolist() == [0]
    with pytest.raises(fn.InvalidInputError, match="ids of documents in `qrels` must be numbers that float64 holds"):
        metrics.hits(qrels, [np.array([[2**53 + 1, 0.5]])])


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, RUN[:1], "`run` must have 2 queries as `qrels` has, but has 1"),
        ([[1, 2]], RUN[:1], r"`qrels` must have an array of numbers of shape \(n_documents, 2\)"),
        (QRELS, [*RUN[:1], np.array([["a", "b"]])], r"\[1\] has shape \(1, 2\) and dtype <U1"),
        (5, RUN, "`qrels` must be arrays, Qrels, Run or dicts"),
        ([[[1, 2], [3]]], RUN, "`qrels` must be arrays, Qrels, Run or dicts"),
        ([np.array([[1, 1], [1, 2]])], RUN[:1], "one label for each document .*, but not document 1 of query 0"),
        (QRELS[:1], [np.array([[7, 1], [7, 0.5]])], r"each relevant document once .*, but not document 7.0 of query 0"),
        ([np.array([[np.nan, 1]])], RUN[:1], "ids of documents in `qrels` must be numbers"),
        ([np.array([[1, np.inf]])], RUN[:1], r"labels in `qrels` must be finite .*, but not document 1.0 of query 0"),
    ],
)  # fmt: skip
def test_ranx_arrays_raise_on_wrong_input(qrels, run, message):
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.evaluate(qrels, run, "ndcg")


def test_ranx_metric_functions_of_persistence():
    """A persistence of 0 reads the first rank alone."""
    assert metrics.rank_biased_precision(QRELS, RUN, 0.0).tolist() == [1, 0]
    assert metrics.rank_biased_precision(QRELS, RUN, 0.5).tolist() == [0.5 * (1 + 0.5**3), 0.5 * 0.5]
    assert ours.evaluate(QRELS, RUN, "rbp.0") == 0.5


def test_ranx_arrays_may_be_empty():
    qrels, run = [np.array([[1, 1]]), np.zeros((0, 2))], [np.zeros((0, 2)), np.array([[1, 1.0]])]
    for values in ours.evaluate(qrels, run, ["ndcg", "hits", "bpref"], return_mean=False).values():
        assert values.tolist() == [0, 0]


def test_ranx_arrays_are_looked_up_without_sorting(monkeypatch):
    for name in ("argsort", "lexsort", "sort", "unique"):
        monkeypatch.delattr(np, name)
    assert metrics.hits(QRELS, RUN).tolist() == [2, 1]
