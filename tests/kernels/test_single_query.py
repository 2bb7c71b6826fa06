"""Kernels for users' own loops: one query, the numbers of the default convention, inside Numba and outside."""

import subprocess
import sys
from itertools import pairwise
from math import log2

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg import kernels

numba = pytest.importorskip("numba")

METRICS = {"ndcg": "nDCG", "dcg": "DCG", "average_precision": "AP", "reciprocal_rank": "RR"}
SCORE_KINDS = ["f4", "f8", "i8", "u1"]


# Every function compiles for each pair of types. Each type of labels and of scores comes up with some function.
TYPES = {
    "ndcg": [("i8", "f8"), ("?", "f4")], "dcg": [("f8", "f8"), ("u1", "i8")],
    "average_precision": [("i8", "f8"), ("f4", "f4")], "reciprocal_rank": [("f8", "f8"), ("?", "i8")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "types"), [(name, types) for name, pairs in TYPES.items() for types in pairs])
@given(data=st.data())
@strategies.examples(60)
def test_equals_reference(name, types, data):
    kinds = {"i8": ("binary", "graded", "huge"), "f8": tuple(strategies.LABELS)[:4]}.get(types[0], ("binary",))
    case = data.draw(strategies.cases(kinds=kinds) | strategies.long_cases())
    k = data.draw(st.integers(1, 8) | st.just(1000))
    scale, limit = {"i8": (1024, 1000), "f4": (1, 3e38), "f8": (1, np.inf)}[types[1]]  # as many ties in every type
    labels, offsets = case.rankings.labels.astype(types[0]), case.rankings.offsets
    scores = np.nan_to_num(case.rankings.scores.astype("f8")).clip(-limit, limit)
    scores = (scores * scale).astype(types[1])
    wanted = fn.reference.evaluate(labels, scores, [fn.Metric(METRICS[name], k)], offsets=offsets).values[:, 0]
    for query, (start, stop) in enumerate(pairwise(offsets)):
        value = getattr(kernels, name)(labels[start:stop], scores[start:stop], k)
        assert value == pytest.approx(wanted[query], rel=1e-13, nan_ok=True)


def test_single_query_equals_definition():
    labels, scores = np.array([0.0, 3.0, 1.0]), np.array([0.5, 0.5, 0.9])
    reached = 1 / log2(2) + 3 * (1 / log2(3) + 1 / log2(4)) / 2
    assert kernels.dcg(labels, scores) == pytest.approx(reached, rel=1e-15)
    assert kernels.ndcg(labels, scores) == pytest.approx(reached / (3 / log2(2) + 1 / log2(3)), rel=1e-15)
    assert kernels.dcg(labels, scores, 2) == pytest.approx(1 / log2(2) + 3 * (1 / log2(3)) / 2, rel=1e-15)
    assert kernels.average_precision(labels, scores) == pytest.approx((1 + (2 / 2 + 2 / 3) / 2) / 2, rel=1e-15)
    assert kernels.reciprocal_rank(labels, scores, 3, 2.0) == pytest.approx((1 / 2 + 1 / 3) / 2, rel=1e-15)


def test_single_query_in_ideal_order_and_without_relevant_documents():
    random = np.random.default_rng(3)
    for _ in range(200):
        labels = np.sort(random.random(random.integers(1, 40)))[::-1]
        assert kernels.ndcg(labels, -np.arange(float(len(labels)))) == 1.0
    for labels in (np.zeros(3), np.zeros(0)):
        found = [getattr(kernels, name)(labels, np.zeros(len(labels))) for name in METRICS]
        assert found == pytest.approx([np.nan, 0.0, np.nan, 0.0], nan_ok=True)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("labels", "scores"), [
    ([1.0, -1.0], [1.0, 2.0]), ([1.0, np.nan], [1.0, 2.0]), ([1.0, 0.0], [1.0, np.nan]), ([1.0, 2e16], [1.0, 2.0]),
    ([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]), ([], [1.0, 2.0]), ([1.0, 2.0], []),
])  # fmt: skip
def test_single_query_wrong_input_is_nan(name, labels, scores):
    assert np.isnan(getattr(kernels, name)(np.array(labels), np.array(scores)))
    with pytest.raises(fn.InvalidInputError):
        fn.evaluate(labels, scores, "ndcg", offsets=[0, 2])


@given(scores=st.lists(st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 0.5, 2.0, np.inf]), max_size=30))
@pytest.mark.parametrize("kind", SCORE_KINDS)
@strategies.examples(30)
def test_single_query_ranks(kind, scores):
    given_scores = np.nan_to_num(np.array(scores), posinf=9, neginf=-9).clip(0 if kind == "u1" else None).astype(kind)
    out = np.empty(len(scores))
    kernels.ranks(given_scores, out)
    above = (given_scores[None, :] > given_scores[:, None]).sum(axis=1)
    same = (given_scores[None, :] == given_scores[:, None]).sum(axis=1)
    assert out.tolist() == (above + (same + 1) / 2).tolist()


def test_ranks_of_nan():
    for scores in ([1.0, np.nan], [1.0, 2.0, 3.0]):
        out = np.empty(2)
        kernels.ranks(np.array(scores), out)
        assert np.isnan(out).all()


@pytest.mark.skipif(not strategies.JIT, reason="nothing is compiled here")
def test_inside_users_code():
    @numba.njit
    def all_of(labels, scores, start, stop, k, out):
        one, other = labels[start:stop], scores[start:stop]
        kernels_ranks(other, out)
        return ndcg(one, other), ndcg(one, other, k), dcg(one, other, k), ap(one, other), rr(one, other, k, 2.0)

    ndcg, dcg, ap, rr = kernels.ndcg, kernels.dcg, kernels.average_precision, kernels.reciprocal_rank
    kernels_ranks = kernels.ranks
    labels, scores = np.arange(20) * 7 % 3, np.arange(20.0) * 11 % 8
    scores.flags.writeable = False
    out = np.empty(10)
    found = all_of(labels, scores, 5, 15, 3, out)
    one, other = labels[5:15], scores[5:15]
    wanted = fn.evaluate(one[None], other[None], "ndcg, ndcg@3, dcg@3, map, RR(rel=2)@3").values[0]
    assert found == pytest.approx(wanted.tolist(), rel=1e-13)
    assert out.sum() == 55


def test_module_of_single_queries_is_apart():
    with pytest.raises(AttributeError, match="public functions are average_precision, dcg"):
        _ = kernels.nonsense
    module = "fastndcg.kernels.single_query"
    code = f"import sys, fastndcg as fn; fn.ndcg([[1]], [[1]]); print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
