"""Gains relative to the best so far, as functions of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant


def ndcg_at_relevant(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean over documents with a gain of nDCG at the rank of each, of nDCG of all ranks for those not found."""
    ideal = best_gains(judged, asked)
    found = [r for r, label in enumerate(labels, 1) if asked.gain(label) > 0]
    ranks = found + [max(len(labels), len(ideal))] * (len(ideal) - len(found))
    return math.fsum(_ndcg(rank, labels, ideal, asked) for rank in ranks) / len(ideal) if ideal else math.nan


def ndcg_at_levels(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean of nDCG at the ranks where the best order's gain changes, and of all ranks if there are R + 2 or more."""
    ideal = best_gains(judged, asked)
    ranks = [r for r in range(1, len(ideal) + 1) if r == len(ideal) or ideal[r] != ideal[r - 1]]
    if len(labels) > len(ideal) + 1:
        ranks.append(len(labels))
    return math.fsum(_ndcg(rank, labels, ideal, asked) for rank in ranks) / len(ranks) if ideal else math.nan


def normalised_gain(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of gain / log2(2 + cost − gained) over the sum of all gains."""
    ideal, gains = best_gains(judged, asked), [asked.gain(label) for label in labels]
    if not ideal:
        return math.nan
    costs = [max(gain, 1) for gain in ideal] + [1] * len(labels)
    found = [
        gain / math.log2(2 + math.fsum([*costs[:r], *(-one for one in gains[:r])]))
        for r, gain in enumerate(gains, 1)
        if gain > 0
    ]
    return math.fsum(found) / math.fsum(ideal)


def binary_gain(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of 1 / log2(2 + documents above that are not relevant) over the number of relevant documents."""
    relevant = [asked.is_relevant(label) for label in labels]
    n = n_relevant(labels, judged, asked)
    found = [1 / math.log2(2 + relevant[:place].count(False)) for place, is_so in enumerate(relevant) if is_so]
    return math.fsum(found) / n if n else math.nan


def best_gains(judged: list[float], asked: Asked) -> list[float]:
    """The gains above 0 of all judged documents, highest first."""
    return sorted((asked.gain(label) for label in judged if asked.gain(label) > 0), reverse=True)


def _ndcg(k: int, labels: list[float], ideal: list[float], asked: Asked) -> float:
    reached = math.fsum(asked.gain(label) * asked.discount(r) for r, label in enumerate(labels[:k], 1))
    return reached / math.fsum(gain * asked.discount(r) for r, gain in enumerate(ideal[:k], 1))
