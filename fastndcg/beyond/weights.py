"""What each item weighs in metrics that are means over a list's items."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fastndcg.metric import Metric
from fastndcg.rankings import Array


def weights_of(metric: Metric, popularity: Array, n_users: int | None) -> Array:
    """The weight of each item."""
    if metric.name == "popularity":
        return popularity
    if metric.name == "novelty":
        total = float(n_users or 0) if metric.get("share_of") == "users" else popularity.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.maximum(-np.log2(popularity / total), 0.0))  # 0 and not −0 of what all users know
    return 1.0 - chance_in_front(n_in_head(metric, popularity), *popularity_ranks(popularity))


def n_in_head(metric: Metric, popularity: Array) -> int:
    """How many items, the most popular ones, are not in the long tail."""
    share = metric.get("items")
    if share is not None:
        return len(popularity) - math.floor(Fraction(str(share)) * len(popularity))
    least = float(Fraction(str(metric.get("head"))) * Fraction(float(popularity.sum())))
    sums = np.cumsum(np.sort(popularity)[::-1])
    return 0 if least == 0 else int(np.searchsorted(sums, least)) + 1


def popularity_ranks(popularity: Array) -> tuple[Array, Array]:
    """For each item, how many are more popular, and how many as popular, itself among them."""
    ordered = np.sort(popularity)
    up_to = np.searchsorted(ordered, popularity, side="right")
    return len(popularity) - up_to, up_to - np.searchsorted(ordered, popularity, side="left")


def chance_in_front(n: int, above: Array, level: Array) -> Array:
    """The chance of each item to be among the n first, where equal ones are as likely to be."""
    return np.asarray(np.clip((n - above) / level, 0.0, 1.0))
