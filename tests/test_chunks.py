"""How queries are cut into chunks, and the running sums of discounts that chunks share."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg import discounts, engine


def rankings_of(sizes, pool_sizes=None):
    """Rankings of queries of these sizes, and of pools of those."""
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
def test_each_query_is_in_one_chunk(sizes, pooled, chunk_documents, threads):
    """Consecutive ones, none of them empty, those with most documents first; none has more queries than documents."""
    rankings = rankings_of(sizes, [size // 2 for size in sizes] if pooled else None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "SMALL", 1)
        spans = engine.cut(rankings, chunk_documents, threads)

    in_order = sorted(spans)
    assert [first for first, _ in in_order] == [0, *(stop for _, stop in in_order[:-1])][: len(spans)]
    assert (in_order[-1][1] if spans else 0) == len(sizes)
    work = rankings.offsets if rankings.pool is None else rankings.offsets + rankings.pool[1]
    documents = [int(work[stop] - work[first]) for first, stop in spans]
    assert documents == sorted(documents, reverse=True)
    assert all(0 < stop - first <= chunk_documents for first, stop in spans)
    assert all(n <= chunk_documents + 45 for n in documents)


@pytest.mark.parametrize(
    ("n_documents", "threads", "expected"),
    [
        (2, 2, [2]),
        (3, 2, [3]),
        (4, 2, [2, 2]),
        (9, 2, [4, 2, 3]),
        (20, 2, [8, 6, 3, 3]),
        (20, 4, [5, 3, 3, 2, 2, 2, 3]),
        (20, 1, [6, 7, 7]),
    ],
)
def test_threads_share_what_is_left(monkeypatch, n_documents, threads, expected):
    """Until a share is not worth a thread: chunks of a share each, as many documents as one may have at the most."""
    monkeypatch.setattr(engine, "SMALL", 2)
    places = engine.places_to_cut(n_documents, 8, threads)
    assert np.diff([0, *places, n_documents]).tolist() == expected


@pytest.mark.parametrize("discount", ["log2", "1/r", 0.8, (5.0, 3.0, 0.1)])
def test_running_sums_are_exact(discount):
    """Two numbers give the sum of the first ranks, or RBP's of the ranks behind them, to twice the digits of one."""
    values, sums, rests, _ = discounts.discounts_of(discount, 3000)
    for r in (0, 1, 2, 10, 999, len(values) - 1):
        behind = isinstance(discount, float)
        exact = -math.fsum(values[r + 1 :]) if behind else math.fsum(values[: r + 1])
        assert math.fsum([sums[r], rests[r], -exact]) == pytest.approx(0, abs=1e-16 * abs(exact))
    assert all(low <= high for low, high in pairwise(sums.tolist()))


def test_discounts_beyond_float64_are_nobodys_warning():
    """A table whose sums are infinite says nothing before a query asks for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums, _ = discounts.running_sums(np.array([0.0, 1e308, 1e308]))
    assert sums.tolist() == [0.0, 1e308, math.inf]
