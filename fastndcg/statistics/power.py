"""The smallest difference that so many queries could have shown."""

from __future__ import annotations

import functools
import math

from fastndcg.errors import optional_import
from fastndcg.statistics.moments import Moments


def smallest_difference(moments: Moments, alpha: float, power: float) -> float:
    """
    The true difference that a two-sided paired t test at level alpha would find with this power.

    The differences are taken to be as spread as those seen; NaN where these are all alike. J. Cohen 1988, by the
    noncentral t distribution.
    """
    if moments.reason or moments.alike:
        return math.nan
    return noncentrality(moments.freedom, alpha, power) * moments.error


@functools.cache
def noncentrality(freedom: int, alpha: float, power: float) -> float:
    """How many standard errors a difference must be to be found with this power."""
    special = optional_import("scipy.special", "the smallest detectable difference", "statistics")
    optimize = optional_import("scipy.optimize", "the smallest detectable difference", "statistics")
    critical = float(special.stdtrit(freedom, 1 - alpha / 2))

    def lacking(shift: float) -> float:
        other_tail = float(special.nctdtr(freedom, shift, -critical))  # NaN, in SciPy, where it is below 1e-9
        beyond = 1 - float(special.nctdtr(freedom, shift, critical))
        return beyond + (0.0 if math.isnan(other_tail) else other_tail) - power

    if lacking(0.0) >= 0:  # a power that chance alone has
        return 0.0
    upper = critical + 1.0
    while lacking(upper) < 0:
        upper *= 2
    return float(optimize.brentq(lacking, 0.0, upper, xtol=1e-14, rtol=1e-14))
