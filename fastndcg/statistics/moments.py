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
    def effect(self) -> float:
        """The mean in standard deviations: Cohen's d of paired values."""
        return self.mean / self.deviation if self.deviation > 0 else math.nan


def moments_of(quantity: Quantity, columns: Sequence[Array], design: Design) -> Moments:
    """Count and add up."""
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
    wins, losses = _wins_and_losses(quantity, columns, known)
    reason = "" if n_units > 1 and counted > 1 else _too_few(design, n_units)
    freedom = n_units - (len(design.strata) - 1)
    deviation = error = math.nan
    if not reason:
        squares = float((rest * np.where(defined, values - mean, 0.0)).sum())
        deviation = math.sqrt(squares / total * counted / (counted - 1))
        error = _error(rest, design, n_units) / total
    return Moments(n, n_units, mean, deviation, error, freedom, wins, n - wins - losses, losses, reason)


def _error(rest: Array, design: Design, n_units: int) -> float:
    """The standard error of the sum: units without a value add nothing, and do not count as units."""
    unit_sums = design.sums(rest)
    if len(design.strata) == 2:
        return math.sqrt(float((unit_sums**2).sum()) * n_units / (n_units - 1))
    return math.sqrt(design.scatter(unit_sums))


def _too_few(design: Design, n_units: int) -> str:
    what = "cluster" if design.clustered else "query"
    return f"only one {what} has a value" if n_units == 1 else "only one query that has a value has a weight"


def _wins_and_losses(quantity: Quantity, columns: Sequence[Array], known: Array) -> tuple[int, int]:
    """How many values lie above 0, and how many below."""
    if quantity.against is None:
        return 0, 0
    level = tie_level(columns, quantity.metric)
    return int(np.count_nonzero(known > level)), int(np.count_nonzero(known < -level))


def tie_level(columns: Sequence[Array], metric: int) -> float:
    """The size up to which a difference of this metric counts as none."""
    largest = max(float(np.nanmax(np.abs(column[:, metric]), initial=0.0)) for column in columns)
    return TIE * largest
