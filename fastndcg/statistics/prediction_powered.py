"""
Means from few human values and many of a judge: prediction-powered inference with a fitted weight (PPI++).

The estimate is the human mean plus weight · (mean of the judge's values on other queries − that on the human queries).
A. N. Angelopoulos et al. 2023, doi:10.1126/science.adi6000, and A. N. Angelopoulos, J. C. Duchi and T. Zrnic 2023,
arXiv:2311.01453. Two things differ from ppi-python. The weight divides by the variance on the human queries, since
that of all queries covers as little as 93 % of the true means at 50 queries. Quantiles are those of Student's t.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.intervals import END_WEIGHT, Interval, find_t_quantile, summarize_moments
from fastndcg.statistics.moments import TIE_TOLERANCE, Moments

FEW_QUERIES = 50  # below them weights are cross-fitted
FEWEST_QUERIES = 3  # human ones: without one of them, two are left for a weight
FEWEST_OTHERS = 2


class PoweredMean(NamedTuple):
    """A mean with its standard error, degrees of freedom, and the weight of the judge, numbers or arrays."""

    mean: Any
    standard_error: Any
    degrees_of_freedom: Any
    weight: Any


def compute_powered_mean(human: Array, judge: Array, others: Array, n_defined: int | None = None) -> PoweredMean:
    """
    Return the mean of human values with the help of a judge.

    Below 50 queries, each query has a weight that was fitted without it, so that the judge's errors are not fitted.

    Parameters
    ----------
    human, judge : (..., n) float64 array
        The values of 3 or more queries.
    others : (..., n_others) float64 array
        The judge's values of 2 or more other queries.
    n_defined : int, optional
        The number of human values if others are undefined, and stand as 0 among deviations from the mean.
    """
    n, n_others = human.shape[-1], others.shape[-1]
    own = human - human.mean(-1, keepdims=True)
    theirs = judge - judge.mean(-1, keepdims=True)
    shifts = others.mean(-1, keepdims=True) - judge
    products = (own * theirs).sum(-1, keepdims=True)
    squares = (theirs**2).sum(-1, keepdims=True)
    rounding = np.maximum(n * (TIE_TOLERANCE * np.abs(judge).max(-1, keepdims=True)) ** 2, 1e-12 * squares)
    is_few = n < FEW_QUERIES
    if is_few:  # of the n − 1 other queries: moments without a value are in closed form
        products = products - own * theirs * n / (n - 1)
        squares = squares - theirs**2 * n / (n - 1)
    weights = np.zeros(np.broadcast_shapes(products.shape, squares.shape))
    np.divide(products, (1 + n / n_others) * squares, out=weights, where=squares > rounding)
    weights = np.clip(weights, 0.0, 1.0)
    residuals = own - weights * theirs
    counted = n if n_defined is None else n_defined
    freedom = counted - (1 if is_few else 2)  # a weight that was fitted to the same values takes one
    residuals = residuals - residuals.mean(-1, keepdims=True)
    error = (residuals**2).sum(-1) / n**2 * counted / freedom
    weight = weights.mean(-1)
    others_error = weight**2 * others.var(-1, ddof=1) / n_others
    total = error + others_error
    spread = error**2 / freedom + others_error**2 / (n_others - 1)
    degrees = np.full(np.shape(total), float(freedom))
    np.divide(total**2, spread, out=degrees, where=spread > 0)  # F. E. Satterthwaite 1946
    return PoweredMean(human.mean(-1) + (weights * shifts).mean(-1), np.sqrt(total), degrees, weight)


def widen_error(error: Any, mean: Any, n: Any, bounds: tuple[float, float]) -> Any:
    """
    Return the standard error of a mean with a quarter of a pseudo-observation at either end, which the judge missed.

    It stands for human values that are too rare to be seen, and that the judge does not see: without it, 30 queries
    and a judge who never sees a failure cover 87 % of the true means.
    """
    low, high = bounds
    return np.sqrt(error**2 + END_WEIGHT * ((mean - low) ** 2 + (high - mean) ** 2) / (n * (n - 1)))


def shrink_bounds(bounds: tuple[Any, Any], mean: Any, estimate: Any, ratio: Any) -> tuple[Any, Any]:
    """
    Return bounds around the estimate whose distances are those of the human bounds from the mean, times a ratio.

    Differences of 0/1 values have them. Student's t with ends would be narrower than Tango's score interval by
    chance, where it does not cover.
    """
    return estimate + (bounds[0] - mean) * ratio, estimate + (bounds[1] - mean) * ratio


def find_powered_interval(
    moments: Moments, alone: Interval, human: Array, judge: Array, others: Array
) -> tuple[Interval, float]:
    """
    Return the interval of a mean with the help of a judge, and the judge's weight. It is never wider than `alone`.

    `moments` and `alone` are those of the human values. NaN stands for an undefined value: the mean is over queries
    with a human value, and deviations from it, which are 0 elsewhere, are estimated (S. L. Lohr 2019, Sampling, 4.1).
    """
    if len(human) < FEWEST_QUERIES or moments.n_queries < FEWEST_QUERIES or len(others) < FEWEST_OTHERS:
        return alone, 0.0
    theirs = _center(np.concatenate([judge, others]))
    powered = compute_powered_mean(_center(human), theirs[: len(judge)], theirs[len(judge) :], moments.n_queries)
    weight, error, freedom = float(powered.weight), float(powered.standard_error), float(powered.degrees_of_freedom)
    if not weight:
        return alone, 0.0
    lowest, highest = (-math.inf, math.inf) if moments.bounds is None else moments.bounds
    mean = min(max(moments.mean + float(powered.mean), lowest), highest)
    if alone.method == "tango":
        quantiles = [float(find_t_quantile(own, alone.level)) for own in (freedom, moments.degrees_of_freedom)]
        errors = [widen_error(own, moments.mean, moments.n_queries, (lowest, highest))
                  for own in (error, moments.standard_error)]  # fmt: skip
        ratio = float(errors[0] * quantiles[0] / (errors[1] * quantiles[1]))
        low, high = shrink_bounds((alone.low, alone.high), moments.mean, mean, ratio)
        interval = alone._replace(mean=mean, low=max(low, lowest), high=min(high, highest))
    else:
        if moments.bounds is not None and not moments.is_difference:
            error = float(widen_error(error, mean, moments.n_queries, moments.bounds))
        helped = moments._replace(mean=mean, standard_error=error, degrees_of_freedom=freedom, is_binary=False)
        interval = summarize_moments(helped, level=alone.level)
    return (interval, weight) if interval.high - interval.low < alone.high - alone.low else (alone, 0.0)


def _center(values: Array) -> Array:
    """Return deviations from the mean of defined values, per share of defined ones. Others are 0."""
    is_defined = ~np.isnan(values)
    if not is_defined.any():
        return np.zeros(len(values))
    return np.where(is_defined, (values - values[is_defined].mean()) / is_defined.mean(), 0.0)
