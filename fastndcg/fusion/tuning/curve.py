"""The metric of a fusion against the weight of a run, for plots and readers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.fusion.tuning.folds import Folds
from fastndcg.fusion.tuning.step_function import Interval, StepFunction
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.pickling import Picklable

N_POINTS = 201  # of the band and the folds of a plot


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

    Parameters
    ----------
    values : (n_queries, n_columns) float64 array
        Values without NaN.
    clusters : (n_queries,) array or None
        The cluster of each query.
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
