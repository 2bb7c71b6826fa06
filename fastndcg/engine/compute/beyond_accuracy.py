"""Metrics of recommended items beyond accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastndcg.engine.compute.memo import keep_values
from fastndcg.engine.scratch import I4, Scratch
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array, read_only

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import beyond_accuracy as kernels
else:
    kernels = load_kernels("metrics.beyond_accuracy")


class ItemChunk(NamedTuple):
    """
    The lists of some users, and what is known of items. Data that no metric needs equal None.

    kernels/metrics/beyond_accuracy.py describes the arrays.

    Attributes
    ----------
    liked : tuple of arrays
        Items that the users like, their labels, and offsets.
    count_users : callable
        ``count_users(k)`` returns for each item the number of users with it among their first k.
    memo : dict
        The values of functions of the items, the same one for all chunks: see compute/memo.py.
    """

    items: Array
    starts: Array
    sizes: Array
    n_items: int
    popularity: Any
    n_users: int | None
    vectors: Any
    sets: Any
    liked: Any
    count_users: Callable[[int], Array]
    memo: dict[Any, Any]
    scratch: Scratch


def popularity(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the mean popularity of the first k items."""
    kernels.mean_over_items(chunk.items, chunk.starts, chunk.sizes, read_only(chunk.popularity), k, out)


def novelty(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the mean self-information of the first k items."""
    kernels.mean_over_items(chunk.items, chunk.starts, chunk.sizes, self_information(chunk, metric), k, out)


def tail(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the share of the first k items that are in the long tail."""
    kernels.mean_over_items(chunk.items, chunk.starts, chunk.sizes, tail_probability(chunk, metric), k, out)


def serendipity(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the share of the first k items that the user likes and that are not the most popular ones."""
    marks = chunk.scratch.take(chunk.n_items, I4)
    marks.fill(-1)
    liked, labels, offsets = chunk.liked
    more_popular, as_popular = popularity_ranks(chunk)
    kernels.serendipity(
        chunk.items, chunk.starts, chunk.sizes, liked, labels, offsets, float(metric.get("rel")), more_popular,
        as_popular, k, marks, out,
    )  # fmt: skip


def cosine_diversity(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute 1 less the mean cosine of all pairs."""
    kernels.cosine_diversity(chunk.items, chunk.starts, chunk.sizes, chunk.vectors, k, out)


def jaccard_diversity(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the mean Jaccard distance of all pairs."""
    kernels.jaccard_diversity(chunk.items, chunk.starts, chunk.sizes, chunk.sets, k, out)


def hamming_diversity(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the mean Hamming distance of all pairs."""
    kernels.hamming_diversity(chunk.items, chunk.starts, chunk.sizes, chunk.sets, k, out)


def coverage(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the share of the catalogue that any user has."""
    kernels.coverage(chunk.count_users(k), out)


def gini(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the Gini index of how many users have each item."""
    kernels.gini(np.sort(chunk.count_users(k)), out)


def entropy(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the entropy of the items' shares."""
    kernels.entropy(np.sort(chunk.count_users(k)), out)


def personalisation(chunk: ItemChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the mean distance of all pairs of lists."""
    shortest_first = np.argsort(np.minimum(chunk.sizes, k), kind="stable")
    kernels.personalisation(chunk.items, chunk.starts, chunk.sizes, shortest_first, chunk.n_items, k, out)


@keep_values
def self_information(chunk: ItemChunk, metric: Metric) -> Array:
    """Return −log2 of the share of users, or of all interactions, that have each item."""
    total = float(chunk.n_users or 0) if metric.get("share_of") == "users" else chunk.popularity.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return read_only(np.maximum(-np.log2(chunk.popularity / total), 0.0))  # 0 and not −0 for items of all users


@keep_values
def tail_probability(chunk: ItemChunk, metric: Metric) -> Array:
    """Return the probability that each item is in the long tail, with equally popular items in random order."""
    n_more_popular, n_as_popular = popularity_ranks(chunk)
    n_head = count_head_items(metric, chunk.popularity)
    return read_only(1.0 - np.clip((n_head - n_more_popular) / n_as_popular, 0.0, 1.0))


@keep_values
def popularity_ranks(chunk: ItemChunk) -> tuple[Array, Array]:
    """Return for each item the number of more popular items, and of equally popular ones, itself included."""
    in_order = np.sort(chunk.popularity)
    n_up_to = np.searchsorted(in_order, chunk.popularity, side="right")
    n_below = np.searchsorted(in_order, chunk.popularity, side="left")
    return read_only(len(in_order) - n_up_to), read_only(n_up_to - n_below)


def count_head_items(metric: Metric, popularity: Array) -> int:
    """Return the number of most popular items that are not in the long tail."""
    share = metric.get("items")
    if share is not None:
        return len(popularity) - math.floor(Fraction(str(share)) * len(popularity))
    min_interactions = float(Fraction(str(metric.get("head"))) * Fraction(float(popularity.sum())))
    sums = np.cumsum(np.sort(popularity)[::-1])
    return 0 if min_interactions == 0 else int(np.searchsorted(sums, min_interactions)) + 1
