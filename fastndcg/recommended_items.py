"""Evaluate recommended items beyond accuracy: popularity, novelty, diversity, serendipity, coverage."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.inputs.recommendations.item_data import read_item_data, read_user_ids
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.lazy_import import load
from fastndcg.runtime.threads import check_threads


def beyond_accuracy(
    recommended: Any,
    metrics: Metrics | None = None,
    *,
    catalogue: int | None = None,
    interactions: Any = None,
    popularity: Any = None,
    n_users: int | None = None,
    vectors: Any = None,
    categories: Any = None,
    liked: Any = None,
    user_ids: Any = None,
    threads: int | None = None,
) -> BeyondAccuracy:
    """
    Evaluate recommended items beyond accuracy, such as by novelty, diversity and coverage.

    Parameters
    ----------
    recommended : (n_users, k) int array, ragged column or Recommendations
        Item ids from 0, in rank order, one row a user. Rows of an array may be padded with -1, or masked.
    metrics : str, Metric, or iterable of them
        Such as "coverage@10, novelty@10". ``fastndcg metrics`` lists them.
    catalogue : int, optional
        The number of items. By default that of `popularity`, `interactions`, `vectors` or `categories`.
    interactions : scipy.sparse matrix or Interactions, optional
        Users by items, such as a model's training data. They give the popularity of items and the number of users.
    popularity : (n_items,) array, optional
        The number of users that have interacted with each item, in place of `interactions`.
    n_users : int, optional
        The number of users, next to `popularity`. Novelty needs it.
    vectors : (n_items, n_dimensions) array, optional
        Vectors of items for ``ILD``, the diversity by cosine distance.
    categories : (n_items, n_categories) array or sparse matrix of 0 and 1, or ragged column, optional
        The categories of items, or lists of their numbers, for ``ILD(distance=jaccard)`` and ``ILD(distance=hamming)``.
    liked : scipy.sparse matrix or Interactions, optional
        Items that users like, with labels, one row a user. Serendipity needs them.
    user_ids : (n_users,) array, optional
        The ids of the users. By default their numbers from 0.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    BeyondAccuracy
        `Results` with one value a user and metric, or one value for all users (coverage, gini, entropy,
        personalisation).

    Raises
    ------
    InvalidInputError
        If an argument that a metric needs is missing, an item is unknown, or a list has an item twice.

    Examples
    --------
    >>> recommended = [[0, 1], [0, 2], [2, 1]]
    >>> fn.beyond_accuracy(recommended, "coverage, personalisation, novelty@1", popularity=[4, 2, 1, 1], n_users=4)
    metric             mean  users  undefined
    coverage         0.7500    all
    personalisation  0.5000    all
    novelty@1        0.6667      3          0
    all: one value for all users together
    """
    parsed = parse_metrics(metrics, "beyond_accuracy")
    n_threads = check_threads(threads)
    item_data = read_item_data(
        recommended, parsed, n_threads, catalogue=catalogue, interactions=interactions, popularity=popularity,
        n_users=n_users, vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    names = read_user_ids(user_ids, len(item_data.starts))
    engine = load("fastndcg.engine.beyond_accuracy")  # late: `import fastndcg` does not import NumPy
    output = engine.run(item_data, parsed, n_threads)
    return BeyondAccuracy(output.values, parsed, names, dict(output.overall or {}))


class BeyondAccuracy(Results):
    """
    Results with one row a user.

    Any number of threads may use one at once.

    See `Results` for the methods.

    Some metrics, such as coverage, have one value for all users together. Their column of `values` is NaN. Their mean
    is that value, and so is ``result["coverage"]``. `beyond_accuracy` makes it.

    Parameters
    ----------
    values : (n_users, n_metrics) float64 array
        One value a user and metric, NaN for a metric with one value for all users.
    metrics : tuple of Metric
        One a column.
    user_ids : (n_users,) array or None
        One a row. By default their numbers from 0.
    has_one_value : dict
        The value for all users of each metric that has one.

    Examples
    --------
    >>> result = fn.beyond_accuracy([[0, 1], [0, 2]], "coverage, popularity", popularity=[3, 2, 1, 0])
    >>> result["coverage"], result["popularity"]
    (array(0.75), array([2.5, 2. ]))
    >>> result.mean(), result.has_one_value
    ({'coverage': 0.75, 'popularity': 2.25}, {coverage: 0.75})
    """

    __slots__ = ("has_one_value",)

    def __init__(
        self, values: Array, metrics: tuple[Metric, ...], user_ids: Array | None, has_one_value: dict[Metric, float]
    ) -> None:
        super().__init__(values, metrics, user_ids, conventions["default"])
        self.has_one_value = has_one_value

    def __getitem__(self, metric: str | Metric) -> Array:
        """Return every user's value of one metric, or the one value for all users."""
        column_metric = self.metrics[self._column(metric)]
        if column_metric in self.has_one_value:
            return np.asarray(self.has_one_value[column_metric])
        return super().__getitem__(column_metric)

    def means(self, weights: Any = None) -> list[float]:
        """
        Return each metric's mean over users, or its one value for all users.

        Parameters
        ----------
        weights : (n_users,) array or {user id: weight}, optional
            See `mean`.

        Returns
        -------
        list of float
            In the order of the metrics.
        """
        user_means = super().means(weights)
        return [self.has_one_value.get(metric, mean) for metric, mean in zip(self.metrics, user_means, strict=True)]

    def _table(self) -> list[tuple[str, str, str, str]]:
        head, *rows = super()._table()
        body = [
            (*row[:2], "all", "") if metric in self.has_one_value else row
            for metric, row in zip(self.metrics, rows, strict=True)
        ]
        return [(head[0], head[1], "users", head[3]), *body]

    def _footer(self) -> list[str]:
        return [*(["all: one value for all users together"] if self.has_one_value else []), *self.notes]
