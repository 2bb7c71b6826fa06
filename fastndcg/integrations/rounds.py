"""What every booster's adapter does: the truth of a data set prepared once, and each round's scores against it."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.combinations import check_combinations
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, UndefinedMetricError
from fastndcg.evaluate import Evaluator
from fastndcg.metric import Metrics, parse_metrics
from fastndcg.rankings import Array
from fastndcg.threads import checked_threads


class Given(NamedTuple):
    """What a library says of a data set: labels of documents, sizes of queries, and weights of either or None."""

    labels: Array
    groups: Array
    weights: Array | None


class Prepared(NamedTuple):
    """A data set's truth: whose it is, a copy of what was given, and what was made of that."""

    owner: weakref.ref[Any]
    given: Given
    evaluator: Evaluator
    weights: Array | None  # of the queries


class Rounds:
    """
    Metrics that are evaluated round after round, on data sets each of which is prepared when it is first seen.

    A data set is known by its identity, and by its content: labels that were changed since are prepared again, as an
    ideal that is out of date would be a wrong number. One that is gone takes with it what was prepared.

    Parameters
    ----------
    metrics, convention, threads
        See `evaluate`.
    weigh : callable
        Makes weights of queries from (weights, groups) of `Given`.
    """

    def __init__(
        self,
        metrics: Metrics,
        convention: str | Convention,
        threads: int | None,
        weigh: Callable[[Array, Array], Array],
    ) -> None:
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        check_combinations(self.metrics, self.convention)  # now, and not after the first round
        self.threads = None if threads is None else checked_threads(threads)
        self._weigh = weigh
        self._prepared: dict[int, Prepared] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Rounds, (self.metrics, self.convention, self.threads, self._weigh)

    def means(self, owner: Any, given: Given, scores: Any) -> list[float]:
        """Each metric's mean for a round's scores on the data set that `owner` is."""
        prepared = self._of(owner, given)
        try:
            results = prepared.evaluator.evaluate(scores)
        except InvalidInputError as error:
            explain_nan(scores, self.names(), error)
            raise
        means = results.means(prepared.weights)
        for metric, mean in zip(self.metrics, means, strict=True):
            if math.isnan(mean):
                raise UndefinedMetricError(
                    f"{metric} must have a value for some query of a data set, but has none ({metric.record.undefined})"
                    "; give the data set queries with relevant documents, or take convention.replace(undefined=0)"
                )
        return means

    def names(self) -> str:
        """The metrics as messages name them."""
        return ", ".join(map(str, self.metrics))

    def _of(self, owner: Any, given: Given) -> Prepared:
        key = id(owner)
        found = self._prepared.get(key)
        if found is None or found.owner() is not owner or not are_equal(found.given, given):
            found = self._prepare(owner, given)
            self._prepared[key] = found
        return found

    def _prepare(self, owner: Any, given: Given) -> Prepared:
        weights = None if given.weights is None else np.array(given.weights)
        kept = Given(np.array(given.labels), np.array(given.groups), weights)
        evaluator = Evaluator(
            kept.labels, self.metrics, groups=kept.groups, convention=self.convention, threads=self.threads
        )
        if weights is not None:
            weights = self._weigh(weights, kept.groups)
        key, prepared = id(owner), self._prepared
        return Prepared(weakref.ref(owner, lambda _: prepared.pop(key, None)), kept, evaluator, weights)


def are_equal(kept: Given, given: Given) -> bool:
    """Whether a data set is as it was when it was prepared."""
    for ours, theirs in zip(kept, given, strict=True):
        if ours is None or theirs is None:
            if ours is not theirs:
                return False
        elif not np.array_equal(ours, theirs):
            return False
    return True


def explain_nan(scores: Any, names: str, error: InvalidInputError) -> None:
    """Raise for a score that is NaN, if that was the error: a model has diverged, and the metrics are named."""
    array = np.asarray(scores)
    if array.dtype.kind == "f" and np.isnan(array).any() and "NaN" in str(error):
        found = str(error).partition(", but ")[2].partition(";")[0]
        raise InvalidInputError(
            f"`scores` must not be NaN for {names}, but {found}: the model diverged; lower its learning rate, look for "
            "NaN and infinity in its labels, weights and initial scores, or take convention.replace(nan_scores='last')"
        ) from error
