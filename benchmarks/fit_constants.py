"""
Fit the constants by which a ranking strategy, a sort and the size of chunks are chosen, on a quiet machine.

Usage: python -m benchmarks.fit_constants [--seconds N]

Times the engine on one thread with each strategy forced, fits the linear models of `choose_strategy` and
`is_counting_faster` (fastndcg/kernels/ranking/rank.py), and prints each constant beside the one in the code, and how
much slower the choice of the code is than the fastest strategy, over all sizes. Then it times chunks of 2**14 to 2**21
documents. A constant in the code is renewed if its choice costs more than a tenth; its comment names the machine.
"""

from __future__ import annotations

import argparse
import platform
import time
from itertools import product

import numpy as np

import fastndcg as fn
from benchmarks.data import TWELVE
from fastndcg.engine.run import run
from fastndcg.kernels.ranking.rank import COUNT, SELECT, SORT
from fastndcg.kernels.ranking.sort import LEAST_OTHERS
from fastndcg.named_conventions import conventions

DEFAULT = conventions["default"]
DOCUMENTS = 1 << 19  # of all queries of a measurement
LENGTHS = (50, 100, 200, 500, 1000, 4000)
CANDIDATES = (1, 4, 16, 48)
MANY_CANDIDATES = (100, 300, 1000, 3000)
LONG = (1000, 4000, 30_000)
FEW_CANDIDATES = (20, 60, 100, 200, 400, 1000)
DTYPES = (np.float32, np.float64)
IN_CODE = {
    "COUNT, a candidate": 5.0, "COUNT, a candidate and vector": 0.35, "SELECT": 85.0, "SELECT, a vector": 1.5,
    "counting all, a candidate": 5.0, "counting all, a candidate and vector": 0.7, "SORT": 1000.0,
    "SORT, a document": 5.0, "SORT, a document and byte": 1.5, "SORT, a candidate": 12.0,
    "SORT candidates": 1000.0, "SORT candidates, a document": 5.0, "SORT candidates, a candidate": 90.0,
}  # fmt: skip


def measure(length: int, n_candidates: int, dtype: type, metric: str, strategy: int, seconds: float) -> float:
    """Return the least time of a query in nanoseconds."""
    generator = np.random.default_rng(length)
    n_queries = max(1, DOCUMENTS // length)
    labels = np.zeros((n_queries, length), np.int8)
    places = generator.random((n_queries, length)).argsort(1)[:, :n_candidates]
    np.put_along_axis(labels, places, 1, 1)
    scores = generator.random(n_queries * length).astype(dtype)
    rankings = fn.Rankings(labels.ravel(), scores, np.arange(n_queries + 1) * length)
    metrics = (fn.Metric.parse(metric),)
    best, stop = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < stop or best == np.inf:
        start = time.perf_counter()
        run(rankings, metrics, DEFAULT, threads=1, strategy=strategy)
        best = min(best, time.perf_counter() - start)
    return best * 1e9 / n_queries


def fit(rows: list[tuple[float, list[float]]]) -> np.ndarray:
    """Return the coefficients of a linear model with the least relative squared error."""
    times = np.array([time_ for time_, _ in rows])
    terms = np.array([terms for _, terms in rows]) / times[:, None]
    return np.linalg.lstsq(terms, np.ones(len(times)), rcond=None)[0]


def report(names: list[str], fitted: np.ndarray, times: np.ndarray, chosen: np.ndarray) -> None:
    """Print constants, fitted and in the code, and the cost of the choices that the code makes."""
    for name, value in zip(names, fitted, strict=True):
        print(f"  {name:40} {value:9.2f} ns   in the code {IN_CODE[name]:g}")
    loss = times[np.arange(len(times)), chosen] / times.min(1)
    print(f"  chosen by the code: {loss.mean():.3f} of the fastest on average, at most {loss.max():.2f}\n")


def fit_window(seconds: float) -> None:
    """Fit COUNT against SELECT: up to 64 candidates, ten ranks."""
    rows, times, chosen = [], [], []
    for length, n, dtype in product(LENGTHS, CANDIDATES, DTYPES):
        vectors = length * np.dtype(dtype).itemsize / 64
        pair = [measure(length, n, dtype, "rr@10", strategy, seconds) for strategy in (COUNT, SELECT)]
        rows += [(pair[0], [1, vectors, n, n * vectors, 0, 0]), (pair[1], [1, vectors, 0, 0, 1, vectors])]
        times.append(pair)
        chosen.append(int(85.0 + 1.5 * vectors < n * (5.0 + 0.35 * vectors) or n > 16))
    report(list(IN_CODE)[:4], fit(rows)[2:], np.array(times), np.array(chosen))


def fit_many(seconds: float) -> None:
    """Fit counting against sorting: more than 64 candidates, all ranks."""
    rows, times, chosen = [], [], []
    for length, n, dtype in product(LENGTHS, MANY_CANDIDATES, DTYPES):
        n_bytes = np.dtype(dtype).itemsize
        vectors = length * n_bytes / 64
        if n > length or n * LEAST_OTHERS <= length:
            continue
        pair = [measure(length, n, dtype, "map", strategy, seconds) for strategy in (COUNT, SORT)]
        rows.append((pair[0], [1, length, n, n * vectors, 0, 0, 0, 0]))
        rows.append((pair[1], [1, length, 0, 0, 1, length, length * n_bytes, n]))
        times.append(pair)
        chosen.append(int(n * (5.0 + 0.7 * vectors) >= 1000.0 + length * (5.0 + 1.5 * n_bytes) + 12.0 * n))
    report(list(IN_CODE)[4:10], fit(rows)[2:], np.array(times), np.array(chosen))


def fit_located(seconds: float) -> None:
    """Fit counting against sorting of the candidates alone, among which all documents are located."""
    rows, times, chosen = [], [], []
    for length, n, dtype in product(LONG, FEW_CANDIDATES, DTYPES):
        if n * LEAST_OTHERS > length:
            continue
        pair = [measure(length, n, dtype, "map", strategy, seconds) for strategy in (COUNT, SORT)]
        rows.append((pair[1], [1, length, n]))
        times.append(pair)
        vectors = length * np.dtype(dtype).itemsize / 64
        chosen.append(int(n * (5.0 + 0.7 * vectors) >= 1000.0 + 5.0 * length + 90.0 * n))
    report(list(IN_CODE)[10:], fit(rows), np.array(times), np.array(chosen))


def time_chunks(seconds: float) -> None:
    """Print the time of twelve metrics by the size of chunks, as multiples of the fastest."""
    generator = np.random.default_rng(0)
    labels = (generator.random((60_000, 100)) < 0.05).astype(np.int8).ravel()
    rankings = fn.Rankings(labels, generator.random(labels.size, np.float32), np.arange(60_001) * 100)
    metrics = tuple(map(fn.Metric.parse, TWELVE))
    least = {}
    for power in range(14, 22):
        stop, best = time.perf_counter() + seconds * 10, np.inf
        while time.perf_counter() < stop or best == np.inf:
            start = time.perf_counter()
            run(rankings, metrics, DEFAULT, threads=1, chunk_documents=1 << power)
            best = min(best, time.perf_counter() - start)
        least[power] = best
    for power, best in least.items():
        print(f"  chunks of 2**{power} documents: {best / min(least.values()):.3f} of the fastest")


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each measurement")
    seconds = parser.parse_args().seconds
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}, {time.strftime('%Y-%m-%d')}\n")
    fit_window(seconds)
    fit_many(seconds)
    fit_located(seconds)
    time_chunks(seconds)


if __name__ == "__main__":
    main()
