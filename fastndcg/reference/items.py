"""
Metrics of one user's recommended items in plain Python.

items   the user's first k items
facts   what is known of all items and of this user
asked   the metric
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from fastndcg.metric import Metric


class Facts(NamedTuple):
    """What is known of items, by their ids, and of one user."""

    popularity: list[float]
    n_users: int
    vectors: list[list[float]]
    categories: list[set[int]]
    liked: dict[int, float]


def mean_of_items(items: list[int], facts: Facts, asked: Metric) -> float:
    """The mean of what each item weighs."""
    weight = {"popularity": popularity, "novelty": novelty, "tail": tail}[asked.name]
    return math.fsum(weight(item, facts, asked) for item in items) / len(items) if items else math.nan


def popularity(item: int, facts: Facts, asked: Metric) -> float:
    """How many users interacted with an item."""
    return facts.popularity[item]


def novelty(item: int, facts: Facts, asked: Metric) -> float:
    """The information in that somebody interacts with an item, in bits."""
    total = facts.n_users if asked.get("share_of") == "users" else math.fsum(facts.popularity)
    return -math.log2(facts.popularity[item] / total)


def tail(item: int, facts: Facts, asked: Metric) -> float:
    """The chance that an item is in the long tail, over the orders of equally popular items."""
    falling = sorted(facts.popularity, reverse=True)
    if asked.get("items") is not None:
        n_head = len(falling) - math.floor(Fraction(str(asked.get("items"))) * len(falling))
    else:
        wanted = Fraction(str(asked.get("head"))) * sum(map(Fraction, falling))
        sums = itertools.accumulate(map(Fraction, falling), initial=Fraction(0))
        n_head = next(n for n, total in enumerate(sums) if total >= wanted)
    return 1 - chance_in_front(item, n_head, facts)


def chance_in_front(item: int, n: int, facts: Facts) -> float:
    """The share of an item's possible ranks by popularity that are among the first n."""
    above = sum(other > facts.popularity[item] for other in facts.popularity)
    ranks = range(above, above + facts.popularity.count(facts.popularity[item]))
    return sum(rank < n for rank in ranks) / len(ranks)


def serendipity(items: list[int], facts: Facts, asked: Metric) -> float:
    """The share of items that the user likes and that are not among as many most popular ones."""
    liked = [item for item in items if facts.liked.get(item, 0) >= asked.get("rel")]
    total = math.fsum(1 - chance_in_front(item, len(items), facts) for item in liked)
    return total / len(items) if items else math.nan


def cosine_diversity(items: list[int], facts: Facts, asked: Metric) -> float:
    """The mean of 1 less the cosine, pair by pair."""
    return mean_of_pairs([1 - cosine(facts.vectors[x], facts.vectors[y]) for x, y in itertools.combinations(items, 2)])


def cosine(x: list[float], y: list[float]) -> float:
    """The cosine of two vectors."""
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)


def jaccard_diversity(items: list[int], facts: Facts, asked: Metric) -> float:
    """The mean of 1 less the share of common categories, pair by pair."""
    pairs = [(facts.categories[x], facts.categories[y]) for x, y in itertools.combinations(items, 2)]
    return mean_of_pairs([len(x ^ y) / len(x | y) if x | y else 0.0 for x, y in pairs])


def hamming_diversity(items: list[int], facts: Facts, asked: Metric) -> float:
    """The mean number of categories that one of a pair has."""
    pairs = itertools.combinations(items, 2)
    return mean_of_pairs([len(facts.categories[x] ^ facts.categories[y]) for x, y in pairs])


def mean_of_pairs(distances: list[float]) -> float:
    """The mean distance, undefined where there is no pair."""
    return math.fsum(distances) / len(distances) if distances else math.nan
