"""
Metrics suite: the cost of each metric beside nDCG@10, and all of trec_eval's metrics in one pass.

A metric with a cutoff is evaluated at 10, beside nDCG@10. A metric of all ranks is evaluated beside nDCG@10 and AP.
The ranks below 10 are computed once for all metrics that need them. Costs are in per cent of nDCG@10 alone: the
median of the differences between two successive calls, in processor time of all threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Report, Row, Suite, announce, make_missing_row, make_row
from benchmarks.lib.timing import round_figure, time_alternately
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import ALL_TREC, NDCG, RECIPES, TREC, Workload, make_workload, prepare_evaluation
from fastndcg.metrics.catalog import CATALOG
from fastndcg.metrics.trec_eval import read
from fastndcg.metrics.trec_eval_lines import lines

WORKLOAD = "sparse8"
MAX_ADDED_PERCENT = 15.0  # of nDCG@10
MAX_TIMES_NDCG = 4.0
MIN_TIMES_FASTER = 20.0
ALL_RANKS = ("AP",)
UNTIED = "default(ties=input)"
N_VERIFIED = 40
PEER_QUERIES = 10_000
PEER_REPEATS = 5
TOLERANCE = 1e-12
NAMES = tuple(
    record.name for record in CATALOG.values() if record.function_name == "evaluate" and not record.by_subtopic
)
TREC_PART = "all_trec"
PEER_PART = "pytrec_eval"


def measure(options: Options) -> Report:
    """Measure the chosen metrics and comparisons."""
    workload = make_workload(WORKLOAD, options.scale)
    names = [name for name in NAMES if name in options.parts]
    rows: list[Row] = []
    if names:
        announce("the cost of each metric")
        rows += measure_added_costs(workload, parse_metrics(names), options.repeat)
    if TREC_PART in options.parts:
        announce(TREC_PART)
        rows.append(compare_with_ndcg(workload, options.repeat))
    if PEER_PART in options.parts:
        announce(PEER_PART)
        rows.append(compare_with_pytrec_eval(options.repeat, max(2, round(PEER_QUERIES * min(1, options.scale * 5)))))
    return {"figures": rows}


def parse_metrics(names: Sequence[str]) -> list[fn.Metric]:
    """Return the metrics of several texts."""
    return [fn.Metric.parse(name) for name in names]


def measure_added_costs(workload: Workload, metrics: list[fn.Metric], repeat: int) -> list[Row]:
    """Measure the cost of the ranks below 10, then that of each metric."""
    cost = measure_added_cost(workload, NDCG, ALL_RANKS, repeat)
    rows = [make_row("the ranks below 10, with AP", cost, "% of nDCG@10")]
    for metric in metrics:
        has_cutoff = metric.record.has_cutoff
        if has_cutoff and metric.k is None:
            metric = metric @ 10
        convention = workload.convention if "average" in metric.record.ties else UNTIED
        base = NDCG if has_cutoff else (*NDCG, *ALL_RANKS)
        cost = measure_added_cost(replace(workload, convention=convention), base, (str(metric),), repeat)
        row = make_row(f"`{metric}`", cost, "% of nDCG@10", at_most=MAX_ADDED_PERCENT, goal_unit="%")
        rows.append(row | {"detail": "" if has_cutoff else "beside AP"})
    return rows


def measure_added_cost(workload: Workload, base: tuple[str, ...], added: tuple[str, ...], repeat: int) -> float:
    """Return the added processor time of more metrics, in per cent of nDCG@10 alone."""
    more = replace(workload, metrics=tuple(dict.fromkeys((*base, *added))))
    calls = [
        prepare_verified(replace(workload, metrics=NDCG)),
        prepare_evaluation(replace(workload, metrics=base)),
        prepare_verified(more),
    ]
    rounds = [[time_processor(call) for call in calls] for _ in range(repeat)]
    return 100 * statistics.median((longer - shorter) / alone for alone, shorter, longer in rounds)


def time_processor(call: Callable[[], Any]) -> float:
    """Return the processor time of a call in seconds, summed over all threads."""
    start = time.process_time()
    call()
    return time.process_time() - start


def prepare_verified(workload: Workload) -> Callable[[], Any]:
    """Return the evaluation of a workload, after comparing its values with the reference."""
    call = prepare_evaluation(workload)
    verify_values(workload, call(), N_VERIFIED)
    return call


def compare_with_ndcg(workload: Workload, repeat: int) -> Row:
    """Compare all of trec_eval's metrics in one pass with nDCG@10 alone."""
    calls = {
        "all": prepare_verified(replace(workload, metrics=ALL_TREC, convention=TREC)),
        "nDCG@10": prepare_verified(replace(workload, metrics=NDCG)),
    }
    seconds = time_alternately(calls, repeat)
    what = f"`all_trec`, {len(ALL_TREC)} metrics in one pass"
    detail = f"{round_figure(1e3 * seconds['all'])} ms and {round_figure(1e3 * seconds['nDCG@10'])} ms"
    ratio = seconds["all"] / seconds["nDCG@10"]
    return make_row(what, ratio, "× nDCG@10", at_most=MAX_TIMES_NDCG, goal_unit="×", detail=detail)


def compare_with_pytrec_eval(repeat: int, n_queries: int = PEER_QUERIES) -> Row:
    """Compare `all_trec` with pytrec_eval on the same queries, whose dicts are made before."""
    what = f"`all_trec` of {n_queries:,} queries against pytrec_eval"
    try:
        import pytrec_eval
    except ImportError:
        return make_missing_row(what, "pytrec_eval is not installed: pip install pytrec_eval-terrier")
    workload = make_workload("all_trec", n_queries / RECIPES["all_trec"].queries)
    by_name = {line.name: line.metric for line in lines(read("all_trec", version=9) or []) if line.metric is not None}
    metrics = tuple(dict.fromkeys(map(str, by_name.values())))
    qrels, run = make_trec_dicts(workload)
    counting, theirs = (pytrec_eval.RelevanceEvaluator(qrels, {measure}) for measure in ("num_ret", "all_trec"))
    evaluate = prepare_evaluation(replace(workload, metrics=metrics, convention="trec_eval_9(ties=input)"))
    values = evaluate()
    expected = theirs.evaluate(run)
    for name, metric in by_name.items():
        if metric.aggregate is None:
            column = [expected[str(query)][name] for query in range(n_queries)]
            if not np.allclose(values[:, metrics.index(str(metric))], column, rtol=TOLERANCE, atol=TOLERANCE):
                raise SystemExit(f"pytrec_eval and fastndcg must give the same {name} before they are timed")
    calls = {"theirs": lambda: theirs.evaluate(run), "counting": lambda: counting.evaluate(run), "fastndcg": evaluate}
    seconds = time_alternately(calls, min(repeat, PEER_REPEATS))
    times = ", ".join(f"{round_figure(1e3 * seconds[name])} ms" for name in calls)
    detail = f"theirs, its counting alone, fastndcg: {times}"
    ratio = seconds["theirs"] / seconds["fastndcg"]
    return make_row(what, ratio, "× as fast", at_least=MIN_TIMES_FASTER, goal_unit="×", detail=detail)


def make_trec_dicts(workload: Workload) -> tuple[Row, Row]:
    """Return qrels and run as dicts, with ids that fall with the position, as pytrec_eval orders tied scores."""
    qrels = {}
    run = {}
    for query, (start, stop) in enumerate(zip(workload.offsets[:-1], workload.offsets[1:], strict=True)):
        names = [f"d{stop - position:04}" for position in range(start, stop)]
        qrels[str(query)] = dict(zip(names, workload.labels[start:stop].tolist(), strict=True))
        run[str(query)] = dict(zip(names, workload.scores[start:stop].tolist(), strict=True))
    return qrels, run


SUITE = Suite(
    measure, (*NAMES, TREC_PART, PEER_PART), repeat=21, scale=0.2, packages=("pytrec_eval-terrier",), is_published=True
)
