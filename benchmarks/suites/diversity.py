"""
Diversity suite: metrics by subtopic against pyndeval, and against nDCG@10 on plain labels.

Values are compared with pyndeval and with the reference before they are timed. The judgments of pyndeval are prepared,
and its run is the list of tuples that it takes. The ids of fastndcg are prepared, and joined in the call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately
from benchmarks.lib.workloads import Array

PYNDEVAL_QUERIES = 2_000
NDCG_QUERIES = 100_000
DOCUMENTS = 100
SUBTOPICS = 6
RELEVANT_SHARE = 0.05
MEASURES = tuple(
    f"{name}@{k}" for name in ("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "P-IA", "strec") for k in (5, 10, 20)
)
MEASURES += ("NRBP", "nNRBP", "MAP-IA")
METRICS = ("alpha_nDCG@10", "alpha_DCG@10", "ERR_IA@10", "NRBP", "nNRBP", "P_IA@10", "AP_IA", "S_recall@10")
N_VERIFIED = 50


def make_arrays(n_queries: int) -> tuple[Array, Array, Array]:
    """Make labels by subtopic, scores without ties, and offsets."""
    rng = np.random.default_rng(2008)
    n_documents = n_queries * DOCUMENTS
    labels = (rng.random((n_documents, SUBTOPICS)) < RELEVANT_SHARE).astype("u1")
    positions = np.broadcast_to(np.arange(DOCUMENTS, dtype="f4"), (n_queries, DOCUMENTS))
    scores = rng.permuted(positions, axis=1).reshape(-1)
    return labels, scores, np.arange(n_queries + 1) * DOCUMENTS


def make_pyndeval_inputs(labels: Array, scores: Array) -> tuple[list[Any], list[Any]]:
    """Return judgments and run as pyndeval takes them, with ids that fall with the position."""
    n_queries = len(labels) // DOCUMENTS
    names = [f"d{DOCUMENTS - position:03}" for position in range(DOCUMENTS)] * n_queries
    queries = [str(query) for query in range(n_queries) for _ in range(DOCUMENTS)]
    run = list(zip(queries, names, scores.tolist(), strict=True))
    rows, subtopics = np.indices(labels.shape)
    entries = zip(rows.ravel().tolist(), subtopics.ravel().tolist(), labels.ravel().tolist(), strict=True)
    return [(queries[row], str(subtopic), names[row], label) for row, subtopic, label in entries], run


def compare_with_pyndeval(options: Options) -> list[Row]:
    """Compare all measures of pyndeval in one call, from ids and from arrays."""
    n_queries = max(2, round(PYNDEVAL_QUERIES * options.scale))
    labels, scores, offsets = make_arrays(n_queries)
    verify_with_reference(labels, scores, offsets)
    what = f"{len(MEASURES)} measures of {n_queries:,} queries against pyndeval"
    try:
        import pyndeval
    except ImportError:
        return [make_missing_row(what, "pyndeval is not installed: pip install pyndeval")]
    judgments, run = make_pyndeval_inputs(labels, scores)
    theirs = pyndeval.RelevanceEvaluator(judgments, MEASURES)
    qrels = fn.DiversityQrels(*map(list, zip(*judgments, strict=True)))
    table = fn.Run(*map(list, zip(*run, strict=True)))
    id_evaluator = fn.Evaluator(qrels, MEASURES, convention="ndeval")
    array_evaluator = fn.Evaluator(labels, MEASURES, offsets=offsets, convention="ndeval(ties=average)")
    expected = theirs.evaluate(run)
    values = np.array([[expected[str(query)][measure] for measure in MEASURES] for query in range(n_queries)])
    for result in (id_evaluator.evaluate(table), array_evaluator.evaluate(scores)):
        if not np.allclose(result.values, values, rtol=0, atol=1e-12, equal_nan=True):
            raise SystemExit("pyndeval and fastndcg must give the same values before they are timed, but they differ")
    calls: dict[str, Callable[[], Any]] = {
        "theirs": lambda: theirs.evaluate(run),
        "ids": lambda: id_evaluator.evaluate(table),
        "arrays": lambda: array_evaluator.evaluate(scores),
    }
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(f"{what}, from {form}", seconds["theirs"] / seconds[form], "× as fast")
        for form in ("ids", "arrays")
    ]  # fmt: skip


def compare_with_ndcg(options: Options) -> list[Row]:
    """Compare each metric, and all in one call, with nDCG@10 of the highest label of each document."""
    n_queries = max(2, round(NDCG_QUERIES * options.scale))
    labels, scores, offsets = make_arrays(n_queries)
    plain_labels = labels.max(axis=1)
    plain = fn.evaluate(plain_labels, scores, "nDCG@10", offsets=offsets)
    if plain.values.tobytes() != fn.evaluate(labels, scores, "nDCG@10", offsets=offsets).values.tobytes():
        raise SystemExit("nDCG@10 of labels by subtopic must equal that of the highest labels, but differs")
    evaluators = {metric: fn.Evaluator(labels, metric, offsets=offsets) for metric in METRICS}
    evaluators["all of these"] = fn.Evaluator(labels, METRICS, offsets=offsets)
    evaluators["nDCG@10"] = fn.Evaluator(plain_labels, "nDCG@10", offsets=offsets)
    calls: dict[str, Callable[[], Any]] = {
        name: (lambda evaluator=evaluator: evaluator.evaluate(scores)) for name, evaluator in evaluators.items()
    }
    calls["alpha_nDCG@10 without an Evaluator"] = lambda: fn.evaluate(labels, scores, METRICS[0], offsets=offsets)
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(
            f"{name}, {n_queries:,} queries", value / seconds["nDCG@10"], "× nDCG@10", detail=f"{1e3 * value:.4g} ms"
        )
        for name, value in seconds.items()
    ]


def verify_with_reference(labels: Array, scores: Array, offsets: Array) -> None:
    """Raise SystemExit if a value of some queries differs from the reference."""
    stop = int(offsets[min(N_VERIFIED, len(offsets) - 1)])
    some_offsets = offsets[offsets <= stop]
    ours, expected = (
        evaluate(labels[:stop], scores[:stop], MEASURES, offsets=some_offsets).values
        for evaluate in (fn.evaluate, fn.reference.evaluate)
    )
    if not np.allclose(ours, expected, rtol=0, atol=1e-12, equal_nan=True):
        raise SystemExit("metrics by subtopic must equal the reference before they are timed, but differ")


PARTS: dict[str, Callable[[Options], list[Row]]] = {"pyndeval": compare_with_pyndeval, "ndcg": compare_with_ndcg}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("pyndeval",))
