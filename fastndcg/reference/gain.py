"""Metrics that add up gains, as functions of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked


def cg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of the gains at ranks 1 … k."""
    return math.fsum(asked.gain(label) for label in labels[: asked.k])


def dcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum over ranks r = 1 … k of gain · discount(r)."""
    return math.fsum(asked.gain(label) * asked.discount(r) for r, label in enumerate(labels[: asked.k], 1))


def dcg_of_shares(labels: list[float], judged: list[float], asked: Asked) -> float:
    """The same with gains divided by the highest one of the judged documents, if that is above 1."""
    return dcg(labels, judged, asked) / max(1, *(asked.gain(label) for label in judged), 1)


def idcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k of all judged documents, highest gain first."""
    return dcg(sorted(judged, key=asked.gain, reverse=True), judged, asked)


def idcg_of_k_best(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k of k documents that all have the highest gain."""
    highest = max(map(asked.gain, judged), default=0.0)
    return max(highest, 0.0) * math.fsum(asked.discount(r) for r in range(1, (asked.k or 0) + 1))


def ndcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k / IDCG@k; undefined where the ideal is 0."""
    ideal = idcg_of_k_best if asked.convention.ideal == "k best" else idcg
    best = ideal(labels, judged, asked)
    return math.nan if best == 0 else dcg(labels, judged, asked) / best
