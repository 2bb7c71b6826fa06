"""Step functions: the metric of each query for all weights of a fusion of two score lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastndcg.fusion.joined_runs import add_up
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array


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

    Attributes
    ----------
    starts, values : (n_steps,) float64 arrays
        Where each value begins, query after query, and the value. The first step of a query begins at 0.
    offsets : (n_queries + 1,) int64 array
        Query q owns steps ``offsets[q]`` up to ``offsets[q + 1]``.
    sign : int
        1 if higher values are better, else -1.
    """

    starts: Array
    values: Array
    offsets: Array
    sign: int = 1
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

        Parameters
        ----------
        folds : (n_queries,) int32 array
            The fold of each query.
        sets : (n_sets, n_folds) uint8 array
            1 for the folds of a set.
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
        """
        Return the value of each query at some weights.

        Parameters
        ----------
        points : (n_points,) float64 array
            Weights in rising order.

        Returns
        -------
        (n_queries, n_points) float64 array
            The values.
        """
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
