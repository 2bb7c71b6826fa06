"""
Compute how often the rank sets of equal systems all have the first place: the table of docs/guides/leaderboards.md.

Usage: python -m benchmarks.leaderboard_coverage [REPEATS]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fastndcg.statistics.leaderboard import _DataSets, _rank_values
from fastndcg.statistics.settings import Settings

CASES = [  # kind of values, systems, data sets, queries of each, what is resampled
    ("nDCG", 10, 1, 50, "queries"),
    ("nDCG", 10, 1, 20, "queries"),
    ("hits", 10, 1, 50, "queries"),
    ("rare", 10, 1, 50, "queries"),
    ("nDCG", 40, 1, 50, "queries"),
    ("nDCG", 10, 5, 20, "queries"),
    ("nDCG", 10, 20, 10, "datasets"),
    ("nDCG", 10, 8, 10, "datasets"),
]
BOOTSTRAPS = 100  # repeats in which ranks are resampled, too


def draw(generator: np.random.Generator, kind: str, n: int, n_systems: int) -> Any:
    """Return the values of systems that do not differ, on queries that are easy or hard for all."""
    ease = generator.beta(0.8, 0.8, (n, 1))
    if kind == "nDCG":
        return np.clip(ease + generator.normal(0, 0.2, (n, n_systems)), 0, 1)
    if kind == "hits":
        return (generator.random((n, n_systems)) < ease).astype("f8")
    common = generator.random((n, 1)) < 0.8
    return np.where(generator.random((n, n_systems)) < 0.1, ~common, common).astype("f8")


def measure(kind: str, n_systems: int, n_sets: int, n: int, unit: str, repeats: int) -> tuple[float, float]:
    """Return the share of repeats in which all rank sets have 1, by the leaderboard and by a bootstrap of ranks."""
    generator = np.random.default_rng(0)
    covered = 0
    bootstrapped = 0
    for seed in range(repeats):
        tables = [draw(generator, kind, n, n_systems) for _ in range(n_sets)]
        if unit == "datasets":
            tables = [table + generator.normal(0, 0.05, (1, n_systems)) for table in tables]
        values = _DataSets([str(place) for place in range(n_sets)], tables, [0] * n_systems, n_systems)
        bounds = (0.0, 1.0) if unit == "queries" else None
        names = [str(place) for place in range(n_systems)]
        settings = Settings(replicates=1000, seed=seed)
        board = _rank_values(values, names, "metric", "datasets", unit, settings, bounds, [])
        covered += all(row.rank_low == 1 for row in board.rows)
        if n_sets == 1 and seed < BOOTSTRAPS:
            means = tables[0][generator.integers(0, n, (300, n))].mean(axis=1)
            ranks = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=2)
            bootstrapped += bool((np.quantile(ranks, 0.025, axis=0) <= 1).all())
    return covered / repeats, bootstrapped / BOOTSTRAPS if n_sets == 1 else float("nan")


if __name__ == "__main__":
    n_repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for case in CASES:
        print(*case, *(f"{100 * share:.1f} %" for share in measure(*case, n_repeats)))
