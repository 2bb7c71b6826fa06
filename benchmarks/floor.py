"""
The floor: the same threads on the same arrays, only adding up the scores and adding up the labels.

One loop for each array, over chunks of as many documents as in the engine, which as many threads as there take in turn.
Scores are added as float32 or float64, as they are; integers as int64.

`floor` adds in the order given. Integers are added in vectors; floats one after the other, each addition waiting for
the one before, which takes the time of some three processor cycles a document and is slower than memory.
`reading` may add floats in any order, so in vectors too: it waits for memory alone. The goals are multiples of the
floor; the time of reading stands beside it, so that nobody takes the one for the other.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from workloads import Array, Workload

from fastndcg.cpus import available_cpus

CHUNK_DOCUMENTS = 1 << 18


def add_up(values, zero):
    """Sum of an array. It begins at 0: numba does not vectorise loops whose first index could be negative."""
    total = zero
    for d in range(values.shape[0]):
        total += values[d]
    return total


in_order = numba.njit(nogil=True)(add_up)
in_any_order = numba.njit(nogil=True, fastmath={"reassoc"})(add_up)


def floor(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """Everything compiled; what is returned adds up the workload's arrays in the order given, and gives the sum."""
    return adding(workload, in_order, threads)


def reading(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """The same as fast as memory goes."""
    return adding(workload, in_any_order, threads)


def adding(workload: Workload, kernel: Any, threads: int | None) -> Callable[[], float]:
    """A call that adds up the workload's arrays with a kernel, on threads of its own."""
    columns = [(values, _zero(values)) for values in (workload.scores, workload.labels)]
    n_documents = workload.n_documents
    n_threads = available_cpus() if threads is None else threads
    n_threads = min(n_threads, -(-n_documents // CHUNK_DOCUMENTS))

    def run() -> float:
        firsts = iter(range(0, n_documents, CHUNK_DOCUMENTS))
        lock, sums = threading.Lock(), []

        def work() -> None:
            while True:
                with lock:
                    first = next(firsts, None)
                if first is None:
                    return
                chunk = slice(first, first + CHUNK_DOCUMENTS)
                sums.extend(float(kernel(values[chunk], zero)) for values, zero in columns)

        helpers = [threading.Thread(target=work) for _ in itertools.repeat(None, n_threads - 1)]
        for helper in helpers:
            helper.start()
        work()
        for helper in helpers:
            helper.join()
        return sum(sums)

    for values, zero in columns:
        kernel(values[:0], zero)
    return run


def _zero(values: Array) -> Any:
    """What a sum starts from: its type is that of the sum."""
    return values.dtype.type(0) if values.dtype.kind == "f" else np.int64(0)
