"""
Metrics of pairs of documents.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition


def auc(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of pairs of a relevant and a ranked other document in which the relevant one is above."""
    above = relevant_above_others(labels, definition)
    n_pairs = sum(map(definition.is_relevant, judged)) * len(above)
    return sum(above) / n_pairs if n_pairs else math.nan


def ranking_loss(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of these pairs in which the relevant document is below or not retrieved."""
    n_relevant = sum(map(definition.is_relevant, judged))
    below = [n_relevant - n for n in relevant_above_others(labels, definition)]
    n_pairs = n_relevant * len(below)
    return sum(below) / n_pairs if n_pairs else math.nan


def relevant_above_others(labels: list[float], definition: Definition) -> list[int]:
    """Return the number of relevant documents above each document that is not relevant, in rank order."""
    relevant = [definition.is_relevant(label) for label in labels]
    return [sum(relevant[:i]) for i in range(len(labels)) if not relevant[i]]


def partial_auc(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of right pairs among those with the first documents that are not relevant."""
    above = relevant_above_others(labels, definition)
    limit = definition.get("max_fpr") * len(above)
    n_relevant = sum(map(definition.is_relevant, judged))
    n_right = math.fsum(n * min(max(limit - i, 0), 1) for i, n in enumerate(above))
    return n_right / (n_relevant * limit) if n_relevant * limit else math.nan


def partial_auc_mcclish(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return (1 + (area − lowest) / (highest − lowest)) / 2, where a random order has the lowest area."""
    rate = definition.get("max_fpr")
    area = partial_auc(labels, judged, definition) * rate
    lowest = rate**2 / 2
    return (1 + (area - lowest) / (rate - lowest)) / 2


def pairwise_accuracy(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of pairs of different labels in which the document with the higher label is above."""
    n_right = sum(high > low for i, low in enumerate(labels) for high in labels[:i])
    n_pairs = sum(high > low for low in labels for high in judged)
    return n_right / n_pairs if n_pairs else math.nan
