"""
Fusion tuning suite: all weights of two runs with cross-validation, against one `fuse` and `evaluate`.

The tuned mean is checked before anything is timed: it is that of `evaluate`, and no weight of a grid is better.

ranx's grid of 11 weights is timed warm, on fewer queries, from its own objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately

QUERIES = 10_000
RANX_QUERIES = 1_000
DOCUMENTS = 200
RELEVANT = 3
FOLDS = 5
METRIC = "ndcg@10"
METHOD = "wsum(norm=min_max)"
MOST_EVALUATIONS = 12
LEAST_RANX = 100
GRID = np.linspace(0.0, 1.0, 11)


def make_inputs(n_queries: int) -> tuple[fn.Qrels, dict[str, fn.Run]]:
    """Make judgments with three relevant documents a query, and two runs of the same documents."""
    rng = np.random.default_rng(2003)
    queries = np.repeat(np.arange(n_queries), DOCUMENTS)
    documents = np.tile(np.arange(DOCUMENTS), n_queries)
    labels = np.zeros((n_queries, DOCUMENTS), "i1")
    for row in labels:
        row[rng.choice(DOCUMENTS, RELEVANT, replace=False)] = rng.integers(1, 4, RELEVANT)
    flat = labels.reshape(-1)
    is_relevant = flat > 0
    qrels = fn.Qrels(queries[is_relevant], documents[is_relevant], flat[is_relevant])
    runs = {name: fn.Run(queries, documents, rng.normal(size=len(flat)) + flat) for name in ("first", "second")}
    return qrels, runs


def tune(qrels: fn.Qrels, runs: dict[str, fn.Run]) -> fn.TunedFusion:
    """Tune all weights with five folds."""
    return fn.tune_fusion(qrels, runs, METRIC, [METHOD], folds=FOLDS)


def evaluate_weight(qrels: fn.Qrels, runs: dict[str, fn.Run], weight: float = 0.5) -> float:
    """Return the mean of one weight."""
    fused = fn.fuse(runs, METHOD, weights=[weight, 1.0 - weight])
    return float(fn.evaluate(qrels, fused, METRIC).means()[0])


def verify(qrels: fn.Qrels, runs: dict[str, fn.Run]) -> None:
    """Raise SystemExit if the tuned mean is not that of `evaluate`, or a weight of a grid is better."""
    tuned = tune(qrels, runs)
    if fn.evaluate(qrels, tuned.apply(runs), METRIC).means()[0] != tuned.best.mean:
        raise SystemExit("the tuned mean must be that of evaluate, but differs")
    if max(evaluate_weight(qrels, runs, weight) for weight in GRID) > tuned.best.mean:
        raise SystemExit("the tuned mean must be at least that of a grid, but is lower")


def compare_with_one_weight(options: Options) -> list[Row]:
    """Compare tuning all weights with one `fuse` and `evaluate`."""
    qrels, runs = make_inputs(max(2 * FOLDS, round(QUERIES * options.scale)))
    verify(qrels, runs)
    calls: dict[str, Callable[[], Any]] = {
        "tune": partial(tune, qrels, runs), "once": partial(evaluate_weight, qrels, runs),
    }  # fmt: skip
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(
            f"all weights, {FOLDS} folds, {len(qrels.queries):,} queries of {DOCUMENTS} documents",
            seconds["tune"] / seconds["once"], "× one fuse and evaluate", at_most=MOST_EVALUATIONS,
            detail=f"{1e3 * seconds['tune']:.4g} ms",
        )
    ]  # fmt: skip


def compare_with_ranx(options: Options) -> list[Row]:
    """Compare tuning all weights with ranx's grid of 11 weights."""
    what = "all weights, against ranx's grid of 11"
    try:
        import ranx
    except ImportError:
        return [make_missing_row(what, "ranx is not installed: pip install ranx")]
    qrels, runs = make_inputs(max(2 * FOLDS, round(RANX_QUERIES * options.scale)))
    text_qrels = {str(q): {str(d): int(label) for d, label in row.items()} for q, row in qrels.to_dict().items()}
    text_runs = {
        name: {str(q): {str(d): s for d, s in row.items()} for q, row in run.to_dict().items()}
        for name, run in runs.items()
    }
    own_qrels = fn.Qrels.from_dict(text_qrels)
    own_runs = {name: fn.Run.from_dict(run) for name, run in text_runs.items()}
    verify(own_qrels, own_runs)
    their_qrels = ranx.Qrels(text_qrels)
    their_runs = [ranx.Run(run) for run in text_runs.values()]
    calls: dict[str, Callable[[], Any]] = {
        "ours": partial(tune, own_qrels, own_runs),
        "theirs": partial(
            ranx.optimize_fusion, their_qrels, their_runs, norm="min-max", method="wsum", metric=METRIC,
            show_progress=False,
        ),
    }  # fmt: skip
    seconds = time_alternately(calls, options.repeat)
    return [make_row(what, seconds["theirs"] / seconds["ours"], "× as fast", at_least=LEAST_RANX)]


PARTS: dict[str, Callable[[Options], list[Row]]] = {"weights": compare_with_one_weight, "ranx": compare_with_ranx}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("ranx",), is_published=True)
