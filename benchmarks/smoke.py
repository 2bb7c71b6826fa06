"""
A minute's check: the values equal scikit-learn's, and we are at least three times as fast.

Usage: python benchmarks/smoke.py

The figure in the README comes from sklearn_ratio.py; this one is small, on whatever machine, and only there to notice
when something has gone badly wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import sklearn_ratio

N_QUERIES, N_DOCUMENTS = 20_000, 100
LEAST_RATIO = 3


def main() -> int:
    """Prove, measure, judge."""
    labels, scores = sklearn_ratio.make(N_QUERIES, N_DOCUMENTS)
    sklearn_ratio.prove(labels, scores)
    ratio = sklearn_ratio.measure(labels, scores, repeat=3)["ratio"]
    print(f"nDCG@10 of {N_QUERIES} x {N_DOCUMENTS}: equal to scikit-learn's, {ratio} times as fast")
    return 0 if ratio >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
