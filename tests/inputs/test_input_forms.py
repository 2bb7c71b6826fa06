"""All forms of one data set give the same values to the bit."""

import numpy as np
import pytest

import fastndcg as fn

METRICS = "ndcg,ndcg@2,map,rr,p@2,recall@2,f1@2,success@1,rprec,num_ret"
LABELS = np.array([1, 0, 2, 0, 0, 1, 3, 0, 1, 1])
SCORES = np.array([5, 7, 6, 1, 2, 9, 9, 8, 8, 1])
OFFSETS = np.array([0, 3, 5, 10])
SIZES = np.diff(OFFSETS)
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS, offsets=OFFSETS).values


def evaluate_arrays(*arguments, **ways):
    return fn.evaluate(*arguments, METRICS, **ways).values


def assert_expected(values):
    np.testing.assert_array_equal(values, EXPECTED)


IDS = {
    "numbers": np.repeat([7, 3, 5], SIZES), "negative": np.repeat([-1, -(2**63), 2**63 - 1], SIZES),
    "uint64": np.repeat(np.array([2**64 - 1, 0, 2**63], np.uint64), SIZES),
    "big-endian": np.repeat([7, 3, 5], SIZES).astype(">i4"), "texts": np.repeat(["q7", "é", ""], SIZES),
    "bytes": np.repeat([b"q7", b"q3", b"q5"], SIZES),
    "objects": np.repeat(np.array(["q7", "q3", "a much longer id"], object), SIZES),
    "a NUL at the end": np.repeat(np.array(["a", "a\0", "b"], object), SIZES),
    "whole objects": np.repeat(np.array([7, -3, 5], object), SIZES),
    "list of texts": np.repeat(["q7", "q3", "q5"], SIZES).tolist(),
    "list of numbers": np.repeat([7, -3, 5], SIZES).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("ids", IDS)
def test_query_ids(ids):
    result = fn.evaluate(LABELS, SCORES, METRICS, query_ids=IDS[ids])
    assert_expected(result.values)
    given = np.asarray(IDS[ids])
    assert result.query_ids.tolist() == given[OFFSETS[:-1]].tolist()
    kinds = {"whole objects": "i", "list of texts": "O"}
    assert result.query_ids.dtype.kind == kinds.get(ids, given.dtype.kind)
    order = np.array([0, 3, 5, 1, 6, 4, 7, 2, 8, 9])  # interleaved: every query's documents keep their order
    result = fn.evaluate(LABELS[order], SCORES[order], METRICS, query_ids=given[order])
    assert_expected(result.values)
    assert result.query_ids.tolist() == given[OFFSETS[:-1]].tolist()


def test_sizes_and_lists():
    assert_expected(evaluate_arrays(LABELS, SCORES, groups=SIZES))
    assert_expected(evaluate_arrays(LABELS.tolist(), SCORES.tolist(), groups=SIZES.tolist()))
    assert_expected(evaluate_arrays(tuple(LABELS), tuple(SCORES), offsets=tuple(OFFSETS)))
    assert_expected(evaluate_arrays(LABELS, SCORES, offsets=OFFSETS.astype("u1")))
    assert_expected(evaluate_arrays(LABELS, SCORES, offsets=OFFSETS.astype(">i4")[::-1][::-1]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_matrix_rows_are_queries(order):
    labels, scores = LABELS.reshape(2, 5), SCORES.reshape(2, 5)
    expected = evaluate_arrays(LABELS, SCORES, offsets=[0, 5, 10])
    np.testing.assert_array_equal(
        evaluate_arrays(np.array(labels, order=order), np.array(scores, order=order)), expected
    )
    np.testing.assert_array_equal(evaluate_arrays(labels.tolist(), scores.T.copy().T), expected)
    wide = np.repeat(labels, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(evaluate_arrays(wide, scores), expected)


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_wide_scores(dtype):
    """Whole scores beyond 2**53 that differ by 1 stay different."""
    scores = np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1], dtype)
    assert fn.reciprocal_rank([1, 0, 1, 0], scores, [0, 2, 4]).tolist() == [1 / 2, 1 / 2]
    assert fn.reciprocal_rank([0, 1, 0, 1], scores, [0, 2, 4]).tolist() == [1, 1]
    assert fn.reciprocal_rank([1, 0], scores[[0, 0]], [0, 2]).tolist() == [(1 + 1 / 2) / 2]


def test_infinite_scores_and_zeros():
    scores = [-np.inf, np.inf, 1.0, 0.0, -0.0]
    assert fn.reciprocal_rank([1, 0, 0, 0, 0], scores, [0, 5]).tolist() == [1 / 5]
    assert fn.reciprocal_rank([0, 1, 0, 0, 0], scores, [0, 5]).tolist() == [1]
    assert fn.reciprocal_rank([0, 0, 0, 0, 1], scores, [0, 5]).tolist() == [(1 / 3 + 1 / 4) / 2]


def test_empty_inputs_are_valid():
    for labels, ways, n_queries in (
        ([], {"offsets": [0]}, 0),
        ([], {"offsets": [0, 0, 0]}, 2),
        ([], {"groups": []}, 0),
        ([], {"groups": [0, 0]}, 2),
        ([], {"query_ids": []}, 0),
        (np.zeros((0, 3)), {}, 0),
        (np.zeros((3, 0)), {}, 3),
    ):
        result = fn.evaluate(labels, labels, "ndcg,dcg,map,rr,p,p@3,recall,num_ret", **ways)
        assert result.values.shape == (n_queries, 8)
        undefined = {"nDCG", "AP", "R"}
        for metric in result.metrics:
            expected = np.full(n_queries, np.nan if str(metric) in undefined else 0.0)
            np.testing.assert_array_equal(result[metric], expected)


def test_labels_in_files_have_signs_and_the_smallest_type(tmp_path):
    qrels = tmp_path / "qrels"
    qrels.write_text("q 0 a +2\nq 0 b -1\nq 0 c 007\n")
    assert fn.read_qrels(qrels).values.tolist() == [2, -1, 7]
    assert fn.read_qrels(qrels).values.dtype == np.int8
    qrels.write_text("q 0 a 0.5\nq 0 b 1\n")
    assert fn.read_qrels(qrels).values.tolist() == [0.5, 1.0]
