"""Limits suite: what bounds the time of many metrics, hits below rank 10 and memory for the output."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.lib.baseline import run_on_threads
from benchmarks.lib.machine import count_cpus
from benchmarks.lib.suite import Options, Report, Row, Suite, make_row
from benchmarks.lib.timing import time_alternately
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import RECIPES, TREC, Workload, make_workload, prepare_evaluation

BASE = "sparse8"
ALL_RANKS = ("nDCG",)
MANY = ("everything", "all_trec")
CHUNK_DOCUMENTS = 1 << 20  # some chunks of the engine: many metrics share a larger one
MIN_SECONDS = 0.5


def measure(options: Options) -> Report:
    """Measure the suite's figures."""
    return {"figures": measure_shared_hits(options.scale, options.repeat)}


def measure_shared_hits(scale: float, repeat: int) -> list[Row]:
    """Compare many metrics with nDCG of all ranks, whose hits they share, and with writing their output alone."""
    base = make_workload(BASE, scale)
    all_ranks = {"default": replace(base, metrics=ALL_RANKS), TREC: replace(base, metrics=ALL_RANKS, convention=TREC)}
    workloads = {"nDCG@10": base, **all_ranks, **{name: make_workload(name, scale) for name in MANY}}
    calls: dict[str, Callable[[], Any]] = {name: prepare_evaluation(workload) for name, workload in workloads.items()}
    for name, call in calls.items():
        verify_values(workloads[name], call())
    calls["writing"] = prepare_writing(workloads["all_trec"])
    seconds = time_alternately(calls, repeat, MIN_SECONDS)
    base_seconds = seconds["nDCG@10"]
    rows = [
        make_row("nDCG of all ranks against nDCG@10", seconds["default"] / base_seconds, "×"),
        make_row("writing an output as large as all_trec's, against nDCG@10", seconds["writing"] / base_seconds, "×"),
    ]
    for name in MANY:
        ratio = seconds[name] / seconds[workloads[name].convention]
        what = f"{name} against nDCG of all ranks, which has the same hits"
        rows.append(make_row(what, ratio, "×", at_most=RECIPES[name].limit))
    return rows


def prepare_writing(workload: Workload) -> Callable[[], Any]:
    """Return a call that only writes the values of an evaluation, in chunks on the same number of threads."""
    n_chunks = max(1, workload.n_documents // CHUNK_DOCUMENTS)
    bounds = np.linspace(0, workload.n_queries, n_chunks + 1).astype(int).tolist()
    chunks = [slice(*pair) for pair in itertools.pairwise(bounds)]

    def write() -> Any:
        values = np.empty((len(workload.metrics), workload.n_queries))
        run_on_threads(chunks, lambda chunk: values[:, chunk].fill(1.0), count_cpus())
        return values

    return write


SUITE = Suite(measure, ("hits",), is_published=True)
