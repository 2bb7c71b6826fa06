"""Metrics beyond accuracy in plain Python, to check `fastndcg.beyond_accuracy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.inputs.recommendations.item_data import ItemData, read_item_data
from fastndcg.metrics.families.beyond_accuracy import Facts
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings.validation import Array
from fastndcg.runtime.lazy_import import load


def beyond_accuracy(
    recommended: Any, metrics: Metrics | None = None, *, catalogue: Any = None, interactions: Any = None,
    popularity: Any = None, n_users: Any = None, vectors: Any = None, categories: Any = None, liked: Any = None,
) -> Array:  # fmt: skip
    """
    Evaluate recommended items slowly, in plain Python.

    Parameters
    ----------
    recommended, metrics, catalogue, interactions, popularity, n_users, vectors, categories, liked
        See `fastndcg.beyond_accuracy`.

    Returns
    -------
    (n_users, n_metrics) float64 array
        A metric with one value for all users has it in every row. NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.beyond_accuracy([[0, 1], [0, 2]], "gini, popularity", popularity=[3, 2, 1, 0])
    array([[0.375, 2.5  ],
           [0.375, 2.   ]])
    """
    metric_list = parse_metrics(metrics, "beyond_accuracy")
    item_data = read_item_data(
        recommended, metric_list, 1, catalogue=catalogue, interactions=interactions, popularity=popularity,
        n_users=n_users, vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    lists = [
        item_data.items[start : start + size].tolist()
        for start, size in zip(item_data.starts, item_data.sizes, strict=True)
    ]
    values = np.empty((len(lists), len(metric_list)))
    for column, metric in enumerate(metric_list):
        values[:, column] = compute_column(metric, [items[: metric.k] for items in lists], item_data)
    return values


def compute_column(metric: Metric, lists: list[list[int]], item_data: ItemData) -> list[float]:
    """Return each user's value of a metric. A metric with one value for all users has it for each of them."""
    variants = {choice: place for name, choice, place in metric.record.variants if metric.get(name) == choice}
    file, _, name = next(iter(variants.values()), metric.record.kernel).partition(".")
    function = getattr(load(f"fastndcg.metrics.families.{file}"), name)
    if metric.record.has_one_value:
        n_items = item_data.n_items if item_data.catalogue is None else item_data.catalogue
        return [float(function(lists, n_items))] * len(lists)
    return [float(function(items, read_facts(item_data, user), metric)) for user, items in enumerate(lists)]


def read_facts(item_data: ItemData, user: int) -> Facts:
    """Return the data of all items and of one user as lists, sets and dicts."""
    liked: dict[int, float] = {}
    if item_data.liked is not None:
        part = slice(*item_data.liked.offsets[user : user + 2].tolist())
        liked = dict(zip(item_data.liked.items[part].tolist(), item_data.liked.labels[part].tolist(), strict=True))
    sets = [] if item_data.sets is None else item_data.sets.tolist()
    return Facts(
        [] if item_data.popularity is None else item_data.popularity.tolist(),
        item_data.n_users or 0,
        [] if item_data.vectors is None else item_data.vectors.tolist(),
        [{64 * w + bit for w, word in enumerate(row) for bit in range(64) if word >> bit & 1} for row in sets],
        liked,
    )
