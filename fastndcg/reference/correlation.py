"""
Correlations of two rankings in plain Python, pair by pair of documents.

first, second   the scores of the documents that are in both rankings
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction


def sign(x: float, y: float) -> int:
    """Which of two scores is higher: 1 for the first, −1 for the second, 0 for neither."""
    return (x > y) - (x < y)


def tau_b(first: list[float], second: list[float]) -> float:
    """Pairs in the same order less those in opposite orders, over the geometric mean of those not tied in each."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    signs = [(sign(first[i], first[j]), sign(second[i], second[j])) for i, j in pairs]
    ordered = [sum(pair[side] != 0 for pair in signs) for side in (0, 1)]
    return sum(x * y for x, y in signs) / math.sqrt(math.prod(ordered)) if math.prod(ordered) else math.nan


def spearman(first: list[float], second: list[float]) -> float:
    """The correlation of ranks."""
    x, y = ranks(first), ranks(second)
    mean = Fraction(len(first) + 1, 2)
    squares = [sum((rank - mean) ** 2 for rank in side) for side in (x, y)]
    both = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    return float(both) / math.sqrt(math.prod(squares)) if math.prod(squares) else math.nan


def ranks(scores: list[float]) -> list[Fraction]:
    """Ranks from 1 on, the highest score first; equal scores share their mean rank."""
    above = [sum(other > score for other in scores) for score in scores]
    return [rank + Fraction(scores.count(score) + 1, 2) for rank, score in zip(above, scores, strict=True)]


def tau_ap(first: list[float], second: list[float]) -> float:
    """The mean over all orders of equal scores in either ranking."""
    n = len(first)
    if n < 2:
        return math.nan
    orders = [(x, y) for x in orders_of(first) for y in orders_of(second)]
    return float(sum((tau_ap_of_orders(x, y) for x, y in orders), Fraction(0)) / len(orders))


def tau_ap_of_orders(first: list[int], second: list[int]) -> Fraction:
    """The share of documents above each rank of the second order that the first has above, too, from −1 to 1."""
    place = {document: rank for rank, document in enumerate(first)}
    total = Fraction(0)
    for i in range(1, len(second)):
        total += Fraction(sum(place[above] < place[second[i]] for above in second[:i]), i)
    return 2 * total / (len(second) - 1) - 1


def orders_of(scores: list[float]) -> list[list[int]]:
    """Every order of the documents in which scores fall."""
    levels = [[i for i, score in enumerate(scores) if score == level] for level in sorted(set(scores), reverse=True)]
    every = itertools.product(*map(itertools.permutations, levels))
    return [[document for level in order for document in level] for order in every]


def tau_ap_b(first: list[float], second: list[float]) -> float:
    """The mean of both directions."""
    return (one_way(first, second) + one_way(second, first)) / 2


def one_way(first: list[float], second: list[float]) -> float:
    """The share of documents above the tie group of each in the second ranking that the first has above it, too."""
    shares = []
    for i, score in enumerate(second):
        above = [j for j, other in enumerate(second) if other > score]
        if above:
            shares.append(sum(first[j] > first[i] for j in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1 if shares else math.nan
