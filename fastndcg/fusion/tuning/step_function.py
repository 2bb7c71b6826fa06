"""Step functions: the metric of each query for all weights of a fusion of two score lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array


class Interval(NamedTuple):
    """
    Weights from `low` to `high` with one mean of the metric.

    On a plateau within one standard error, `mean` is that of the weight in the middle.
    """

    low: float
    high: float
    mean: float

    @property
    def middle(self) -> float:
        """The weight in the middle."""
        return self.low + (self.high - self.low) / 2


class Piece(NamedTuple):
    """A value that a query has from `low` up to `high`."""

    low: float
    high: float
    value: float


@dataclass(frozen=True, slots=True)
class StepFunction:
    """
    The metric of each query as a step function of the weight between 0 and 1.

    Between two steps a query's ranking stays the same. At a step itself documents tie, and the function has the value
    that follows.

    The function equals the engine's values to the bit at each weight between the crossings of documents. A crossing is
    a weight at which two fused scores are equal. Closer than 1e-6 to it, to 0 and to 1, rounding may decide the order.
    The queries of `is_undecided` have fused scores that differ by a few roundings over a wider range. Their values are
    the engine's at some hundred weights.

    Attributes
    ----------
    starts, values : (n_steps,) float64 arrays
        Where each value begins, query after query, and the value. The first step of a query begins at 0.
    offsets : (n_queries + 1,) int64 array
        Query q owns steps ``offsets[q]`` up to ``offsets[q + 1]``.
    sign : int
        1 if higher values are better, else -1.
    is_undecided : (n_queries,) bool array, optional
        True for queries in which rounding decides the order of documents over a range of weights. By default none.
    """

    starts: Array
    values: Array
    offsets: Array
    sign: int = 1
    is_undecided: Array = field(default_factory=lambda: np.zeros(0, bool))
    _sorted: list[tuple[Array, Array, Array]] = field(default_factory=list, repr=False, compare=False)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    @property
    def first_values(self) -> Array:
        """The value of each query at the lowest weights."""
        return self.values[self.offsets[:-1]]

    def sort(self) -> tuple[Array, Array, Array]:
        """Return the weights, queries and values of all steps after the first ones, in the order of the weight."""
        if not self._sorted:
            is_later = np.ones(len(self.starts), bool)
            is_later[self.offsets[:-1]] = False
            later = np.flatnonzero(is_later)
            order = later[np.argsort(self.starts[later], kind="stable")]
            queries = np.repeat(np.arange(self.n_queries, dtype="i4"), np.diff(self.offsets))
            self._sorted.append((self.starts[order], queries[order], self.values[order]))
        return self._sorted[0]

    def find_best(self, folds: Array, sets: Array, thresholds: Array | None = None) -> list[Interval]:
        """
        Return the best interval of weights for each set of folds, by the mean over its queries with a value.

        Parameters
        ----------
        folds : (n_queries,) int32 array
            The fold of each query.
        sets : (n_sets, n_folds) uint8 array
            1 for the folds of a set.
        thresholds : (n_sets,) float64 array, optional
            Means: the widest interval in which no mean is worse. By default the interval with the best mean.
        """
        weights, queries, values = self.sort()
        first = self.sign * self.first_values
        is_defined = ~np.isnan(first)
        counts = np.array([np.count_nonzero(is_defined & (own_set[folds] != 0)) for own_set in sets])
        limits = np.full(len(sets), np.nan) if thresholds is None else self.sign * thresholds * counts
        best = np.empty((len(sets), 3))
        load_kernels("fusion.step_sums").find_best(
            weights, queries, self.sign * values, folds, sets, limits, first, np.empty((len(sets), 4)), best
        )
        return [
            Interval(float(low), float(high), self.sign * float(total) / n if n else np.nan)
            for (low, high, total), n in zip(best, counts.tolist(), strict=True)
        ]

    def find_cell(self, weight: float) -> tuple[float, float]:
        """Return the last step of any query up to a weight, and the first one above it."""
        weights = self.sort()[0]
        place = int(np.searchsorted(weights, weight, side="right"))
        low = float(weights[place - 1]) if place else 0.0
        return low, float(weights[place]) if place < len(weights) else 1.0

    def select(self, queries: Array) -> StepFunction:
        """Return the step function of some queries."""
        counts = np.diff(self.offsets)[queries]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[queries] - offsets[:-1], counts)
        return StepFunction(self.starts[places], self.values[places], read_only(offsets), self.sign)

    def replace(self, pieces: Mapping[int, Sequence[Piece]]) -> StepFunction:
        """
        Return a step function with other values.

        Parameters
        ----------
        pieces : {query: sequence of Piece}
            The new values of some queries, in rising order without overlaps.
        """
        starts: list[Array] = []
        values: list[Array] = []
        counts = np.diff(self.offsets)
        n_copied = 0
        for query in sorted(pieces):
            first, stop = self.offsets[query : query + 2].tolist()
            own_starts, own_values = _replace_pieces(self.starts[first:stop], self.values[first:stop], pieces[query])
            starts += [self.starts[n_copied:first], own_starts]
            values += [self.values[n_copied:first], own_values]
            counts[query] = len(own_starts)
            n_copied = stop
        return StepFunction(
            np.concatenate([*starts, self.starts[n_copied:]]),
            np.concatenate([*values, self.values[n_copied:]]),
            read_only(np.concatenate([[0], np.cumsum(counts)])),
            self.sign,
            self.is_undecided,
        )

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
        out = np.empty((self.n_queries, len(points)))
        load_kernels("fusion.step_sums").look_up(self.starts, self.values, self.offsets, points, out)
        return out


def _replace_pieces(starts: Array, values: Array, pieces: Sequence[Piece]) -> tuple[Array, Array]:
    """Return the steps of one query with other values in some pieces."""
    lows, highs, new_values = np.array([piece for piece in pieces if piece.low < piece.high]).reshape(-1, 3).T
    edges = np.unique(np.concatenate([starts, lows, highs]))
    edges = edges[edges < 1.0]
    all_values = values[np.searchsorted(starts, edges, side="right") - 1]
    places = np.searchsorted(lows, edges, side="right") - 1
    is_inside = places >= 0
    is_inside[is_inside] &= edges[is_inside] < highs[places[is_inside]]
    all_values[is_inside] = new_values[places[is_inside]]
    is_change = _find_changes(all_values)
    return edges[is_change], all_values[is_change]


def _find_changes(values: Array) -> Array:
    """Return True for the first value, and for each that differs from the one before. NaN is equal to NaN."""
    is_change = np.ones(len(values), bool)
    is_change[1:] = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return is_change


def join_steps(queries: Array, starts: Array, values: Array, is_undecided: Array, sign: int) -> StepFunction:
    """Return the step function of steps in the order of queries and weights. Steps without a change are left out."""
    is_first = np.ones(len(queries), bool)
    is_first[1:] = queries[1:] != queries[:-1]
    is_change = is_first | _find_changes(values)
    starts = starts[is_change]
    starts[is_first[is_change]] = 0.0
    offsets = np.concatenate([[0], np.cumsum(np.bincount(queries[is_change], minlength=len(is_undecided)))])
    return StepFunction(starts, values[is_change], read_only(offsets), sign, is_undecided)
