"""
How many times as fast as scikit-learn: nDCG@10 of 2-D arrays, the case that scikit-learn is made for.

Usage: python benchmarks/sklearn_ratio.py [--queries N] [--documents N] [--repeat N] [--json FILE]

`sklearn.metrics.ndcg_score(labels, scores, k=10, ignore_ties=True)` against `fastndcg.ndcg(labels, scores, k=10)`, on
the same arrays. All scores of a query differ, so that both must give the same values: that is proven first.
The figure is the ratio of the shortest times, taken in turns. Compiling is not in it; reading the arrays is.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score

import fastndcg as fn
from fastndcg.threads import available_cpus

SHARES = (0.9, 0.04, 0.03, 0.02, 0.01)  # of labels 0 to 4
N_PROVEN = 1000  # queries that are compared one by one
TOLERANCE = 1e-12


def main() -> None:
    """Make arrays, prove, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    labels, scores = make(arguments.queries, arguments.documents)
    prove(labels, scores)
    found = about() | measure(labels, scores, arguments.repeat)
    print(json.dumps(found, indent=1))
    arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def make(n_queries: int, n_documents: int) -> tuple[Any, Any]:
    """Labels and scores; no two scores of a query are equal."""
    rng = np.random.default_rng(2002)
    labels = rng.choice(len(SHARES), size=(n_queries, n_documents), p=SHARES).astype("i1")
    scores = np.empty((n_queries, n_documents), "f4")
    for first in range(0, n_queries, 10_000):
        part = scores[first : first + 10_000]
        part[:] = np.arange(n_documents)
        part[:] = rng.permuted(part, axis=1)
        part += rng.uniform(0, 0.9, size=part.shape).astype("f4")
    return labels, scores


def ours(labels: Any, scores: Any, threads: int | None = None) -> Any:
    """One value a query; scikit-learn gives 0 where nothing is relevant."""
    return fn.ndcg(labels, scores, k=10, convention="default(undefined=0)", threads=threads)


def theirs(labels: Any, scores: Any) -> float:
    """The mean over queries, which is all that scikit-learn gives."""
    return float(ndcg_score(labels, scores, k=10, ignore_ties=True))


def prove(labels: Any, scores: Any) -> None:
    """Compare the mean over all queries, and the values of some queries one by one, or give up."""
    values = ours(labels, scores)
    mean = theirs(labels, scores)
    if not abs(values.mean() - mean) <= TOLERANCE:
        raise SystemExit(f"the means differ: {values.mean()!r}, and {mean!r} from scikit-learn")
    for query in np.linspace(0, len(labels) - 1, min(N_PROVEN, len(labels))).astype(int):
        value = theirs(labels[query : query + 1], scores[query : query + 1])
        if not abs(values[query] - value) <= TOLERANCE:
            raise SystemExit(f"query {query} differs: {values[query]!r}, and {value!r} from scikit-learn")


def measure(labels: Any, scores: Any, repeat: int) -> dict[str, Any]:
    """The shortest of several times of each, taken in turns."""
    contenders: dict[str, Callable[[], Any]] = {
        "fastndcg": lambda: ours(labels, scores),
        "fastndcg, 1 thread": lambda: ours(labels, scores, threads=1),
        "scikit-learn": lambda: theirs(labels, scores),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeat):
        for name, contender in contenders.items():
            started = time.perf_counter()
            contender()
            times[name].append(time.perf_counter() - started)
    seconds = {name: min(taken) for name, taken in times.items()}
    return {
        "queries": len(labels),
        "documents": labels.shape[1],
        "seconds": {name: float(f"{taken:.4g}") for name, taken in seconds.items()},
        "ratio": float(f"{seconds['scikit-learn'] / seconds['fastndcg']:.3g}"),
        "ratio of 1 thread": float(f"{seconds['scikit-learn'] / seconds['fastndcg, 1 thread']:.3g}"),
    }


def about() -> dict[str, Any]:
    """Where and with what this was measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor(),
        "cpus": available_cpus(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("fastndcg", "numba", "numpy", "scikit-learn")},
    }


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
