"""What the goals of many metrics come up against: hits below rank 10, which nDCG@10 leaves out, and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from proof import prove
from timing import available_cpus, digits, interleaved
from workloads import RECIPES, TREC, Workload, make, ours

from fastndcg import engine
from fastndcg.arguments import plan_of
from fastndcg.conventions import parse_convention
from fastndcg.metric import parse_metrics
from fastndcg.rankings import Rankings
from fastndcg.threads import run_all

BASE, ALL_RANKS = "sparse8", ("nDCG",)
MANY = ("everything", "all_trec")
LEAST_SECONDS = 0.5

Row = dict[str, Any]


def shared_hits(scale: float, repeat: int) -> list[Row]:
    """Many metrics against nDCG of all ranks, whose hits they share; and what writing so many values takes alone."""
    base = make(BASE, scale)
    deep = {"default": replace(base, metrics=ALL_RANKS), TREC: replace(base, metrics=ALL_RANKS, convention=TREC)}
    workloads = {"nDCG@10": base, **deep, **{name: make(name, scale) for name in MANY}}
    calls: dict[str, Callable[[], Any]] = {name: ours(workload) for name, workload in workloads.items()}
    for name, call in calls.items():
        prove(workloads[name], call())
    calls["writing"] = writing(workloads["all_trec"])
    taken = interleaved(calls, repeat, LEAST_SECONDS)
    rows = [
        _row("nDCG of all ranks against nDCG@10", taken["default"] / taken["nDCG@10"]),
        _row("an output as large as all_trec's written and nothing else, against nDCG@10",
             taken["writing"] / taken["nDCG@10"]),
    ]  # fmt: skip
    for name in MANY:
        ratio, goal = taken[name] / taken[workloads[name].convention], RECIPES[name].limit
        what = f"{name} against nDCG of all ranks, which has the same hits"
        rows.append(_row(what, ratio) | {"goal": f"≤ {goal:g} ×", "met": ratio <= goal})
    return rows


def writing(workload: Workload) -> Callable[[], Any]:
    """A call that writes as many values as an evaluation of the workload, in the same chunks on as many threads."""
    rankings = Rankings(workload.labels, workload.scores, workload.offsets)
    plan = plan_of(parse_metrics(workload.metrics), parse_convention(workload.convention))
    threads = available_cpus()
    spans = engine.cut(rankings, engine.CHUNK_DOCUMENTS << plan.n_doubled, threads)

    def write() -> Any:
        values = np.empty((len(plan.metrics), rankings.n_queries))
        run_all(spans, lambda: lambda span: values[:, slice(*span)].fill(1.0), threads)
        return values

    return write


def _row(what: str, ratio: float) -> Row:
    return {"what": what, "value": digits(ratio, 3), "unit": "×"}
