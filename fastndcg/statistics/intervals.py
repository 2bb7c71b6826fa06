"""Intervals: from replicates by percentile and BCa, and Student's."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fastndcg.errors import optional_import
from fastndcg.rankings import Array
from fastndcg.statistics.moments import Moments

NORMAL = NormalDist()


class Interval(NamedTuple):
    """
    A mean between two bounds.

    Attributes
    ----------
    mean, low, high : float
        NaN where there is none; `reason` says why.
    n : int
        How many queries have a value.
    level : float
    method : str
        'percentile', 'bca' or 't'.
    replicates, seed : int
        What the bootstrap used.
    reason : str
    """

    mean: float
    low: float
    high: float
    n: int
    level: float
    method: str
    replicates: int
    seed: int
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.mean:.4f}, no interval: {self.reason}"
        source = f", {self.replicates} replicates, seed {self.seed}" if self.method != "t" else ""
        return (
            f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}], {100 * self.level:g} % {self.method}"
            f"{source}, {self.n} queries"
        )


def student(moments: Moments, level: float) -> tuple[float, float]:
    """The mean plus and minus Student's quantile of standard errors."""
    special = optional_import("scipy.special", "Student's t interval", "statistics")
    half = float(special.stdtrit(moments.freedom, (1 + level) / 2)) * moments.error
    return moments.mean - half, moments.mean + half


class Resampled(NamedTuple):
    """What resamples say of one quantity; NaN where they hold no query with a value."""

    replicates: Array
    observed: float
    jackknife: Callable[[], Array]


def from_replicates(resampled: Resampled, moments: Moments, method: str, level: float) -> tuple[float, float, str]:
    """The interval of one quantity, and why there is none."""
    known = resampled.replicates[~np.isnan(resampled.replicates)]
    if len(known) < len(resampled.replicates) / 2:
        return math.nan, math.nan, "most resamples hold no query with a value"
    reach = expanded(moments, level)
    tails = (NORMAL.cdf(-reach), NORMAL.cdf(reach))
    if method == "bca":
        bias = bias_of(known, resampled.observed)
        if math.isinf(bias):
            return math.nan, math.nan, "all resamples lie on one side of the mean"
        acceleration = acceleration_of(resampled.jackknife())
        tails = (corrected_tail(-reach, bias, acceleration), corrected_tail(reach, bias, acceleration))
    low, high = np.quantile(known, tails)
    return float(low), float(high), ""


def expanded(moments: Moments, level: float) -> float:
    """
    How far an interval reaches on either side, as a quantile of the normal distribution.

    Means of resamples are spread √((n − 1)/n) times as much as means of n queries, and nothing in them says that their
    spread is itself an estimate. Both are made up for by reaching out to √(n/(n − 1)) · t, t Student's quantile.
    T. C. Hesterberg 2015, doi:10.1080/00031305.2015.1089789, for percentiles; his R package `resample` has it as the
    default for BCa, too.
    """
    special = optional_import("scipy.special", "a bootstrap interval", "statistics")
    quantile = float(special.stdtrit(moments.freedom, (1 + level) / 2))
    return quantile * math.sqrt(moments.n_units / moments.freedom)


def bias_of(replicates: Array, observed: float) -> float:
    """How far the observed value is from the replicates' median, as a quantile of the normal distribution."""
    below = np.count_nonzero(replicates < observed) + np.count_nonzero(replicates == observed) / 2
    share = float(below) / len(replicates)
    return NORMAL.inv_cdf(share) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)


def acceleration_of(jackknife: Array) -> float:
    """How fast the spread of the estimate changes with what it estimates: from the skew of the jackknife."""
    pulls = np.nanmean(jackknife) - jackknife[~np.isnan(jackknife)]
    squares = float((pulls**2).sum())
    return float((pulls**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


def corrected_tail(reach: float, bias: float, acceleration: float) -> float:
    """The tail that corrects for bias and skew: B. Efron 1987, doi:10.1080/01621459.1987.10478410."""
    z = bias + reach
    if acceleration * z >= 1:  # beyond all: a few queries and a level near 1
        return 1.0 if z > 0 else 0.0
    return NORMAL.cdf(bias + z / (1 - acceleration * z))
