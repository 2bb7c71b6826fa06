"""Exact sums, so that a mean does not depend on the order of the values, nor on the parts that they came in."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

import numpy as np

from fastndcg.rankings import Array, read_only

UNIT = 1 << 1074  # the smallest float64 above 0 is one of it
SMALL = 1 << 14  # values that Python adds up sooner than a kernel is loaded
MOST = 1 << 30  # values that limbs take at once


@dataclass(slots=True)
class ExactSum:
    """
    The sum of values, those that are NaN aside, and how many there are; sums can be added to one another.

    >>> total = ExactSum.of(np.array([1e300, 1.0, -1e300, np.nan]))
    >>> total.value(), total.mean(), total.n
    (1.0, 0.3333333333333333, 3)
    """

    units: int = 0  # of the smallest float64
    n: int = 0
    n_nan: int = 0
    infinities: float = 0.0  # what those among the values add up to

    @classmethod
    def of(cls, values: Array) -> ExactSum:
        """Add up an array."""
        return cls.of_numbers(numbers_of(values))

    @classmethod
    def of_numbers(cls, numbers: Array) -> ExactSum:
        """The sum that `numbers_of` gave, or several of these added up."""
        *limbs, n, n_nan, n_above, n_below = numbers.tolist()
        units = sum(limb << 32 * place for place, limb in enumerate(limbs) if limb)
        infinities = (math.inf if n_above else 0.0) + (-math.inf if n_below else 0.0)
        return cls(units, n, n_nan, infinities)

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(
            self.units + other.units, self.n + other.n, self.n_nan + other.n_nan, self.infinities + other.infinities
        )

    def value(self) -> float:
        """The sum, rounded once."""
        if self.infinities:
            return self.infinities
        try:
            return self.units / UNIT
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf

    def mean(self) -> float:
        """The rounded sum over the number of values; NaN where there are none."""
        return self.value() / self.n if self.n else math.nan


def numbers_of(values: Array) -> Array:
    """
    An exact sum as int64 numbers, which may be added up.

    They are limbs of 32 bits, and the numbers of values that are defined, NaN, infinite, and infinite below zero;
    2**31 of them may be added up before a limb overflows.
    """
    from fastndcg.kernels import exact as kernels

    limbs, counts = np.zeros(kernels.N_LIMBS, "i8"), np.zeros(3, "i8")
    for start in range(0, len(values), MOST):
        part = np.ascontiguousarray(values[start : start + MOST], "f8")
        kernels.add_up(read_only(part.view("u8")), limbs, counts)
        kernels.carry(limbs)
    return np.concatenate([limbs, [len(values) - counts[kernels.NAN]], counts])


def n_numbers() -> int:
    """How many numbers a sum is."""
    from fastndcg.kernels import exact as kernels

    return kernels.N_LIMBS + 4


def mean(values: Array) -> float:
    """The mean of the values that are not NaN; NaN where there are none."""
    if len(values) <= SMALL:
        defined = values[~np.isnan(values)].tolist()
        with contextlib.suppress(ValueError, OverflowError):  # infinities of both signs, or a sum beyond float64
            return math.fsum(defined) / len(defined) if defined else math.nan
    return ExactSum.of(values).mean()
