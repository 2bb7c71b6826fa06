"""Moments of a quantity over the queries: mean, spread, standard error, and counts of wins and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import UNIT, ExactSum, compute_spread, sum_squares
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.sampling_design import Design

Bounds = tuple[float, float] | None  # the lowest and the highest value of a metric, None if there are none
RANGES = {"0 to 1": (0.0, 1.0), "−1 to 1": (-1.0, 1.0)}  # of the catalogue's records
TIE_TOLERANCE = 1e-12  # relative to the largest value: smaller differences come from rounding


def find_bounds(metric: Metric, *conventions: Convention) -> Bounds:
    """
    Return the lowest and the highest value that a metric can have, None if it has no such bounds.

    Negative labels that keep their values can take any metric out of its range.

    >>> find_bounds(Metric.parse("ndcg@10")), find_bounds(Metric.parse("dcg@10"))
    ((0.0, 1.0), None)
    """
    if any(convention.negative_labels == "keep" for convention in conventions):
        return None
    return RANGES.get(metric.record.range)


def refuse_wide_margin(margin: float, metric: Metric, conventions: Sequence[Convention], share: str = "") -> None:
    """Raise an error for a margin that no difference of the metric exceeds. `share` is a remedy."""
    bounds = find_bounds(metric, *conventions)
    if bounds is not None and margin >= bounds[1] - bounds[0]:
        raise InvalidInputError(
            f"`margin` must be below {bounds[1] - bounds[0]:g}, the range of {metric}, got {margin:g}. Pass "
            f"{margin / 100:g}{share}."
        )


class Moments(NamedTuple):
    """
    The moments of one quantity over the queries for which it is defined.

    `n_effective` is Kish's effective number of units, which is that of the queries if all count alike. `bounds` are the
    lowest and the highest possible value, None if they are unknown. `is_binary` says that all values are 0 or 1, or
    differences of such values, of queries that count alike.
    """

    n_queries: int = 0
    n_units: int = 0
    mean: float = math.nan
    standard_deviation: float = math.nan  # of the queries' values
    standard_error: float = math.nan  # of the mean
    degrees_of_freedom: float = 0
    wins: int = 0
    ties: int = 0
    losses: int = 0
    reason: str = "no query has a value"  # for a missing interval and test, empty if both exist
    n_effective: float = 0.0
    bounds: Bounds = None
    is_binary: bool = False
    is_difference: bool = False

    @property
    def is_constant(self) -> bool:
        """True if all values are equal, or all sums of clusters: no test can use their spread."""
        return self.standard_error == 0

    def turn(self) -> Moments:
        """Return the moments of differences with the other sign."""
        return self._replace(mean=0.0 - self.mean, wins=self.losses, losses=self.wins)  # 0.0 − x: no -0.0

    @property
    def effect(self) -> float:
        """The mean in standard deviations, which is Cohen's d of paired values."""
        return self.mean / self.standard_deviation if self.standard_deviation > 0 else math.nan


def compute_moments(
    quantity: Quantity,
    columns: Sequence[Array],
    design: Design,
    tie_threshold: float | None = None,
    bounds: Bounds = None,
) -> Moments:
    """
    Compute the moments of a quantity.

    `tie_threshold` is the result of `find_tie_threshold` for the metric, if it is already known. `bounds` are those of
    the metric's values.
    """
    threshold = find_tie_threshold(columns, quantity.metric) if tie_threshold is None else tie_threshold
    values = quantity.values(columns)
    is_difference = quantity.against is not None
    is_defined = ~np.isnan(values)
    n = int(np.count_nonzero(is_defined))
    if n == 0:
        return Moments(is_difference=is_difference)
    zero_filled = np.where(is_defined, values, 0.0)
    wins, losses = _count_wins_and_losses(quantity, zero_filled, threshold)
    ties = n - wins - losses
    own = [columns[system][:, quantity.metric] for system in (quantity.system, quantity.against) if system is not None]
    if design.is_plain:
        ranges = [_find_column_range(column, bounds) for column in own]
        moments = summarize_exact_sums(ExactSum.of(values), sum_squares(values), threshold if is_difference else 0.0)
        moments = add_range(moments, ranges, is_difference=is_difference)
        return moments._replace(wins=wins, ties=ties, losses=losses)
    weights = design.apply_weights(is_defined.astype("f8"))
    total = float(weights.sum())
    mean = float((zero_filled * weights).sum() / total)
    residuals = np.where(is_defined, values - mean, 0.0)
    n_units = int(np.count_nonzero(design.sum_units(is_defined.astype("f8"))))
    unit_weights = design.sum_units(weights)
    degrees_of_freedom = _count_degrees_of_freedom(unit_weights, design, n_units)
    has_spread = n_units > 1 and degrees_of_freedom > 0
    deviation = math.nan
    error = math.nan
    if has_spread:
        squares = float((residuals * weights * residuals).sum())
        deviation = _zero_if_rounding(math.sqrt(squares / total * n / (n - 1)), threshold)
        error = _zero_if_rounding(_compute_sum_error(residuals * weights, unit_weights, design) / total, threshold)
    return Moments(
        n_queries=n,
        n_units=n_units,
        mean=mean,
        standard_deviation=deviation,
        standard_error=error,
        degrees_of_freedom=degrees_of_freedom,
        wins=wins,
        ties=ties,
        losses=losses,
        reason="" if has_spread else _explain_too_few(design, n_units),
        n_effective=_count_effective(unit_weights),
        bounds=_widen(bounds, is_difference) if all(_is_within(column, bounds) for column in own) else None,
        is_difference=is_difference,
    )


def summarize_exact_sums(total: ExactSum, squares: ExactSum, tie_threshold: float = 0.0) -> Moments:
    """
    Compute the moments of independent queries from exact sums of values and squares, without wins and losses.

    They depend neither on the order of the queries nor on the parts whose sums were added.
    """
    if not total.n:
        return Moments()
    deviation, error = (_zero_if_rounding(spread, tie_threshold) for spread in compute_spread(total, squares))
    reason = "" if total.n > 1 else "only one query has a value"
    return Moments(total.n, total.n, total.mean(), deviation, error, total.n - 1, 0, 0, 0, reason, float(total.n))


class Range(NamedTuple):
    """The lowest and the highest possible value of a system, None if unknown, and whether all values are 0 or 1."""

    bounds: Bounds
    is_binary: bool


def find_range(total: ExactSum, squares: ExactSum, bounds: Bounds) -> Range:
    """
    Return the range of a system's values, from their exact sums.

    Values from 0 to 1 are at least as large as their squares, and equal to them if they are 0 or 1. So the sum of
    squares shows both, for parts of the data too. Sums that cannot be those of values within `bounds` have no range.

    >>> values = np.array([1.0, 0.0, 1.0])
    >>> find_range(ExactSum.of(values), sum_squares(values), (0.0, 1.0)).is_binary
    True
    """
    if bounds is None or total.infinities or squares.infinities:
        return Range(None, False)
    if bounds == (0.0, 1.0):
        return Range(bounds if squares.units <= total.units else None, squares.units == total.units)
    largest = max(abs(bound) for bound in bounds)
    return Range(bounds if squares.value() <= largest**2 * total.n else None, False)


def _find_column_range(column: Array, bounds: Bounds) -> Range:
    return Range(None, False) if bounds is None else find_range(ExactSum.of(column), sum_squares(column), bounds)


def add_range(moments: Moments, ranges: Sequence[Range], *, is_difference: bool) -> Moments:
    """Return the moments of a system's values, or of the differences of two systems, with their range."""
    bounds = _widen(ranges[0].bounds, is_difference) if all(own.bounds is not None for own in ranges) else None
    is_binary = all(own.is_binary for own in ranges)
    return moments._replace(bounds=bounds, is_binary=is_binary, is_difference=is_difference)


def count_binary_wins(moments: Moments, total: ExactSum, squares: ExactSum) -> Moments:
    """Return moments with the wins and losses of differences of 0/1 values, from their exact sums."""
    n_different = squares.units // UNIT
    wins = (n_different + total.units // UNIT) // 2
    return moments._replace(wins=wins, ties=total.n - n_different, losses=n_different - wins)


def _widen(bounds: Bounds, is_difference: bool) -> Bounds:
    """Return the bounds of differences, or those of values."""
    if bounds is None or not is_difference:
        return bounds
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _is_within(column: Array, bounds: Bounds) -> bool:
    defined = column[~np.isnan(column)]
    return bounds is not None and bool(((defined >= bounds[0]) & (defined <= bounds[1])).all())


def _count_effective(weights: Array) -> float:
    """Return Kish's effective number of units: their number, if all have the same weight."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _count_degrees_of_freedom(unit_weights: Array, design: Design, n_units: int) -> float:
    """Return the effective number of units in each stratum, less one, summed over the strata."""
    if design.weights is None and not design.is_clustered:
        return n_units - (len(design.stratum_offsets) - 1)
    strata = np.split(unit_weights, design.stratum_offsets[1:-1])
    return sum(_count_effective(stratum) - 1 for stratum in strata if stratum.any())


def find_tie_threshold(columns: Sequence[Array], metric: int) -> float:
    """Return the largest size of a difference of this metric that counts as a tie."""
    largest = max(float(np.nanmax(np.abs(column[:, metric]), initial=0.0)) for column in columns)
    return TIE_TOLERANCE * largest


def _compute_sum_error(residuals: Array, unit_weights: Array, design: Design) -> float:
    """
    Return the standard error of the weighted sum. Units without a value add 0.

    A unit with a large share of the weight pulls the mean to itself, so its residual is divided by √(1 − share). This
    is HC2 of J. G. MacKinnon and H. White 1985, doi:10.1016/0304-4076(85)90158-7, with clusters as units.
    """
    unit_sums = design.sum_units(residuals)
    if len(design.stratum_offsets) > 2:
        return math.sqrt(design.compute_sum_variance(unit_sums))
    return math.sqrt(float((unit_sums**2 / (1 - unit_weights / unit_weights.sum())).sum()))


def _zero_if_rounding(spread: float, threshold: float) -> float:
    """Return the spread, or 0 if it is as small as rounding errors."""
    return spread if spread > threshold or math.isnan(spread) else 0.0


def _explain_too_few(design: Design, n_units: int) -> str:
    singular, plural = ("cluster", "clusters") if design.is_clustered else ("query", "queries")
    if n_units == 1:
        return f"only one {singular} has a value"
    return f"no more {plural} have a value than strata"


def _count_wins_and_losses(quantity: Quantity, values: Array, threshold: float) -> tuple[int, int]:
    """Return the number of values above 0 and of values below 0. A mean has neither."""
    if quantity.against is None:
        return 0, 0
    return int(np.count_nonzero(values > threshold)), int(np.count_nonzero(values < -threshold))
