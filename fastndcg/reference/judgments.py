"""
Metrics that look at which documents were judged, as functions of one order: see `fastndcg.reference`.

The label of a document without a judgment is UNJUDGED, or POOLED where it was to be judged: see marks.py.
"""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant
from fastndcg.reference.marks import UNJUDGED, Mark

EPSILON = 0.00001


def binary_preference(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean over relevant documents of the share of judged others, up to R of them, that each stands above."""
    n = n_relevant(labels, judged, asked)
    others = max(_n_judged(judged), _n_judged(labels)) - n
    total, above = 0.0, 0
    for label in labels:
        if asked.is_relevant(label):
            total += 1 - min(above, n) / min(others, n) if above else 1
        elif not isinstance(label, Mark):
            above += 1
    return total / n if n else math.nan


def inferred_average_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean over relevant documents of their precisions, estimated from the judged documents above each of them."""
    n = n_relevant(labels, judged, asked)
    total = 0.0
    for place, label in enumerate(labels):
        if asked.is_relevant(label):
            above = labels[:place]
            pooled = sum(one is not UNJUDGED for one in above)
            relevant = sum(map(asked.is_relevant, above))
            precision = (relevant + EPSILON) / (_n_judged(above) + 2 * EPSILON)
            total += 1 / (place + 1) + pooled / (place + 1) * precision
    return total / n if n else math.nan


def n_nonrelevant_judged(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many documents were judged and are not relevant."""
    return sum(not isinstance(label, Mark) and not asked.is_relevant(label) for label in labels)


def share_judged(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many of the first k documents were judged, over min(k, their number)."""
    first = labels[: asked.k]
    return _n_judged(first) / len(first) if first else math.nan


def share_unjudged(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many of the first k documents have no judgment, over k; without it, over the number of documents."""
    first = labels[: asked.k]
    denominator = len(labels) if asked.k is None else asked.k
    return (len(first) - _n_judged(first)) / denominator if denominator else 0


def rbp_residual(labels: list[float], judged: list[float], asked: Asked) -> float:
    """RBP of documents that are relevant if they have no judgment, and p^n for all below the n that are looked at."""
    first = labels[: asked.k]
    unknown = [asked.discount(r) for r, label in enumerate(first, 1) if isinstance(label, Mark)]
    return math.fsum([*unknown, asked.get("p") ** len(first)])


def _n_judged(labels: list[float]) -> int:
    return sum(not isinstance(label, Mark) for label in labels)
