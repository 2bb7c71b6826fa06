"""
Metrics of one user's recommended items, in plain Python.

items   the user's first k items
facts   data of all items and of this user
metric  the metric with its parameters
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from fastndcg.metrics.metric import Metric


class Facts(NamedTuple):
    """Data of all items, by their ids, and of one user."""

    popularity: list[float]
    n_users: int
    vectors: list[list[float]]
    categories: list[set[int]]
    liked: dict[int, float]


def mean_over_items(items: list[int], facts: Facts, metric: Metric) -> float:
    """Return the mean weight of the items."""
    weight = {"popularity": popularity, "novelty": novelty, "tail": tail}[metric.name]
    return math.fsum(weight(item, facts, metric) for item in items) / len(items) if items else math.nan


def popularity(item: int, facts: Facts, metric: Metric) -> float:
    """Return the number of users who interacted with an item."""
    return facts.popularity[item]


def novelty(item: int, facts: Facts, metric: Metric) -> float:
    """Return the self-information of an interaction with an item, in bits."""
    total = facts.n_users if metric.get("share_of") == "users" else math.fsum(facts.popularity)
    return -math.log2(facts.popularity[item] / total)


def tail(item: int, facts: Facts, metric: Metric) -> float:
    """Return the probability that an item is in the long tail, over the orders of equally popular items."""
    falling = sorted(facts.popularity, reverse=True)
    if metric.get("items") is not None:
        n_head = len(falling) - math.floor(Fraction(str(metric.get("items"))) * len(falling))
    else:
        limit = Fraction(str(metric.get("head"))) * sum(map(Fraction, falling))
        sums = itertools.accumulate(map(Fraction, falling), initial=Fraction(0))
        n_head = next(n for n, total in enumerate(sums) if total >= limit)
    return 1 - chance_in_front(item, n_head, facts)


def chance_in_front(item: int, n: int, facts: Facts) -> float:
    """Return the share of an item's possible ranks by popularity that are among the first n."""
    above = sum(other > facts.popularity[item] for other in facts.popularity)
    ranks = range(above, above + facts.popularity.count(facts.popularity[item]))
    return sum(rank < n for rank in ranks) / len(ranks)


def serendipity(items: list[int], facts: Facts, metric: Metric) -> float:
    """Return the share of items that the user likes and that are not among the most popular items."""
    liked = [item for item in items if facts.liked.get(item, 0) >= metric.get("rel")]
    total = math.fsum(1 - chance_in_front(item, len(items), facts) for item in liked)
    return total / len(items) if items else math.nan


def cosine_diversity(items: list[int], facts: Facts, metric: Metric) -> float:
    """Return the mean of 1 − cosine over all pairs of items."""
    return average_pairs([1 - cosine(facts.vectors[x], facts.vectors[y]) for x, y in itertools.combinations(items, 2)])


def cosine(x: list[float], y: list[float]) -> float:
    """Return the cosine of two vectors."""
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)


def jaccard_diversity(items: list[int], facts: Facts, metric: Metric) -> float:
    """Return the mean over all pairs of items of 1 − the share of common categories."""
    pairs = [(facts.categories[x], facts.categories[y]) for x, y in itertools.combinations(items, 2)]
    return average_pairs([len(x ^ y) / len(x | y) if x | y else 0.0 for x, y in pairs])


def hamming_diversity(items: list[int], facts: Facts, metric: Metric) -> float:
    """Return the mean over all pairs of items of the number of categories that only one of them has."""
    pairs = itertools.combinations(items, 2)
    return average_pairs([len(facts.categories[x] ^ facts.categories[y]) for x, y in pairs])


def average_pairs(distances: list[float]) -> float:
    """Return the mean distance, or NaN if there is no pair."""
    return math.fsum(distances) / len(distances) if distances else math.nan
