"""Scaling suite: two threads against one, time per document by size, memory, and the time of one small query."""

from __future__ import annotations

import functools
import timeit
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import fastndcg as fn
from benchmarks.lib.baseline import prepare_bandwidth_sum, prepare_ordered_sum
from benchmarks.lib.contenders import CONTENDERS, METRIC, Case, K, compare_values
from benchmarks.lib.kernel_calls import prepare_kernels
from benchmarks.lib.machine import count_cpus, find_free_memory, read_memory_field, reset_memory_peak
from benchmarks.lib.process import call_in_process
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import make_sized_workload, make_workload, prepare_evaluation

WORKLOAD = "sparse8"
SIZES = (10**6, 10**7, 10**8, 5 * 10**8)
BYTES_PER_DOCUMENT = 8  # of the arrays, the output and the random numbers
MIN_SPEEDUP = 1.85
MAX_SPREAD = 1.15
MEMORY_DOCUMENTS = 10**8
MAX_MEMORY_MIB = 64
MAX_MICROSECONDS = {"fn.ndcg": 15.0, "Evaluator": 8.0}
MIN_SECONDS = 0.5
NUMPY_LINE = "`gains[np.argsort(-scores)[:10]] @ discounts`"
# microseconds of the same query on the machine that the goals were set on, which turn the goals into ratios
PEER_MICROSECONDS = {"scikit-learn": 400.0, "pytrec_eval-terrier": 22.0, NUMPY_LINE: 4.0}

Calls = dict[str, Callable[[], Any]]


def measure_threads(options: Options) -> list[Row]:
    """Compare two threads with one."""
    what = f"2 threads against 1, {WORKLOAD}"
    if count_cpus() < 2:
        return [make_missing_row(what, "this process may use one CPU")]
    workload = make_workload(WORKLOAD, options.scale)
    verify_values(workload, prepare_evaluation(workload, 2)())
    kinds = {"fastndcg": prepare_evaluation, "baseline": prepare_ordered_sum, "bandwidth": prepare_bandwidth_sum}
    calls = {(name, n): prepare(workload, n) for name, prepare in kinds.items() for n in (1, 2)}
    seconds = time_alternately(calls, options.repeat, MIN_SECONDS)
    speedups = {name: seconds[name, 1] / seconds[name, 2] for name in kinds}
    detail = f"{seconds['fastndcg', 1] * 1e3:.3g} ms and {seconds['fastndcg', 2] * 1e3:.3g} ms"
    detail += "".join(f"; {name} {speedups[name]:.3g} ×" for name in ("baseline", "bandwidth"))
    return [make_row(what, speedups["fastndcg"], "×", at_least=MIN_SPEEDUP, detail=detail)]


def measure_sizes(options: Options) -> list[Row]:
    """Measure the time per document of each size that fits into memory."""
    rows = []
    times = []
    baseline_times = []
    for size in SIZES:
        what = f"{size:.0e} documents, {WORKLOAD}".replace("e+0", "e")
        if size > SIZES[-1] * options.scale:
            continue
        if size * BYTES_PER_DOCUMENT > find_free_memory():
            reason = f"it needs {size * BYTES_PER_DOCUMENT / 2**30:.1f} GiB of free memory"
            rows.append(make_missing_row(what, reason))
            continue
        workload = make_sized_workload(WORKLOAD, size)
        calls = {"fastndcg": prepare_evaluation(workload), "baseline": prepare_ordered_sum(workload)}
        verify_values(workload, calls["fastndcg"]())
        seconds = time_alternately(calls, options.repeat, MIN_SECONDS)
        times.append(seconds["fastndcg"] / workload.n_documents * 1e9)
        baseline_times.append(seconds["baseline"] / workload.n_documents * 1e9)
        detail = f"{times[-1] / baseline_times[-1]:.3g} × baseline, {baseline_times[-1]:.3g} ns/document"
        rows.append(make_row(what, times[-1], "ns/document", detail=detail))
        del workload, calls  # frees the memory before the next size
    if len(times) < 2:
        return rows
    ratios = [time / baseline for time, baseline in zip(times, baseline_times, strict=True)]
    detail = f"of the baseline {_spread(baseline_times):.3g} ×; of multiples of the baseline {_spread(ratios):.3g} ×"
    what = f"highest over lowest of these {len(times)} sizes"
    return [*rows, make_row(what, _spread(times), "×", at_most=MAX_SPREAD, detail=detail)]


def _spread(values: list[float]) -> float:
    """Return the highest value divided by the lowest."""
    return max(values) / min(values)


def measure_memory(options: Options) -> list[Row]:
    """Measure the peak of memory above inputs and output, in a separate process."""
    n_documents = int(MEMORY_DOCUMENTS * options.scale)
    what = f"memory above inputs and output, {n_documents:.0e} documents".replace("e+0", "e")
    memory = call_in_process(__name__, "measure_peak", n_documents=n_documents)
    if "failed" in memory:
        return [make_missing_row(what, memory["failed"])]
    above = memory["peak"] - memory["before"] - memory["output"]
    detail = f"output {memory['output'] / 2**20:.3g} MiB"
    return [make_row(what, above / 2**20, "MiB", at_most=MAX_MEMORY_MIB, detail=detail)]


def measure_peak(n_documents: int) -> dict[str, int]:
    """Return this Linux process's memory in bytes: before an evaluation, at the peak, and of the output."""
    prepare_evaluation(make_sized_workload(WORKLOAD, 10**6))()  # compiles
    evaluate = prepare_evaluation(make_sized_workload(WORKLOAD, n_documents))
    reset_memory_peak()
    before = read_memory_field("VmRSS")
    values = evaluate()
    return {"before": before, "peak": read_memory_field("VmHWM"), "output": values.nbytes}


def measure_one_query(options: Options, n_calls: int = 200) -> list[Row]:
    """Measure one query of 100 documents, in alternation with the peers that the goals refer to."""
    rng = np.random.default_rng(100)
    labels = (rng.random(100) < 0.05).astype("u1")
    scores = rng.random(100, dtype="f4")
    offsets = np.array([0, 100])
    evaluator = fn.Evaluator(labels, METRIC, offsets=offsets)
    peers, missing = prepare_peers(Case(labels[None], scores[None]))
    calls: Calls = {
        "fn.ndcg": lambda: fn.ndcg(labels, scores, offsets, k=K),
        "Evaluator": lambda: evaluator.evaluate(scores),
        **peers,
    }
    if not numba.config.DISABLE_JIT:
        calls["the kernels of fn.ndcg alone"] = prepare_kernels(lambda: calls["fn.ndcg"])
    batches = {name: functools.partial(timeit.timeit, call, number=n_calls) for name, call in calls.items()}
    seconds = time_alternately(batches, options.repeat, MIN_SECONDS)
    rows = []
    for name, value in seconds.items():
        microseconds = value / n_calls * 1e6
        goal = MAX_MICROSECONDS.get(name)
        detail = "" if goal is None else ", ".join(
            f"{value / seconds[peer]:.3g} × {peer} (≤ {goal / PEER_MICROSECONDS[peer]:.3g})" for peer in peers
        )  # fmt: skip
        rows.append(make_row(f"one query of 100 documents, {name}", microseconds, "µs", at_most=goal, detail=detail))
    return rows + missing


def prepare_peers(case: Case) -> tuple[Calls, list[Row]]:
    """Return the calls of the peers that give the same value, and rows that say why others are missing."""
    discounts = 1 / np.log2(np.arange(2, K + 2))
    gains = case.labels[0].astype("f8")
    scores = case.scores[0]
    calls: Calls = {NUMPY_LINE: lambda: gains[np.argsort(-scores)[:K]] @ discounts}
    if not np.isclose(calls[NUMPY_LINE](), fn.dcg(case.labels, case.scores, k=K)[0], rtol=1e-12):
        raise SystemExit(f"{NUMPY_LINE} and fn.dcg must give the same value before they are timed, but they differ")
    missing: list[Row] = []
    for name in PEER_MICROSECONDS.keys() & CONTENDERS:
        entry = CONTENDERS[name]
        problem = entry.find_problem()
        if not problem:
            call = entry.setup(case)
            problem = "" if compare_values(entry, case, call())["agrees"] else "its value differs"
        if problem:
            missing.append(make_missing_row(f"one query of 100 documents, {name}", problem))
        else:
            calls[name] = call
    return dict(sorted(calls.items())), missing


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "threads": measure_threads,
    "sizes": measure_sizes,
    "memory": measure_memory,
    "one-query": measure_one_query,
}
SUITE = Suite(functools.partial(measure_parts, PARTS), tuple(PARTS), is_published=True)
