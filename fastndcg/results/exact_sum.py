"""Exact sums: a mean does not depend on the order of the values, nor on the batches that they come in."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.pickling import Picklable

UNIT = 1 << 1074  # the smallest float64 above 0 is 1 / UNIT
LIMB_BITS = 32
SMALL = 1 << 14  # for so few values, loading a kernel takes longer than adding them up in Python
SPLITTER = 134217729.0  # 2^27 + 1, which halves the bits of a float64
MOST = 1 << 30  # values between two carries, after which a limb could overflow


@dataclass(slots=True)
class ExactSum(Picklable):
    """
    The sum of values without NaN, and the number of values.

    Two sums can be added to each other.

    Attributes
    ----------
    units : int
        The sum of the finite values, as a multiple of the smallest float64.
    n : int
        The number of values without NaN.
    n_nan : int
        The number of NaN.
    infinities : float
        The sum of the infinite values.

    Examples
    --------
    >>> total = ExactSum.of(np.array([1e300, 1.0, -1e300, np.nan]))
    >>> total.value(), total.mean(), total.n
    (1.0, 0.3333333333333333, 3)
    """

    units: int = 0
    n: int = 0
    n_nan: int = 0
    infinities: float = 0.0

    @classmethod
    def of(cls, values: Array) -> ExactSum:
        """Add up an array."""
        return cls.from_numbers(to_limbs(values))

    @classmethod
    def from_numbers(cls, numbers: Array) -> ExactSum:
        """Return the sum of numbers as `to_limbs` gives them. Several may have been added up."""
        *limbs, n, n_nan, n_above, n_below = numbers.tolist()
        units = sum(limb << LIMB_BITS * place for place, limb in enumerate(limbs) if limb)
        infinities = (math.inf if n_above else 0.0) + (-math.inf if n_below else 0.0)
        return cls(units, n, n_nan, infinities)

    def to_numbers(self) -> Array:
        """Return the sum as int64 numbers, like `to_limbs`."""
        limbs: list[int] = []
        units = self.units
        for _ in range(count_limbs() - 5):
            limbs.append(units & ((1 << LIMB_BITS) - 1))
            units >>= LIMB_BITS
        n_above = int(not self.infinities <= 0)  # NaN is the sum of both infinities
        n_below = int(not self.infinities >= 0)
        return np.array([*limbs, units, self.n, self.n_nan, n_above, n_below], "i8")

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(
            self.units + other.units, self.n + other.n, self.n_nan + other.n_nan, self.infinities + other.infinities
        )

    def value(self) -> float:
        """Return the sum, rounded once."""
        if self.infinities:
            return self.infinities
        try:
            return self.units / UNIT
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf

    def mean(self) -> float:
        """Return the rounded sum divided by the number of values, NaN without values."""
        return self.value() / self.n if self.n else math.nan


def to_limbs(values: Array) -> Array:
    """
    Return an exact sum as int64 numbers, which may be added to those of other sums.

    The numbers are limbs of 32 bits, and the counts of values without NaN, of NaN, of infinity and of minus infinity.
    Up to 2**31 sums may be added before a limb overflows.
    """
    kernels = load_kernels("statistics.exact_sum")
    limbs = np.zeros(kernels.N_LIMBS, "i8")
    counts = np.zeros(3, "i8")
    for start in range(0, len(values), MOST):
        part = np.ascontiguousarray(values[start : start + MOST], "f8")
        kernels.add_up(read_only(part.view("u8")), limbs, counts)
        kernels.carry(limbs)
    return np.concatenate([limbs, [len(values) - counts[kernels.NAN]], counts])


def count_limbs() -> int:
    """Return the number of int64 numbers of an exact sum."""
    return int(load_kernels("statistics.exact_sum").N_LIMBS) + 4


def split_squares(values: Array) -> tuple[Array, Array]:
    """
    Return the squares of values as sums of two float64 numbers: the rounded square, and the error of rounding.

    T. J. Dekker 1971, doi:10.1007/BF01397083. The error is 0 for values beyond 1e150 in size.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = values * values
        scaled = values * SPLITTER
        high = scaled - (scaled - values)
        low = values - high
        errors = ((high * high - squares) + 2 * high * low) + low * low
    errors[np.abs(values) > 1e150] = 0.0
    return squares, errors


def sum_squares(values: Array) -> ExactSum:
    """Return the exact sum of the squares of values without NaN."""
    squares, errors = split_squares(values)
    exact = ExactSum.of(squares)
    return ExactSum(exact.units + ExactSum.of(errors).units, exact.n, exact.n_nan, exact.infinities)


def compute_spread(total: ExactSum, squares: ExactSum) -> tuple[float, float]:
    """
    Return the standard deviation of the values and the standard error of their mean, each rounded once.

    Both are NaN for fewer than two values, and if a value is infinite.

    >>> values = np.array([1.0, 2.0, 4.0, 5.0])
    >>> compute_spread(ExactSum.of(values), sum_squares(values))  # the roots of 10 / 3 and of 10 / 12
    (1.8257418583505538, 0.9128709291752769)
    """
    n = total.n
    if n < 2 or total.infinities or squares.infinities:
        return math.nan, math.nan
    numerator = max(squares.units * UNIT * n - total.units**2, 0)  # of n (n - 1) variances, as multiples of 1 / UNIT^2
    denominator = UNIT * UNIT * n * (n - 1)
    try:
        return math.sqrt(numerator / denominator), math.sqrt(numerator / (denominator * n))
    except OverflowError:
        return math.inf, math.inf


def mean(values: Array) -> float:
    """Return the mean of the values without NaN, NaN without values."""
    if len(values) <= SMALL:
        defined = values[~np.isnan(values)].tolist()
        with contextlib.suppress(ValueError, OverflowError):  # infinities of both signs, or a sum beyond float64
            return math.fsum(defined) / len(defined) if defined else math.nan
    return ExactSum.of(values).mean()
