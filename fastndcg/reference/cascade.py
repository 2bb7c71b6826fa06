"""Metrics of a user who stops at a relevant document, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

from fastndcg.reference.asked import Asked


def reciprocal_rank(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 / rank of the first relevant document, 0 if it is below rank k."""
    return next((1 / r for r, label in enumerate(labels[: asked.k], 1) if asked.is_relevant(label)), 0)


def success(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 if one of the first k documents is relevant."""
    return float(any(asked.is_relevant(label) for label in labels[: asked.k]))
