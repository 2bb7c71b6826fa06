"""
Rank-biased overlap in plain Python, order by order of equal scores.

first, second   {document: score} of either ranking
"""

from __future__ import annotations

import math

from fastndcg.reference.correlation import list_orders


def rbo(first: dict[int, float], second: dict[int, float], p: float, form: str, k: int | None) -> float:
    """Return RBO, averaged over all orders of equal scores in both rankings."""
    if not first or not second:
        return math.nan
    compute = extrapolated if form == "ext" else lowest
    values = [compute(x[:k], y[:k], p) for x in lists(first) for y in lists(second)]
    return math.fsum(values) / len(values)


def lists(scores: dict[int, float]) -> list[list[int]]:
    """Return every list of the documents by falling score."""
    documents = list(scores)
    return [[documents[i] for i in order] for order in list_orders(list(scores.values()))]


def overlap(first: list[int], second: list[int], depth: int) -> int:
    """Return the number of documents that are in the first `depth` ranks of both lists."""
    return len(set(first[:depth]) & set(second[:depth]))


def extrapolated(first: list[int], second: list[int], p: float) -> float:
    """Return RBO_EXT of two lists: equation 32 of Webber, Moffat and Zobel 2010."""
    s, n = sorted((len(first), len(second)))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    observed = [at[d] / d * p**d for d in range(1, n + 1)]
    extrapolation = [at[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)]
    return (1 - p) / p * math.fsum(observed + extrapolation) + ((at[n] - at[s]) / n + at[s] / s) * p**n


def lowest(first: list[int], second: list[int], p: float) -> float:
    """Return RBO_MIN of two lists: equation 11 of Webber, Moffat and Zobel 2010."""
    n = max(len(first), len(second))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    terms = [(at[d] - at[n]) * p**d / d for d in range(1, n + 1)]
    return (1 - p) / p * (math.fsum(terms) - at[n] * math.log(1 - p))
