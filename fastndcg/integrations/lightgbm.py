"""
Adapter to LightGBM: metrics as a `feval` of `lgb.train` and `lgb.cv`, and as an `eval_metric` of `LGBMRanker`.

>>> from fastndcg.integrations import lightgbm
>>> feval = lightgbm.metric("ndcg@2, map", convention="lightgbm")
>>> feval([0, 1, 1], [0.3, 0.2, 0.1], None, [2, 1])  # as LGBMRanker calls it: labels, scores, weights, groups
[('nDCG@2', 0.8154648767857288, True), ('AP', 0.75, True)]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError
from fastndcg.integrations.boosting import Adapter, DataSet, RoundEvaluator
from fastndcg.metrics.metric import Metrics, check_direction
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array

Evaluation = tuple[str, float, bool]  # name, mean, True if higher is better


def metric(
    metrics: Metrics, *, convention: ConventionName | str | Convention = "default", threads: int | None = None
) -> Feval:
    """
    Create metrics that LightGBM evaluates after each round.

    Use them as ``lgb.train(…, feval=metric("ndcg@10"))``. Each data set is prepared once. Queries are the groups of the
    data set. The weight of a query is the mean weight of its documents, as in LightGBM.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "ndcg@10,map". With ``first_metric_only``, the first metric decides on early stopping.
    convention, threads
        See `evaluate`. The convention "lightgbm" gives the values of LightGBM's own ndcg and map, except for
        nDCG of weighted queries without relevant documents.

    Returns
    -------
    Feval
        For `lgb.train`, `lgb.cv` and ``LGBMRanker.fit(…, eval_metric=…)``.

    Raises
    ------
    InvalidInputError
        If a metric is unknown, has no direction, or has no definition under the convention.

    Examples
    --------
    >>> metric(["ndcg@10", "P(rel=2)@5"])
    metric('nDCG@10, P(rel=2)@5', convention='default')
    """
    evaluator = RoundEvaluator(metrics, convention, threads, weigh_queries)
    check_direction(evaluator.metrics, "LightGBM")
    return Feval(evaluator)


class Feval(Adapter):
    """Metrics in the two forms that LightGBM calls: that of `lgb.train` and that of `LGBMRanker`."""

    def __call__(self, scores: Any, data: Any, weights: Any = None, groups: Any = None) -> list[Evaluation]:
        """Return the name and the mean of each metric, and True if higher is better."""
        if hasattr(data, "get_label"):  # `lgb.train` passes (scores, Dataset), `LGBMRanker` (labels, scores, …)
            owner = data
            labels = data.get_label()
            weights = data.get_weight()
            groups = data.get_group()
        else:
            owner = labels = np.asarray(scores)
            scores = data
        if groups is None:
            raise InvalidInputError(
                f"a data set must have groups for {self._evaluator.names()}, a mean over queries, but has none. Pass "
                "lgb.Dataset(…, group=…) or fit(…, eval_group=[…]) with the number of documents of each query."
            )
        means = self._evaluator.means(owner, DataSet(labels, np.asarray(groups), weights), scores)
        return [
            (str(metric), mean, metric.sign > 0) for metric, mean in zip(self._evaluator.metrics, means, strict=True)
        ]


def weigh_queries(weights: Array, groups: Array) -> Array:
    """Return the mean weight of each query's documents. Sums are float32 and in order, to equal LightGBM's digits."""
    starts = np.cumsum(groups) - groups
    sums = np.zeros(len(groups), "f4")
    for i in range(int(groups.max(initial=0))):
        is_longer = groups > i
        sums[is_longer] += weights[starts[is_longer] + i]
    return np.asarray(sums / np.maximum(groups, 1).astype("f4"))
