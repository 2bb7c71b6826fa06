"""
Measure the metrics by subtopic: against pyndeval on the same judgments and run, and against nDCG@10 on plain labels.

Usage: python benchmarks/diversity.py [--queries N] [--many N] [--repeat N]

The values are compared with pyndeval's and with the reference's before times are taken. pyndeval gets its judgments
prepared and its run as the list of tuples that it takes; we get both with ids prepared, and join them in the call. The
second figure is what one metric costs on `--many` queries of arrays: as many times as nDCG@10 on the highest labels.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from timing import LEAST_REPEATS, digits, interleaved
from workloads import Array

import fastndcg as fn

DOCUMENTS, SUBTOPICS, RELEVANT = 100, 6, 0.05
MEASURES = tuple(
    f"{name}@{k}" for name in ("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "P-IA", "strec") for k in (5, 10, 20)
)
MEASURES += ("NRBP", "nNRBP", "MAP-IA")
PROVEN = 50


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=LEAST_REPEATS)
    asked = parser.parse_args()
    for line in (*against_pyndeval(asked.queries, asked.repeat), *against_ndcg(asked.many, asked.repeat)):
        print(line, flush=True)


def make(n_queries: int) -> tuple[Array, Array, Array]:
    """Labels by subtopic, scores without ties, offsets."""
    rng = np.random.default_rng(2008)
    n = n_queries * DOCUMENTS
    labels = (rng.random((n, SUBTOPICS)) < RELEVANT).astype("u1")
    scores = rng.permuted(np.broadcast_to(np.arange(DOCUMENTS, dtype="f4"), (n_queries, DOCUMENTS)), axis=1).reshape(-1)
    return labels, scores, np.arange(n_queries + 1) * DOCUMENTS


def with_ids(labels: Array, scores: Array) -> tuple[list[Any], list[Any]]:
    """Judgments and a run as pyndeval takes them: rows of ids; documents of falling id, as arrays have no ids."""
    n_queries = len(labels) // DOCUMENTS
    names = [f"d{DOCUMENTS - place:03}" for place in range(DOCUMENTS)] * n_queries
    queries = [str(query) for query in range(n_queries) for _ in range(DOCUMENTS)]
    run = list(zip(queries, names, scores.tolist(), strict=True))
    rows, subtopics = np.indices(labels.shape)
    flat = zip(rows.ravel().tolist(), subtopics.ravel().tolist(), labels.ravel().tolist(), strict=True)
    return [(queries[row], str(subtopic), names[row], label) for row, subtopic, label in flat], run


def against_pyndeval(n_queries: int, repeat: int) -> list[str]:
    """All measures of pyndeval at once."""
    labels, scores, offsets = make(n_queries)
    prove(labels, scores, offsets)
    try:
        import pyndeval
    except ImportError:
        return ["pyndeval: absent, pip install pyndeval"]
    rows, run = with_ids(labels, scores)
    theirs = pyndeval.RelevanceEvaluator(rows, MEASURES)
    ours_of_ids = fn.Evaluator(fn.DiversityQrels(*map(list, zip(*rows, strict=True))), MEASURES, convention="ndeval")
    table = fn.Run(*map(list, zip(*run, strict=True)))
    ours_of_arrays = fn.Evaluator(labels, MEASURES, offsets=offsets, convention="ndeval(ties=average)")
    found = theirs.evaluate(run)
    values = np.array([[found[str(query)][measure] for measure in MEASURES] for query in range(n_queries)])
    for ours in (ours_of_ids.evaluate(table), ours_of_arrays.evaluate(scores)):
        if not np.allclose(ours.values, values, rtol=0, atol=1e-12, equal_nan=True):
            raise SystemExit("pyndeval gives other values")
    seconds = interleaved(
        {
            "theirs": lambda: theirs.evaluate(run),
            "ids": lambda: ours_of_ids.evaluate(table),
            "arrays": lambda: ours_of_arrays.evaluate(scores),
        },
        repeat,
    )
    ratios = {name: digits(seconds["theirs"] / seconds[name], 3) for name in ("ids", "arrays")}
    return [
        f"{len(MEASURES)} measures, {n_queries} queries: pyndeval {digits(seconds['theirs'])} s; "
        f"ours {ratios['ids']} x as fast with ids, {ratios['arrays']} x with arrays"
    ]


def against_ndcg(n_queries: int, repeat: int) -> list[str]:
    """One metric at a time."""
    labels, scores, offsets = make(n_queries)
    plain = fn.evaluate(labels.max(axis=1), scores, "nDCG@10", offsets=offsets)
    if plain.values.tobytes() != fn.evaluate(labels, scores, "nDCG@10", offsets=offsets).values.tobytes():
        raise SystemExit("nDCG@10 is not that of the highest labels")
    metrics = (
        "nDCG@10",
        "alpha_nDCG@10",
        "alpha_DCG@10",
        "ERR_IA@10",
        "NRBP",
        "nNRBP",
        "P_IA@10",
        "AP_IA",
        "S_recall@10",
    )
    evaluators = {metric: fn.Evaluator(labels, metric, offsets=offsets) for metric in (*metrics, ",".join(metrics[1:]))}
    evaluators["nDCG@10"] = fn.Evaluator(labels.max(axis=1), "nDCG@10", offsets=offsets)
    calls = {metric: (lambda one=one: one.evaluate(scores)) for metric, one in evaluators.items()}
    calls["alpha_nDCG@10, judgments read in the call"] = lambda: fn.evaluate(
        labels, scores, "alpha_nDCG@10", offsets=offsets
    )
    seconds = interleaved(calls, repeat)
    return [
        f"{metric}: {digits(1e3 * taken)} ms for {n_queries} queries, {digits(taken / seconds['nDCG@10'], 3)} x nDCG@10"
        for metric, taken in seconds.items()
    ]


def prove(labels: Array, scores: Array, offsets: Array) -> None:
    """Compare with the reference on a few queries."""
    stop = int(offsets[min(PROVEN, len(offsets) - 1)])
    few = offsets[offsets <= stop]
    ours, slow = (
        evaluate(labels[:stop], scores[:stop], MEASURES, offsets=few).values
        for evaluate in (fn.evaluate, fn.reference.evaluate)
    )
    if not np.allclose(ours, slow, rtol=0, atol=1e-12, equal_nan=True):
        raise SystemExit("the reference gives other values")


if __name__ == "__main__":
    main()
