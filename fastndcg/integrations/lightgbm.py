"""
LightGBM: metrics as a `feval` of `lgb.train` and `lgb.cv`, and as an `eval_metric` of `LGBMRanker`.

>>> from fastndcg.integrations import lightgbm
>>> feval = lightgbm.metric("ndcg@2, map", convention="lightgbm")
>>> feval([0, 1, 1], [0.3, 0.2, 0.1], None, [2, 1])  # as LGBMRanker calls it: labels, scores, weights, groups
[('nDCG@2', 0.8154648767857288, True), ('AP', 0.75, True)]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.integrations.rounds import Given, Rounds
from fastndcg.metric import Metrics
from fastndcg.rankings import Array

Evaluation = tuple[str, float, bool]


def metric(metrics: Metrics, *, convention: str | Convention = "default", threads: int | None = None) -> Feval:
    """
    Metrics as LightGBM evaluates them after each round: ``lgb.train(…, feval=metric("ndcg@10"))``.

    Queries are the groups of each data set. Weights of documents make those of queries as they do in LightGBM, by
    their mean. What depends on the labels is prepared once for each data set.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "ndcg@10,map"; with ``first_metric_only`` LightGBM stops early by the first of them.
    convention, threads
        See `evaluate`; "lightgbm" gives the digits of LightGBM's own ndcg and map.

    Returns
    -------
    Feval
        For `lgb.train`, `lgb.cv` and ``LGBMRanker.fit(…, eval_metric=…)``.

    Examples
    --------
    >>> metric(["ndcg@10", "P(rel=2)@5"])
    metric('nDCG@10, P(rel=2)@5', convention='default')
    """
    return Feval(Rounds(metrics, convention, threads, weights_of_queries))


class Feval:
    """Metrics in the two forms that LightGBM calls: of `lgb.train`, and of `LGBMRanker`."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def __call__(self, scores: Any, data: Any, weights: Any = None, groups: Any = None) -> list[Evaluation]:
        """
        Name, mean and whether higher is better, of each metric.

        `lgb.train` gives (scores, Dataset), `LGBMRanker` gives (labels, scores, weights, groups): LightGBM counts the
        parameters that there are.
        """
        if hasattr(data, "get_label"):
            owner, labels, weights, groups = data, data.get_label(), data.get_weight(), data.get_group()
        else:
            owner = labels = np.asarray(scores)
            scores = data
        if groups is None:
            raise InvalidInputError(
                f"a data set must have groups for {self._rounds.names()}, a mean over queries, but has none; give "
                "lgb.Dataset(…, group=…) or fit(…, eval_group=[…]) the number of documents of each query"
            )
        means = self._rounds.means(owner, Given(labels, np.asarray(groups), weights), scores)
        metrics = self._rounds.metrics
        return [(str(one), mean, one.record.higher_is_better) for one, mean in zip(metrics, means, strict=True)]

    def __repr__(self) -> str:
        return f"metric({self._rounds.names()!r}, convention={self._rounds.convention.name!r})"


def weights_of_queries(weights: Array, groups: Array) -> Array:
    """The mean weight of each query's documents, added up in their order as float32: LightGBM's digits."""
    starts = np.cumsum(groups) - groups
    sums = np.zeros(len(groups), "f4")
    for place in range(int(groups.max(initial=0))):
        having = groups > place
        sums[having] += weights[starts[having] + place]
    return np.asarray(sums / np.maximum(groups, 1).astype("f4"))
