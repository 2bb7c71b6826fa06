"""
Metrics of the rank of the first relevant document, and what a random order gives.

Each function takes one order of a query's documents: see `fastndcg.reference`. Under the tie policy 'mean_rank' an
order is a `MeanRanked`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import comb

from fastndcg.reference.definition import Definition
from fastndcg.reference.tie_orders import MeanRanked


def first_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank of the first relevant document."""
    return next((r for r, label in enumerate(labels, 1) if definition.is_relevant(label)), math.nan)


def list_mean_ranks(labels: list[float], definition: Definition) -> list[float]:
    """Return the mean rank of the tie group of each relevant document. An order without groups has no ties."""
    ranks = labels.ranks if isinstance(labels, MeanRanked) else range(1, len(labels) + 1)
    return [rank for rank, label in zip(ranks, labels, strict=True) if definition.is_relevant(label)]


def first_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the lowest mean rank of a relevant document."""
    return min(list_mean_ranks(labels, definition), default=math.nan)


def reciprocal_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 / lowest mean rank of a relevant document, 0 if that is more than k."""
    rank = min(list_mean_ranks(labels, definition), default=math.inf)
    return 1 / rank if rank <= (definition.k or math.inf) else 0.0


def success_at_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 if a relevant document has a mean rank of at most k."""
    return float(n_retrieved_at_mean_rank(labels, judged, definition) > 0)


def n_retrieved_at_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents with a mean rank of at most k."""
    k = definition.k or math.inf
    return float(sum(rank <= k for rank in list_mean_ranks(labels, definition)))


def chance_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean rank of the first relevant document over all sets of ranks that it and the others may have."""
    return expect_first(labels, definition, lambda rank: rank) if any_relevant(labels, definition) else math.nan


def chance_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of RR over all orders."""
    k = definition.k or math.inf
    return expect_first(labels, definition, lambda rank: 1 / rank if rank <= k else 0.0)


def chance_success(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of Success over all orders."""
    k = definition.k or math.inf
    return expect_first(labels, definition, lambda rank: float(rank <= k))


def any_relevant(labels: list[float], definition: Definition) -> bool:
    """Return True if a document is relevant."""
    return any(definition.is_relevant(label) for label in labels)


def expect_first(labels: list[float], definition: Definition, value: Callable[[int], float]) -> float:
    """
    Return the mean of a function of the rank of the first relevant document over all orders.

    The first of R relevant documents among n has rank r in C(n − r, R − 1) of C(n, R) sets of ranks.
    """
    n = len(labels)
    n_relevant = sum(definition.is_relevant(label) for label in labels)
    if not n_relevant:
        return 0.0
    n_sets = comb(n, n_relevant)
    return math.fsum(value(r) * (comb(n - r, n_relevant - 1) / n_sets) for r in range(1, n + 1))
