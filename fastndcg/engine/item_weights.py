"""Weights of items in metrics that are means over a list's items."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array


def compute_weights(metric: Metric, popularity: Array, n_users: int | None) -> Array:
    """Return the weight of each item in popularity, novelty or the share of the long tail."""
    if metric.name == "popularity":
        return popularity
    if metric.name == "novelty":
        total = float(n_users or 0) if metric.get("share_of") == "users" else popularity.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.maximum(-np.log2(popularity / total), 0.0))  # 0 and not −0 for items of all users
    return 1.0 - head_probability(count_head_items(metric, popularity), *rank_by_popularity(popularity))


def count_head_items(metric: Metric, popularity: Array) -> int:
    """Return the number of most popular items that are not in the long tail."""
    share = metric.get("items")
    if share is not None:
        return len(popularity) - math.floor(Fraction(str(share)) * len(popularity))
    min_interactions = float(Fraction(str(metric.get("head"))) * Fraction(float(popularity.sum())))
    sums = np.cumsum(np.sort(popularity)[::-1])
    return 0 if min_interactions == 0 else int(np.searchsorted(sums, min_interactions)) + 1


def rank_by_popularity(popularity: Array) -> tuple[Array, Array]:
    """Return for each item the number of more popular items, and of equally popular ones, itself included."""
    in_order = np.sort(popularity)
    n_up_to = np.searchsorted(in_order, popularity, side="right")
    return len(popularity) - n_up_to, n_up_to - np.searchsorted(in_order, popularity, side="left")


def head_probability(n_head: int, n_more_popular: Array, n_as_popular: Array) -> Array:
    """Return the probability of each item to be in the head, where equally popular items are as likely to be."""
    return np.asarray(np.clip((n_head - n_more_popular) / n_as_popular, 0.0, 1.0))
