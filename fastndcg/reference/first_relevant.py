"""
Metrics of the first relevant document.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

from fastndcg.reference.definition import Definition


def reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 / rank of the first relevant document, or 0 if it is below rank k."""
    return next((1 / r for r, label in enumerate(labels[: definition.k], 1) if definition.is_relevant(label)), 0)


def success(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 if one of the first k documents is relevant, else 0."""
    return float(any(definition.is_relevant(label) for label in labels[: definition.k]))
