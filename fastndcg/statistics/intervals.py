"""
Confidence intervals of means and of differences.

`choose_interval` takes the method whose coverage holds, from the values and their range:

clopper-pearson  values that are 0 or 1, by the binomial distribution
tango            differences of such values, by inversion of the score test
korn-graubard    values in a known range: Clopper–Pearson with an effective number of values
t-with-ends      differences of such values: Student's t, with pseudo-observations at the largest possible differences
t                values without a known range: Student's t

docs/how_it_works/statistics_calibration.md has the coverage of each. Functions take numbers or arrays of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.moments import Moments
from fastndcg.statistics.resampling import draw_numbers

NORMAL = NormalDist()
INTERVAL_NAMES = {
    "clopper-pearson": "Clopper–Pearson",
    "tango": "Tango's score",
    "korn-graubard": "Korn–Graubard",
    "t-with-ends": "Student's t with ends",
    "t": "Student's t",
    "percentile": "percentile bootstrap",
    "betting": "betting",
}
NO_SPREAD = "all values are equal, so their spread is 0"
END_WEIGHT = 0.25  # of a pseudo-observation at either end: 0.1 covers 92 %, 0.5 is wider and covers no more
SMALLEST_SHAPE = 1e-12  # of a beta distribution
TINY = 1e-300  # in place of a probability of 0, whose logarithm is infinite
RULED_OUT = 1e-4  # of alpha
DEVIATIONS = 6  # beyond which numbers of differing queries have a chance of less than 1e-8
TRUNCATION = 0.5  # the largest bet, as a share of the one that could lose everything (section 4.2 of the paper)
BOLDEST = 0.9  # the same if the number of values is fixed: 0.5 makes bounds of 30 values 1.6 times as wide
N_ORDERS = 8  # of values; 16 change bounds by 2 % of their distance
ORDERS_OF_VALUES = 3  # purpose of random numbers: others are in resampling.py
NO_RANGE = "a metric without a known range has no bounds by betting"
PRIOR_MEAN, PRIOR_VARIANCE = 0.5, 0.25  # of values before the first one, which count as one value
N_SHARES = 32  # of differing queries: no error of 5 % is above 5.01 %; with 10 one of 20 queries is 5.10 %


class Interval(NamedTuple):
    """
    A mean and its confidence interval.

    Attributes
    ----------
    mean, low, high : float
        The mean and the bounds of the interval. NaN if undefined.
    n : int
        The number of queries that have a value and a weight above 0.
    level : float
        The confidence level, between 0 and 1.
    method : {'clopper-pearson', 'tango', 'korn-graubard', 't-with-ends', 't', 'percentile', 'betting'}
        The kind of interval. See `compare`.
    n_effective : float
        Kish's effective number of queries, or of clusters: (Σ weight)² / Σ weight². It is n if all count alike.
    replicates, seed : int
        The number of bootstrap replicates and the seed of their random numbers. They matter to 'percentile' alone.
    reason : str
        The reason for a missing interval, empty if there is one.
    """

    mean: float
    low: float
    high: float
    n: int
    level: float
    method: str
    n_effective: float
    replicates: int = 0
    seed: int = 0
    reason: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"  # rounded, too

    def __str__(self) -> str:
        if self.reason:
            return f"{self.mean:.4f}, no interval: {self.reason}"
        source = f", {self.replicates} replicates, seed {self.seed}" if self.method == "percentile" else ""
        effective = f" ({self.n_effective:.1f} effective)" if f"{self.n_effective:.1f}" != f"{self.n:.1f}" else ""
        return (
            f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}], {100 * self.level:g} % "
            f"{INTERVAL_NAMES[self.method]}{source}, {self.n} queries{effective}"
        )


def summarize_moments(moments: Moments, *, level: float, method: str = "auto") -> Interval:
    """
    Return the interval of a quantity from its moments, also from those of parts that were added up.

    `method` is 'auto', which chooses by `choose_method`, or 't'. No bound is outside the range of the values.
    """
    name = choose_method(moments) if method == "auto" else method
    low = math.nan
    high = math.nan
    reason = moments.reason
    if not reason and name == "t" and moments.is_constant:
        reason = NO_SPREAD + ("" if moments.bounds is None else ". Take the interval 'auto'")
    if not reason:
        low, high = (float(bound) for bound in _compute_bounds(name, moments, level))
        if moments.bounds is not None:
            low = max(low, moments.bounds[0])
            high = min(high, moments.bounds[1])
    return Interval(moments.mean, low, high, moments.n_queries, level, name, moments.n_effective, reason=reason)


def convert_gain(mean: float, low: float, high: float, sign: int) -> tuple[float, float, float]:
    """
    Return a difference and its bounds from those of a gain, which has the other sign where lower values are better.

    >>> convert_gain(0.0, -0.5, 1.0, -1)
    (0.0, -1.0, 0.5)
    """
    return (mean, low, high) if sign >= 0 else (0.0 - mean, 0.0 - high, 0.0 - low)  # 0.0 − x: no -0.0


def choose_method(moments: Moments) -> str:
    """Return the method of the interval 'auto': by the range of the values, and whether all are 0 or 1."""
    if moments.bounds is None:
        return "t"
    if moments.is_binary:
        return "tango" if moments.is_difference else "clopper-pearson"
    return "t-with-ends" if moments.is_difference else "korn-graubard"


def _compute_bounds(name: str, moments: Moments, level: float) -> tuple[Any, Any]:
    n = moments.n_effective
    if name == "t" or moments.bounds is None:
        return compute_t_interval(moments, level)
    low, high = moments.bounds
    if name == "clopper-pearson":
        return compute_clopper_pearson(moments.mean * n, n, level)
    if name == "tango":
        return compute_tango(moments.wins, moments.losses, n, level)
    if name == "t-with-ends":
        scaled = moments.mean / high, moments.standard_error / high
        bounds = compute_t_with_ends(*scaled, n, moments.degrees_of_freedom, level)
        return bounds[0] * high, bounds[1] * high
    width = high - low
    scaled = (moments.mean - low) / width, moments.standard_error / width
    bounds = compute_korn_graubard(*scaled, n, moments.degrees_of_freedom, level)
    return low + width * bounds[0], low + width * bounds[1]


def compute_t_interval(moments: Moments, level: float) -> tuple[float, float]:
    """Return the bounds of Student's t interval."""
    half = float(find_t_quantile(moments.degrees_of_freedom, level)) * moments.standard_error
    return moments.mean - half, moments.mean + half


def compute_clopper_pearson(hits: Any, n: Any, level: float) -> tuple[Any, Any]:
    """
    Return the exact bounds of a probability, of which n draws hit `hits` times.

    C. J. Clopper and E. S. Pearson 1934, doi:10.1093/biomet/26.4.404. Numbers need not be whole.

    >>> [round(float(bound), 3) for bound in compute_clopper_pearson(30, 30, 0.95)]
    [0.884, 1.0]
    """
    special = optional_import("scipy.special", "a confidence interval", "statistics")
    alpha = 1 - level
    misses = n - hits
    low = special.betaincinv(np.maximum(hits, SMALLEST_SHAPE), misses + 1, alpha / 2)
    high = special.betaincinv(hits + 1, np.maximum(misses, SMALLEST_SHAPE), 1 - alpha / 2)
    return np.where(hits > SMALLEST_SHAPE, low, 0.0), np.where(misses > SMALLEST_SHAPE, high, 1.0)


def compute_korn_graubard(mean: Any, error: Any, n: Any, degrees_of_freedom: Any, level: float) -> tuple[Any, Any]:
    """
    Return the bounds of the mean of values from 0 to 1: Clopper–Pearson's with an effective number of values.

    The number is mean · (1 − mean) / variance of the mean, as if the values were 0 or 1, reduced by the quantile of
    Student's t. The variance has a quarter of a pseudo-observation at 0 and at 1, since values not yet seen could lie
    there. E. L. Korn and B. I. Graubard 1998, Survey Methodology 24.

    Parameters
    ----------
    mean, error : float or array
        The mean of the values and its standard error.
    n : float or array
        The number of values, or Kish's effective number, above 1.
    degrees_of_freedom : float or array
        Those of the standard error.
    level : float
        The confidence level.

    Returns
    -------
    (float, float) or (array, array)
        The bounds, from 0 to 1.
    """
    squares = error**2 * n * (n - 1)
    variance = (squares + END_WEIGHT * (mean**2 + (1 - mean) ** 2)) / (n - 1 + 2 * END_WEIGHT)
    inside = np.clip(mean, 0.5 / (n + 1), 1 - 0.5 / (n + 1))
    share = np.clip(variance / (inside * (1 - inside) * n / (n - 1)), 1e-9, 1)  # of the variance of 0/1 values
    reduction = (NORMAL.inv_cdf((1 + level) / 2) / find_t_quantile(degrees_of_freedom, level)) ** 2
    is_like_binary = (mean <= 0) | (mean >= 1) | (share >= 0.999)
    size = np.where(is_like_binary, n, n / share * reduction)
    return compute_clopper_pearson(mean * size, size, level)


def compute_t_with_ends(mean: Any, error: Any, n: Any, degrees_of_freedom: Any, level: float) -> tuple[Any, Any]:
    """
    Return the bounds of the mean of differences from −1 to 1: Student's, with pseudo-observations at −1 and 1.

    Most differences are often 0, so that the largest ones are not seen yet. A quarter of a pseudo-observation at
    either end stands for them. If all n differences are 0, at most 1 − (α/2)^(1/n) of the queries can differ.
    Parameters are those of `compute_korn_graubard`.
    """
    squares = error**2 * n * (n - 1)
    variance = (squares + 2 * END_WEIGHT * (1 + mean**2)) / (n - 1 + 2 * END_WEIGHT)
    half = find_t_quantile(degrees_of_freedom, level) * np.sqrt(variance / n)
    half = np.where((mean == 0) & (error == 0), 1 - ((1 - level) / 2) ** (1 / n), half)
    return np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0)


def compute_tango(wins: Any, losses: Any, n: Any, level: float) -> tuple[Any, Any]:
    """
    Return the bounds of the mean difference of paired 0/1 values that inversion of the score test gives.

    `wins` of n pairs have the difference 1, and `losses` −1. T. Tango 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8.

    >>> [round(float(bound), 3) for bound in compute_tango(0, 0, 30, 0.95)]
    [-0.114, 0.114]
    """
    z = NORMAL.inv_cdf((1 + level) / 2)
    wins = np.asarray(wins, "f8")
    losses = np.asarray(losses, "f8")
    return -_find_upper_score_bound(losses, wins, n, z), _find_upper_score_bound(wins, losses, n, z)


def _find_upper_score_bound(wins: Array, losses: Array, n: Any, z: float) -> Array:
    """Return the largest difference that the score test does not reject, by bisection to the last bit."""
    lowest = (wins - losses) / n
    highest = np.ones_like(lowest)
    for _ in range(60):
        difference = (lowest + highest) / 2
        is_rejected = n * difference - (wins - losses) > z * _find_score_error(wins, losses, n, difference)
        highest = np.where(is_rejected, difference, highest)
        lowest = np.where(is_rejected, lowest, difference)
    return np.where(highest >= 1 - 1e-15, 1.0, highest)


def _find_score_error(wins: Array, losses: Array, n: Any, difference: Any) -> Array:
    """Return the standard error of wins − losses if the mean difference were `difference`."""
    slope = -wins - losses + (2 * n - wins + losses) * difference
    constant = -losses * difference * (1 - difference)
    share = (np.sqrt(np.maximum(slope**2 - 8 * n * constant, 0.0)) - slope) / (4 * n)  # of losses, most likely
    return np.asarray(np.sqrt(np.maximum(n * (2 * share + difference * (1 - difference)), 0.0)))


@lru_cache(maxsize=256)
def compute_exact_upper_bound(wins: int, losses: int, n: int, alpha: float) -> float:
    """
    Return the upper bound of the mean difference of n pairs of 0/1 values, too low with a chance of at most alpha.

    The score test is inverted with exact p-values (K. Sidik 2003, doi:10.1002/sim.1291), to 0.00003 of the distance
    between the mean and Tango's bound.

    >>> round(compute_exact_upper_bound(0, 5, 30, 0.05), 3)
    -0.052
    """

    def is_possible(difference: float) -> bool:
        return find_exact_p_value(wins, losses, n, difference, alpha) > alpha

    mean = (wins - losses) / n
    beyond = min(1.0, 2 * float(compute_tango(wins, losses, n, 1 - 2 * alpha)[1]) - mean)
    return _bisect(is_possible, *((beyond, 1.0) if is_possible(beyond) else (mean, beyond)), n_steps=16)[1]


def _bisect(
    is_low: Callable[[float], bool], low: float = 0.0, high: float = 1.0, *, n_steps: int
) -> tuple[float, float]:
    """Return two close numbers between which a function changes from True to False."""
    for _ in range(n_steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high


def find_exact_p_value(wins: int, losses: int, n: int, difference: float, alpha: float) -> float:
    """
    Return the chance of a score as high as that of these wins and losses, if the mean were `difference`.

    It is the largest over the shares of queries that differ which their number does not rule out, plus the chance that
    it rules out the true share wrongly, a ten thousandth of alpha (R. L. Berger and D. D. Boos 1994,
    doi:10.1080/01621459.1994.10476836). Over all shares, rare ones would widen the bounds of many differing queries.
    """
    special = optional_import("scipy.special", "a confidence interval", "statistics")
    ruled_out = RULED_OUT * alpha
    least, most = (float(share) for share in compute_clopper_pearson(wins + losses, n, 1 - ruled_out))
    least = max(least, abs(difference), TINY)
    most = max(least, most)
    shares = least + (most - least) * (1 - np.cos(np.linspace(0, math.pi, N_SHARES)))[:, None] / 2  # dense at the ends
    spread = [DEVIATIONS * math.sqrt(n * share * (1 - share)) + DEVIATIONS for share in (least, most)]
    differing = np.arange(max(0, math.floor(n * least - spread[0])), min(n, math.ceil(n * most + spread[1])) + 1.0)
    score = _compute_score(wins, losses, n, difference)
    most_wins = _find_most_wins(differing, n, difference, score - 1e-9)
    to_win, to_lose = (shares + difference) / (2 * shares), (shares - difference) / (2 * shares)
    # The chance of at most so many wins, by sums: with one query more that differs, they are as many or one more.
    own = _compute_binomial(most_wins, differing, to_win, to_lose)
    tails = np.diff(most_wins) * own[:, 1:] - to_win * own[:, :-1]
    first = np.where(most_wins[0] < 0, 0.0, special.bdtr(max(most_wins[0], 0), int(differing[0]), to_win))
    tails = np.concatenate([first, tails], 1).cumsum(1)
    return float((_compute_binomial(differing, n, shares, 1 - shares) * tails).sum(1).max()) + ruled_out


def _find_most_wins(differing: Array, n: int, difference: float, score: float) -> Array:
    """Return the most wins, of each number of differing queries, that score as high, -1 if none do."""
    low, high = np.full(len(differing), -1.0), differing + 1
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 0)
        is_as_high = _compute_score(middle, differing - middle, n, difference) >= score
        low, high = np.where(is_as_high, middle, low), np.where(is_as_high, high, middle)
    return low


def _compute_score(wins: Any, losses: Any, n: int, difference: float) -> Any:
    """Return the score of wins and losses: high where a mean of `difference` would not bring so few wins."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num((n * difference - (wins - losses)) / _find_score_error(wins, losses, n, difference))


def _compute_binomial(hits: Array, n: Any, chance: Array, other: Array) -> Array:
    """Return the probability of some hits of n. `other` is 1 − chance, without rounding."""
    special = optional_import("scipy.special", "a confidence interval", "statistics")
    ways = special.gammaln(n + 1) - special.gammaln(hits + 1) - special.gammaln(n - hits + 1)
    own, others = (np.log(np.maximum(value, TINY)) for value in (chance, other))
    return np.asarray(np.exp(ways + hits * own + (n - hits) * others))


def compute_bootstrap_interval(replicates: Array, moments: Moments, level: float) -> tuple[float, float, str]:
    """
    Return the bounds of the percentile bootstrap, and the reason if there is no interval.

    A replicate without any defined value is NaN.
    """
    if moments.is_constant:
        return math.nan, math.nan, NO_SPREAD + ". Take the interval 'auto'"
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < len(replicates) / 2:
        return math.nan, math.nan, "most resamples hold no query with a value"
    z = compute_expanded_quantile(moments, level)
    low, high = np.quantile(defined, (NORMAL.cdf(-z), NORMAL.cdf(z)))
    return float(low), float(high), ""


def compute_expanded_quantile(moments: Moments, level: float) -> float:
    """
    Return the normal quantile of the interval's tails, expanded for small samples.

    Percentile intervals are too narrow for few queries, for two reasons. The standard deviation of bootstrap means is
    √((n − 1)/n) times the standard error. The replicates do not show that this standard deviation is an estimate.
    The quantile √(n/(n − 1)) · t corrects both, where t is the quantile of Student's distribution.

    T. C. Hesterberg 2015, doi:10.1080/00031305.2015.1089789.
    """
    quantile = float(find_t_quantile(moments.degrees_of_freedom, level))
    return quantile * math.sqrt(moments.n_effective / moments.degrees_of_freedom)


def find_t_quantile(degrees_of_freedom: Any, level: float) -> Any:
    """Return the quantile of Student's t at the upper end of a two-sided interval."""
    special = optional_import("scipy.special", "a confidence interval", "statistics")
    return special.stdtrit(degrees_of_freedom, (1 + level) / 2)


def compute_sequential_bounds(values: Array, alpha: float) -> tuple[float, float]:
    """
    Return two one-sided bounds of the mean of values from 0 to 1, each wrong with a probability of at most alpha.

    I. Waudby-Smith and A. Ramdas 2024, Estimating means of bounded random variables by betting,
    doi:10.1093/jrsssb/qkad009. A bound is wrong at any number of values with that probability, if each value has the
    same mean given those before it. A mean m is refused if bets on values above it would have multiplied their stake by
    1/alpha. The bets are the predictable plug-in ones of the paper: sqrt(2 log(1/alpha) / (variance · t · log(1 + t))),
    from the values before. The bounds are those after the last value, without the intersection of those before.

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
    values = values[None]
    bets = find_bets(values, alpha)
    return _find_low(values, bets, alpha, TRUNCATION), 1 - _find_low(1 - values, bets, alpha, TRUNCATION)


def find_bets(values: Array, alpha: float, n: int | None = None) -> Array:
    """Return the bet on each value, from those before it alone: for any number of values, or for n that are fixed."""
    count = np.arange(1, values.shape[-1] + 1)
    means = (PRIOR_MEAN + np.cumsum(values, -1)) / (count + 1)
    variances = (PRIOR_VARIANCE + np.cumsum((values - means) ** 2, -1)) / (count + 1)
    before = np.concatenate([np.full_like(variances[..., :1], PRIOR_VARIANCE), variances[..., :-1]], -1)
    horizon = count * np.log1p(count) if n is None else n
    return np.asarray(np.sqrt(2 * math.log(1 / alpha) / (before * horizon)))


def compute_betting_bounds(values: Array, alpha: float) -> tuple[float, float]:
    """
    Return two one-sided bounds of the mean, as `compute_sequential_bounds`, for a number of values that is fixed.

    The bets are those of the paper for n values: sqrt(2 log(1/alpha) / (variance · n)). The last stakes are averaged
    over `N_ORDERS` orders, which n decides, so that the order in which the values came matters little. If m is the true
    mean, each stake has a mean of at most 1, and so has their average, which must reach 1/alpha to refuse m. Bounds of
    many values are 1.5 times as far from the mean as those of Student's t.

    >>> [round(bound, 3) for bound in compute_betting_bounds(np.ones(100), 0.05)]
    [0.967, 1.0]
    """
    n = len(values)
    values = values[draw_numbers(0, ORDERS_OF_VALUES, N_ORDERS * n).reshape(N_ORDERS, n).argsort(1)]
    bets = find_bets(values, alpha, n)
    return _find_low(values, bets, alpha, BOLDEST), 1 - _find_low(1 - values, bets, alpha, BOLDEST)


def find_betting_bounds(
    values: Array, bounds: tuple[float, float], alpha: float, *, sequential: bool = False
) -> tuple[float, float]:
    """Return the bounds of the mean of values in any range. NaN is no value."""
    compute = compute_sequential_bounds if sequential else compute_betting_bounds
    width = bounds[1] - bounds[0]
    low, high = compute((values[~np.isnan(values)] - bounds[0]) / width, alpha)
    return bounds[0] + width * low, bounds[0] + width * high


def compute_betting_interval(values: Array, moments: Moments, level: float) -> Interval:
    """Return the interval of a mean or difference by betting, from the values that have these moments."""
    low = high = math.nan
    reason = moments.reason
    if moments.bounds is None:
        reason = reason or NO_RANGE
    if not reason and moments.bounds is not None:
        low, high = find_betting_bounds(values, moments.bounds, (1 - level) / 2)
    return Interval(moments.mean, low, high, moments.n_queries, level, "betting", moments.n_effective, reason=reason)


def _find_low(values: Array, bets: Array, alpha: float, largest: float) -> float:
    """
    Return the largest mean that the bets on larger values refuse, 0 if they refuse none.

    `values` are (n_orders, n). No bet is above `largest` of the one that could lose everything.
    """

    def is_refused(mean: float) -> bool:
        stakes = np.log1p(np.minimum(bets, largest / mean) * (values - mean)).sum(1)
        return float(np.logaddexp.reduce(stakes)) - math.log(len(stakes)) >= math.log(1 / alpha)

    return _bisect(is_refused, n_steps=34)[0]
