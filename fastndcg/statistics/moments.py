"""Moments of a quantity over the queries: mean, spread, standard error, and counts of wins and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import ExactSum, compute_spread, sum_squares
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.sampling_design import Design

TIE_TOLERANCE = 1e-12  # relative to the largest value: smaller differences come from rounding


class Moments(NamedTuple):
    """The moments of one quantity over the queries for which it is defined."""

    n_queries: int
    n_units: int
    mean: float
    standard_deviation: float  # of the queries' values
    standard_error: float  # of the mean
    degrees_of_freedom: int
    wins: int
    ties: int
    losses: int
    reason: str  # the reason for a missing interval and test, empty if both exist

    @property
    def is_constant(self) -> bool:
        """True if all values are equal, or all sums of clusters: no test can use their spread."""
        return self.standard_error == 0

    @property
    def effect(self) -> float:
        """The mean in standard deviations, which is Cohen's d of paired values."""
        return self.mean / self.standard_deviation if self.standard_deviation > 0 else math.nan


def compute_moments(
    quantity: Quantity, columns: Sequence[Array], design: Design, tie_threshold: float | None = None
) -> Moments:
    """
    Compute the moments of a quantity.

    `tie_threshold` is the result of `find_tie_threshold` for the metric, if it is already known.
    """
    threshold = find_tie_threshold(columns, quantity.metric) if tie_threshold is None else tie_threshold
    values = quantity.values(columns)
    is_defined = ~np.isnan(values)
    weights = design.apply_weights(is_defined.astype("f8"))
    n = int(np.count_nonzero(is_defined))
    total = float(weights.sum())
    if n == 0 or total == 0:
        reason = "no query has a value" if n == 0 else "all queries that have a value have the weight 0"
        return Moments(n, 0, math.nan, math.nan, math.nan, 0, 0, 0, 0, reason)
    zero_filled = np.where(is_defined, values, 0.0)
    if design.is_plain:
        least_spread = 0.0 if quantity.against is None else threshold
        moments = summarize_exact_sums(ExactSum.of(values), sum_squares(values), least_spread)
        wins, losses = _count_wins_and_losses(quantity, zero_filled, threshold)
        return moments._replace(wins=wins, ties=n - wins - losses, losses=losses)
    mean = float((zero_filled * weights).sum() / total)
    residuals = np.where(is_defined, values - mean, 0.0)
    n_units = int(np.count_nonzero(design.sum_units(is_defined.astype("f8"))))
    n_weighted = int(np.count_nonzero(weights))
    wins, losses = _count_wins_and_losses(quantity, zero_filled, threshold)
    degrees_of_freedom = n_units - (len(design.stratum_offsets) - 1)
    has_spread = n_units > 1 and n_weighted > 1 and degrees_of_freedom > 0
    reason = "" if has_spread else _explain_too_few(design, n_units, degrees_of_freedom)
    deviation = math.nan
    error = math.nan
    if has_spread:
        squares = float((residuals * weights * residuals).sum())
        deviation = _zero_if_rounding(math.sqrt(squares / total * n_weighted / (n_weighted - 1)), threshold)
        error = _zero_if_rounding(_compute_sum_error(residuals * weights, design, n_units) / total, threshold)
    ties = n - wins - losses
    return Moments(n, n_units, mean, deviation, error, degrees_of_freedom, wins, ties, losses, reason)


def summarize_exact_sums(total: ExactSum, squares: ExactSum, tie_threshold: float = 0.0) -> Moments:
    """
    Compute the moments of independent queries from exact sums of values and squares, without wins and losses.

    They depend neither on the order of the queries nor on the parts whose sums were added.
    """
    if not total.n:
        return Moments(0, 0, math.nan, math.nan, math.nan, 0, 0, 0, 0, "no query has a value")
    deviation, error = (_zero_if_rounding(spread, tie_threshold) for spread in compute_spread(total, squares))
    reason = "" if total.n > 1 else "only one query has a value"
    return Moments(total.n, total.n, total.mean(), deviation, error, total.n - 1, 0, 0, 0, reason)


def find_tie_threshold(columns: Sequence[Array], metric: int) -> float:
    """Return the largest size of a difference of this metric that counts as a tie."""
    largest = max(float(np.nanmax(np.abs(column[:, metric]), initial=0.0)) for column in columns)
    return TIE_TOLERANCE * largest


def _compute_sum_error(residuals: Array, design: Design, n_units: int) -> float:
    """Return the standard error of the weighted sum. Units without a value add 0 and do not count as units."""
    unit_sums = design.sum_units(residuals)
    if len(design.stratum_offsets) == 2:
        return math.sqrt(float((unit_sums**2).sum()) * n_units / (n_units - 1))
    return math.sqrt(design.compute_sum_variance(unit_sums))


def _zero_if_rounding(spread: float, threshold: float) -> float:
    """Return the spread, or 0 if it is as small as rounding errors."""
    return spread if spread > threshold or math.isnan(spread) else 0.0


def _explain_too_few(design: Design, n_units: int, degrees_of_freedom: int) -> str:
    singular, plural = ("cluster", "clusters") if design.is_clustered else ("query", "queries")
    if n_units == 1:
        return f"only one {singular} has a value"
    if degrees_of_freedom > 0:
        return "only one query that has a value has a weight"
    return f"no more {plural} have a value than strata"


def _count_wins_and_losses(quantity: Quantity, values: Array, threshold: float) -> tuple[int, int]:
    """Return the number of values above 0 and of values below 0. A mean has neither."""
    if quantity.against is None:
        return 0, 0
    return int(np.count_nonzero(values > threshold)), int(np.count_nonzero(values < -threshold))
