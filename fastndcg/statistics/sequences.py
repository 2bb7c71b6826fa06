"""
Confidence sequences: bounds of a mean that hold at any number of values, also for those who look again after each one.

I. Waudby-Smith and A. Ramdas 2024, Estimating means of bounded random variables by betting, doi:10.1093/jrsssb/qkad009.
"""

from __future__ import annotations

import math

import numpy as np

from fastndcg.rankings.validation import Array

TRUNCATION = 0.5  # the largest bet, as a share of the one that could lose everything (section 4.2 of the paper)
N_STEPS = 50  # of bisection: bounds to the last bit
PRIOR_MEAN, PRIOR_VARIANCE = 0.5, 0.25  # of values before the first one, which count as one value


def compute_sequential_bounds(values: Array, alpha: float) -> tuple[float, float]:
    """
    Return two one-sided bounds of the mean of values from 0 to 1, each wrong with a probability of at most alpha.

    A bound is wrong at any number of values with that probability, if each value has the same mean given those before
    it. A mean m is refused if bets on values above it would have multiplied their stake by 1/alpha. The bets
    are the predictable plug-in ones of the paper: sqrt(2 log(1/alpha) / (variance · t · log(1 + t))), from the values
    before. The bounds are those after the last value, without the intersection of those before.

    Parameters
    ----------
    values : (n,) float64 array
        From 0 to 1, in the order in which they came.
    alpha : float
        The probability of an error of each bound, between 0 and 1.

    Returns
    -------
    (float, float)
        The lower and the upper bound, from 0 to 1.

    Examples
    --------
    >>> [round(bound, 3) for bound in compute_sequential_bounds(np.ones(100), 0.05)]
    [0.943, 1.0]
    """
    bets = find_bets(values, alpha)
    return _find_low(values, bets, alpha), 1 - _find_low(1 - values, bets, alpha)


def find_bets(values: Array, alpha: float) -> Array:
    """Return the bet on each value, from those before it alone."""
    count = np.arange(1, len(values) + 1)
    means = (PRIOR_MEAN + np.cumsum(values)) / (count + 1)
    variances = (PRIOR_VARIANCE + np.cumsum((values - means) ** 2)) / (count + 1)
    before = np.concatenate([[PRIOR_VARIANCE], variances[:-1]])
    return np.sqrt(2 * math.log(1 / alpha) / (before * count * np.log1p(count)))


def _find_low(values: Array, bets: Array, alpha: float) -> float:
    """Return the largest mean that the bets on larger values refuse, 0 if they refuse none."""

    def is_refused(mean: float) -> bool:
        capped = np.minimum(bets, TRUNCATION / mean)
        return float(np.log1p(capped * (values - mean)).sum()) >= math.log(1 / alpha)

    low, high = 0.0, 1.0
    for _ in range(N_STEPS):
        middle = (low + high) / 2
        if is_refused(middle):
            low = middle
        else:
            high = middle
    return low
