"""Cutoffs beyond the most ranks that a query may have, and hits below all cutoffs."""

import numpy as np
import pytest

import fastndcg as fn

LARGE = (2**31 - 1, 2**31, 2**31 + 5, 10**20)
LABELS, SCORES = [[0, 1, 0]], [[3.0, 2.0, 1.0]]


@pytest.mark.parametrize("k", LARGE)
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (fn.P, lambda k: 1 / k),
        (fn.F, lambda k: 2 * (1 / k) / (1 / k + 1)),
        (fn.Unjudged, lambda k: 0.0),
        (fn.R, lambda k: 1.0),
        (fn.AP, lambda k: 1 / 2),
    ],
    ids=["P", "F", "Unjudged", "R", "AP"],
)
def test_large_cutoff_counts_as_it_is(metric, k, value):
    """One relevant document at rank 2, whatever the cutoff below it."""
    assert fn.evaluate(LABELS, SCORES, metric @ k).values.item() == pytest.approx(value(k), rel=1e-15, abs=0)


def test_large_cutoffs_of_one_call_stay_apart():
    """Two cutoffs that count the same ranks divide by different numbers, also beyond float64."""
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
