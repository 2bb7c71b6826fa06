"""What calls keep for later ones has a bound, however many values their parameters have."""

import tracemalloc

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.engine import chunk

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


LABELS = np.arange(2000).reshape(100, 20) % 3


@pytest.mark.parametrize(
    "name",
    [
        "RBP(p={0})@10, RBP(p={0}, gain=exp2)", "nDCG(discount=[1,{0}]), nDCG(gain=[0,{0},2])@3, Q(gain=[0,3,{0}])",
        "IPrec(recall={0}), Rprec(mult={0}), P(rel={0}), PatR(recall={0})", "PFound(decay={0}), Compat(p={0})",
    ],
)  # fmt: skip
def test_sweeps_of_parameters(name):
    convention = fn.conventions["default"].replace(ties="input")
    kept = count_kept_bytes(
        lambda i: fn.evaluate(LABELS, -LABELS, name.format(0.001 + i / 2000), convention=convention), 1000
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
