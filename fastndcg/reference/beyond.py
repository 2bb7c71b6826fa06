"""Metrics beyond accuracy in plain Python: `fastndcg.beyond_accuracy` must give the same."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from fastndcg.inputs.recommended import Known, known_of
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array
from fastndcg.reference.items import Facts


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
        In every row the same value of a metric that has one for all users; NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.beyond_accuracy([[0, 1], [0, 2]], "gini, popularity", popularity=[3, 2, 1, 0])
    array([[0.375, 2.5  ],
           [0.375, 2.   ]])
    """
    asked = parse_metrics(metrics, "beyond_accuracy")
    known = known_of(
        recommended, asked, 1, catalogue=catalogue, interactions=interactions, popularity=popularity, n_users=n_users,
        vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    lists = [known.items[start : start + size].tolist() for start, size in zip(known.starts, known.sizes, strict=True)]
    values = np.empty((len(lists), len(asked)))
    for column, metric in enumerate(asked):
        values[:, column] = column_of(metric, [one[: metric.k] for one in lists], known)
    return values


def column_of(metric: Metric, lists: list[list[int]], known: Known) -> list[float]:
    """Each user's value of a metric, or the same one for all."""
    variants = {choice: place for name, choice, place in metric.record.variants if metric.get(name) == choice}
    file, _, name = next(iter(variants.values()), metric.record.kernel).partition(".")
    function = getattr(importlib.import_module(f"fastndcg.reference.{file}"), name)
    if metric.record.of_all:
        n_items = known.n_items if known.catalogue is None else known.catalogue
        return [float(function(lists, n_items))] * len(lists)
    return [float(function(one, facts_of(known, user), metric)) for user, one in enumerate(lists)]


def facts_of(known: Known, user: int) -> Facts:
    """What is known of items, and of one user, as Python's own objects."""
    liked: dict[int, float] = {}
    if known.liked is not None:
        part = slice(*known.liked.offsets[user : user + 2].tolist())
        liked = dict(zip(known.liked.items[part].tolist(), known.liked.labels[part].tolist(), strict=True))
    sets = [] if known.sets is None else known.sets.tolist()
    return Facts(
        [] if known.popularity is None else known.popularity.tolist(),
        known.n_users or 0,
        [] if known.vectors is None else known.vectors.tolist(),
        [{64 * w + bit for w, word in enumerate(row) for bit in range(64) if word >> bit & 1} for row in sets],
        liked,
    )
