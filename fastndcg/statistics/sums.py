"""
Statistics as quotients of sums over units, in whole numbers: what replicates are made of.

Each row of numbers is scaled by a power of two and rounded so that whatever sum a replicate can have stays below
2**53. Such sums are exact in any order: the same for any thread count, vector width and machine. What rounding takes
away is below 2**-52 of the number of units times the largest value: 2**-38 of it for 10,000 queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.design import Design

TILE = 4  # the kernel's rows come in fours
ROOM = 52  # bits of a sum; one more for differences of two


class Quantity(NamedTuple):
    """A system's mean of a metric, or its difference from that of another system; both are systems' numbers."""

    system: int
    metric: int
    against: int | None = None

    def values(self, columns: Sequence[Array]) -> Array:
        """Each query's value, or difference of values: NaN where a side has none."""
        own = columns[self.system][:, self.metric]
        return own if self.against is None else own - columns[self.against][:, self.metric]


class Plan(NamedTuple):
    """Where a quantity's sums are: rows of the numerator, of what is taken from it, and of the denominator, or None."""

    numerator: int
    minus: int | None
    denominator: int | None
    scale: float  # what the quotient of sums is multiplied by


class Sums:
    """
    Rows of whole numbers, one entry a unit, and how quantities are made of their sums.

    Attributes
    ----------
    rows : (n_rows, n_units) float64 array
        Whole numbers; the number of rows is a multiple of 4.
    plans : list of Plan
        One for each quantity.
    """

    def __init__(self, columns: Sequence[Array], quantities: Sequence[Quantity], design: Design) -> None:
        self._columns = columns
        self._design = design
        self._makers: list[Callable[[], Array]] = []  # rows are made one by one when their number is known
        self._known: dict[tuple[int, int], int] = {}
        self._denominators: dict[bytes, tuple[int | None, int]] = {}
        self._undefined: dict[tuple[int, int], bytes] = {}
        exponents = [self._exponent_of_metric(metric) for metric in range(columns[0].shape[1])]
        self.plans = [self._plan(quantity, exponents[quantity.metric]) for quantity in quantities]
        self.rows = np.zeros((-(-len(self._makers) // TILE) * TILE, design.n_units))
        for place, make in enumerate(self._makers):
            self.rows[place] = make()

    def quotients(self, sums: Array) -> Array:
        """Each quantity's value (…, n_quantities) from the sums (…, n_rows) of a replicate's units."""
        found = np.empty((*sums.shape[:-1], len(self.plans)))
        with np.errstate(invalid="ignore", divide="ignore"):
            for place, plan in enumerate(self.plans):
                below = self._design.n_units if plan.denominator is None else sums[..., plan.denominator]
                found[..., place] = self.numerators(sums, plan) / below * plan.scale
        return found

    def numerators(self, sums: Array, plan: Plan) -> Array:
        """A quantity's numerator from sums (…, n_rows)."""
        above = sums[..., plan.numerator]
        return np.asarray(above if plan.minus is None else above - sums[..., plan.minus])

    def unit_numerators(self, plan: Plan) -> Array:
        """What each unit adds to a quantity's numerator."""
        above = self.rows[plan.numerator]
        return np.asarray(above if plan.minus is None else above - self.rows[plan.minus])

    @property
    def rounding(self) -> float:
        """By how much sums may differ that would be equal without rounding."""
        return rounding_of(self._design.n_units)

    def totals(self) -> Array:
        """The sums over all units as they are."""
        return np.asarray(self.rows.sum(axis=1))

    def jackknife(self, plan: Plan) -> Array:
        """The quantity's value without each unit in turn."""
        above, below = self.unit_numerators(plan), np.ones(self._design.n_units)
        if plan.denominator is not None:
            below = self.rows[plan.denominator]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((above.sum() - above) / (below.sum() - below) * plan.scale)

    def _plan(self, quantity: Quantity, exponent: int) -> Plan:
        missing = self._missing(quantity.system, quantity.metric)
        minus = None
        if quantity.against is not None and missing != self._missing(quantity.against, quantity.metric):
            missing = np.isnan(quantity.values(self._columns)).tobytes()  # NaN where either side is
            numerator = self._append(lambda: _whole(self._numerator(quantity.values(self._columns)), exponent))
        else:
            numerator = self._row(quantity.system, quantity.metric, exponent)
            if quantity.against is not None:
                minus = self._row(quantity.against, quantity.metric, exponent)
        denominator, own_exponent = self._denominator(missing)
        return Plan(numerator, minus, denominator, float(np.ldexp(1.0, own_exponent - exponent)))

    def _row(self, system: int, metric: int, exponent: int) -> int:
        if (system, metric) not in self._known:
            column = self._columns[system][:, metric]
            self._known[system, metric] = self._append(lambda: _whole(self._numerator(column), exponent))
        return self._known[system, metric]

    def _append(self, make: Callable[[], Array]) -> int:
        self._makers.append(make)
        return len(self._makers) - 1

    def _missing(self, system: int, metric: int) -> bytes:
        if (system, metric) not in self._undefined:
            self._undefined[system, metric] = np.isnan(self._columns[system][:, metric]).tobytes()
        return self._undefined[system, metric]

    def _numerator(self, values: Array) -> Array:
        return self._design.sums(self._design.weigh(np.where(np.isnan(values), 0.0, values)))

    def _denominator(self, missing: bytes) -> tuple[int | None, int]:
        """The row of what the numerator is divided by, and its exponent; None where that is the number of units."""
        if missing not in self._denominators:
            defined = ~np.frombuffer(missing, bool)
            simple = self._design.weights is None and not self._design.clustered and bool(defined.all())
            counted = self._design.sums(self._design.weigh(defined.astype("f8")))
            exponent = 0 if simple else _exponent([counted], self._design.n_units)
            row = None if simple else self._append(lambda: _whole(counted, exponent))
            self._denominators[missing] = (row, exponent)
        return self._denominators[missing]

    def _exponent_of_metric(self, metric: int) -> int:
        return _exponent([self._numerator(column[:, metric]) for column in self._columns], self._design.n_units)


def _exponent(rows: Sequence[Array], n_units: int) -> int:
    """The power of two by which numbers can be multiplied so that no sum of n_units of them passes 2**52."""
    largest = max(float(np.abs(row).max(initial=0.0)) for row in rows)
    return ROOM - int(np.frexp(largest)[1]) - int(n_units).bit_length()


def _whole(unit_sums: Array, exponent: int) -> Array:
    return np.asarray(np.rint(np.ldexp(unit_sums, exponent)))


def rounding_of(n_units: int) -> float:
    """
    By how much two sums of n_units differences of whole numbers may differ that would be equal without rounding.

    A difference is wrong by up to 1, half for either side, and so is its part of either sum; the third is for what the
    values themselves lost as they were computed.
    """
    return 3.0 * n_units


def whole_numbers(unit_sums: Array, n_units: int) -> Array:
    """Numbers scaled and rounded so that sums of n_units of them are exact."""
    return _whole(unit_sums, _exponent([unit_sums], n_units))
