"""Step functions: the metric for all weights of a fusion of two score lists, of each query and as a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.fusion.joined_runs import add_up
from fastndcg.fusion.tuning.folds import Folds
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.pickling import Picklable

N_POINTS = 201  # of the band and the folds of a plot


class Interval(NamedTuple):
    """Weights from `low` to `high` with one mean of the metric."""

    low: float
    high: float
    mean: float

    @property
    def middle(self) -> float:
        """The weight in the middle."""
        return self.low + (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class StepFunction:
    """
    The metric of each query as a step function of the weight between 0 and 1.

    Between two steps a query's ranking stays the same. At a step itself documents tie, and the function has the value
    that follows.

    The function equals the engine's values to the bit at each weight between the crossings of documents. A crossing is
    a weight at which two fused scores are equal. Where two fused scores differ by their rounding alone, which is within
    1e-6 of a crossing, of 0 and of 1, and wherever two documents have nearly the same scores in both lists, the engine
    may rank them otherwise.
    """

    starts: Array  # (n_steps,) float64: where each value begins, query after query, the first one of a query at 0
    values: Array  # (n_steps,) float64
    offsets: Array  # (n_queries + 1,) int64: query q owns steps offsets[q] up to offsets[q + 1]
    sign: int = 1  # -1 if lower values are better
    # the steps of all queries in the order of the weight, made when they are first used
    _sorted: list[tuple[Array, Array, Array]] = field(default_factory=list, repr=False, compare=False)

    @property
    def first_values(self) -> Array:
        """The value of each query before its first step, that is at weight 0: (n_queries,)."""
        return self.values[self.offsets[:-1]]

    def sort(self) -> tuple[Array, Array, Array]:
        """Return the weights, queries and values of all steps after the first ones, in the order of the weight."""
        if not self._sorted:
            is_later = np.ones(len(self.starts), bool)
            is_later[self.offsets[:-1]] = False
            later = is_later.nonzero()[0]
            order = later[self.starts[later].argsort(kind="stable")]
            queries = np.repeat(np.arange(len(self.offsets) - 1, dtype="i4"), np.diff(self.offsets))
            self._sorted.append((self.starts[order], queries[order], self.values[order]))
        return self._sorted[0]

    def find_best(self, folds: Array, sets: Array) -> list[Interval]:
        """
        Return the interval of weights with the best mean over the queries of each set of folds that have a value.

        `folds` has the fold of each query, int32, and `sets` is (n_sets, n_folds) uint8, 1 for the folds of a set.
        """
        weights, queries, values = self.sort()
        first = self.sign * self.first_values
        counts = sets @ np.bincount(folds[~np.isnan(first)], minlength=sets.shape[1])
        best = np.empty((len(sets), 3))
        load_kernels("fusion.step_sums").find_best(
            weights, queries, self.sign * values, folds, sets, first, np.empty((len(sets), 4)), best
        )
        return [
            Interval(low, high, self.sign * total / n if n else np.nan)
            for (low, high, total), n in zip(best.tolist(), counts.tolist(), strict=True)
        ]

    def find_cell(self, weight: float) -> tuple[float, float]:
        """Return the last step of any query up to a weight, and the first one above it."""
        weights = self.sort()[0]
        place = int(np.searchsorted(weights, weight, side="right"))
        low = float(weights[place - 1]) if place else 0.0
        return low, float(weights[place]) if place < len(weights) else 1.0

    def sum_curve(self) -> tuple[Array, Array]:
        """Return the weights at which the mean over all queries changes, from 0 on, and the mean from each one on."""
        weights, queries, values = self.sort()
        starts = np.empty(len(weights) + 1)
        sums = np.empty(len(weights) + 1)
        state = self.first_values.copy()
        n_defined = np.count_nonzero(~np.isnan(state))
        n = load_kernels("fusion.step_sums").sum_curve(weights, queries, values, state, starts, sums)
        return starts[:n].copy(), sums[:n] / n_defined

    def look_up(self, points: Array) -> Array:
        """Return the value of each query at some weights in rising order: (n_queries, n_points)."""
        out = np.empty((len(self.offsets) - 1, len(points)))
        load_kernels("fusion.step_sums").look_up(self.starts, self.values, self.offsets, points, out)
        return out


def join_steps(queries: Array, starts: Array, values: Array, n_queries: int, sign: int) -> StepFunction:
    """Return the step function of steps in the order of queries and weights. Steps without a change are left out."""
    is_first = np.ones(len(queries), bool)
    is_first[1:] = queries[1:] != queries[:-1]
    is_change = is_first.copy()
    is_change[1:] |= (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    starts = starts[is_change]
    starts[is_first[is_change]] = 0.0
    offsets = add_up(np.bincount(queries[is_change], minlength=n_queries))
    return StepFunction(starts, values[is_change], offsets, sign)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FusionCurve(Picklable):
    """
    The mean of a metric over all queries for all weights of a run, the other weights sharing the rest.

    Any number of threads may use one at once.

    The mean is a step function: between two entries of `weights` it stays the same. These queries have tuned the
    weight, so the highest mean is too optimistic. `TunedFusion.held_out` has values of queries that did not.

    At a weight between crossings the mean is that of `evaluate`, to the bit. A crossing is a weight at which two fused
    scores are equal. There, within 1e-6 of it, of 0 and of 1, and wherever two fused scores differ by rounding alone,
    `evaluate` may give another mean. The mean of the best weight is always that of `evaluate`.

    Parameters
    ----------
    run : str
        The run whose weight varies from 0 to 1.
    weights : (n_steps,) float64 array
        Where each mean begins. The first is 0.
    step_means : (n_steps,) float64 array
        The mean from each weight on.
    plateau : Interval
        The weights around the best one that share its mean.
    points : (n_points,) float64 array, optional
        Weights of the entries below.
    errors : (n_points,) float64 array, optional
        The standard error of the mean.
    point_means : (n_points,) float64 array, optional
        The mean.
    fold_means : (n_folds, n_points) float64 array, optional
        The mean over the queries of each fold of the first repeat.

    Examples
    --------
    >>> qrels = {f"q{i}": {"d1": 1} for i in range(6)}
    >>> runs = {"a": {q: {"d1": 2, "d2": 1} for q in qrels}, "b": {q: {"d2": 2, "d1": 1} for q in qrels}}
    >>> curve = fn.tune_fusion(qrels, runs, "rr", ["wsum"], folds=3).curve
    >>> curve
    FusionCurve of run a, 2 steps, plateau from 0.5 to 1, mean 1 at the best weight
    >>> curve.find_mean(0.3), curve.find_mean(0.7)
    (0.5, 1.0)
    """

    run: str
    weights: Array
    step_means: Array
    plateau: Interval
    points: Array = field(default_factory=lambda: np.empty(0))
    errors: Array = field(default_factory=lambda: np.empty(0))
    point_means: Array = field(default_factory=lambda: np.empty(0))
    fold_means: Array = field(default_factory=lambda: np.empty((0, 0)))

    def find_mean(self, weight: float) -> float:
        """
        Return the mean at a weight.

        Parameters
        ----------
        weight : float
            From 0 to 1.

        Returns
        -------
        float
            The mean of the ranking between the steps on both sides of the weight.

        Raises
        ------
        InvalidInputError
            If the weight is not a number from 0 to 1.
        """
        number = as_float(weight)
        if number is None or not 0 <= number <= 1:
            raise InvalidInputError(f"`weight` must be a number from 0 to 1, not {shorten(weight)}")
        return float(self.step_means[int(np.searchsorted(self.weights, number, side="right")) - 1])

    def __repr__(self) -> str:
        return (
            f"FusionCurve of run {show_name(self.run)}, {len(self.weights)} steps, plateau from {self.plateau.low:.4g} "
            f"to {self.plateau.high:.4g}, mean {self.plateau.mean:.4g} at the best weight"
        )


def make_curve(run: str, steps: StepFunction, plateau: Interval, folds: Folds, clusters: Array | None) -> FusionCurve:
    """Return the curve of a step function, with the means of folds and the standard error at some points."""
    weights, means = steps.sum_curve()
    points = np.linspace(0.0, 1.0, N_POINTS)
    points[0] = points[1] * 1e-6  # at 0 and 1 documents of one list tie
    points[-1] = 1.0 - points[0]
    values = steps.look_up(points)
    is_defined = ~np.isnan(values[:, 0])  # a query has a value at all weights or at none
    defined = values[is_defined]
    fold_numbers = folds.numbers[is_defined]
    return FusionCurve(
        run,
        weights,
        means,
        plateau,
        points,
        compute_standard_errors(defined, None if clusters is None else clusters[is_defined]),
        np.array([math.fsum(column) for column in defined.T.tolist()]) / len(defined),
        np.array([defined[fold_numbers == fold].mean(axis=0) for fold in range(folds.n)]),
    )


def compute_standard_errors(values: Array, clusters: Array | None) -> Array:
    """
    Return the standard error of the mean of each column, from the sums of clusters if there are any.

    `values` are (n_queries, n_columns) float64 without NaN, and `clusters` has the cluster of each query.
    """
    rest = values - values.mean(axis=0)
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        sums = np.zeros((int(units.max()) + 1, values.shape[1]))
        np.add.at(sums, units, rest)
        rest = sums
    n = len(rest)
    errors: Array = np.sqrt((rest**2).sum(axis=0) * n / max(n - 1, 1)) / len(values)
    return errors
