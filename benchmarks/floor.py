"""
The floor: what it costs to read the arrays once, and the yardstick of every figure.

The kernel adds up the scores and adds up the labels, and does nothing else. It may add in any order (`reassoc`), so
that the compiler uses vectors for floats as for integers: sums in the order given would wait for each addition, and
cost five times as much as reading does. Scores are added as float32 or float64, as they are; integers as int64. The
arrays are cut into chunks of as many documents as in the engine, and as many threads as there take them in turn.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import numba
import numpy as np
from workloads import Array, Workload

from fastndcg.threads import available_cpus

CHUNK_DOCUMENTS = 1 << 18


@numba.njit(nogil=True, fastmath={"reassoc"})
def add_up(values, start, stop, zero):
    """Sum of values[start:stop]."""
    total = zero
    for d in range(start, stop):
        total += values[d]
    return total


def floor(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """Everything compiled; what is returned adds up the workload's arrays, and gives the sum."""
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
                stop = min(first + CHUNK_DOCUMENTS, n_documents)
                sums.extend(float(add_up(values, first, stop, zero)) for values, zero in columns)

        helpers = [threading.Thread(target=work) for _ in itertools.repeat(None, n_threads - 1)]
        for helper in helpers:
            helper.start()
        work()
        for helper in helpers:
            helper.join()
        return sum(sums)

    for values, zero in columns:
        add_up(values, 0, 0, zero)
    return run


def _zero(values: Array) -> Array:
    """What a sum starts from: its type is that of the sum."""
    return values.dtype.type(0) if values.dtype.kind == "f" else np.int64(0)
