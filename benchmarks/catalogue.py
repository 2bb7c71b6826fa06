"""
Print what each metric of the catalogue costs beside nDCG@10, and save it.

Usage: python benchmarks/catalogue.py [--scale S] [--repeat N] [--only METRIC ...] [--json FILE]

On the workload sparse8, or with --workload on another. A metric that takes a cutoff is asked for at 10, beside
nDCG@10; one that looks at all ranks is asked for beside nDCG@10 and num_rel_ret, which looks at them too: the ranks
below 10 are found once, whatever is asked for there. Both are told in per cent of nDCG@10 alone; so is what these ranks
cost. A cost is the median of differences, each of two calls that follow one another: it is less than times vary by.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from timing import about, digits, timed
from workloads import NDCG, RECIPES, Workload, make

import fastndcg as fn
from fastndcg.catalog import CATALOG

GOAL = 15.0  # per cent of nDCG@10
DEEP = ("num_rel_ret",)
TURNS = 21


def main() -> int:
    """Measure, print, save; 1 if a metric costs more than its goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=TURNS)
    parser.add_argument("--workload", default="sparse8", choices=RECIPES)
    parser.add_argument("--only", nargs="+", default=list(CATALOG), metavar="METRIC")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = measure(make(asked.workload, asked.scale), [fn.Metric.parse(text) for text in asked.only], asked.repeat)
    print(f"{'metric':<28} {'per cent of nDCG@10':>20}")
    for row in rows:
        print(f"{row['metric']:<28} {row['per cent']:>20}  {'' if row['met'] else 'more than the goal'}".rstrip())
    if asked.json is not None:
        found = about() | {"scale": asked.scale, "workload": asked.workload, "metrics": rows}
        asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(not all(row["met"] for row in rows))


def measure(workload: Workload, metrics: list[fn.Metric], repeat: int) -> list[dict[str, Any]]:
    """What each metric adds to the time of nDCG@10, in per cent of it; first what all ranks add."""
    alone, deep = evaluating(workload, NDCG), evaluating(workload, (*NDCG, *DEEP))
    rows = [{"metric": "all ranks", "per cent": digits(cost(alone, alone, deep, repeat), 3), "met": True}]
    for one in metrics:
        beside = alone if one.record.takes_k else deep
        added = cost(alone, beside, evaluating(workload, asked_with(one)), repeat)
        rows.append({"metric": str(shown(one)), "per cent": digits(added, 3), "met": added <= GOAL})
    return rows


def cost(alone: Callable[[], Any], beside: Callable[[], Any], longer: Callable[[], Any], repeat: int) -> float:
    """How much longer a call takes than another, in per cent of the first."""
    longer()
    turns = [[timed(call)[0] for call in (alone, beside, longer)] for _ in range(repeat)]
    return 100 * statistics.median((more - less) / first for first, less, more in turns)


def shown(metric: fn.Metric) -> fn.Metric:
    """The metric with its cutoff."""
    return metric @ 10 if metric.k is None and metric.record.takes_k else metric


def asked_with(metric: fn.Metric) -> tuple[Any, ...]:
    """What is evaluated: the metric, and what it is compared with."""
    return (*NDCG, shown(metric)) if metric.record.takes_k else (*NDCG, *DEEP, metric)


def evaluating(workload: Workload, metrics: tuple[Any, ...]) -> Callable[[], Any]:
    """A call that evaluates metrics on the workload."""
    return lambda: fn.evaluate(workload.labels, workload.scores, metrics, offsets=workload.offsets).values


if __name__ == "__main__":
    sys.exit(main())
