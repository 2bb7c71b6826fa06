"""Metrics of a user who stops at a document with some chance, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

import math
from collections.abc import Callable

from fastndcg.reference.asked import Asked


def stop(label: float, asked: Asked) -> float:
    """The chance to stop at a document: its label, or (2^label − 1) / 2^max_grade; labels below 0 stop nobody."""
    if label <= 0:
        return 0.0
    if asked.metric.get("stop") == "labels":
        return label
    if asked.convention.label_fractions == "cut off":
        label = float(math.trunc(label))
    gain = 2.0**label - 1 if label >= 1 else math.expm1(label * math.log(2))
    return float(gain / 2.0 ** asked.get("max_grade"))


def stopping(labels: list[float], asked: Asked, worth: Callable[[int], float]) -> float:
    """Expected worth of the rank where a user stops, one of the first k."""
    total, looking = [], 1.0
    for rank, label in enumerate(labels[: asked.k], 1):
        total.append(looking * stop(label, asked) * worth(rank))
        looking *= 1 - stop(label, asked)
    return math.fsum(total)


def expected_reciprocal_rank(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Expected 1 / rank where a user stops."""
    return stopping(labels, asked, lambda rank: 1 / rank)


def normalised_reciprocal_rank(labels: list[float], judged: list[float], asked: Asked) -> float:
    """The same over that of the best order."""
    best = expected_reciprocal_rank(sorted(judged, reverse=True), judged, asked)
    return expected_reciprocal_rank(labels, judged, asked) / best if best else math.nan


def chance_to_find(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Chance to stop at a document, where each rank is left for the next with the chance `decay`."""
    return stopping(labels, asked, lambda rank: asked.get("decay") ** (rank - 1))


def time_biased_gain(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Chance that relevant documents are clicked and saved, halved by each half-life of seconds that went by above."""
    total, seconds = [], 0.0
    for label in labels[: asked.k]:
        relevant = asked.is_relevant(label)
        if relevant:
            total.append(0.64 * 0.77 * 2 ** (-seconds / asked.get("half_life")))
        seconds += 4.4 + (0.018 * asked.get("words") + 7.8) * (0.64 if relevant else 0.39)
    return math.fsum(total)
