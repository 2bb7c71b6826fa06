"""
Core suite: nDCG@10 and other metrics on every workload, as multiples of the baseline.

Each workload's values are verified against the reference before they are timed. The part "smoke" measures the
scaled-down workloads of `python -m benchmarks check`, for results/history.jsonl.
"""

from __future__ import annotations

from benchmarks.lib.baseline import prepare_bandwidth_sum, prepare_ordered_sum
from benchmarks.lib.history import measure_smoke_ratios
from benchmarks.lib.suite import Options, Report, Row, Suite, announce
from benchmarks.lib.timing import round_figure, time_alternately
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import BASELINE, NAMES_WITH_GOAL, RECIPES, make_workload, prepare_evaluation

SMOKE = "smoke"
MIN_SECONDS = 0.5


def measure(options: Options) -> Report:
    """Measure the chosen workloads."""
    names = [name for name in NAMES_WITH_GOAL if name in options.parts]
    report: Report = {"workloads": [measure_workload(name, options) for name in names]}
    if SMOKE in options.parts:
        announce(SMOKE)
        report["smoke"] = measure_smoke_ratios()
    return report


def measure_workload(name: str, options: Options) -> Row:
    """Return a workload's times, its ratio and whether its goal is met."""
    announce(name)
    recipe = RECIPES[name]
    workload = make_workload(name, options.scale)
    calls = {
        "fastndcg": prepare_evaluation(workload),
        "baseline": prepare_ordered_sum(workload),
        "bandwidth": prepare_bandwidth_sum(workload),
    }
    n_verified = verify_values(workload, calls["fastndcg"]())
    if recipe.against != BASELINE:
        other = make_workload(recipe.against, options.scale)
        calls["against"] = prepare_evaluation(other)
        verify_values(other, calls["against"]())
    seconds = time_alternately(calls, options.repeat, MIN_SECONDS)
    ratio = seconds["fastndcg"] / seconds["against" if "against" in seconds else "baseline"]
    return {
        "workload": name,
        "queries": workload.n_queries,
        "documents": workload.n_documents,
        "ms": round_figure(seconds["fastndcg"] * 1e3),
        "baseline ms": round_figure(seconds["baseline"] * 1e3),
        "bandwidth ms": round_figure(seconds["bandwidth"] * 1e3),
        "times baseline": round_figure(seconds["fastndcg"] / seconds["baseline"], 3),
        "times bandwidth": round_figure(seconds["fastndcg"] / seconds["bandwidth"], 3),
        "against": recipe.against,
        "ratio": round_figure(ratio, 3),
        "goal": recipe.limit,
        "met": ratio <= recipe.limit,
        "queries verified": n_verified,
    }


SUITE = Suite(measure, (*NAMES_WITH_GOAL, SMOKE), is_published=True)
