"""Chunks of queries, discounts of few ranks, cutoffs beyond every rank, and the memory that sweeps keep."""

import math
import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.engine import chunk
from fastndcg.engine.run import make_chunks


def rankings_of(sizes, pool_sizes=None):
    offsets = np.append(0, np.cumsum(sizes, dtype="i8"))
    labels = np.zeros(offsets[-1], "u1")
    pool = None if pool_sizes is None else np.append(0, np.cumsum(pool_sizes, dtype="i8"))
    of_pool = None if pool is None else (np.zeros(pool[-1], "u1"), pool)
    return fn.Rankings(labels, labels, offsets, pool=of_pool)


@given(
    sizes=st.lists(st.integers(0, 30), max_size=60),
    pooled=st.booleans(),
    chunk_documents=st.integers(1, 100),
    threads=st.integers(1, 4),
)
@example(sizes=[0] * 7 + [5], pooled=False, chunk_documents=2, threads=1)
@example(sizes=[0] * 7 + [1], pooled=False, chunk_documents=2, threads=1)
def test_chunks_contain_each_query_once(sizes, pooled, chunk_documents, threads):
    rankings = rankings_of(sizes, [size // 2 for size in sizes] if pooled else None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunk, "MIN_DOCUMENTS_FOR_THREADS", 1)
        chunks = make_chunks(rankings, chunk_documents, threads)
    in_order = sorted(chunks)
    assert [first for first, _ in in_order] == [0, *(stop for _, stop in in_order[:-1])][: len(chunks)]
    assert (in_order[-1][1] if chunks else 0) == len(sizes)
    work = rankings.offsets if rankings.pool is None else rankings.offsets + rankings.pool[1]
    documents = [int(work[stop] - work[first]) for first, stop in chunks]
    assert documents == sorted(documents, reverse=True)
    assert all(0 < stop - first <= chunk_documents for first, stop in chunks)
    assert all(n <= chunk_documents + 45 for n in documents)


@pytest.mark.parametrize(("n_documents", "threads", "expected"), [
    (2, 2, [2]), (3, 2, [3]), (4, 2, [2, 2]), (9, 2, [4, 2, 3]), (20, 2, [8, 6, 3, 3]), (20, 4, [5, 3, 3, 2, 2, 2, 3]),
    (20, 1, [6, 7, 7]),
])  # fmt: skip
def test_threads_share_what_is_left(monkeypatch, n_documents, threads, expected):
    monkeypatch.setattr(chunk, "MIN_DOCUMENTS_FOR_THREADS", 2)
    places = chunk.find_cuts(n_documents, 8, threads)
    assert np.diff([0, *places, n_documents]).tolist() == expected


def test_discounts_of_few_ranks_are_few_after_a_query_of_many():
    many = chunk.make_discounts("log2", 10**5)
    few = chunk.make_discounts("log2", 10)
    assert len(many.values) > 10**5
    assert len(few.values) == 1025
    assert few.sums.tobytes() == many.sums[:1025].tobytes()


@pytest.mark.parametrize(("metric", "convention"), [("dcg", "default(discount=1/r)"), ("dcg(discount=1/r)", "default")])
def test_the_discount_is_that_of_a_deep_rank(metric, convention):
    """A plan holds discounts of 1,023 ranks; those of deeper ones are made for the rankings."""
    n = 3000
    labels, scores = np.arange(n) == n - 1, -np.arange(n)
    assert fn.evaluate(labels, scores, metric, offsets=[0, n], convention=convention).means() == [1 / n]


def test_discounts_are_functions_of_c():
    """Compare with C: discounts by NumPy have other bits on processors with AVX-512 than on others."""
    ranks = range(1, 5001)
    logarithms, capped, powers = (chunk.compute_discounts(one, 5000).values for one in ("log2", "log2(max(r, 2))", 0.8))
    assert logarithms[1:].tolist() == [1 / math.log2(r + 1) for r in ranks]
    assert capped[1:].tolist() == [1 / math.log2(max(r, 2)) for r in ranks]
    assert powers[1:].tolist() == [(1 - 0.8) * math.pow(0.8, r - 1) for r in ranks]


@pytest.mark.parametrize("discount", ["log2", "1/r", 0.8, (5.0, 3.0, 0.1)])
def test_running_sums_are_exact(discount):
    """Two numbers give the sum of the first ranks, or RBP's of the ranks behind them, to twice the digits of one."""
    values, sums, rests, _ = chunk.make_discounts(discount, 3000)
    for r in (0, 1, 2, 10, 999, len(values) - 1):
        behind = isinstance(discount, float)
        exact = -math.fsum(values[r + 1 :]) if behind else math.fsum(values[: r + 1])
        assert math.fsum([sums[r], rests[r], -exact]) == pytest.approx(0, abs=1e-16 * abs(exact))
    assert all(low <= high for low, high in pairwise(sums.tolist()))


def test_discounts_beyond_float64_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums, _ = chunk.add_up(np.array([0.0, 1e308, 1e308]))
    assert sums.tolist() == [0.0, 1e308, math.inf]


LARGE = (2**31 - 1, 2**31, 2**31 + 5, 10**20)
LABELS, SCORES = [[0, 1, 0]], [[3.0, 2.0, 1.0]]


@pytest.mark.parametrize("k", LARGE)
@pytest.mark.parametrize(("metric", "value"), [
    (fn.P, lambda k: 1 / k), (fn.F, lambda k: 2 * (1 / k) / (1 / k + 1)), (fn.Unjudged, lambda k: 0.0),
    (fn.R, lambda k: 1.0), (fn.AP, lambda k: 1 / 2),
], ids=["P", "F", "Unjudged", "R", "AP"])  # fmt: skip
def test_large_cutoff_counts_as_it_is(metric, k, value):
    assert fn.evaluate(LABELS, SCORES, metric @ k).values.item() == pytest.approx(value(k), rel=1e-15, abs=0)


def test_large_cutoffs_of_one_call_stay_apart():
    values = fn.evaluate(LABELS, SCORES, [fn.P @ 2**31, fn.P @ 10**20, fn.P @ 10**400]).values
    assert values.tolist() == [[1 / 2**31, 1e-20, 0.0]]


@pytest.mark.parametrize("k", LARGE)
def test_large_cutoff_divides_average_precision(k):
    value = fn.evaluate(LABELS, SCORES, fn.AP @ k, convention="default(ap_denominator=k)").values.item()
    assert value == pytest.approx(1 / 2 / k, rel=1e-15)


@pytest.mark.parametrize("k", LARGE)
@pytest.mark.parametrize("metric", [fn.INST, fn.BPM], ids=str)
def test_large_cutoff_is_refused_where_ranks_below_the_last_document_count(metric, k):
    """INST and BPM of so many ranks differ from those of all ranks, and kernels do not tell them apart."""
    with pytest.raises(fn.InvalidInputError, match=r"`k` of .* must be below 2147483647\. Leave it out"):
        fn.evaluate(LABELS, SCORES, metric @ k)


@pytest.mark.parametrize("depth", [1022, 1023, 1024, 1500])
def test_hits_below_all_cutoffs_are_skipped(depth):
    labels = np.zeros(3000, "u1")
    labels[::7] = 1
    rankings = fn.Rankings(labels, np.zeros(3000, "f4"), [0, 3000])
    metrics = [f"nDCG@{depth}", f"P@{depth}", "nDCG@3", "AP@5"]
    values = fn.evaluate(rankings, metrics=metrics, convention="default(ties=input)").values[0]
    discounts = 1.0 / np.log2(np.arange(2.0, depth + 2.0))
    best = discounts[: labels.sum()].sum()
    assert values[0] == pytest.approx(discounts[::7].sum() / best, rel=1e-12)
    assert values[1] == len(range(0, depth, 7)) / depth


N_WARM_CALLS = 300  # after them, the caches of 256 requests and plans are full


def count_kept_bytes(call, n):
    """Return how many more bytes are kept after calls with the numbers up to n than after the first ones."""
    tracemalloc.start()
    try:
        for number in range(N_WARM_CALLS):
            call(number)
        before = tracemalloc.get_traced_memory()[0]
        for number in range(N_WARM_CALLS, n):
            call(number)
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


GRADES = np.arange(2000).reshape(100, 20) % 3


SWEPT = """
    RBP(p={0})@10, RBP(p={0}, gain=exp2), nDCG(discount=[1,{0}]), nDCG(gain=[0,{0},2])@3, Q(gain=[0,3,{0}]),
    IPrec(recall={0}), Rprec(mult={0}), P(rel={0}), PatR(recall={0}), PFound(decay={0}), Compat(p={0})
"""


def test_sweeps_of_parameters():
    convention = fn.conventions["default"].replace(ties="input")
    kept = count_kept_bytes(
        lambda i: fn.evaluate(GRADES, -GRADES, SWEPT.format(0.001 + i / 2000), convention=convention), 600
    )
    assert kept < chunk.MAX_KEPT_RANKS * 24 + 1_000_000


def test_sweep_of_discounts_of_many_ranks():
    scores = np.arange(100_000.0)
    labels = (scores > 99_990).astype("i1")
    fn.evaluate([labels], [scores], "RBP(p=0.5)")
    tracemalloc.start()
    for i in range(30):
        fn.evaluate([labels], [scores], f"RBP(p={0.6 + i / 100})")
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < chunk.MAX_KEPT_RANKS * 24
