"""Metrics of pairs of documents, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked


def auc(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Share of the pairs of a relevant document and a ranked one that is not relevant, where the former is above."""
    above = relevant_above_others(labels, asked)
    n_pairs = sum(map(asked.is_relevant, judged)) * len(above)
    return sum(above) / n_pairs if n_pairs else math.nan


def ranking_loss(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Share of the same pairs where the relevant document is below, or was not retrieved."""
    n_relevant = sum(map(asked.is_relevant, judged))
    below = [n_relevant - n for n in relevant_above_others(labels, asked)]
    n_pairs = n_relevant * len(below)
    return sum(below) / n_pairs if n_pairs else math.nan


def relevant_above_others(labels: list[float], asked: Asked) -> list[int]:
    """For each document that is not relevant, in rank order, how many relevant ones stand above it."""
    relevant = [asked.is_relevant(label) for label in labels]
    return [sum(relevant[:i]) for i in range(len(labels)) if not relevant[i]]


def partial_auc(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Share of the pairs with one of the first others, so many as the false positive rate allows for."""
    above = relevant_above_others(labels, asked)
    limit = asked.get("max_fpr") * len(above)
    n_relevant = sum(map(asked.is_relevant, judged))
    right = math.fsum(n * min(max(limit - i, 0), 1) for i, n in enumerate(above))
    return right / (n_relevant * limit) if n_relevant * limit else math.nan


def partial_auc_of_mcclish(labels: list[float], judged: list[float], asked: Asked) -> float:
    """(1 + (area − least) / (most − least)) / 2, where a random order has the least area and a perfect one the most."""
    rate = asked.get("max_fpr")
    area, least, most = partial_auc(labels, judged, asked) * rate, rate**2 / 2, rate
    return (1 + (area - least) / (most - least)) / 2


def pairwise_accuracy(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Share of the pairs of a ranked document and a judged one with a higher label, where the latter is above."""
    right = sum(high > low for i, low in enumerate(labels) for high in labels[:i])
    n_pairs = sum(high > low for low in labels for high in judged)
    return right / n_pairs if n_pairs else math.nan
