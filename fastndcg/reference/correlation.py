"""
Correlations of two rankings in plain Python, pair by pair of documents.

first, second   the scores of the documents that are in both rankings
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction


def sign(x: float, y: float) -> int:
    """Return 1 if the first of two scores is higher, −1 if the second is higher, and 0 if they are equal."""
    return (x > y) - (x < y)


def tau_b(first: list[float], second: list[float]) -> float:
    """Return Kendall's tau b: concordant minus discordant pairs, divided by the geometric mean of untied pairs."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    signs = [(sign(first[i], first[j]), sign(second[i], second[j])) for i, j in pairs]
    ordered = [sum(pair[side] != 0 for pair in signs) for side in (0, 1)]
    return sum(x * y for x, y in signs) / math.sqrt(math.prod(ordered)) if math.prod(ordered) else math.nan


def spearman(first: list[float], second: list[float]) -> float:
    """Return the correlation of the ranks."""
    x = ranks(first)
    y = ranks(second)
    mean = Fraction(len(first) + 1, 2)
    squares = [sum((rank - mean) ** 2 for rank in side) for side in (x, y)]
    products = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    return float(products) / math.sqrt(math.prod(squares)) if math.prod(squares) else math.nan


def ranks(scores: list[float]) -> list[Fraction]:
    """Return the ranks from 1, the highest score first. Equal scores share their mean rank."""
    above = [sum(other > score for other in scores) for score in scores]
    return [rank + Fraction(scores.count(score) + 1, 2) for rank, score in zip(above, scores, strict=True)]


def tau_ap(first: list[float], second: list[float]) -> float:
    """Return tau AP, averaged over all orders of equal scores in both rankings."""
    n = len(first)
    if n < 2:
        return math.nan
    orders = [(x, y) for x in list_orders(first) for y in list_orders(second)]
    return float(sum((tau_ap_without_ties(x, y) for x, y in orders), Fraction(0)) / len(orders))


def tau_ap_without_ties(first: list[int], second: list[int]) -> Fraction:
    """Return tau AP of two orders, from −1 to 1."""
    ranks_in_first = {document: rank for rank, document in enumerate(first)}
    total = Fraction(0)
    for i in range(1, len(second)):
        total += Fraction(sum(ranks_in_first[above] < ranks_in_first[second[i]] for above in second[:i]), i)
    return 2 * total / (len(second) - 1) - 1


def list_orders(scores: list[float]) -> list[list[int]]:
    """Return every order of the documents by falling score."""
    levels = [[i for i, score in enumerate(scores) if score == level] for level in sorted(set(scores), reverse=True)]
    products = itertools.product(*map(itertools.permutations, levels))
    return [[document for level in order for document in level] for order in products]


def tau_ap_b(first: list[float], second: list[float]) -> float:
    """Return the mean of tau AP b in both directions."""
    return (tau_ap_b_one_way(first, second) + tau_ap_b_one_way(second, first)) / 2


def tau_ap_b_one_way(first: list[float], second: list[float]) -> float:
    """Return tau AP b of the second ranking against the first, from −1 to 1."""
    shares = []
    for i, score in enumerate(second):
        above = [j for j, other in enumerate(second) if other > score]
        if above:
            shares.append(sum(first[j] > first[i] for j in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1 if shares else math.nan
