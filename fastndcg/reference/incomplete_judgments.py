"""
Metrics that tell unjudged documents from documents that are not relevant.

Each function takes one order of a query's documents: see `fastndcg.reference`. The label of an unjudged document is
UNJUDGED, or POOLED if the document is in the pool: see `fastndcg.reference.unjudged`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition
from fastndcg.reference.set_based import n_relevant
from fastndcg.reference.unjudged import UNJUDGED, Mark

EPSILON = 0.00001


def binary_preference(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of the share of R judged other documents that are ranked below."""
    n = n_relevant(labels, judged, definition)
    n_others = max(_n_judged(judged), _n_judged(labels)) - n
    total = 0.0
    above = 0
    for label in labels:
        if definition.is_relevant(label):
            total += 1 - min(above, n) / min(n_others, n) if above else 1
        elif not isinstance(label, Mark):
            above += 1
    return total / n if n else math.nan


def inferred_average_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of the precision that the judged documents above suggest."""
    n = n_relevant(labels, judged, definition)
    total = 0.0
    for place, label in enumerate(labels):
        if definition.is_relevant(label):
            above = labels[:place]
            pooled = sum(other is not UNJUDGED for other in above)
            relevant = sum(map(definition.is_relevant, above))
            precision = (relevant + EPSILON) / (_n_judged(above) + 2 * EPSILON)
            total += 1 / (place + 1) + pooled / (place + 1) * precision
    return total / n if n else math.nan


def n_nonrelevant_judged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of ranked documents that are judged and not relevant."""
    return sum(not isinstance(label, Mark) and not definition.is_relevant(label) for label in labels)


def share_judged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of the first k documents that is judged."""
    first = labels[: definition.k]
    return _n_judged(first) / len(first) if first else math.nan


def share_unjudged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of unjudged documents among the first k, divided by k, or without k by the number of all."""
    first = labels[: definition.k]
    denominator = len(labels) if definition.k is None else definition.k
    return (len(first) - _n_judged(first)) / denominator if denominator else 0


def rbp_residual(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the RBP that unjudged documents would add if they were relevant, and the ranks below them."""
    first = labels[: definition.k]
    unknown = [definition.discount(r) for r, label in enumerate(first, 1) if isinstance(label, Mark)]
    return math.fsum([*unknown, definition.get("p") ** len(first)])


def rbp_residual_if_ranked(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the residual of RBP, or 0 for a query that ranks no documents."""
    return rbp_residual(labels, judged, definition) if labels else 0.0


def _n_judged(labels: list[float]) -> int:
    return sum(not isinstance(label, Mark) for label in labels)
