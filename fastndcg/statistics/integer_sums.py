"""
Means and differences as quotients of exact integer sums over units, the input of all resampling.

Each row of numbers is scaled by a power of two and rounded to integers. The power is chosen so that every sum of a
replicate stays below 2**53. Such sums are exact in any order: they are bit-identical for any number of threads, any
vector width, and on any machine.
The rounding error is below 2**-52 of the number of units times the largest value: 2**-38 of it for 10,000 queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.sampling_design import Design

TILE = 4  # the kernel adds up four rows at a time
SUM_BITS = 52  # bits of a sum; a difference of two sums has one more


class Quantity(NamedTuple):
    """A system's mean of a metric, or its difference from another system. All fields are indices."""

    system: int
    metric: int
    against: int | None = None

    def values(self, columns: Sequence[Array]) -> Array:
        """Return each query's value or difference, NaN if a system has no value."""
        own = columns[self.system][:, self.metric]
        return own if self.against is None else own - columns[self.against][:, self.metric]


class SumPlan(NamedTuple):
    """The rows whose sums give a quantity: (numerator − subtrahend) / denominator · scale."""

    numerator: int
    subtrahend: int | None  # None: nothing is subtracted
    denominator: int | None  # None: the number of units
    scale: float


class Sums:
    """
    Rows of integers, one entry per unit, and the plans that turn their sums into quantities.

    Attributes
    ----------
    rows : (n_rows, n_units) float64 array
        Integers. The number of rows is a multiple of 4.
    plans : list of SumPlan
        One per quantity.
    """

    def __init__(self, columns: Sequence[Array], quantities: Sequence[Quantity], design: Design) -> None:
        self._columns = columns
        self._design = design
        self._row_makers: list[Callable[[], Array]] = []  # called when the number of rows is known
        self._value_rows: dict[tuple[int, int], int] = {}
        self._denominators: dict[bytes, tuple[int | None, int]] = {}
        self._nan_masks: dict[tuple[int, int], bytes] = {}
        exponents = [self._find_metric_exponent(metric) for metric in range(columns[0].shape[1])]
        self.plans = [self._plan(quantity, exponents[quantity.metric]) for quantity in quantities]
        self.rows = np.zeros((-(-len(self._row_makers) // TILE) * TILE, design.n_units))
        for place, make_row in enumerate(self._row_makers):
            self.rows[place] = make_row()

    def quotients(self, sums: Array) -> Array:
        """Return the (…, n_quantities) values of all quantities from the (…, n_rows) sums of the rows."""
        out = np.empty((*sums.shape[:-1], len(self.plans)))
        with np.errstate(invalid="ignore", divide="ignore"):
            for place, plan in enumerate(self.plans):
                denominator = self._design.n_units if plan.denominator is None else sums[..., plan.denominator]
                out[..., place] = self.numerators(sums, plan) / denominator * plan.scale
        return out

    def numerators(self, sums: Array, plan: SumPlan) -> Array:
        """Return a quantity's numerator from the (…, n_rows) sums of the rows."""
        own = sums[..., plan.numerator]
        return np.asarray(own if plan.subtrahend is None else own - sums[..., plan.subtrahend])

    def unit_numerators(self, plan: SumPlan) -> Array:
        """Return the part of each unit in a quantity's numerator."""
        own = self.rows[plan.numerator]
        return np.asarray(own if plan.subtrahend is None else own - self.rows[plan.subtrahend])

    @property
    def rounding(self) -> float:
        """The largest difference, caused by rounding, of two numerators that are equal without it."""
        return bound_rounding(self._design.n_units)

    def totals(self) -> Array:
        """Return the sum of each row over all units."""
        return np.asarray(self.rows.sum(axis=1))

    def _plan(self, quantity: Quantity, exponent: int) -> SumPlan:
        nan_mask = self._find_nan_mask(quantity.system, quantity.metric)
        subtrahend = None
        if quantity.against is not None and nan_mask != self._find_nan_mask(quantity.against, quantity.metric):
            nan_mask = np.isnan(quantity.values(self._columns)).tobytes()  # NaN if either system has no value
            numerator = self._append(lambda: _scale(self._sum_units(quantity.values(self._columns)), exponent))
        else:
            numerator = self._find_value_row(quantity.system, quantity.metric, exponent)
            if quantity.against is not None:
                subtrahend = self._find_value_row(quantity.against, quantity.metric, exponent)
        denominator, denominator_exponent = self._find_denominator(nan_mask)
        return SumPlan(numerator, subtrahend, denominator, float(np.ldexp(1.0, denominator_exponent - exponent)))

    def _find_value_row(self, system: int, metric: int, exponent: int) -> int:
        if (system, metric) not in self._value_rows:
            column = self._columns[system][:, metric]
            self._value_rows[system, metric] = self._append(lambda: _scale(self._sum_units(column), exponent))
        return self._value_rows[system, metric]

    def _append(self, make_row: Callable[[], Array]) -> int:
        self._row_makers.append(make_row)
        return len(self._row_makers) - 1

    def _find_nan_mask(self, system: int, metric: int) -> bytes:
        if (system, metric) not in self._nan_masks:
            self._nan_masks[system, metric] = np.isnan(self._columns[system][:, metric]).tobytes()
        return self._nan_masks[system, metric]

    def _sum_units(self, values: Array) -> Array:
        return self._design.sum_units(self._design.apply_weights(np.where(np.isnan(values), 0.0, values)))

    def _find_denominator(self, nan_mask: bytes) -> tuple[int | None, int]:
        """Return the row of the denominator, or None for the number of units, and its exponent."""
        if nan_mask not in self._denominators:
            is_defined = ~np.frombuffer(nan_mask, bool)
            is_number_of_units = (
                self._design.weights is None and not self._design.is_clustered and bool(is_defined.all())
            )
            counts = self._design.sum_units(self._design.apply_weights(is_defined.astype("f8")))
            exponent = 0 if is_number_of_units else _find_exponent([counts], self._design.n_units)
            row = None if is_number_of_units else self._append(lambda: _scale(counts, exponent))
            self._denominators[nan_mask] = (row, exponent)
        return self._denominators[nan_mask]

    def _find_metric_exponent(self, metric: int) -> int:
        return _find_exponent([self._sum_units(column[:, metric]) for column in self._columns], self._design.n_units)


def bound_rounding(n_units: int) -> float:
    """
    Return the largest difference of two sums that are equal before their terms are rounded to integers.

    The terms are differences of two rounded integers, so each is wrong by up to 1 in either sum. That makes
    2 · n_units. One more n_units allows for the rounding errors of the values themselves.
    """
    return 3.0 * n_units


def scale_to_integers(unit_sums: Array, n_units: int) -> Array:
    """Scale numbers by a power of two and round them, so that sums of n_units of them are exact."""
    return _scale(unit_sums, _find_exponent([unit_sums], n_units))


def _find_exponent(rows: Sequence[Array], n_units: int) -> int:
    """Return the power of two that scales the rows so that no sum of n_units numbers exceeds 2**52."""
    largest = max(float(np.abs(row).max(initial=0.0)) for row in rows)
    return SUM_BITS - int(np.frexp(largest)[1]) - int(n_units).bit_length()


def _scale(unit_sums: Array, exponent: int) -> Array:
    return np.asarray(np.rint(np.ldexp(unit_sums, exponent)))
