"""
Variants of nDCG.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition
from fastndcg.reference.set_based import n_relevant


def ndcg_at_relevant(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of nDCG at the rank of each document with a gain, at the last rank if it is not retrieved."""
    ideal = best_gains(judged, definition)
    hit_ranks = [r for r, label in enumerate(labels, 1) if definition.gain(label) > 0]
    ranks = hit_ranks + [max(len(labels), len(ideal))] * (len(ideal) - len(hit_ranks))
    return math.fsum(_ndcg(rank, labels, ideal, definition) for rank in ranks) / len(ideal) if ideal else math.nan


def ndcg_at_levels(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of nDCG at the ranks where the ideal gain changes, and at the last rank below them."""
    ideal = best_gains(judged, definition)
    ranks = [r for r in range(1, len(ideal) + 1) if r == len(ideal) or ideal[r] != ideal[r - 1]]
    if len(labels) > len(ideal) + 1:
        ranks.append(len(labels))
    return math.fsum(_ndcg(rank, labels, ideal, definition) for rank in ranks) / len(ranks) if ideal else math.nan


def normalised_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of gain / log2(2 + cost − gains so far), divided by the sum of all gains."""
    ideal = best_gains(judged, definition)
    gains = [definition.gain(label) for label in labels]
    if not ideal:
        return math.nan
    costs = [max(gain, 1) for gain in ideal] + [1] * len(labels)
    terms = [
        gain / math.log2(2 + math.fsum([*costs[:r], *(-other for other in gains[:r])]))
        for r, gain in enumerate(gains, 1)
        if gain > 0
    ]
    return math.fsum(terms) / math.fsum(ideal)


def binary_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of 1 / log2(2 + documents above that are not relevant)."""
    relevant = [definition.is_relevant(label) for label in labels]
    n = n_relevant(labels, judged, definition)
    terms = [1 / math.log2(2 + relevant[:i].count(False)) for i, is_relevant in enumerate(relevant) if is_relevant]
    return math.fsum(terms) / n if n else math.nan


def best_gains(judged: list[float], definition: Definition) -> list[float]:
    """Return the gains above 0 of all judged documents, highest first."""
    return sorted((definition.gain(label) for label in judged if definition.gain(label) > 0), reverse=True)


def _ndcg(k: int, labels: list[float], ideal: list[float], definition: Definition) -> float:
    dcg = math.fsum(definition.gain(label) * definition.discount(r) for r, label in enumerate(labels[:k], 1))
    return dcg / math.fsum(gain * definition.discount(r) for r, gain in enumerate(ideal[:k], 1))
