"""
Baselines: the same threads on the same arrays, which only add up the scores and the labels.

Each thread takes chunks of 2^18 documents, as the engine does. Scores are summed as float32 or float64, integers as
int64.

The *ordered sum*, called the baseline, adds in the order of the array. Integers are added in vectors. Floats are
added one after the other, some 3 processor cycles each, which is slower than memory. The goals are multiples of it.

The *bandwidth* sum may add floats in any order, and so in vectors: memory bandwidth is its limit. Tables have a column
for each, so that the two are not confused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np

from benchmarks.lib.machine import count_cpus
from benchmarks.lib.workloads import Array, Workload

CHUNK_DOCUMENTS = 1 << 18


def _sum(values, zero):
    """Sum an array from index 0: numba vectorises no loop whose first index could be negative."""
    total = zero
    for d in range(values.shape[0]):
        total += values[d]
    return total


sum_in_order = numba.njit(nogil=True)(_sum)
sum_in_any_order = numba.njit(nogil=True, fastmath={"reassoc"})(_sum)


def prepare_ordered_sum(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """Compile and return the baseline: a call that returns the sum of the workload's arrays, added in order."""
    return _prepare_sum(workload, sum_in_order, threads)


def prepare_bandwidth_sum(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """Compile and return a call that returns the sum of the workload's arrays at the speed of memory."""
    return _prepare_sum(workload, sum_in_any_order, threads)


def _prepare_sum(workload: Workload, kernel: Any, threads: int | None) -> Callable[[], float]:
    """Return a call that sums the workload's arrays with a kernel on several threads."""
    columns = [(values, _make_zero(values)) for values in (workload.scores, workload.labels)]
    n_threads = count_cpus() if threads is None else threads
    starts = range(0, workload.n_documents, CHUNK_DOCUMENTS)

    def run() -> float:
        sums: list[float] = []

        def add_chunk(start: int) -> None:
            chunk = slice(start, start + CHUNK_DOCUMENTS)
            sums.extend(float(kernel(values[chunk], zero)) for values, zero in columns)

        run_on_threads(starts, add_chunk, min(n_threads, len(starts)))
        return sum(sums)

    for values, zero in columns:
        kernel(values[:0], zero)
    return run


def run_on_threads(items: Iterable[Any], function: Callable[[Any], None], n_threads: int) -> None:
    """Call the function with each item on this thread and on new ones, which take the items from one queue."""
    queue = iter(items)
    lock = threading.Lock()
    end = object()

    def work() -> None:
        while True:
            with lock:
                item = next(queue, end)
            if item is end:
                return
            function(item)

    helpers = [threading.Thread(target=work) for _ in range(n_threads - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()


def _make_zero(values: Array) -> Any:
    """Return the start of a sum, whose type is the type of the sum."""
    return values.dtype.type(0) if values.dtype.kind == "f" else np.int64(0)
