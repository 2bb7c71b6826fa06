"""Metrics of the retrieved set, as functions of one order of its documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant, n_relevant_retrieved


def precision_times_recall(labels: list[float], judged: list[float], asked: Asked) -> float:
    """P · R of all documents ranked; 0 if there are none."""
    found, n = n_relevant_retrieved(labels, judged, asked), n_relevant(labels, judged, asked)
    if not n:
        return math.nan
    return found / len(labels) * found / n if labels else 0


def utility(labels: list[float], judged: list[float], asked: Asked) -> float:
    """A · relevant and retrieved + b · retrieved only + c · relevant only + d · all other documents."""
    found, n = n_relevant_retrieved(labels, judged, asked), n_relevant(labels, judged, asked)
    only_retrieved, only_relevant = len(labels) - found, n - found
    rest = asked.get("documents") - found - only_retrieved - only_relevant
    a, b, c, d = map(asked.get, "abcd")
    return a * found + b * only_retrieved + c * only_relevant + d * rest
