"""
CatBoost: a metric as the `eval_metric` of `CatBoost` and `CatBoostRanker`.

CatBoost hands a custom metric the scores and labels of one data set at a time, and no groups. So the metric is made
with the pools of the training, and finds the one that is meant by its labels. Categorical features and ordered boosting
make CatBoost shuffle what it learns from, but for ``has_time=True``: labels in another order are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.integrations.rounds import Given, Rounds
from fastndcg.metric import Metric, parse_metrics
from fastndcg.rankings import Array


def metric(
    one: str | Metric, pools: Any, *, convention: str | Convention = "default", threads: int | None = None
) -> EvalMetric:
    """
    A metric as CatBoost evaluates it after each round: ``CatBoostRanker(eval_metric=metric("ndcg@10", pools))``.

    What depends on the labels is prepared once for each pool. Queries are the pools' groups; weights of groups are
    those of queries.

    Parameters
    ----------
    one : str or Metric
        Such as "ndcg@10": CatBoost takes one metric that is not its own.
    pools : catboost.Pool or iterable of them
        Every pool that is learned from or validated on.
    convention, threads
        See `evaluate`; "catboost" gives the digits of CatBoost's own NDCG, MAP and the like.

    Returns
    -------
    EvalMetric
        Its values are named by the metric in `evals_result_`.
    """
    metrics = parse_metrics(one)
    if len(metrics) != 1:
        names = ", ".join(map(str, metrics))
        raise InvalidInputError(f"`one` must be one metric, as CatBoost takes no more, but is {names}; choose one")
    many = [pools] if hasattr(pools, "get_group_id_hash") else list(pools)
    rounds = Rounds(metrics, convention, threads, weights_of_queries)
    return _named(rounds, known_of(many, rounds.names()))


class Known:
    """Labels and groups of a pool."""

    def __init__(self, labels: Array, groups: Array) -> None:
        self.labels = labels
        self.groups = groups


class EvalMetric:
    """What CatBoost asks of a metric."""

    no_jit = True  # numba must not compile `evaluate`, which CatBoost else tries

    def __init__(self, rounds: Rounds, known: list[Known]) -> None:
        self._rounds = rounds
        self._known = known

    def __deepcopy__(self, _: Any) -> EvalMetric:
        return self  # CatBoost copies its parameters for each training: what was prepared is shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self._rounds, self._known)

    def is_max_optimal(self) -> bool:
        """Whether higher is better."""
        return self._rounds.metrics[0].record.higher_is_better

    def evaluate(self, approxes: Sequence[Array], target: Array, weight: Array | None) -> tuple[float, float]:
        """The mean over the queries of the pool that has these labels, and 1 as what it is to be divided by."""
        if len(approxes) != 1:
            raise InvalidInputError(
                f"`approxes` must be one score a document for {self._rounds.names()}, but are {len(approxes)}; train "
                "with a loss function for ranking or regression"
            )
        known = self._pool_of(target)
        (mean,) = self._rounds.means(known, Given(known.labels, known.groups, weight), approxes[0])
        return mean, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """What `evaluate` found."""
        return error / weight

    def _pool_of(self, target: Array) -> Known:
        for known in self._known:
            if np.array_equal(known.labels, target):
                return known
        raise InvalidInputError(
            f"`pools` must have the data set that {self._rounds.names()} is asked for, but none has its {len(target)} "
            "labels in this order; name every pool, and train with has_time=True if CatBoost shuffles, as it does for "
            "categorical features and ordered boosting"
        )

    def __repr__(self) -> str:
        return f"metric({self._rounds.names()!r}, pools, convention={self._rounds.convention.name!r})"


def _named(rounds: Rounds, known: list[Known]) -> EvalMetric:
    """An object of a class that has the metric's name, as CatBoost shows that."""
    kind: type[EvalMetric] = type(rounds.names(), (EvalMetric,), {})
    return kind(rounds, known)


def known_of(pools: Iterable[Any], name: str) -> list[Known]:
    """Labels and groups of all pools, which must tell them apart."""
    found = [_of_pool(place, pool, name) for place, pool in enumerate(pools)]
    for (i, one), (j, other) in combinations(enumerate(found), 2):
        if np.array_equal(one.labels, other.labels) and not np.array_equal(one.groups, other.groups):
            raise InvalidInputError(
                f"`pools` must differ in their labels, by which CatBoost's are known, but pools[{i}] and pools[{j}] "
                "have the same labels in other groups; train on one of them"
            )
    return found


def _of_pool(place: int, pool: Any, name: str) -> Known:
    if not hasattr(pool, "get_group_id_hash"):
        raise InvalidTypeError(f"`pools` must be of catboost.Pool, but pools[{place}] is {type(pool).__name__}")
    ids = pool.get_group_id_hash()
    if ids is None:
        raise InvalidInputError(
            f"`pools` must have groups for {name}, a mean over queries, but pools[{place}] has none; give "
            "Pool(…, group_id=…) the query of each document"
        )
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    return Known(np.asarray(pool.get_label(), "f4"), np.diff(starts, append=len(ids)))


def weights_of_queries(weights: Array, groups: Array) -> Array:
    """The weight that all documents of a query have."""
    of_queries: Array = weights[np.cumsum(groups) - groups]
    differ = np.flatnonzero(np.repeat(of_queries, groups) != weights)
    if len(differ):
        place = int(differ[0])
        query = int(np.searchsorted(np.cumsum(groups), place, side="right"))
        raise InvalidInputError(
            f"`weight` must be the same for all documents of a query, but weight[{place}] (query {query}) is "
            f"{weights[place]} and not {of_queries[query]}; give Pool(…, group_weight=…)"
        )
    return of_queries
