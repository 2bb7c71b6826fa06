"""
Rank-biased overlap in plain Python, order by order of equal scores.

first, second   {document: score} of either ranking
"""

from __future__ import annotations

import math

from fastndcg.reference.correlation import orders_of


def rbo(first: dict[int, float], second: dict[int, float], p: float, form: str, k: int | None) -> float:
    """The mean over all orders of equal scores in either ranking."""
    if not first or not second:
        return math.nan
    of_order = extrapolated if form == "ext" else lowest
    values = [of_order(x[:k], y[:k], p) for x in lists(first) for y in lists(second)]
    return math.fsum(values) / len(values)


def lists(scores: dict[int, float]) -> list[list[int]]:
    """Every list of the documents in which scores fall."""
    documents = list(scores)
    return [[documents[i] for i in order] for order in orders_of(list(scores.values()))]


def overlap(first: list[int], second: list[int], depth: int) -> int:
    """How many documents are among the first ones of both lists."""
    return len(set(first[:depth]) & set(second[:depth]))


def extrapolated(first: list[int], second: list[int], p: float) -> float:
    """RBO_EXT of two lists: equation 32 of Webber, Moffat and Zobel 2010."""
    s, n = sorted((len(first), len(second)))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    seen = [at[d] / d * p**d for d in range(1, n + 1)]
    assumed = [at[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)]
    return (1 - p) / p * math.fsum(seen + assumed) + ((at[n] - at[s]) / n + at[s] / s) * p**n


def lowest(first: list[int], second: list[int], p: float) -> float:
    """RBO_MIN of two lists: equation 11, with the overlaps that are seen."""
    n = max(len(first), len(second))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    terms = [(at[d] - at[n]) * p**d / d for d in range(1, n + 1)]
    return (1 - p) / p * (math.fsum(terms) - at[n] * math.log(1 - p))
