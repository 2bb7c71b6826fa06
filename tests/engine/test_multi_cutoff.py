"""Sums of hits at several cutoffs equal the sums at each cutoff alone to the bit, with and without ties."""

from itertools import combinations

import numpy as np
import pytest

import fastndcg as fn

DEFAULT = fn.conventions["default"]
KINDS = {
    "gains": ("nDCG@2", "nDCG@5", "nDCG"),
    "other gains": ("nDCG(gain=exp2)@2", "nDCG(gain=exp2)@9"),
    "merged labels": ("nDCG(gain=binary)@3", "nDCG(gain=binary)"),
    "precisions": ("AP@3", "AP"),
    "counts": ("P@1", "R@4", "ClassificationAccuracy@7"),
    "another threshold": ("P(rel=2)@2", "AP(rel=2)@6"),
}


def drawn(n_scores, seed=0):
    """Queries of 0 to 12 documents, with so many different scores."""
    random = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(random.integers(0, 13, 200)))
    labels = random.integers(0, 4, offsets[-1]) * random.integers(0, 2, offsets[-1])
    return fn.Rankings(labels, random.integers(0, n_scores, offsets[-1]).astype("f4"), offsets)


@pytest.mark.parametrize("n_scores", [2, 6, 10**6])
@pytest.mark.parametrize("ties", ["average", "input"])
@pytest.mark.parametrize("kinds", [*combinations(KINDS, 1), *combinations(KINDS, 2), tuple(KINDS)], ids=" ".join)
def test_values_do_not_depend_on_other_metrics(kinds, ties, n_scores):
    """Whatever else the walk adds up, and however deep it goes, to the bit."""
    convention, rankings = DEFAULT.replace(ties=ties), drawn(n_scores)
    metrics = [text for kind in kinds for text in KINDS[kind]]

    values = fn.evaluate(rankings, metrics=metrics, convention=convention).values

    for text, column in zip(metrics, values.T, strict=True):
        alone = fn.evaluate(rankings, metrics=text, convention=convention).values[:, 0]
        assert column.tobytes() == alone.tobytes(), text


@pytest.mark.parametrize("depth", [1022, 1023, 1024, 1500])
def test_hits_below_all_cutoffs_are_skipped(depth):
    """Hits below all cutoffs count nowhere, and no discount beyond the last one is looked up."""
    labels = np.zeros(3000, "u1")
    labels[::7] = 1
    rankings = fn.Rankings(labels, np.zeros(3000, "f4"), [0, 3000])
    metrics = [f"nDCG@{depth}", f"P@{depth}", "nDCG@3", "AP@5"]

    values = fn.evaluate(rankings, metrics=metrics, convention=DEFAULT.replace(ties="input")).values[0]

    discounts = 1.0 / np.log2(np.arange(2.0, depth + 2.0))
    best = discounts[: labels.sum()].sum()
    assert values[0] == pytest.approx(discounts[::7].sum() / best, rel=1e-12)
    assert values[1] == len(range(0, depth, 7)) / depth
