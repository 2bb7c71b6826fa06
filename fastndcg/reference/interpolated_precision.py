"""
Interpolated precision at levels of recall.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition
from fastndcg.reference.set_based import n_relevant


def interpolate(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the highest P@r of the ranks r that reach the recall."""
    return _interpolate(definition.get("recall"), labels, judged, definition)


def average_over_recalls(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of the interpolated precision at several recalls."""
    recalls = definition.metric.get("recalls")
    return math.fsum(_interpolate(recall, labels, judged, definition) for recall in recalls) / len(recalls)


def _interpolate(recall: float, labels: list[float], judged: list[float], definition: Definition) -> float:
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    n_needed = round_needed(recall * n, definition.convention.recall_rounding)
    relevant = [definition.is_relevant(label) for label in labels]
    return max((sum(relevant[:r]) / r for r in range(1, len(labels) + 1) if sum(relevant[:r]) >= n_needed), default=0)


def round_needed(n_relevant: float, rounding: str) -> int:
    """Round the number of relevant documents that reaches a recall, to 1 at least."""
    if rounding == "up":
        return max(math.ceil(n_relevant - 1e-9), 1)  # 0.7 · 10 is 7.000000000000001
    return max(math.floor(n_relevant + {"nearest": 0.5, "up from a tenth": 0.9}[rounding]), 1)
