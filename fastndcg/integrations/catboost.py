"""
Adapter to CatBoost: a metric as the `eval_metric` of `CatBoost` and `CatBoostRanker`.

CatBoost calls a custom metric with the scores and labels of one data set, without groups. The metric is therefore
created with the pools of the training, and finds the pool by its labels. With categorical features or ordered boosting,
CatBoost shuffles the training pool unless ``has_time=True``. Shuffled labels match no pool, which is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.integrations.boosting import Adapter, DataSet, RoundEvaluator
from fastndcg.metrics.metric import Metric, check_direction, parse_single_metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array


def metric(
    metrics: str | Metric,
    pools: Any,
    *,
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
) -> EvalMetric:
    """
    Create a metric that CatBoost evaluates after each round.

    Use it as ``CatBoostRanker(eval_metric=metric("ndcg@10", pools))``. Each pool is prepared once. Queries are the
    groups of the pool, and weights of groups are those of queries.

    Parameters
    ----------
    metrics : str or Metric
        One metric, such as "ndcg@10". CatBoost takes a single custom metric.
    pools : catboost.Pool or iterable of them
        Every pool of the training and the validation.
    convention, threads
        See `evaluate`. The convention "catboost" gives the values of CatBoost's own NDCG and MAP.

    Returns
    -------
    EvalMetric
        For `eval_metric`. Its values have the metric's name in `evals_result_`.

    Raises
    ------
    InvalidInputError
        If there are several metrics, the metric has no direction, a pool has no groups, or two pools have equal labels
        in different groups.
    InvalidTypeError
        If a pool is of another type.

    Examples
    --------
    >>> train = catboost.Pool(features, labels, group_id=queries)  # doctest: +SKIP
    >>> catboost.CatBoostRanker(eval_metric=metric("ndcg@10", train), has_time=True).fit(train)  # doctest: +SKIP
    """
    parsed = parse_single_metric(metrics, "CatBoost takes a single custom one. Choose it.")
    check_direction([parsed], "CatBoost")
    pool_list = [pools] if hasattr(pools, "get_group_id_hash") else list(pools)
    evaluator = RoundEvaluator(parsed, convention, threads, weigh_queries)
    return _make_metric(evaluator, read_pools(pool_list, evaluator.names()))


class PoolLabels:
    """The labels and the group sizes of a pool."""

    def __init__(self, labels: Array, groups: Array) -> None:
        self.labels = labels
        self.groups = groups


class EvalMetric(Adapter):
    """A metric with the methods that CatBoost calls."""

    no_jit = True  # otherwise CatBoost tries to compile `evaluate` with Numba
    _arguments = ", pools"

    def __init__(self, evaluator: RoundEvaluator, pools: list[PoolLabels]) -> None:
        super().__init__(evaluator)
        self._pools = pools

    def __deepcopy__(self, _: Any) -> EvalMetric:
        return self  # CatBoost copies its parameters for each training; a copy would prepare the pools again

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_metric, (self._evaluator, self._pools)

    def is_max_optimal(self) -> bool:
        """Return True if larger values are better."""
        return self._evaluator.metrics[0].sign > 0

    def evaluate(self, approxes: Sequence[Array], target: Array, weight: Array | None) -> tuple[float, float]:
        """Return the mean over the queries of a pool, and 1 as its weight."""
        names = self._evaluator.names()
        if len(approxes) != 1:
            raise InvalidInputError(
                f"`approxes` must have one score for each document for {names}, but has {len(approxes)}. Train with a "
                "loss function for ranking or regression."
            )
        pool = self._find_pool(target)
        (mean,) = self._evaluator.means(pool, DataSet(pool.labels, pool.groups, weight), approxes[0])
        return mean, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value of `evaluate`."""
        return error / weight

    def _find_pool(self, target: Array) -> PoolLabels:
        for pool in self._pools:
            if np.array_equal(pool.labels, target):
                return pool
        raise InvalidInputError(
            f"`pools` must contain the data set on which {self._evaluator.names()} is evaluated, but none has its "
            f"{len(target)} labels in this order. Pass every pool, and train with has_time=True if CatBoost shuffles, "
            "as it does for categorical features and ordered boosting."
        )


def _make_metric(evaluator: RoundEvaluator, pools: list[PoolLabels]) -> EvalMetric:
    """Return an object of a class with the metric's name, because CatBoost shows the name of the class."""
    kind: type[EvalMetric] = type(evaluator.names(), (EvalMetric,), {})
    return kind(evaluator, pools)


def read_pools(pools: Iterable[Any], names: str) -> list[PoolLabels]:
    """Return the labels and groups of pools, or raise an error if equal labels have different groups."""
    pool_labels = [_read_pool(i, pool, names) for i, pool in enumerate(pools)]
    for (i, first), (j, second) in combinations(enumerate(pool_labels), 2):
        if np.array_equal(first.labels, second.labels) and not np.array_equal(first.groups, second.groups):
            raise InvalidInputError(
                f"`pools` must differ in their labels, because CatBoost's data sets are found by them, but pools[{i}] "
                f"and pools[{j}] have the same labels in other groups. Train on one of them."
            )
    return pool_labels


def _read_pool(index: int, pool: Any, names: str) -> PoolLabels:
    if not hasattr(pool, "get_group_id_hash"):
        raise InvalidTypeError(
            f"`pools` must contain objects of catboost.Pool, but pools[{index}] is {type(pool).__name__}. "
            "Make it one by catboost.Pool(…)."
        )
    ids = pool.get_group_id_hash()
    if ids is None:
        raise InvalidInputError(
            f"`pools` must have groups for {names}, a mean over queries, but pools[{index}] has none. Pass "
            "Pool(…, group_id=…) with the query of each document."
        )
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    return PoolLabels(np.asarray(pool.get_label(), "f4"), np.diff(starts, append=len(ids)))


def weigh_queries(weights: Array, groups: Array) -> Array:
    """Return the weight of each query, or raise an error if the documents of a query have different weights."""
    query_weights: Array = weights[np.cumsum(groups) - groups]
    differing = np.flatnonzero(np.repeat(query_weights, groups) != weights)
    if len(differing):
        document = int(differing[0])
        query = int(np.searchsorted(np.cumsum(groups), document, side="right"))
        raise InvalidInputError(
            f"`weight` must be the same for all documents of a query, but weight[{document}] (query {query}) is "
            f"{weights[document]} and not {query_weights[query]}. Pass Pool(…, group_weight=…)."
        )
    return query_weights
