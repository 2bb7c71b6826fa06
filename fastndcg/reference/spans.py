"""Metrics of text spans in plain Python, to check `fastndcg.evaluate_spans`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.inputs.spans import join_spans
from fastndcg.metrics.families.spans import SpanCase
from fastndcg.metrics.metric import Metrics, parse_metrics
from fastndcg.rankings.validation import Array
from fastndcg.runtime.lazy_import import load


def evaluate_spans(gold: Any, chunks: Any, metrics: Metrics | None = None, *, columns: Any = None) -> Array:
    """
    Evaluate the coverage of gold text slowly, character by character, in plain Python.

    Parameters
    ----------
    gold, chunks, metrics, columns
        See `fastndcg.evaluate_spans`. Metrics have the parameter `overlap`.

    Returns
    -------
    (n_queries, n_metrics) float64 array
        NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.evaluate_spans({"q": [("a", 0, 10)]}, {"q": [("a", 5, 25)]}, "span_recall, span_precision")
    array([[0.5 , 0.25]])
    """
    metric_list = parse_metrics(metrics, "evaluate_spans")
    joined = join_spans(gold, chunks, columns)
    values = np.empty((len(joined.query_ids), len(metric_list)))
    for q in range(len(values)):
        own, gold_rows = (slice(*offsets[q : q + 2].tolist()) for offsets in (joined.offsets, joined.gold_offsets))
        found = (joined.chunk_documents, joined.chunk_starts, joined.chunk_ends)
        wanted = (joined.gold_documents, joined.gold_starts, joined.gold_ends)
        spans = list(zip(*(column[gold_rows].tolist() for column in wanted), strict=True))
        weights = joined.gold_weights[gold_rows].tolist()
        text = {
            (document, place): weight
            for (document, start, end), weight in zip(spans, weights, strict=True)
            for place in range(start, end)
        }
        case = SpanCase(text, spans, list(zip(*(column[own].tolist() for column in found), strict=True)))
        for column, metric in enumerate(metric_list):
            file, _, name = metric.record.kernel.partition(".")
            values[q, column] = getattr(load(f"fastndcg.metrics.families.{file}"), name)(case, metric)
    return values
