"""
Statistics suite: bootstrap and randomisation against their arithmetic alone, and against SciPy.

The arithmetic is one multiply-add for each value and replicate. Its baseline is the faster of two: NumPy's product of
prepared weights and values on all CPUs, and our own kernel on prepared weights, on the same number of threads.

SciPy's functions work on one pair of systems, vectorised, with the same method as ours. They get batches of 100
resamples, with which they are several times faster than by default. Ours run on all CPUs, and also on one.

Before a time counts, the standard deviation of the replicates is compared with s/√n, and p-values with SciPy's. This
suite calls internal functions of `fastndcg.statistics`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.machine import count_cpus, read_memory_field, reset_memory_peak
from benchmarks.lib.process import call_in_process
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately
from fastndcg.kernels.statistics.resample import weighted_sums
from fastndcg.reference.poisson_bootstrap import compute_replicate_means
from fastndcg.runtime.threads import run_all
from fastndcg.statistics import poisson_bootstrap, resampling, significance
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity, Sums
from fastndcg.statistics.query_hashes import hash_queries
from fastndcg.statistics.sampling_design import make_design
from fastndcg.statistics.settings import Settings

QUERIES = 10_000
REPLICATES = 10_000
SYSTEMS = 10
METRICS = 5
MAX_TIMES_BASELINE = 3.0
MIN_SPEEDUP = 20.0
BATCH = 100  # of SciPy's resamples
MAX_WEIGHTS = 10**8  # in memory, 800 MB
MEMORY_QUERIES = 10**6
MAX_TIMES_VALUES = 2.0

Calls = dict[str, Callable[[], Any]]


def choose_sizes(options: Options) -> tuple[int, int]:
    """Return the numbers of queries and of replicates at the scale of a run."""
    return max(100, round(QUERIES * options.scale)), max(1000, round(REPLICATES * options.scale))


def make_values(n_queries: int) -> list[np.ndarray]:
    """Make values from 0 to 1 of ten systems, with the skew of nDCG."""
    generator = np.random.default_rng(1)
    ease = generator.beta(0.7, 0.7, (n_queries, METRICS))
    return [np.clip(ease + generator.normal(0.01 * s, 0.2, ease.shape), 0, 1) for s in range(SYSTEMS)]


def prepare_baselines(rows: np.ndarray, n_replicates: int) -> Calls:
    """Return calls that compute only the multiply-adds of the replicates."""
    generator = np.random.default_rng(2)
    n_weights = max(resampling.GROUP, min(1000, MAX_WEIGHTS // rows.shape[1]))
    n_blocks = -(-n_replicates // n_weights)
    weights = generator.poisson(1.0, (n_weights, rows.shape[1])).astype("f8")
    values = np.ascontiguousarray(rows.T)
    counts = weights[: resampling.GROUP].astype("i1")

    def multiply() -> None:
        for _ in range(n_blocks):
            weights @ values

    def call_kernel() -> None:
        def make_worker() -> Callable[[int], None]:
            out = np.empty((resampling.GROUP, len(rows)))
            return lambda _: weighted_sums(counts, rows, out)

        run_all(range(0, n_replicates, resampling.GROUP), make_worker, count_cpus())

    return {"baseline, BLAS": multiply, "baseline, kernel": call_kernel}


def compare_with_baseline(options: Options) -> list[Row]:
    """Compare bootstrap, randomisation and compare's analysis of all systems and metrics with the arithmetic."""
    n_queries, n_replicates = choose_sizes(options)
    columns = make_values(n_queries)
    design = make_design(np.arange(n_queries))
    settings = Settings(replicates=n_replicates)
    means = [Quantity(system, metric) for system in range(SYSTEMS) for metric in range(METRICS)]
    differences = [Quantity(mean.system, mean.metric, 0) for mean in means if mean.system]
    quantities = means + differences
    tested = range(len(means), len(quantities))
    sums = Sums(columns, quantities, design)
    calls: Calls = {
        "bootstrap": lambda: resampling.bootstrap_sums(sums.rows, design, settings),
        "randomization": lambda: resampling.sign_sums(sums.rows, settings),
        "compare's analysis": lambda: Analysis(columns, quantities, design, settings).tests(tested),
        **prepare_baselines(sums.rows, n_replicates),
    }
    spread = sums.quotients(calls["bootstrap"]()).std(axis=0)
    expected = [quantity.values(columns).std() / np.sqrt(n_queries) for quantity in quantities]
    if np.abs(spread / expected - 1).max() > 6 / np.sqrt(2 * n_replicates):
        raise SystemExit("the standard deviation of the replicates must be s/√n within its error, but is not")
    seconds = time_alternately(calls, options.repeat)
    baseline = min(seconds["baseline, BLAS"], seconds["baseline, kernel"])
    size = f"{n_replicates:,} replicates of {SYSTEMS} systems × {METRICS} metrics × {n_queries:,} queries"
    rows = []
    for name, value in seconds.items():
        goal = MAX_TIMES_BASELINE if name in ("bootstrap", "randomization") else None
        detail = f"{value:.4g} s"
        rows.append(make_row(f"{name}: {size}", value / baseline, "× baseline", at_most=goal, detail=detail))
    return rows


def compare_with_scipy(options: Options) -> list[Row]:
    """Compare interval and p-value of one pair of systems and one metric with SciPy's."""
    n_queries, n_replicates = choose_sizes(options)
    columns = [column[:, :1] for column in make_values(n_queries)[:2]]
    design = make_design(np.arange(n_queries))
    pair = Quantity(1, 0, 0)
    differences = pair.values(columns)
    settings = Settings(replicates=n_replicates)
    one_thread = replace(settings, threads=1)

    def compute_interval(setup: Settings) -> Any:
        return Analysis(columns, [pair], design, setup).intervals[0]

    ours: dict[str, Callable[[Settings], Any]] = {
        "bootstrap, percentile": compute_interval,
        "bootstrap, BCa": lambda setup: compute_interval(replace(setup, interval="bca")),
        "permutation_test": lambda setup: significance.run_randomization_test(
            Sums(columns, [pair], design), [0], setup
        )[0],
    }
    theirs = prepare_scipy(differences, n_replicates)
    rows = []
    for name, compute in ours.items():
        verify_statistic(name, compute(settings), theirs[name](), differences, n_replicates)
        calls: Calls = {
            "ours": lambda compute=compute: compute(settings),
            "one thread": lambda compute=compute: compute(one_thread),
            "scipy": theirs[name],
        }
        seconds = time_alternately(calls, options.repeat)
        what = f"scipy.stats.{name}, one pair, {n_replicates:,} replicates of {n_queries:,} queries"
        detail = f"{seconds['ours']:.4g} s and {seconds['scipy']:.4g} s; on one thread "
        detail += f"{seconds['scipy'] / seconds['one thread']:.3g} ×"
        ratio = seconds["scipy"] / seconds["ours"]
        rows.append(make_row(what, ratio, "× as fast", at_least=MIN_SPEEDUP, goal_unit="×", detail=detail))
    return rows


def prepare_scipy(differences: np.ndarray, n_replicates: int) -> Calls:
    """Return SciPy's calls, vectorised."""
    from scipy import stats

    generator = np.random.default_rng(3)
    options = {"n_resamples": n_replicates, "vectorized": True, "batch": BATCH, "rng": generator}

    def compute_mean(values: np.ndarray, axis: int) -> np.ndarray:
        return values.mean(axis=axis)

    data = (differences,)
    return {
        "bootstrap, percentile": lambda: stats.bootstrap(data, compute_mean, method="percentile", **options),
        "bootstrap, BCa": lambda: stats.bootstrap(data, compute_mean, method="BCa", **options),
        "permutation_test": lambda: stats.permutation_test(data, compute_mean, permutation_type="samples", **options),
    }


def measure_memory(options: Options) -> list[Row]:
    """Measure the peak of memory of `compare` above its values, in a separate process."""
    n_queries = max(1000, round(MEMORY_QUERIES * options.scale))
    what = f"memory of comparing {SYSTEMS} systems × {METRICS} metrics × {n_queries:,} queries above their values"
    memory = call_in_process(__name__, "measure_peak", n_queries=n_queries)
    if "failed" in memory:
        return [make_missing_row(what, memory["failed"])]
    ratio = memory["above"] / (n_queries * SYSTEMS * METRICS * 8)
    detail = f"{memory['above'] / 2**20:.0f} MiB"
    return [make_row(what, ratio, "× the values", at_most=MAX_TIMES_VALUES, detail=detail)]


def measure_peak(n_queries: int) -> dict[str, int]:
    """Return the bytes by which `compare` raises the peak of memory of this Linux process."""
    metrics = (fn.nDCG @ 10, fn.AP, fn.RR, fn.P @ 5, fn.R @ 100)
    convention = fn.conventions["default"]
    values = {f"system {number}": column for number, column in enumerate(make_values(n_queries))}
    results = {name: fn.Results(column, metrics, None, convention) for name, column in values.items()}
    fn.compare({name: fn.Results(column[:50], metrics, None, convention) for name, column in values.items()})
    reset_memory_peak()
    before = read_memory_field("VmRSS")
    fn.compare(results, replicates=2 * resampling.GROUP)
    return {"above": read_memory_field("VmHWM") - before}


def verify_statistic(name: str, ours: Any, theirs: Any, differences: np.ndarray, n_replicates: int) -> None:
    """Raise SystemExit if a bound or p-value is over five Monte-Carlo standard errors from SciPy's."""
    from scipy import stats

    if name.startswith("bootstrap"):
        error = differences.std() / np.sqrt(len(differences))
        tolerance = 5 * error * np.sqrt(2 * 0.025 * 0.975 / n_replicates) / stats.norm.pdf(1.96)
        distance = abs(ours.low - theirs.confidence_interval.low)
    else:
        tolerance = 5 * np.sqrt(0.5 / n_replicates)
        distance = abs(ours.p - theirs.pvalue)
    if distance > tolerance:
        raise SystemExit(f"{name} must be within {tolerance} of SciPy's, but is {distance} from it")


def measure_poisson(options: Options) -> list[Row]:
    """Compare the Poisson bootstrap with the percentile bootstrap, and its parts with the whole."""
    n_queries, n_replicates = choose_sizes(options)
    values = np.ascontiguousarray(make_values(n_queries)[0][:, :1])
    hashes = hash_queries(np.arange(n_queries))
    verify_poisson(values, hashes)
    design = make_design(np.arange(n_queries))
    percentile = Settings(replicates=n_replicates)
    mean = [Quantity(0, 0)]
    parts = np.array_split(np.arange(n_queries), 10)

    def sum_parts() -> Any:
        sums = [poisson_bootstrap.sum_replicates(values[part], hashes[part], replicates=n_replicates) for part in parts]
        return functools.reduce(operator.add, sums)

    calls: Calls = {
        "percentile": lambda: Analysis([values], mean, design, percentile).intervals,
        "Poisson": lambda: Analysis([values], mean, design, replace(percentile, interval="poisson")).intervals,
        "Poisson, 10 merged parts": sum_parts,
    }
    seconds = time_alternately(calls, options.repeat)
    size = f"one mean, {n_replicates:,} replicates of {n_queries:,} queries"
    return [
        make_row(f"{name}: {size}", seconds[name] / seconds["percentile"], "× percentile", detail=f"{value:.4g} s")
        for name, value in seconds.items()
    ]


def verify_poisson(values: np.ndarray, hashes: np.ndarray) -> None:
    """Raise SystemExit if replicates of some queries differ from the reference, or parts from the whole."""
    some = values[:50, 0].tolist()
    sums = poisson_bootstrap.sum_replicates(values[:50], hashes[:50], replicates=20)
    halves = [poisson_bootstrap.sum_replicates(values[i:50:2], hashes[i:50:2], replicates=20) for i in range(2)]
    is_exact = sums.means()[0].tolist() == compute_replicate_means(some, range(50), 20)
    if not is_exact or halves[1] + halves[0] != sums:
        raise SystemExit("replicates must be those of the reference, in any parts, but are not")


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "baseline": compare_with_baseline,
    "scipy": compare_with_scipy,
    "memory": measure_memory,
    "poisson": measure_poisson,
}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("scipy",))
