"""Confidence intervals of means: percentiles of the bootstrap or the Poisson bootstrap, BCa, and Student's t."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.statistics.moments import Moments

NORMAL = NormalDist()


class Interval(NamedTuple):
    """
    A mean and its confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean and the bounds of the interval. NaN if undefined.
    n : int
        The number of queries that have a value.
    level : float
        The confidence level, between 0 and 1.
    method : {'percentile', 'bca', 't', 'poisson'}
        The kind of interval.
    replicates, seed : int
        The number of bootstrap replicates and the seed of their random numbers.
    reason : str
        The reason for a missing interval, empty if there is one.
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


def compute_t_interval(moments: Moments, level: float) -> tuple[float, float]:
    """Return the bounds of Student's t interval."""
    special = optional_import("scipy.special", "Student's t interval", "statistics")
    half = float(special.stdtrit(moments.degrees_of_freedom, (1 + level) / 2)) * moments.standard_error
    return moments.mean - half, moments.mean + half


def summarize_moments(moments: Moments, *, level: float) -> Interval:
    """
    Return Student's interval of a mean whose parts were added up.

    It is that of `compare` with interval='t', which has the default number of replicates and the seed 0.
    """
    low = math.nan
    high = math.nan
    if not moments.reason:
        low, high = compute_t_interval(moments, level)
    return Interval(moments.mean, low, high, moments.n_queries, level, "t", 10_000, 0, moments.reason)


class BootstrapSample(NamedTuple):
    """The bootstrap replicates of one quantity. A replicate without any defined value is NaN."""

    replicates: Array
    observed: float
    jackknife: Callable[[], Array] | None = None  # returns the value without each unit, for BCa


def compute_bootstrap_interval(
    sample: BootstrapSample, moments: Moments, method: str, level: float
) -> tuple[float, float, str]:
    """Return the bounds of a bootstrap interval, and the reason if there is no interval."""
    replicates = sample.replicates[~np.isnan(sample.replicates)]
    if len(replicates) < len(sample.replicates) / 2:
        return math.nan, math.nan, "most resamples hold no query with a value"
    z = compute_expanded_quantile(moments, level)
    tails = (NORMAL.cdf(-z), NORMAL.cdf(z))
    if method == "bca" and sample.jackknife is not None:
        bias = compute_bias(replicates, sample.observed)
        if math.isinf(bias):
            return math.nan, math.nan, "all resamples lie on one side of the mean"
        acceleration = compute_acceleration(sample.jackknife())
        tails = (compute_bca_tail(-z, bias, acceleration), compute_bca_tail(z, bias, acceleration))
    low, high = np.quantile(replicates, tails)
    return float(low), float(high), ""


def compute_expanded_quantile(moments: Moments, level: float) -> float:
    """
    Return the normal quantile of the interval's tails, expanded for small samples.

    Percentile intervals are too narrow for few queries, for two reasons. The standard deviation of bootstrap means is
    √((n − 1)/n) times the standard error. The replicates do not show that this standard deviation is an estimate.
    The quantile √(n/(n − 1)) · t corrects both, where t is the quantile of Student's distribution.

    T. C. Hesterberg 2015, doi:10.1080/00031305.2015.1089789, derives it for percentile intervals. His R package
    `resample` uses it for BCa intervals too.
    """
    special = optional_import("scipy.special", "a bootstrap interval", "statistics")
    quantile = float(special.stdtrit(moments.degrees_of_freedom, (1 + level) / 2))
    return quantile * math.sqrt(moments.n_units / moments.degrees_of_freedom)


def compute_bias(replicates: Array, observed: float) -> float:
    """Return BCa's bias correction: the normal quantile of the share of replicates below the observed value."""
    n_below = np.count_nonzero(replicates < observed) + np.count_nonzero(replicates == observed) / 2
    share = float(n_below) / len(replicates)
    return NORMAL.inv_cdf(share) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)


def compute_acceleration(jackknife: Array) -> float:
    """Return BCa's acceleration: the skewness of the jackknife values, divided by 6."""
    deviations = np.nanmean(jackknife) - jackknife[~np.isnan(jackknife)]
    squares = float((deviations**2).sum())
    return float((deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


def compute_bca_tail(z: float, bias: float, acceleration: float) -> float:
    """Return BCa's tail probability for a normal quantile: B. Efron 1987, doi:10.1080/01621459.1987.10478410."""
    shifted = bias + z
    if acceleration * shifted >= 1:  # only for a few queries and a level near 1
        return 1.0 if shifted > 0 else 0.0
    return NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))
