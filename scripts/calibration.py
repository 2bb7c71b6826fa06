"""
Simulate the coverage of 95 % intervals at 200 queries: the rates of docs/how_it_works/statistics_calibration.md.

Usage: python scripts/calibration.py [SEEDS]

A seed means 2,500 simulations. 40 seeds, the default, give rates with a standard error of 0.07 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "statistics"))

import numpy as np
from test_interval_coverage import DIFFERENCES, exponential, few_differ, fewer_differ, held, held_mean, normal, peaked


def few_won(seed: int, n: int, n_sets: int, lift: float) -> list[np.ndarray]:
    """Draw values of two systems of which one wins one query in ten and, without the lift, loses none."""
    generator = np.random.default_rng(seed)
    won = np.where(generator.random((n, n_sets)) < 0.1, generator.exponential(0.3, (n, n_sets)), 0)
    return [np.zeros((n, n_sets)), won - 0.03 + lift]


def main() -> None:
    """Simulate and print."""
    seeds = range(100, 100 + int(sys.argv[1] if len(sys.argv) > 1 else 40))  # none that the tests use
    n = len(seeds) * len(DIFFERENCES)
    for interval in ("percentile", "bca", "t", "poisson"):
        for values in (normal, peaked, exponential, few_differ, fewer_differ, few_won):
            rate = sum(held(interval, values, seed) for seed in seeds) / n
            print(f"{interval:10}  differences, {values.__name__:12}  {100 * rate:.2f} %", flush=True)
        rate = sum(held_mean(interval, seed) for seed in seeds) / n
        print(f"{interval:10}  {'mean':25}  {100 * rate:.2f} %", flush=True)


if __name__ == "__main__":
    main()
