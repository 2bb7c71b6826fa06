"""Precision at a recall, interpolated, as functions of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant


def precision_at_recall(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Highest P@r of the ranks r by which enough relevant documents are found."""
    return _interpolated(asked.get("recall"), labels, judged, asked)


def average_over_recalls(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean of the interpolated precisions at several recalls."""
    recalls = asked.metric.get("recalls")
    return math.fsum(_interpolated(recall, labels, judged, asked) for recall in recalls) / len(recalls)


def _interpolated(recall: float, labels: list[float], judged: list[float], asked: Asked) -> float:
    n = n_relevant(labels, judged, asked)
    if not n:
        return math.nan
    needed = n_needed(recall * n, asked.convention.recall_rounding)
    relevant = [asked.is_relevant(label) for label in labels]
    return max((sum(relevant[:r]) / r for r in range(1, len(labels) + 1) if sum(relevant[:r]) >= needed), default=0)


def n_needed(wanted: float, rounding: str) -> int:
    """How many relevant documents a recall asks for, 1 at the least."""
    if rounding == "up":
        return max(math.ceil(wanted - 1e-9), 1)  # 0.7 · 10 is a little more than 7
    return max(math.floor(wanted + {"nearest": 0.5, "up from a tenth": 0.9}[rounding]), 1)
