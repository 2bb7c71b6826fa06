"""Metrics that compare a ranking with ideal ones, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked


def compatibility(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Rank-biased overlap with the nearest ideal order, over that of this order with itself."""
    ideal = sorted((label for label in judged if label > 0), reverse=True)
    p, last = asked.get("p"), math.inf if asked.k is None else asked.k
    if not ideal:
        return math.nan
    left = {label: [r for r, one in enumerate(ideal, 1) if one == label] for label in ideal}
    both = [max(r, left[label].pop(0)) for r, label in enumerate(labels, 1) if left.get(label)]
    return overlap(both, p, last) / overlap(list(range(1, len(ideal) + 1)), p, last)


def overlap(depths: list[int], p: float, last: float) -> float:
    """Sum over depths d of p^(d − 1) / d times how many documents are in both rankings' first d."""
    return math.fsum(rest(depth, p, last) for depth in depths)


def rest(depth: int, p: float, last: float) -> float:
    """Sum of p^(d − 1) / d over d from a depth on, as long as that changes a digit."""
    total, term, d = 0.0, 1.0, depth
    while d <= last and term > total * 1e-18:
        term = p ** (d - 1) / d
        total, d = total + term, d + 1
    return total
