"""
Replicates per second: bootstrap and randomisation against their arithmetic alone, and against SciPy.

Usage: python benchmarks/uncertainty.py [--queries N] [--replicates N] [--json FILE]

The arithmetic is one multiply-add for each value and replicate. Its floor is the faster of two: a matrix product of
ready-made weights and values by NumPy's BLAS on all CPUs, and our own kernel on weights that lie there already, on as
many threads. SciPy's functions work on one pair of systems, vectorised, and ours likewise, each with the method that
the other has: percentiles, our default, against percentiles first, then BCa, SciPy's default, against BCa. SciPy gets
batches of 100 resamples, with which it is several times faster than by default, all at once. Ours run on all CPUs and,
beside, on one. Take the times on a quiet machine: ours need both CPUs, SciPy's one.
Before a time counts, the standard deviation of the replicates is compared with s/√n, and p-values with SciPy's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from further import resident
from scipy import stats
from timing import about, digits, interleaved, timed

import fastndcg as fn
from fastndcg.kernels.resample import weighted_sums
from fastndcg.statistics import resampling, significance
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.design import make_design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.sums import Quantity, Sums
from fastndcg.threads import available_cpus, run_all

SYSTEMS, METRICS = 10, 5
MOST_FLOORS, LEAST_SPEEDUP = 3.0, 20.0
BATCH = 100  # of SciPy's resamples
MOST_WEIGHTS = 10**8  # at once, 800 MB
LARGE, MOST_VALUES = 10**6, 2.0

Row = dict[str, Any]


def values_of(n_queries: int) -> list[np.ndarray]:
    """Values from 0 to 1 of ten systems, as skewed as nDCG."""
    generator = np.random.default_rng(1)
    ease = generator.beta(0.7, 0.7, (n_queries, METRICS))
    return [np.clip(ease + generator.normal(0.01 * s, 0.2, ease.shape), 0, 1) for s in range(SYSTEMS)]


def floors(rows: np.ndarray, replicates: int) -> dict[str, Callable[[], Any]]:
    """The multiply-adds alone, for as many replicates."""
    generator = np.random.default_rng(2)
    n_weights = max(resampling.GROUP, min(1000, MOST_WEIGHTS // rows.shape[1]))
    n_parts = -(-replicates // n_weights)
    weights = generator.poisson(1.0, (n_weights, rows.shape[1])).astype("f8")
    values = np.ascontiguousarray(rows.T)

    def blas() -> None:
        for _ in range(n_parts):
            weights @ values

    counts = weights[: resampling.GROUP].astype("i1")

    def kernel() -> None:
        def make_worker() -> Callable[[int], None]:
            out = np.empty((resampling.GROUP, len(rows)))
            return lambda _: weighted_sums(counts, rows, out)

        run_all(range(0, replicates, resampling.GROUP), make_worker, available_cpus())

    return {"floor, BLAS": blas, "floor, kernel": kernel}


def against_floor(n_queries: int, replicates: int, repeat: int) -> list[Row]:
    """All systems and metrics at once."""
    columns, design = values_of(n_queries), make_design(np.arange(n_queries))
    settings = Settings(replicates=replicates)
    means = [Quantity(system, metric) for system in range(SYSTEMS) for metric in range(METRICS)]
    differences = [Quantity(q.system, q.metric, 0) for q in means if q.system]
    sums = Sums(columns, means + differences, design)
    contenders = {
        "bootstrap": lambda: resampling.bootstrap_sums(sums.rows, design, settings),
        "randomization": lambda: resampling.sign_sums(sums.rows, settings),
        "compare's analysis": lambda: Analysis(columns, means + differences, design, settings).tests(
            range(len(means), len(means) + len(differences))
        ),
        **floors(sums.rows, replicates),
    }
    spread = sums.quotients(contenders["bootstrap"]()).std(axis=0)
    expected = [q.values(columns).std() / np.sqrt(n_queries) for q in means + differences]
    if np.abs(spread / expected - 1).max() > 6 / np.sqrt(2 * replicates):
        raise SystemExit("the replicates are not spread as the means of resamples are")
    seconds = interleaved(contenders, repeat)
    floor = min(seconds["floor, BLAS"], seconds["floor, kernel"])
    size = f"{replicates:,} replicates of {SYSTEMS} systems × {METRICS} metrics × {n_queries:,} queries"
    rows = [{"what": f"{name}: {size}", "seconds": digits(taken), "floors": digits(taken / floor, 3)}
            for name, taken in seconds.items()]  # fmt: skip
    for row in rows[:2]:
        row |= {"goal": f"≤ {MOST_FLOORS:g} × floor", "met": row["floors"] <= MOST_FLOORS}
    return rows


def against_scipy(n_queries: int, replicates: int, repeat: int) -> list[Row]:
    """One pair of systems and one metric: interval, and p-value."""
    columns, design = [column[:, :1] for column in values_of(n_queries)[:2]], make_design(np.arange(n_queries))
    pair = Quantity(1, 0, 0)
    differences = pair.values(columns)
    settings = Settings(replicates=replicates)
    alone = replace(settings, threads=1)
    ours = {
        "bootstrap, percentile": lambda given: Analysis(columns, [pair], design, given).intervals[0],
        "bootstrap, BCa": lambda given: Analysis(columns, [pair], design, replace(given, interval="bca")).intervals[0],
        "permutation_test": lambda given: significance.randomization(Sums(columns, [pair], design), [0], given)[0],
    }
    theirs = scipys(differences, replicates)
    rows = []
    for name in ours:
        call = ours[name]
        prove_alike(name, call(settings), theirs[name](), differences, replicates)
        both = {"ours": lambda call=call: call(settings), "alone": lambda call=call: call(alone), "scipy": theirs[name]}
        seconds = interleaved(both, repeat)
        ratio = seconds["scipy"] / seconds["ours"]
        rows.append({
            "what": f"scipy.stats.{name}, one pair, {replicates:,} replicates of {n_queries:,} queries",
            "seconds": digits(seconds["ours"]), "scipy": digits(seconds["scipy"]), "times": digits(ratio, 3),
            "times, 1 thread": digits(seconds["scipy"] / seconds["alone"], 3),
            "goal": f"≥ {LEAST_SPEEDUP:g} ×", "met": ratio >= LEAST_SPEEDUP,
        })  # fmt: skip
    return rows


def scipys(differences: np.ndarray, replicates: int) -> dict[str, Callable[[], Any]]:
    """SciPy's way to each, vectorised."""
    generator = np.random.default_rng(3)
    given = {"n_resamples": replicates, "vectorized": True, "batch": BATCH, "rng": generator}

    def mean(values: np.ndarray, axis: int) -> np.ndarray:
        return values.mean(axis=axis)

    return {
        "bootstrap, percentile": lambda: stats.bootstrap((differences,), mean, method="percentile", **given),
        "bootstrap, BCa": lambda: stats.bootstrap((differences,), mean, method="BCa", **given),
        "permutation_test": lambda: stats.permutation_test((differences,), mean, permutation_type="samples", **given),
    }


def memory() -> Row:
    """The most memory above the values of a million queries, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True)
    bytes_of_values = LARGE * SYSTEMS * METRICS * 8
    times = int(done.stdout.split()[-1]) / bytes_of_values
    return {
        "what": f"memory of comparing {SYSTEMS} systems × {METRICS} metrics × {LARGE:,} queries above their values",
        "MiB": round(int(done.stdout.split()[-1]) / 2**20), "times the values": digits(times, 3),
        "goal": f"≤ {MOST_VALUES:g} × the values", "met": times <= MOST_VALUES,
    }  # fmt: skip


def measure_memory() -> None:
    """Compare, and print by how many bytes the most memory ever used grew."""
    metrics = (fn.nDCG @ 10, fn.AP, fn.RR, fn.P @ 5, fn.R @ 100)
    results = {
        f"system {place}": fn.Results(values, metrics, None, fn.conventions["default"])
        for place, values in enumerate(values_of(LARGE))
    }
    fn.compare(
        {name: fn.Results(result.values[:50], metrics, None, result.convention) for name, result in results.items()}
    )
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the highest so far
    before = resident("VmRSS")
    fn.compare(results, replicates=2 * resampling.GROUP)
    print(resident("VmHWM") - before)


def prove_alike(name: str, own: Any, other: Any, differences: np.ndarray, replicates: int) -> None:
    """Bounds and p-values lie within five Monte-Carlo standard errors of SciPy's."""
    if name.startswith("bootstrap"):
        error = differences.std() / np.sqrt(len(differences))
        allowed = 5 * error * np.sqrt(2 * 0.025 * 0.975 / replicates) / stats.norm.pdf(1.96)
        apart = abs(own.low - other.confidence_interval.low)
    else:
        allowed = 5 * np.sqrt(0.5 / replicates)
        apart = abs(own.p - other.pvalue)
    if apart > allowed:
        raise SystemExit(f"{name} is not SciPy's: {apart} apart, {allowed} allowed")


def main() -> int:
    """Prove, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--memory", action="store_true", help="measure and print the memory alone")
    asked = parser.parse_args()
    if asked.memory:
        measure_memory()
        return 0
    taken, rows = timed(
        lambda: [
            *against_floor(asked.queries, asked.replicates, asked.repeat),
            *against_scipy(asked.queries, asked.replicates, asked.repeat),
            memory(),
        ]
    )
    for row in rows:
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    print(f"took {taken:.0f} s")
    if asked.json:
        asked.json.write_text(json.dumps({**about(["scipy"]), "uncertainty": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.get("met", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
