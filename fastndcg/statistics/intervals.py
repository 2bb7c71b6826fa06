"""Intervals: from replicates by percentile and BCa, and Student's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fastndcg.errors import optional_import
from fastndcg.rankings import Array
from fastndcg.statistics.moments import Moments
from fastndcg.statistics.sums import Plan, Sums

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


def from_replicates(
    replicates: Array, observed: float, sums: Sums, plan: Plan, method: str, level: float
) -> tuple[float, float, str]:
    """The interval of one quantity, and why there is none."""
    known = replicates[~np.isnan(replicates)]  # a resample of undefined queries alone has no value
    if len(known) < len(replicates) / 2:
        return math.nan, math.nan, "most resamples hold no query with a value"
    tails: Sequence[float] = ((1 - level) / 2, (1 + level) / 2)
    if method == "bca":
        tails = accelerated(tails, known, observed, sums.jackknife(plan))
        if any(map(math.isnan, tails)):
            return math.nan, math.nan, "all resamples lie on one side of the mean"
    low, high = np.quantile(known, tails)
    return float(low), float(high), ""


def accelerated(tails: Sequence[float], replicates: Array, observed: float, jackknife: Array) -> tuple[float, ...]:
    """The tails that correct for bias and skew: B. Efron 1987, doi:10.1080/01621459.1987.10478410."""
    below = np.count_nonzero(replicates < observed) + np.count_nonzero(replicates == observed) / 2
    share = float(below) / len(replicates)
    if not 0 < share < 1:
        return (math.nan,) * len(tails)
    bias = NORMAL.inv_cdf(share)
    pulls = np.nanmean(jackknife) - jackknife[~np.isnan(jackknife)]
    squares = float((pulls**2).sum())
    acceleration = float((pulls**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    found = []
    for tail in tails:
        z = bias + NORMAL.inv_cdf(tail)
        found.append(NORMAL.cdf(bias + z / (1 - acceleration * z)))
    return tuple(found)
