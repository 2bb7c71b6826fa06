"""
Metrics of text spans: how much of the gold text the retrieved chunks cover.

gold    {(document, character): weight} of the gold text
spans   the gold spans (document, start, end), which do not overlap
chunks  the chunks (document, start, end) in rank order
metric  the metric with its parameters
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from fastndcg.metrics.families.record import Parameter, Record

Span = tuple[Any, int, int]
SMITH_2024 = "B. Smith and A. Troynikov, Evaluating chunking strategies for retrieval, Chroma 2024"
ADDRESS = "https://research.trychroma.com/evaluating-chunking"
OVERLAP = Parameter(
    "overlap", "choice", "union", "union: characters of several chunks count once; counted: once for each chunk",
    choices=("union", "counted"),
)  # fmt: skip
IDEAL = Parameter(
    "ideal", "choice", "gold", "gold: the gold spans, the heaviest first; chunks: the query's chunks in greedy order",
    choices=("gold", "chunks"),
)  # fmt: skip
_of_spans = partial(
    Record,
    undefined="the query has no gold text",
    source=f"{SMITH_2024}, {ADDRESS}",
    ties=(),
    function_name="evaluate_spans",
)

RECORDS = (
    _of_spans(
        name="span_recall",
        title="recall of gold text",
        use="The share of the gold text that the retrieved chunks hold; to choose a chunker that loses nothing.",
        place="spans.span_recall",
        formula="characters of gold text that the first k chunks cover, over all characters of gold text",
        peers=(("chunking_evaluation", "recall_mean"),),
    ),
    _of_spans(
        name="span_precision",
        title="precision of gold text",
        use="The share of the retrieved text that is gold; to choose a chunker that wastes no context.",
        place="spans.span_precision",
        formula="characters of gold text that the first k chunks cover, over the characters of these chunks; 0 without "
        "chunks",
        parameters=(OVERLAP,),
        peers=(("chunking_evaluation", "precision_mean, with overlap=counted"),),
    ),
    _of_spans(
        name="span_iou",
        title="intersection over union of gold text and chunks",
        use="Recall and precision of text in one number; to compare chunk sizes.",
        place="spans.span_iou",
        formula="characters of gold text that the first k chunks cover, over the characters of these chunks and of the "
        "gold text that they do not cover",
        parameters=(OVERLAP,),
        aliases=("token_iou",),
        peers=(("chunking_evaluation", "iou_mean, with overlap=counted"),),
    ),
    _of_spans(
        name="span_ndcg",
        title="nDCG of gold text",
        use="How early the gold text comes in the ranking of chunks; where a language model reads the first ones most.",
        place="spans.span_ndcg",
        formula="sum over r = 1 … k of gain(r) / log2(r + 1), over that of an ideal ranking; gain(r) is the weight of "
        "the gold characters that the chunk at rank r covers and no chunk above it; the ideal ranking has the gold "
        "spans, the heaviest first, or the query's chunks in greedy order, an approximation of the best one",
        range="0 to 1, and more where a chunk covers several gold spans, or an order passes the greedy one",
        source="novelty as in C. L. A. Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR "
        "2008, by characters",
        doi="10.1145/1390334.1390446",
        parameters=(IDEAL,),
    ),
)


class SpanCase(NamedTuple):
    """The gold text and the chunks of one query."""

    gold: dict[tuple[Any, int], float]
    spans: list[Span]
    chunks: list[Span]


def span_recall(case: SpanCase, metric: Any) -> float:
    """Return the share of the gold characters that the first k chunks cover."""
    return count_found(case, metric) / len(case.gold) if case.gold else math.nan


def span_precision(case: SpanCase, metric: Any) -> float:
    """Return the share of the characters of the first k chunks that are gold."""
    if not case.gold:
        return math.nan
    n_chars = count_chunk_characters(case, metric)
    return count_found(case, metric) / n_chars if n_chars else 0.0


def span_iou(case: SpanCase, metric: Any) -> float:
    """Return the gold characters of the first k chunks over the characters of chunks and gold together."""
    if not case.gold:
        return math.nan
    n_found = count_found(case, metric)
    return n_found / (count_chunk_characters(case, metric) + len(case.gold) - n_found)


def span_ndcg(case: SpanCase, metric: Any) -> float:
    """Return the discounted weight of the gold that each chunk adds, over that of an ideal ranking."""
    if not case.gold:
        return math.nan
    ideal = order_greedily(case) if metric.get("ideal") == "chunks" else case.spans
    gains = add_gains(case, ideal)
    ideal_dcg = sum_discounted(sorted(gains, reverse=True), metric)
    return sum_discounted(add_gains(case, case.chunks), metric) / ideal_dcg if ideal_dcg else 0.0


def list_characters(span: Span) -> set[tuple[Any, int]]:
    """Return the characters of a span."""
    document, start, end = span
    return {(document, place) for place in range(start, end)}


def count_found(case: SpanCase, metric: Any) -> int:
    """Count the gold characters that the first k chunks cover."""
    covered = set[tuple[Any, int]]().union(*map(list_characters, case.chunks[: metric.k]))
    return len(covered & set(case.gold))


def count_chunk_characters(case: SpanCase, metric: Any) -> int:
    """Count the characters of the first k chunks, those of several chunks once or each time."""
    each = [list_characters(chunk) for chunk in case.chunks[: metric.k]]
    return sum(map(len, each)) if metric.get("overlap") == "counted" else len(set[tuple[Any, int]]().union(*each))


def add_gains(case: SpanCase, chunks: list[Span]) -> list[float]:
    """Return the weight of the gold that each chunk covers and none above it."""
    left = dict(case.gold)
    return [math.fsum(left.pop(character, 0.0) for character in list_characters(chunk)) for chunk in chunks]


def order_greedily(case: SpanCase) -> list[Span]:
    """Return the chunks in an order in which the next one covers most, or stands first."""
    left = dict(case.gold)
    remaining = list(case.chunks)
    order = []
    while remaining:
        best = max(remaining, key=lambda chunk: math.fsum(left.get(place, 0.0) for place in list_characters(chunk)))
        remaining.remove(best)
        order.append(best)
        for place in list_characters(best):
            left.pop(place, None)
    return order


def sum_discounted(gains: list[float], metric: Any) -> float:
    """Return the sum of gain / log2(rank + 1) over the first k ranks."""
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[: metric.k], 1))
