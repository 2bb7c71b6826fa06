"""Rankings: no copy where none is needed, read-only views, the pool, what is judged, and keys for ties."""

import pickle

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.engine.apply import apply_convention

LABELS, SCORES, OFFSETS = [3, 0, 1, 0], [0.1, 0.9, 0.5, 0.5], [0, 1, 4]


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i2", "i4", "i8", "f4", "f8"])
def test_labels_are_not_copied(dtype):
    labels = np.array(LABELS).astype(dtype)
    rankings = fn.Rankings(labels, SCORES, OFFSETS)
    assert np.shares_memory(rankings.labels, labels)
    assert rankings.labels.dtype == ("u1" if dtype == "?" else dtype)


def test_masks_and_offsets_are_copied():
    """NumPy writes beyond its buffers if a mask changes during indexing, and kernels if offsets do."""
    mask, offsets = np.ones(4, bool), np.array(OFFSETS)
    rankings = fn.Rankings(LABELS, SCORES, offsets, judged=mask)
    assert not np.shares_memory(rankings.judged, mask)
    assert not np.shares_memory(rankings.offsets, offsets)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_scores_are_not_copied(dtype):
    scores = np.arange(4, dtype=dtype)
    assert np.shares_memory(fn.Rankings(LABELS, scores, OFFSETS).scores, scores)
    evaluator = fn.Evaluator(np.array([LABELS]), "ndcg")
    assert np.shares_memory(evaluator._truth.rankings(scores.reshape(1, 4)).scores, scores)
    for ways in ({"groups": [1, 3]}, {"query_ids": [5, 2, 2, 2]}):
        evaluator = fn.Evaluator(LABELS, "ndcg", **ways)
        assert np.shares_memory(evaluator._truth.rankings(scores).scores, scores)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("u2", "i4"), ("u4", "i8"), ("u8", "i8"), ("f2", "f4"), ("g", "f8"), (">i4", "i4"), (">f8", "f8")],
)
def test_rankings_convert_label_dtypes(given, kept):
    rankings = fn.Rankings(np.array(LABELS).astype(given), SCORES, OFFSETS)
    assert rankings.labels.dtype == np.dtype(kept)
    assert rankings.labels.tolist() == LABELS


@pytest.mark.parametrize(
    ("given", "kept"),
    [("?", "f4"), ("i1", "f4"), ("u2", "f4"), ("i4", "f8"), ("u4", "f8"), ("i8", "f8"), ("u8", "f8"), ("f2", "f4")],
)
def test_rankings_convert_score_dtypes(given, kept):
    rankings = fn.Rankings(LABELS, np.array([0, 1, 1, 0]).astype(given), OFFSETS)
    assert rankings.scores.dtype == kept
    assert rankings.scores.tolist() == [0, 1, 1, 0]


def test_arrays_are_read_only_and_the_callers_stay_writable():
    labels, scores, offsets = np.array(LABELS), np.array(SCORES), np.array(OFFSETS)
    rankings = fn.Rankings(labels, scores, offsets, tie_keys=offsets[[0, 1, 2, 0]], judged=labels > 0)
    for array in (rankings.labels, rankings.scores, rankings.offsets, rankings.tie_keys, rankings.judged):
        assert not array.flags.writeable
    scores[0] = 7
    assert rankings.scores[0] == 7


def test_evaluation_does_not_change_input():
    arrays = [np.array(LABELS), np.array(SCORES), np.array(OFFSETS)]
    copies = [array.copy() for array in arrays]
    for ties in ("average", "best", "worst", "input"):
        fn.evaluate(arrays[0], arrays[1], "ndcg,map", offsets=arrays[2], convention=f"default(ties={ties})")
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.writeable


def test_rankings_attributes():
    rankings = fn.Rankings(LABELS, SCORES, OFFSETS, query_ids=["a", "b"])
    assert (rankings.n_queries, rankings.n_documents) == (2, 4)
    assert rankings.labels.tolist() == LABELS
    assert rankings.offsets.dtype == np.int64
    assert rankings.query_ids.tolist() == ["a", "b"]
    assert (rankings.judged, rankings.pool, rankings.tie_keys) == (None, None, None)
    assert repr(rankings) == "Rankings of 2 queries, 4 documents"
    changed = rankings.replace(scores=[1, 2, 3, 4])
    assert (changed.labels.tolist(), changed.scores.tolist()) == (LABELS, [1, 2, 3, 4])
    assert pickle.loads(pickle.dumps(rankings)).scores.tolist() == SCORES


def test_pool_that_lacks_what_was_ranked():
    """Values would leave the range from 0 to 1: a recall of 2, a DCG above the ideal's."""
    rankings = fn.Rankings([0, 1, 1], [3, 2, 1], [0, 1, 3], pool=([1, 0, 1], [0, 1, 3]), query_ids=["a", "b"])
    with pytest.raises(fn.InvalidInputError, match=r"but query b ranks 2 with label 1 and its pool has 1\. Add them"):
        fn.evaluate(rankings, metrics="recall,map")
    rankings = fn.Rankings([1.5, 1], [2, 1], [0, 2], pool=([1, 1], [0, 2]))
    refused(r"but query 0 ranks 1 with label 1\.5 and its pool has 0. Add them", fn.evaluate, rankings, metrics="ndcg")
    for pool in (([2, 1, 1, 0], [0, 4]), ([1, 2], [0, 2])):
        assert fn.evaluate(fn.Rankings([2, 1, 0], [3, 2, 1], [0, 3], pool=pool), metrics="rr")["rr"].tolist() == [1]
    for labels in ([], [0], [-1]):
        rankings = fn.Rankings(labels, labels, [0, len(labels)], pool=([], [0, 0]))
        assert fn.evaluate(rankings, metrics="rr", convention="default(negative_labels=zero)")["rr"].tolist() == [0]


def test_tie_keys_order_equal_scores():
    low, high = -(2**63), 2**63 - 1
    rankings = fn.Rankings([1, 0, 0, 1], [1, 1, 1, 1], [0, 2, 4], tie_keys=[high, low, 0, -1])
    for ties, expected in (("id_descending", [1, 1 / 2]), ("id_ascending", [1 / 2, 1])):
        assert fn.evaluate(rankings, metrics="rr", convention=f"default(ties={ties})")["rr"].tolist() == expected


PARTS = {"labels": LABELS, "scores": SCORES, "offsets": OFFSETS}
test_parts_that_do_not_fit = refuses(lambda name, value: fn.Rankings(**PARTS | {name: value}), [
    ("scores", [1, 2], "`scores` must be as long as `labels`, 4, but its shape is \\(2,\\)"),
    ("labels", [[1, 0, 0, 0]], "`labels` must have 1 dimension, but its shape is \\(1, 4\\)"),
    ("judged", [1, 0, 0, 1], "`judged` must hold bools, but its dtype is int64"),
    ("judged", [True], "`judged` must be as long as `labels`, 4, but its shape is \\(1,\\)"),
    ("judged", [[True], [True, False]], "`judged` must be one array, but its rows differ in length"),
    ("tie_keys", [1.0, 2.0, 3.0, 4.0], "`tie_keys` must hold whole numbers, but its dtype is float64"),
    ("tie_keys", [1, 2], "`tie_keys` must be as long as `labels`, 4, but its shape is \\(2,\\)"),
    ("query_ids", ["a"], "`query_ids` must be as long as `offsets` less one, 2, but its shape is \\(1,\\)"),
    ("pool", [1, 2], "`pool` must be a tuple of all judged labels and their offsets"),
    ("pool", ([1], [0, 1]), "`pool` must have as many queries as `offsets`, 2, but its offsets have 1"),
    ("pool", ([1, 2], [0, 1, 3]), "`pool offsets` must end at the number of documents, 2, but pool offsets"),
    ("pool", (["a"], [0, 1, 1]), "`pool` must hold numbers, but its dtype is <U1"),
])  # fmt: skip


def test_bad_label_of_the_pool_has_its_place():
    rankings = fn.Rankings([1, 0], [1, 2], [0, 1, 2], pool=([1, 0, -1], [0, 1, 3]), query_ids=["a", "b"])
    refused(r"`pool` must not be negative, but pool\[2\] \(query b\) is -1", fn.evaluate, rankings, metrics="ndcg")


def test_unjudged_documents_have_no_label():
    with pytest.raises(fn.InvalidInputError, match=r"`labels` must be 0 where `judged` is False, but labels\[1\]"):
        fn.Rankings([1, 3], [1.0, 2.0], [0, 2], judged=[True, False])
    assert fn.Rankings([], [], [0], judged=[]).judged.dtype == bool


def test_offsets_stay_as_they_were_checked():
    offsets, pool_offsets = np.array([0, 2, 4]), np.array([0, 2, 4])
    labels = np.arange(4) % 2
    rankings = fn.Rankings(labels, np.arange(4.0), offsets, pool=(labels, pool_offsets))
    offsets[:], pool_offsets[:] = [0, 10**9, 2 * 10**9], [0, 10**9, 2 * 10**9]
    assert fn.evaluate(rankings, metrics="ndcg")["ndcg"].tolist() == [1.0, 1.0]


AS_FLOAT32 = fn.conventions["default"].replace(score_dtype="float32", unjudged="removed")


@pytest.mark.parametrize("n_removed", [0, 1])
def test_wide_scores_are_not_rounded_to_float32(n_removed):
    rankings = fn.Rankings([0, 1, 0], 2**60 + np.arange(3), [0, 3], judged=[n_removed == 0, True, True])
    ranked = apply_convention(rankings, AS_FLOAT32)
    assert (len(ranked.scores), ranked.scores.dtype.itemsize) == (3 - n_removed, 8)
    assert fn.evaluate(rankings, metrics="rr", convention=AS_FLOAT32)["rr"].tolist() == [0.5]


@pytest.mark.stress  # 2 GB
def test_many_wide_scores_are_not_rounded_to_float32():
    """More ranks than float32 tells apart do not tie."""
    scores = 2**60 + np.arange(2**24 + 4)
    labels, judged = np.zeros(len(scores), "i1"), np.ones(len(scores), bool)
    labels[-2], judged[0] = 1, False
    for judgments in (None, judged):
        rankings = fn.Rankings(labels, scores, [0, len(scores)], judged=judgments)
        assert fn.evaluate(rankings, metrics="rr", convention=AS_FLOAT32)["rr"].tolist() == [0.5]


def test_rankings_replace_wide_integer_scores():
    wide = fn.Rankings([1, 0], 2**60 + np.array([1, 0]), [0, 2])
    tied = wide.replace(scores=[1 + 1e-12, 1.0])
    assert fn.evaluate(wide, metrics="rr", convention=AS_FLOAT32)["rr"].tolist() == [1.0]
    assert fn.evaluate(tied, metrics="rr", convention=AS_FLOAT32)["rr"].tolist() == [0.75]


def test_labels_are_counted_with_those_of_the_pool():
    pooled = fn.Rankings(LABELS, SCORES, OFFSETS, pool=([3, 2, 1], [0, 1, 3]))
    plain = pooled.replace(pool=None)
    recommended = fn.Rankings.from_checked(plain.labels, plain.scores, plain.offsets, None, pool=pooled.pool)
    assert [one.n_labels for one in (pooled, plain, recommended)] == [7, 4, 7]
    assert pickle.loads(pickle.dumps(pooled)).n_labels == 7


@pytest.mark.parametrize("made", ["rankings", "qrels", "run", "interactions"])
def test_rankings_attributes_are_read_only(made):
    held = {
        "rankings": fn.Rankings([1, 0], [0.5, 1.0], [0, 2]),
        "qrels": fn.Qrels({"q": {"a": 1, "b": 0}}),
        "run": fn.Run({"q": {"a": 1.0, "b": 0.5}}),
        "interactions": fn.Interactions([1, 2], offsets=[0, 2]),
    }[made]
    names = [name for name in dir(held) if isinstance(getattr(held, name, None), np.ndarray)]
    assert {"offsets"} <= set(names)
    for one in (held, pickle.loads(pickle.dumps(held))):
        for name in names:
            with pytest.raises(AttributeError, match=f"^`{name}` of {type(held).__name__} cannot be set, as"):
                setattr(one, name, np.array([0, 10**9]))
        with pytest.raises(ValueError, match="read-only"):
            one.offsets[0] = 1
