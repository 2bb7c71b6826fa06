"""Statistical power: the smallest difference that queries can detect, and the queries that a difference takes."""

from __future__ import annotations

import functools
import math

from fastndcg.runtime.optional_packages import optional_import
from fastndcg.statistics.moments import Moments

MOST_QUERIES = 10**12


def compute_smallest_difference(moments: Moments, alpha: float, power: float, alternative: str = "two-sided") -> float:
    """
    Return the size of the true difference that a paired t test at level alpha detects with this power.

    The differences are assumed to have the observed standard error. NaN if all of them are equal.
    With a one-sided alternative, it is the difference in that direction.
    J. Cohen 1988, by the noncentral t distribution.
    """
    if moments.reason or moments.is_constant:
        return math.nan
    n_tails = 2 if alternative == "two-sided" else 1
    return find_noncentrality(moments.degrees_of_freedom, alpha, power, n_tails) * moments.standard_error


@functools.cache
def find_noncentrality(degrees_of_freedom: float, alpha: float, power: float, n_tails: int = 2) -> float:
    """Return the number of standard errors that a difference needs to be detected with this power."""
    special = optional_import("scipy.special", "the smallest detectable difference", "statistics")
    optimize = optional_import("scipy.optimize", "the smallest detectable difference", "statistics")
    critical = float(special.stdtrit(degrees_of_freedom, 1 - alpha / n_tails))

    def excess_power(shift: float) -> float:
        lower_tail = float(special.nctdtr(degrees_of_freedom, shift, -critical)) if n_tails == 2 else 0.0
        upper_tail = 1 - float(special.nctdtr(degrees_of_freedom, shift, critical))
        return upper_tail + (0.0 if math.isnan(lower_tail) else lower_tail) - power  # SciPy gives NaN below 1e-9

    if excess_power(0.0) >= 0:  # power is below alpha
        return 0.0
    upper = critical + 1.0
    while excess_power(upper) < 0:
        upper *= 2
    return float(optimize.brentq(excess_power, 0.0, upper, xtol=1e-14, rtol=1e-14))


def count_needed_queries(
    std: float, difference: float, alpha: float, power: float, *, n_tails: int = 1, design_effect: float = 1.0
) -> int:
    """
    Return the smallest number of queries with which a paired t test at level alpha detects a difference.

    >>> count_needed_queries(0.2, 0.02, 0.05, 0.8, n_tails=2)
    787
    """
    if std == 0:
        return 2

    def is_enough(n: int) -> bool:
        shift = find_noncentrality(count_degrees(n, design_effect), alpha, power, n_tails)
        return shift * std * math.sqrt(design_effect / n) <= difference

    high = 2
    while not is_enough(high):
        high *= 2
        if high > MOST_QUERIES:
            return MOST_QUERIES
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return max(high, 2)


def count_degrees(n: int, design_effect: float) -> float:
    """Return the degrees of freedom of so many queries, which clusters reduce."""
    return max(n / design_effect - 1, 1.0)
