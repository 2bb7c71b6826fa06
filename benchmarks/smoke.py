"""
A minute's check: scaled-down workloads are right, and not much slower than history.jsonl says of such a machine.

Usage: python benchmarks/smoke.py

Every metric of the catalogue is compared with the reference besides. The yardstick is the ratio to the floor: that of
the last line which a machine of the same kind has, else the highest of other kinds. Whoever shares a machine gets three
tries.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import catalogue
import history
from timing import machine
from workloads import make

import fastndcg as fn

ALLOWED = 1.5  # times the recorded ratio
TRIES = 3
CATALOGUE = 0.002  # the scale at which every metric is compared with the reference


def main() -> int:
    """Prove, measure, judge."""
    catalogue.added(make("sparse8", CATALOGUE), list(map(fn.Metric.parse, catalogue.NAMES)), repeat=1)
    line = history.last(machine=machine())
    if line is None:
        print(f"nothing to compare with: history.jsonl has no line yet. Ratios to the floor: {history.small_ratios()}")
        return 0
    slow = list(history.SMALL)
    for _ in range(TRIES):
        found = {name: history.ratio_to_floor(name, history.SMALL[name]) for name in slow}
        slow = history.too_slow(found, line["smoke"], ALLOWED)
        for name, ratio in found.items():
            print(f"{name}: {ratio} x floor; recorded {line['smoke'].get(name, 'nowhere')} ({line['commit']})")
        if not slow:
            return 0
    print(f"more than {ALLOWED} x the recorded ratio, {TRIES} times: {', '.join(slow)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
