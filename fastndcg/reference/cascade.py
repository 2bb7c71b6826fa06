"""
Metrics of a user who stops at each document with some probability.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fastndcg.reference.definition import Definition


def stop_probability(label: float, definition: Definition) -> float:
    """Return the probability to stop at a document: its label, or (2^label − 1) / 2^max_grade."""
    if label <= 0:
        return 0.0
    if definition.metric.get("stop") == "labels":
        return label
    if definition.convention.label_fractions == "cut off":
        label = float(math.trunc(label))
    gain = 2.0**label - 1 if label >= 1 else math.expm1(label * math.log(2))
    return float(gain / 2.0 ** definition.get("max_grade"))


def expected_worth(labels: list[float], definition: Definition, worth: Callable[[int], float]) -> float:
    """Return the expected worth of the rank among the first k at which a user stops."""
    terms = []
    p_continue = 1.0
    for rank, label in enumerate(labels[: definition.k], 1):
        terms.append(p_continue * stop_probability(label, definition) * worth(rank))
        p_continue *= 1 - stop_probability(label, definition)
    return math.fsum(terms)


def expected_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the expected 1 / rank at which a user stops."""
    return expected_worth(labels, definition, lambda rank: 1 / rank)


def normalised_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return ERR@k divided by the ERR@k of the ideal ranking."""
    ideal = expected_reciprocal_rank(sorted(judged, reverse=True), judged, definition)
    return expected_reciprocal_rank(labels, judged, definition) / ideal if ideal else math.nan


def pfound(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the probability to stop at a document if the user goes on from each rank with probability `decay`."""
    return expected_worth(labels, definition, lambda rank: definition.get("decay") ** (rank - 1))


def time_biased_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of the gains of relevant documents, halved by each half-life of seconds before a document."""
    gains = []
    seconds = 0.0
    for label in labels[: definition.k]:
        is_relevant = definition.is_relevant(label)
        if is_relevant:
            gains.append(0.64 * 0.77 * 2 ** (-seconds / definition.get("half_life")))
        seconds += 4.4 + (0.018 * definition.get("words") + 7.8) * (0.64 if is_relevant else 0.39)
    return math.fsum(gains)
