"""Metrics of a classifier that takes the first k documents for relevant: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant_retrieved


def accuracy(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents in the first k ranks and others below, over all others that are ranked and all relevant."""
    found = n_relevant_retrieved(labels, judged, asked)
    right = found + sum(not asked.is_relevant(label) for label in labels[len(labels[: asked.k]) :])
    n = sum(not asked.is_relevant(label) for label in labels) + sum(map(asked.is_relevant, judged))
    return right / n if n else math.nan


def fall_out(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Documents in the first k ranks that are not relevant, over all such documents."""
    n_others = sum(not asked.is_relevant(label) for label in labels)
    return sum(not asked.is_relevant(label) for label in labels[: asked.k]) / n_others if n_others else math.nan
