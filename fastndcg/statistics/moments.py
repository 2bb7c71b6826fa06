"""What the queries themselves say of a quantity, without replicates: mean, spread, standard error, wins and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.design import Design
from fastndcg.statistics.sums import Quantity

TIE = 1e-12  # of the largest value: below it a difference is a matter of rounding


class Moments(NamedTuple):
    """Of one quantity, over the queries for which it is defined."""

    n_queries: int
    n_units: int
    mean: float
    deviation: float  # standard deviation of the queries' values
    error: float  # standard error of the mean
    freedom: int
    wins: int
    ties: int
    losses: int
    reason: str  # why there is no interval and no test, "" where there are

    @property
    def alike(self) -> bool:
        """Whether all values, or sums of clusters, are the same: nothing then tells luck from merit."""
        return self.error == 0

    @property
    def effect(self) -> float:
        """The mean in standard deviations: Cohen's d of paired values."""
        return self.mean / self.deviation if self.deviation > 0 else math.nan


def moments_of(quantity: Quantity, columns: Sequence[Array], design: Design, level: float | None = None) -> Moments:
    """Count and add up; `level` is the metric's `tie_level`, where it is known."""
    level = tie_level(columns, quantity.metric) if level is None else level
    values = quantity.values(columns)
    defined = ~np.isnan(values)
    weights = design.weigh(defined.astype("f8"))
    n, total = int(np.count_nonzero(defined)), float(weights.sum())
    if n == 0 or total == 0:
        reason = "no query has a value" if n == 0 else "the queries that have a value weigh nothing"
        return Moments(n, 0, math.nan, math.nan, math.nan, 0, 0, 0, 0, reason)
    known = np.where(defined, values, 0.0)
    mean = float((known * weights).sum() / total)
    rest = np.where(defined, values - mean, 0.0) * weights
    n_units = int(np.count_nonzero(design.sums(defined.astype("f8"))))
    counted = int(np.count_nonzero(weights))
    wins, losses = _wins_and_losses(quantity, known, level)
    freedom = n_units - (len(design.strata) - 1)
    reason = "" if n_units > 1 and counted > 1 and freedom > 0 else _too_few(design, n_units, freedom)
    deviation = error = math.nan
    if not reason:
        squares = float((rest * np.where(defined, values - mean, 0.0)).sum())
        deviation = _or_none(math.sqrt(squares / total * counted / (counted - 1)), level)
        error = _or_none(_error(rest, design, n_units) / total, level)
    return Moments(n, n_units, mean, deviation, error, freedom, wins, n - wins - losses, losses, reason)


def _error(rest: Array, design: Design, n_units: int) -> float:
    """The standard error of the sum: units without a value add nothing, and do not count as units."""
    unit_sums = design.sums(rest)
    if len(design.strata) == 2:
        return math.sqrt(float((unit_sums**2).sum()) * n_units / (n_units - 1))
    return math.sqrt(design.scatter(unit_sums))


def _or_none(spread: float, level: float) -> float:
    """The spread, 0 where it is a matter of rounding."""
    return spread if spread > level else 0.0


def _too_few(design: Design, n_units: int, freedom: int) -> str:
    one, many = ("cluster", "clusters") if design.clustered else ("query", "queries")
    if n_units == 1:
        return f"only one {one} has a value"
    return "only one query that has a value has a weight" if freedom > 0 else f"no more {many} have a value than strata"


def _wins_and_losses(quantity: Quantity, known: Array, level: float) -> tuple[int, int]:
    """How many values lie above 0, and how many below."""
    if quantity.against is None:
        return 0, 0
    return int(np.count_nonzero(known > level)), int(np.count_nonzero(known < -level))


def tie_level(columns: Sequence[Array], metric: int) -> float:
    """The size up to which a difference of this metric counts as none."""
    largest = max(float(np.nanmax(np.abs(column[:, metric]), initial=0.0)) for column in columns)
    return TIE * largest
