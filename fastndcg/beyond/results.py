"""What `beyond_accuracy` gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.conventions import conventions
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.results import Results


class BeyondAccuracy(Results):
    """
    `Results` with one row a user, in which some metrics have one value for all users together.

    The values of such a metric are NaN, since no user has one; its mean is that value, and so is what its text or
    `Metric` in square brackets gives.

    Attributes
    ----------
    of_all : dict
        The metrics with one value for all users, and that value.

    Examples
    --------
    >>> result = fn.beyond_accuracy([[0, 1], [0, 2]], "coverage, popularity", popularity=[3, 2, 1, 0])
    >>> result["coverage"], result["popularity"]
    (array(0.75), array([2.5, 2. ]))
    >>> result.mean(), result.of_all
    ({'coverage': 0.75, 'popularity': 2.25}, {coverage: 0.75})
    """

    __slots__ = ("of_all",)

    def __init__(
        self, values: Array, metrics: tuple[Metric, ...], user_ids: Array | None, of_all: dict[Metric, float]
    ) -> None:
        super().__init__(values, metrics, user_ids, conventions["default"])
        self.of_all = of_all

    def __getitem__(self, metric: str | Metric) -> Array:
        """Every user's value of one metric, or the one value of all users."""
        found = self.metrics[self._column(metric)]
        return np.asarray(self.of_all[found]) if found in self.of_all else super().__getitem__(found)

    def means(self, weights: Any = None) -> list[float]:
        """Each metric's mean over users, or its one value; `weights` as in `mean`."""
        of_users = super().means(weights)
        return [self.of_all.get(metric, mean) for metric, mean in zip(self.metrics, of_users, strict=True)]

    def _table(self) -> list[tuple[str, str, str, str]]:
        head, *rows = super()._table()
        body = [
            (*row[:2], "all", "") if metric in self.of_all else row
            for metric, row in zip(self.metrics, rows, strict=True)
        ]
        return [(head[0], head[1], "users", head[3]), *body]

    def _footer(self) -> list[str]:
        return [*(["all: one value for all users together"] if self.of_all else []), *self.notes]
