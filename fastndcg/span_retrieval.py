"""Evaluate how much of the gold text the retrieved chunks cover: the function `evaluate_spans` and its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.choices import SpanOverlap
from fastndcg.engine.chunk import Span, make_discounts
from fastndcg.engine.compute.spans import SpanChunk
from fastndcg.engine.loop import evaluate_chunks
from fastndcg.engine.plan import find_depth
from fastndcg.engine.scratch import Scratch
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.messages import answer_keywords
from fastndcg.inputs.spans import JoinedSpans, join_spans
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array, read_only
from fastndcg.results.kinds import SpanResults
from fastndcg.runtime.threads import check_threads

CHUNK_SPANS = 1 << 14  # chunks of text whose coverage one kernel call computes
DOCUMENT_BITS = 31  # of a place as kernels take it, above which is the document: see kernels/metrics/spans.py


@answer_keywords
def evaluate_spans(
    gold: Any,
    chunks: Any,
    metrics: Metrics | None = None,
    *,
    overlap: SpanOverlap = "union",
    threads: int | None = None,
) -> SpanResults:
    """
    Evaluate how much of the gold text of each query the retrieved chunks cover, by character offsets.

    Spans are half-open, from `start` up to the character before `end`, in any unit that both sides share. A cutoff k
    counts chunks. Gold spans that overlap are one.

    Parameters
    ----------
    gold : dict, frame, records, path or Spans
        The text that answers each query: ``{query: [(document, start, end), …]}``, or columns of queries, documents,
        starts and ends, or a list of dicts of these in each row. A fourth field, or a column `weight`, is the weight of
        each character for span_ndcg, above 0. A file holds such a dict or records as JSON, or a table as CSV, Parquet
        or Arrow.
    chunks : dict, frame, records or path
        The retrieved chunks in the same forms. Those of a dict are in rank order. A frame has ranks, scores that
        differ, or rows in rank order.
    metrics : str, Metric, or iterable of them
        Such as "span_recall@5, span_precision@5, span_iou@5, span_ndcg@5".
    overlap : {'union', 'counted'}, default 'union'
        Whether characters of several chunks count once or each time, in precision and IoU. Chroma's evaluation of
        chunking counts them each time.
    threads
        See `evaluate`.

    Returns
    -------
    SpanResults
        `Results` with one value a query of the gold and metric, 0 for queries without chunks.

    Raises
    ------
    InvalidInputError
        If a span is empty, starts before 0 or has fractions, or if ranks or scores of a query are equal.

    Examples
    --------
    >>> gold = {"q1": [("a.txt", 100, 200)], "q2": [("b.txt", 0, 50)]}
    >>> chunks = {"q1": [("a.txt", 50, 150), ("a.txt", 100, 250)], "q2": [("c.txt", 0, 90), ("b.txt", 0, 100)]}
    >>> fn.evaluate_spans(gold, chunks, "span_recall@1, span_recall@2, span_precision@2, span_iou@2")
    metric              mean  queries  undefined
    span_recall@1     0.2500        2          0
    span_recall@2     1.0000        2          0
    span_precision@2  0.3816        2          0
    span_iou@2        0.3816        2          0
    """
    if overlap not in ("union", "counted"):
        raise InvalidInputError(f"`overlap` must be 'union' or 'counted', not {shorten(overlap)}.")
    parsed = tuple(apply_overlap(metric, overlap) for metric in parse_metrics(metrics, "evaluate_spans"))
    n_threads = check_threads(threads)
    joined = join_spans(gold, chunks)
    return SpanResults(
        evaluate_joined(joined, parsed, n_threads), parsed, joined.query_ids, conventions["default"],
        n_missing_in_run=joined.n_missing_in_chunks, n_missing_in_qrels=joined.n_missing_in_gold, notes=joined.notes,
    )  # fmt: skip


def apply_overlap(metric: Metric, overlap: str) -> Metric:
    """Return a metric with the parameter `overlap`, if it has one that is not set."""
    has_choice = any(parameter.name == "overlap" for parameter in metric.record.parameters)
    return metric(overlap=overlap) if has_choice and "overlap" not in dict(metric.parameters) else metric


def evaluate_joined(joined: JoinedSpans, metrics: tuple[Metric, ...], threads: int) -> Array:
    """Return the values of each metric, one a query."""
    depth = max(find_depth(metric) for metric in metrics)
    longest = max(int(np.diff(offsets).max(initial=0)) for offsets in (joined.offsets, joined.gold_offsets))
    discounts = make_discounts("log2", max(longest, 1)).values

    def read(span: Span, scratch: Scratch) -> SpanChunk:
        offsets, gold_offsets = (own[span[0] : span[1] + 1] for own in (joined.offsets, joined.gold_offsets))
        chunks = find_places(joined.chunk_documents, joined.chunk_starts, joined.chunk_ends, offsets)
        gold = find_places(joined.gold_documents, joined.gold_starts, joined.gold_ends, gold_offsets)
        weights = joined.gold_weights[gold_offsets[0] : gold_offsets[-1]]
        offsets, gold_offsets = read_only(offsets - offsets[0]), read_only(gold_offsets - gold_offsets[0])
        return SpanChunk((*chunks, offsets), (*gold, weights, gold_offsets), depth, discounts)

    return evaluate_chunks(metrics, joined.offsets + joined.gold_offsets, CHUNK_SPANS, threads, read)


def find_places(documents: Array, starts: Array, ends: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the places of the starts and the ends of some spans."""
    own = slice(offsets[0], offsets[-1])
    base = documents[own].astype("i8") << DOCUMENT_BITS
    return read_only(base + starts[own]), read_only(base + ends[own])
