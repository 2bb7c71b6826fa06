"""Evaluation of metrics after each boosting round, shared by the adapters to LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import Choice, InvalidInputError, UndefinedMetricError
from fastndcg.evaluation import Evaluator
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import check_combinations
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_threads


class DataSet(NamedTuple):
    """The labels of a library's data set, the number of documents of each query, and optional weights."""

    labels: Array
    groups: Array
    weights: Array | None  # of documents or of queries, as the library has them


class PreparedDataSet(NamedTuple):
    """A data set's evaluator, with a copy of the data set that it was prepared from."""

    owner: weakref.ref[Any]  # the library's object
    copy: DataSet
    evaluator: Evaluator
    weights: Array | None  # of queries


class Adapter:
    """Base class of what libraries call: metrics that print as the call that made them."""

    _arguments = ""

    def __init__(self, evaluator: RoundEvaluator) -> None:
        self._evaluator = evaluator

    def __repr__(self) -> str:
        return f"metric({self._evaluator.names()!r}{self._arguments}, convention={self._evaluator.convention.name!r})"


class RoundEvaluator:
    """
    Metrics that are evaluated after each boosting round.

    A data set is prepared when it is first evaluated. It is prepared again if its content has changed, because its
    ideal ranking may have changed, too. It is forgotten when the library's object is deleted. `weigh_queries` computes
    the weights of queries from `DataSet.weights` and `DataSet.groups`.
    """

    def __init__(
        self,
        metrics: Metrics,
        convention: ConventionName | str | Convention,
        threads: int | None,
        weigh_queries: Callable[[Array, Array], Array],
    ) -> None:
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        check_combinations(self.metrics, self.convention)  # reports the error before the first round is trained
        self.threads = None if threads is None else check_threads(threads)
        self._weigh_queries = weigh_queries
        self._prepared: dict[int, PreparedDataSet] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return RoundEvaluator, (self.metrics, self.convention, self.threads, self._weigh_queries)

    def means(self, owner: Any, data_set: DataSet, scores: Any) -> list[float]:
        """Return the mean of each metric over the queries of a data set."""
        prepared = self._find(owner, data_set)
        try:
            results = prepared.evaluator.evaluate(scores)
        except InvalidInputError as error:
            explain_nan(scores, self.names(), error)
            raise
        means = results.means(prepared.weights)
        for metric, mean in zip(self.metrics, means, strict=True):
            check_defined(metric, mean, "a data set", "Add queries with relevant documents")
        return means

    def names(self) -> str:
        """Return the names of the metrics for messages."""
        return ", ".join(map(str, self.metrics))

    def _find(self, owner: Any, data_set: DataSet) -> PreparedDataSet:
        """Return the prepared data set. Prepare it if it is new or has changed."""
        key = id(owner)
        prepared = self._prepared.get(key)
        if prepared is None or prepared.owner() is not owner or not is_unchanged(prepared.copy, data_set):
            prepared = self._prepare(owner, data_set)
            self._prepared[key] = prepared
        return prepared

    def _prepare(self, owner: Any, data_set: DataSet) -> PreparedDataSet:
        weights = None if data_set.weights is None else np.array(data_set.weights)
        copy = DataSet(np.array(data_set.labels), np.array(data_set.groups), weights)
        evaluator = Evaluator(
            copy.labels, self.metrics, groups=copy.groups, convention=self.convention, threads=self.threads
        )
        if weights is not None:
            weights = self._weigh_queries(weights, copy.groups)
        key = id(owner)
        prepared = self._prepared  # the callback must not keep this evaluator alive
        return PreparedDataSet(weakref.ref(owner, lambda _: prepared.pop(key, None)), copy, evaluator, weights)


def check_defined(metric: Metric, mean: float, data: str, remedy: str) -> None:
    """Raise an error for a metric without a value in any query of some data."""
    if math.isnan(mean):
        raise UndefinedMetricError(
            f"{metric} must have a value for some query of {data}, but has none ({metric.record.undefined}). {remedy}, "
            "or take ",
            Choice("undefined", [0]),
            ".",
        )


def is_unchanged(copy: tuple[Any, ...], data_set: tuple[Any, ...]) -> bool:
    """Return True if a data set still equals its copy."""
    return all(map(np.array_equal, copy, data_set))  # None equals None alone


def explain_nan(scores: Any, names: str, error: InvalidInputError) -> None:
    """Raise the error with the metrics and the usual causes of NaN in its message, if a score is NaN."""
    array = np.asarray(scores)
    if array.dtype.kind == "f" and np.isnan(array).any():
        causes = (
            ". The model diverged: lower its learning rate, and look for NaN and infinity in its labels, weights and "
            "initial scores."
        )
        raise error.reword(before=f"{names}: ", after=causes) from error
