"""R-precision at several multiples of R in one call, with tie groups that a cutoff splits."""

from math import floor

import numpy as np
import pytest

import fastndcg as fn

SIZE = 140
N_RELEVANT = (0, 1, 31, 32, 62, 63, 64, 65, 110)
SCORES = {
    "untied": lambda rng: rng.permutation(SIZE).astype("f8"),
    "tied at rank 63": lambda rng: np.where(np.abs(np.arange(SIZE)[::-1] - 62) < 3, 77.5, np.arange(SIZE)),
    "tied below rank 69": lambda rng: np.maximum(np.arange(SIZE), 70)[::-1].astype("f8"),
    "tied everywhere": lambda rng: rng.integers(0, 12, SIZE).astype("f8"),
    "alike": lambda rng: np.zeros(SIZE),
}
MULTIPLES = (0.05, 0.5, 1, 1.1, 2, 7)


def rankings_of(scores, seed=3):
    """Make queries with N_RELEVANT documents of label 2, and up to the same number of label 1 if there is room."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((len(N_RELEVANT), SIZE), "u1")
    for row, n in zip(labels, N_RELEVANT, strict=True):
        row[:n] = 2
        row[n : 2 * n] = 1
        rng.shuffle(row)
    made = np.concatenate([SCORES[scores](rng) for _ in N_RELEVANT])
    judged = (labels.reshape(-1) > 0) | (rng.random(labels.size) < 0.5)
    return fn.Rankings(labels.reshape(-1), made, np.arange(len(N_RELEVANT) + 1) * SIZE, judged=judged)


def expected(rankings, multiple, rel, k):
    """The share of the first ranks that is relevant, where a tie group that they cut counts in proportion."""
    values = []
    for labels, scores in zip(rankings.labels.reshape(-1, SIZE), rankings.scores.reshape(-1, SIZE), strict=True):
        n_ranks = min(floor(multiple * (labels >= rel).sum() + 0.9), k)
        found = 0.0
        for score in np.unique(scores):
            above, tied = (scores > score).sum(), scores == score
            found += (labels[tied] >= rel).sum() * min(max(n_ranks - above, 0), tied.sum()) / tied.sum()
        values.append(found / n_ranks if n_ranks else np.nan)
    return values


@pytest.mark.parametrize("k", [3, 62, 63, 64, 1000])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("rel", [1, 2])
def test_rprec_multiples_match_loop(scores, k, rel):
    """Several multiples together, and each of them alone."""
    rankings = rankings_of(scores)
    metrics = [f"Rprec(mult={multiple}, rel={rel})@{k}" for multiple in MULTIPLES]
    found = fn.evaluate(rankings, metrics=metrics).values
    for column, (metric, multiple) in enumerate(zip(metrics, MULTIPLES, strict=True)):
        np.testing.assert_allclose(found[:, column], expected(rankings, multiple, rel, k), rtol=1e-13)
        np.testing.assert_array_equal(found[:, column], fn.evaluate(rankings, metrics=metric).values[:, 0])
