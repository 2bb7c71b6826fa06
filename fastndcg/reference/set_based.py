"""
Metrics of sets of documents.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition


def n_retrieved(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of documents in the first k ranks."""
    return len(labels[: definition.k])


def n_relevant(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents, or k if that is smaller."""
    return n_relevant_retrieved(sorted(judged, reverse=True), judged, definition)


def n_relevant_retrieved(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents among the first k."""
    return sum(definition.is_relevant(label) for label in labels[: definition.k])


def precision_times_recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return P · R of all ranked documents, or 0 if none are ranked."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    return n_found / len(labels) * n_found / n if labels else 0


def utility(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return a · relevant and retrieved + b · only retrieved + c · only relevant + d · all other documents."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n = n_relevant(labels, judged, definition)
    only_retrieved = len(labels) - n_found
    only_relevant = n - n_found
    rest = definition.get("documents") - n_found - only_retrieved - only_relevant
    a, b, c, d = map(definition.get, "abcd")
    return a * n_found + b * only_retrieved + c * only_relevant + d * rest


def classification_accuracy(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of documents on the right side of the cutoff, relevant ones above and others below."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n_right = n_found + sum(not definition.is_relevant(label) for label in labels[len(labels[: definition.k]) :])
    n = sum(not definition.is_relevant(label) for label in labels) + sum(map(definition.is_relevant, judged))
    return n_right / n if n else math.nan


def fall_out(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of the ranked documents that are not relevant which is in the first k ranks."""
    n_others = sum(not definition.is_relevant(label) for label in labels)
    n_first = sum(not definition.is_relevant(label) for label in labels[: definition.k])
    return n_first / n_others if n_others else math.nan
