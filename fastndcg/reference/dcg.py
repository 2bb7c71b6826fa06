"""
Metrics that sum discounted gains.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition


def cg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of the gains at ranks 1 … k."""
    return math.fsum(definition.gain(label) for label in labels[: definition.k])


def dcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum over ranks r = 1 … k of gain · discount(r)."""
    ranked = enumerate(labels[: definition.k], 1)
    return math.fsum(definition.gain(label) * definition.discount(r) for r, label in ranked)


def dcg_over_max_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k, divided by the highest gain of the judged documents if that is above 1."""
    return dcg(labels, judged, definition) / max(1, *(definition.gain(label) for label in judged), 1)


def idcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k of all judged documents, highest gain first."""
    return dcg(sorted(judged, key=definition.gain, reverse=True), judged, definition)


def idcg_k_best(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k of k documents that all have the query's highest gain."""
    highest = max(map(definition.gain, judged), default=0.0)
    return max(highest, 0.0) * math.fsum(definition.discount(r) for r in range(1, (definition.k or 0) + 1))


def ndcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k / IDCG@k, or NaN if the ideal is 0."""
    compute_ideal = idcg_k_best if definition.convention.ideal == "k best" else idcg
    ideal = compute_ideal(labels, judged, definition)
    return math.nan if ideal == 0 else dcg(labels, judged, definition) / ideal
