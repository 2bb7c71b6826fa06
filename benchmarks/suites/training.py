"""
Training suite: evaluation inside training loops and services.

LightGBM and XGBoost: one evaluation after a boosting round, our metric against the library's own. Each loop runs in a
separate process.
torch: `RankingMetrics` against torchmetrics' RetrievalNormalizedDCG on the same batches of tensors: a new metric,
`update` for each batch, `compute`.
service: one query of 100 documents, `Evaluator.evaluate` with and without `out=`, above its kernels alone.
"""

from __future__ import annotations

import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.boosting import FIRST_ROUNDS, LOOPS
from benchmarks.lib.cases import make_case
from benchmarks.lib.contenders import K
from benchmarks.lib.kernel_calls import prepare_kernels
from benchmarks.lib.process import call_in_process
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately

BOOSTING_QUERIES = 20_000
BOOSTING_DOCUMENTS = 100
ROUNDS = 30
MAX_TIMES_LIBRARY = 1.0
TORCH_QUERIES = 8_000
TORCH_DOCUMENTS = 40
BATCH = 256
MIN_SPEEDUP = 50.0
MAX_MICROSECONDS = 10.0
CALLS = 2_000
TOLERANCE = 2e-6  # of float32, in which torchmetrics computes


def measure_boosting(name: str, options: Options) -> list[Row]:
    """Measure a training loop of LightGBM or XGBoost."""
    n_rounds = max(FIRST_ROUNDS + 1, round(ROUNDS * min(1, options.scale * 2)))
    n_queries = max(40, round(BOOSTING_QUERIES * options.scale))
    return [measure_loop_apart(name, n_queries, BOOSTING_DOCUMENTS, n_rounds)]


def measure_torch(options: Options) -> list[Row]:
    """Measure an epoch of tensors."""
    n_queries = max(BATCH, round(TORCH_QUERIES * options.scale))
    return compare_with_torchmetrics(n_queries, TORCH_DOCUMENTS, options.repeat)


def measure_loop_apart(name: str, n_queries: int, n_documents: int, n_rounds: int) -> Row:
    """Return the row of a training loop that is measured in a separate process."""
    what = f"{name}, {n_queries:,} queries × {n_documents} documents"
    sizes = {"n_queries": n_queries, "n_documents": n_documents, "n_rounds": n_rounds}
    times = call_in_process("benchmarks.lib.boosting", "measure_loop", name=name, **sizes)
    if "failed" in times:
        return make_missing_row(what, times["failed"])
    first = times["first"]
    later = times["later"]
    details = [
        f"{label}: ours {ms['ours']:g} ms, theirs {ms['theirs']:g} ms, a constant {ms['constant']:g} ms"
        for label, ms in ((f"first {FIRST_ROUNDS} rounds", first), ("later", later))
    ]
    ratio = later["ours"] / later["theirs"]
    detail = "; ".join(details)
    return make_row(what, ratio, "× its own metric", at_most=MAX_TIMES_LIBRARY, goal_unit="×", detail=detail)


def compare_with_torchmetrics(n_queries: int, n_documents: int, repeat: int) -> list[Row]:
    """Compare all batches of an epoch, by `indexes` as torchmetrics takes them, and as rows."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torchmetrics' dependencies
        from torchmetrics.retrieval import RetrievalNormalizedDCG

    from fastndcg.integrations.torch import RankingMetrics

    case = make_case(n_queries, n_documents)
    scores = torch.from_numpy(case.scores)
    labels = torch.from_numpy(case.labels.astype("i8"))
    queries = torch.arange(n_queries)[:, None].expand(n_queries, n_documents).contiguous()
    batches = list(zip(scores.split(BATCH), labels.split(BATCH), queries.split(BATCH), strict=True))

    def run_epoch(make_metric: Callable[[], Any], *, by_rows: bool = False) -> float:
        metric = make_metric()
        for preds, target, indexes in batches:
            metric.update(preds, target, *(() if by_rows else (indexes,)))
        return float(metric.compute())

    make_ours = partial(RankingMetrics, f"ndcg@{K}", "torchmetrics")
    calls: dict[str, Callable[[], float]] = {
        "torchmetrics": partial(run_epoch, partial(RetrievalNormalizedDCG, top_k=K)),
        "indexes": partial(run_epoch, make_ours),
        "rows": partial(run_epoch, make_ours, by_rows=True),
    }
    expected = calls["torchmetrics"]()
    for name in ("indexes", "rows"):
        value = calls[name]()
        if abs(value - expected) > TOLERANCE:
            raise SystemExit(f"by {name}, the value must equal torchmetrics' {expected}, but is {value}")
    seconds = time_alternately(calls, repeat)
    size = f"{n_queries:,} queries × {n_documents} documents in batches of {BATCH}"
    rows = []
    for name in ("indexes", "rows"):
        detail = f"{1e3 * seconds[name]:.4g} ms and {1e3 * seconds['torchmetrics']:.4g} ms"
        ratio = seconds["torchmetrics"] / seconds[name]
        what = f"RankingMetrics by {name}, {size}"
        rows.append(make_row(what, ratio, "× torchmetrics", at_least=MIN_SPEEDUP, goal_unit="×", detail=detail))
    return rows


def measure_service_call(repeat: int) -> list[Row]:
    """Measure one query above its kernels alone."""
    random = np.random.default_rng(100)
    labels = (random.random(100) < 0.05).astype("u1")
    scores = random.random(100, dtype="f4")
    out = np.empty((1, 1))

    def prepare() -> Callable[[], Any]:
        evaluator = fn.Evaluator(labels, f"ndcg@{K}", offsets=[0, 100])
        return lambda: evaluator.evaluate(scores, out=out)

    evaluator = fn.Evaluator(labels, f"ndcg@{K}", offsets=[0, 100])
    calls: dict[str, Callable[[], Any]] = {
        "kernels": prepare_kernels(prepare),
        "evaluate": lambda: out.fill(evaluator.evaluate(scores).values.item()),
        "evaluate(out=)": prepare(),
    }
    expected = fn.reference.evaluate(labels, scores, f"ndcg@{K}", offsets=[0, 100]).values[0, 0]
    for name, call in calls.items():
        out.fill(np.nan)
        call()
        if not abs(out.item() - expected) <= 1e-12:
            raise SystemExit(f"{name} must write the reference's value {expected}, but wrote {out.item()}")
    calls["evaluate"] = lambda: evaluator.evaluate(scores)
    batches = {name: partial(timeit.timeit, call, number=CALLS) for name, call in calls.items()}
    microseconds = {name: value / CALLS * 1e6 for name, value in time_alternately(batches, repeat).items()}
    rows = []
    for name in ("evaluate", "evaluate(out=)"):
        above = microseconds[name] - microseconds["kernels"]
        what = f"one query of 100 documents, {name} above its kernels"
        detail = f"{microseconds[name]:.3g} µs, kernels alone {microseconds['kernels']:.3g} µs"
        rows.append(make_row(what, above, "µs", at_most=MAX_MICROSECONDS, detail=detail))
    return rows


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    **{name: partial(measure_boosting, name) for name in LOOPS},
    "torch": measure_torch,
    "service": lambda options: measure_service_call(options.repeat),
}
PACKAGES = ("lightgbm", "xgboost-cpu", "torch", "torchmetrics")
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=PACKAGES)
