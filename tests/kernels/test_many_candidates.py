"""Queries with many candidates, whose hits are counted or sorted apart from all others."""

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.conventions import parse_convention
from fastndcg.engine import run as engine
from fastndcg.kernels.ranking.rank import COUNT, SORT
from fastndcg.metrics.metric import parse_metrics

HARD = {
    "both signs": lambda generator, n: generator.standard_normal(n),
    "zeros of both signs": lambda generator, n: generator.choice([-0.0, 0.0, 1e-45, -1e-45], n),
    "without bounds": lambda generator, n: generator.choice([np.inf, -np.inf, 3e38, -3e38, 1.0], n),
    "few bytes": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-23,
    "the last byte": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-52,
    "alike": lambda generator, n: np.full(n, -2.5),
}


@pytest.mark.parametrize("strategy", [COUNT, SORT], ids=["count", "sort"])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rank_matches_brute_force_with_many_candidates(dtype, kind, strategy):
    """Values of many candidates that are counted or sorted equal the reference."""
    generator = np.random.default_rng(5)
    sizes = np.array([65, 70, 128])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = HARD[kind](generator, offsets[-1]).astype(dtype)
    scores[offsets[1:] - 1] = scores[offsets[:-1]]  # neither end says which bytes differ
    labels = generator.integers(1, 3, offsets[-1], "u1")
    labels[offsets[2] : offsets[2] + 60] = 0
    asked = parse_metrics("ndcg,P@40,AP,RR")

    for ties in ("input", "worst"):
        convention = parse_convention("default").replace(ties=ties)
        found = engine.run(fn.Rankings(labels, scores, offsets), asked, convention, strategy=strategy).values

        expected = fn.reference.evaluate(labels, scores, asked, offsets=offsets, convention=convention).values
        np.testing.assert_allclose(found, expected, rtol=1e-12)
