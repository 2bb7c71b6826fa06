"""
How all users' recommended items are spread, in plain Python.

lists    each user's first k items
n_items  how many items the catalogue has
"""

from __future__ import annotations

import itertools
import math


def counts(lists: list[list[int]], n_items: int) -> list[int]:
    """How many users have each item."""
    return [sum(item in one for one in lists) for item in range(n_items)]


def coverage(lists: list[list[int]], n_items: int) -> float:
    """The share of items that some user has."""
    return sum(count > 0 for count in counts(lists, n_items)) / n_items


def gini(lists: list[list[int]], n_items: int) -> float:
    """Half the mean difference of two items' counts over the mean count."""
    found = counts(lists, n_items)
    differences = sum(abs(x - y) for x in found for y in found)
    return differences / (2 * n_items * sum(found)) if any(found) else math.nan


def entropy(lists: list[list[int]], n_items: int) -> float:
    """The entropy of the items' shares, in bits."""
    found = [count for count in counts(lists, n_items) if count]
    shares = [count / sum(found) for count in found]
    return math.fsum(-share * math.log2(share) for share in shares) if found else math.nan


def personalisation(lists: list[list[int]], n_items: int) -> float:
    """The mean distance of all pairs of lists, one by one."""
    pairs = list(itertools.combinations([set(one) for one in lists if one], 2))
    return math.fsum(1 - len(x & y) / max(len(x), len(y)) for x, y in pairs) / len(pairs) if pairs else math.nan
