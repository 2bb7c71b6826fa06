"""Metrics of the ranks at which relevant documents are reached, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked


def ranks_of_relevant(labels: list[float], asked: Asked) -> list[int]:
    """The ranks of the relevant documents."""
    return [rank for rank, label in enumerate(labels, 1) if asked.is_relevant(label)]


def label_ranking_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean of n / rank of the nth relevant document, 0 for those that are not there."""
    n_relevant = sum(map(asked.is_relevant, judged))
    shares = [n / rank for n, rank in enumerate(ranks_of_relevant(labels, asked), 1)]
    return math.fsum(shares) / n_relevant if n_relevant else math.nan


def coverage_error(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Rank of the last relevant document, those not retrieved after all others."""
    n_relevant, ranks = sum(map(asked.is_relevant, judged)), ranks_of_relevant(labels, asked)
    n_lost = n_relevant - len(ranks)
    if n_lost > 0:
        return len(labels) + n_lost
    return ranks[-1] if n_relevant else math.nan


def precision_at_recall(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Precision at the first rank where the recall is so high."""
    n_relevant = sum(map(asked.is_relevant, judged))
    if not n_relevant:
        return math.nan
    wanted = asked.get("recall") * n_relevant - 1e-9  # 0.7 · 10 is a little more than 7
    return next((n / rank for n, rank in enumerate(ranks_of_relevant(labels, asked), 1) if n >= wanted), 0)
