"""
Metrics that count relevant documents.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition
from fastndcg.reference.set_based import n_relevant, n_relevant_retrieved, n_retrieved


def precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by k or by the convention's denominator."""
    denominator = precision_denominator(labels, judged, definition)
    return n_relevant_retrieved(labels, judged, definition) / denominator if denominator else 0


def precision_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of P."""
    if definition.convention.precision_denominator == "min(k, n_relevant)":
        return n_relevant(labels, judged, definition)
    if definition.convention.precision_denominator == "k" and definition.k is not None:
        return definition.k
    return n_retrieved(labels, judged, definition)


def recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by the convention's denominator."""
    n = recall_denominator(labels, judged, definition)
    return n_relevant_retrieved(labels, judged, definition) / n if n else math.nan


def recall_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of R."""
    is_all = definition.convention.recall_denominator == "n_relevant"
    return n_relevant(labels, judged, definition._replace(k=None) if is_all else definition)


def f_score(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return (1 + beta²) · P · R / (beta² · P + R), or 0 if no relevant document is found."""
    p = precision(labels, judged, definition)
    r = recall(labels, judged, definition)
    beta = definition.get("beta")
    share = 1 / (1 + beta * beta)  # weight of precision; keeps huge beta from overflowing
    return p * r / ((1 - share) * p + share * r) if r > 0 else r


def r_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the precision at rank min(mult · R, k), where R is the number of relevant documents."""
    n = n_relevant(labels, judged, definition._replace(k=None))
    cutoff = min(int(definition.get("mult") * n + 0.9), definition.k or math.inf)
    return n_relevant_retrieved(labels, judged, definition._replace(k=int(cutoff))) / cutoff if cutoff else math.nan


def relative_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by min(k, R), or by min(n_retrieved, R) without k."""
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    most = n if definition.k is not None else min(n, len(labels))
    return n_relevant_retrieved(labels, judged, definition) / most if most else 0


def average_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of P@r over the ranks r = 1 … k of relevant documents, divided by the AP denominator."""
    n = ap_denominator(labels, judged, definition)
    return math.fsum(precisions_at_hits(labels, definition)) / n if n else math.nan


def ap_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of AP, or 0 if no document is relevant."""
    choice = definition.convention.ap_denominator
    n = n_relevant(labels, judged, definition._replace(k=None))
    if choice == "n_relevant":
        return n
    if choice == "k" and definition.k is not None:
        return definition.k if n else 0
    if choice == "min(k, n_relevant, n_retrieved)":
        return min(n, n_retrieved(labels, judged, definition))
    return n_relevant(labels, judged, definition)


def average_precision_over_hits(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of P@r over the ranks r = 1 … k of relevant documents, or 0 without any."""
    precisions = precisions_at_hits(labels, definition)
    if not n_relevant(labels, judged, definition):
        return math.nan
    return math.fsum(precisions) / len(precisions) if precisions else 0


def precisions_at_hits(labels: list[float], definition: Definition) -> list[float]:
    """Return P@r for each rank r = 1 … k with a relevant document."""
    relevant = [definition.is_relevant(label) for label in labels[: definition.k]]
    return [sum(relevant[:r]) / r for r in range(1, len(relevant) + 1) if relevant[r - 1]]
