"""
Metrics of the ranks of relevant documents.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition


def find_relevant_ranks(labels: list[float], definition: Definition) -> list[int]:
    """Return the ranks of the relevant documents."""
    return [rank for rank, label in enumerate(labels, 1) if definition.is_relevant(label)]


def label_ranking_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of n / rank of the nth relevant document, with 0 for documents that are not retrieved."""
    n_relevant = sum(map(definition.is_relevant, judged))
    shares = [n / rank for n, rank in enumerate(find_relevant_ranks(labels, definition), 1)]
    return math.fsum(shares) / n_relevant if n_relevant else math.nan


def coverage_error(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank of the last relevant document, as if missing ones followed after all ranked documents."""
    n_relevant = sum(map(definition.is_relevant, judged))
    ranks = find_relevant_ranks(labels, definition)
    n_missing = n_relevant - len(ranks)
    if n_missing > 0:
        return len(labels) + n_missing
    return ranks[-1] if n_relevant else math.nan


def precision_at_recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the precision at the first rank that reaches the recall."""
    n_relevant = sum(map(definition.is_relevant, judged))
    if not n_relevant:
        return math.nan
    n_needed = definition.get("recall") * n_relevant - 1e-9  # 0.7 · 10 is 7.000000000000001
    return next((n / rank for n, rank in enumerate(find_relevant_ranks(labels, definition), 1) if n >= n_needed), 0)
