"""
Compatibility: rank-biased overlap with an ideal ranking.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition


def compatibility(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank-biased overlap with the most similar ideal ranking, divided by its overlap with itself."""
    ideal = sorted((label for label in judged if label > 0), reverse=True)
    p = definition.get("p")
    last = math.inf if definition.k is None else definition.k
    if not ideal:
        return math.nan
    free_ranks = {label: [r for r, other in enumerate(ideal, 1) if other == label] for label in ideal}
    depths = [max(r, free_ranks[label].pop(0)) for r, label in enumerate(labels, 1) if free_ranks.get(label)]
    return overlap(depths, p, last) / overlap(list(range(1, len(ideal) + 1)), p, last)


def overlap(depths: list[int], p: float, last: float) -> float:
    """Return the sum over depths d of p^(d − 1) / d · the number of documents in the first d ranks of both rankings."""
    return math.fsum(sum_weights(depth, p, last) for depth in depths)


def sum_weights(depth: int, p: float, last: float) -> float:
    """Return the sum of p^(d − 1) / d for all d from a depth on, down to terms that change no digit."""
    total = 0.0
    term = 1.0
    d = depth
    while d <= last and term > total * 1e-18:
        term = p ** (d - 1) / d
        total += term
        d += 1
    return total
