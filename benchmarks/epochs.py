"""
Batches of tensors against torchmetrics, and a service's call against the kernels that it cannot do without.

Usage: python benchmarks/epochs.py [--queries N] [--documents N] [--repeat N] [--only SECTION ...]

torch     `RankingMetrics` and torchmetrics' RetrievalNormalizedDCG on the same tensors, cut into batches: a new metric,
          `update` for each batch, `compute`. Values are compared first, on documents without ties.
service   one query of 100 documents: `Evaluator.evaluate` with and without `out=`, and the kernels that it calls, with
          arguments that lie there ready.
"""

from __future__ import annotations

import argparse
import math
import sys
import timeit
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from contenders import K
from parts import kernels_of
from peers import make
from timing import LEAST_REPEATS, digits, interleaved

import fastndcg as fn

QUERIES, DOCUMENTS, BATCH = 8_000, 40, 256
LEAST_SPEEDUP = 50.0
MOST_MICROSECONDS = 10.0
CALLS = 2_000
TOLERANCE = 2e-6  # of float32, in which torchmetrics computes

Row = dict[str, Any]


def against_torchmetrics(n_queries: int, n_documents: int, repeat: int) -> list[Row]:
    """All batches of an epoch, by `indexes` as torchmetrics takes them, and as rows."""
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    from fastndcg.integrations.torch import RankingMetrics

    case = make(n_queries, n_documents)
    scores, labels = torch.from_numpy(case.scores), torch.from_numpy(case.labels.astype("i8"))
    queries = torch.arange(n_queries)[:, None].expand(n_queries, n_documents).contiguous()
    batches = list(zip(scores.split(BATCH), labels.split(BATCH), queries.split(BATCH), strict=True))

    def epoch(make_metric: Callable[[], Any], *, by_rows: bool = False) -> Callable[[], float]:
        def call() -> float:
            metric = make_metric()
            for preds, target, indexes in batches:
                metric.update(preds, target, *(() if by_rows else (indexes,)))
            return float(metric.compute())

        return call

    calls = {
        "torchmetrics": epoch(lambda: RetrievalNormalizedDCG(top_k=K)),
        "indexes": epoch(lambda: RankingMetrics(f"ndcg@{K}", "torchmetrics")),
        "rows": epoch(lambda: RankingMetrics(f"ndcg@{K}", "torchmetrics"), by_rows=True),
    }
    expected = calls["torchmetrics"]()
    for name in ("indexes", "rows"):
        if abs(calls[name]() - expected) > TOLERANCE:
            raise SystemExit(f"{name}: {calls[name]()} is not torchmetrics' {expected}")
    seconds = interleaved(calls, repeat)
    size = f"{n_queries:,} queries × {n_documents} documents in batches of {BATCH}"
    return [
        {"what": f"RankingMetrics by {name}, {size}", "ms": digits(seconds[name] * 1e3),
         "torchmetrics, ms": digits(seconds["torchmetrics"] * 1e3),
         "times": digits(seconds["torchmetrics"] / seconds[name], 3), "goal": f"≥ {LEAST_SPEEDUP:g} ×",
         "met": seconds["torchmetrics"] / seconds[name] >= LEAST_SPEEDUP}
        for name in ("indexes", "rows")
    ]  # fmt: skip


def one_call(repeat: int) -> list[Row]:
    """One query, above its kernels alone."""
    random = np.random.default_rng(100)
    labels, scores = (random.random(100) < 0.05).astype("u1"), random.random(100, dtype="f4")
    out = np.empty((1, 1))

    def prepared() -> Callable[[], Any]:
        evaluator = fn.Evaluator(labels, f"ndcg@{K}", offsets=[0, 100])
        return lambda: evaluator.evaluate(scores, out=out)

    evaluator = fn.Evaluator(labels, f"ndcg@{K}", offsets=[0, 100])
    calls: dict[str, Callable[[], Any]] = {
        "kernels": kernels_of(prepared),
        "evaluate": lambda: out.fill(evaluator.evaluate(scores).values.item()),
        "evaluate(out=)": prepared(),
    }
    expected = fn.reference.evaluate(labels, scores, f"ndcg@{K}", offsets=[0, 100]).values[0, 0]
    for call in calls.values():
        out.fill(np.nan)
        call()
        if not abs(out.item() - expected) <= 1e-12:
            raise SystemExit(f"{out} is not the reference's {expected}")
    calls["evaluate"] = lambda: evaluator.evaluate(scores)
    taken = dict.fromkeys(calls, math.inf)
    for name in [*calls] * repeat:  # in turns: the machine may be slower at times
        taken[name] = min(taken[name], timeit.timeit(calls[name], number=CALLS) / CALLS * 1e6)
    return [
        {"what": f"one query of 100 documents, {name}", "µs": digits(taken[name], 3),
         "kernels alone, µs": digits(taken["kernels"], 3), "above, µs": digits(taken[name] - taken["kernels"], 3),
         "goal": f"≤ {MOST_MICROSECONDS:g} µs above", "met": taken[name] - taken["kernels"] <= MOST_MICROSECONDS}
        for name in ("evaluate", "evaluate(out=)")
    ]  # fmt: skip


SECTIONS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "torch": lambda asked: against_torchmetrics(asked.queries, asked.documents, asked.repeat),
    "service": lambda asked: one_call(asked.repeat),
}


def main() -> int:
    """Prove, measure, print; 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--repeat", type=int, default=LEAST_REPEATS)
    parser.add_argument("--only", nargs="+", default=list(SECTIONS), choices=SECTIONS, metavar="SECTION")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for name in asked.only for row in SECTIONS[name](asked)]
    for row in rows:
        print("; ".join(f"{name} {value}" if name != "what" else str(value) for name, value in row.items()))
    return int(not all(row["met"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
