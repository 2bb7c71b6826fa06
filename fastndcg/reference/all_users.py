"""
Metrics of the recommended items of all users, in plain Python.

lists    each user's first k items
n_items  number of items in the catalogue
"""

from __future__ import annotations

import itertools
import math


def counts(lists: list[list[int]], n_items: int) -> list[int]:
    """Return the number of users of each item."""
    return [sum(item in items for items in lists) for item in range(n_items)]


def coverage(lists: list[list[int]], n_items: int) -> float:
    """Return the share of the items that at least one user has."""
    return sum(count > 0 for count in counts(lists, n_items)) / n_items


def gini(lists: list[list[int]], n_items: int) -> float:
    """Return half the mean difference of two items' counts, divided by the mean count."""
    n_users = counts(lists, n_items)
    differences = sum(abs(x - y) for x in n_users for y in n_users)
    return differences / (2 * n_items * sum(n_users)) if any(n_users) else math.nan


def entropy(lists: list[list[int]], n_items: int) -> float:
    """Return the entropy of the items' shares, in bits."""
    n_users = [count for count in counts(lists, n_items) if count]
    shares = [count / sum(n_users) for count in n_users]
    return math.fsum(-share * math.log2(share) for share in shares) if n_users else math.nan


def personalisation(lists: list[list[int]], n_items: int) -> float:
    """Return the mean distance of all pairs of lists."""
    pairs = list(itertools.combinations([set(items) for items in lists if items], 2))
    return math.fsum(1 - len(x & y) / max(len(x), len(y)) for x, y in pairs) / len(pairs) if pairs else math.nan
