"""Significance tests of the difference of two systems, corrections of their p-values, and their power."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Option, shorten
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.integer_sums import Quantity, Sums, bound_rounding, scale_to_integers
from fastndcg.statistics.moments import Moments, find_tie_threshold
from fastndcg.statistics.resampling import permuted_ranges, sign_sums
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings

MOST_QUERIES = 10**12  # of a plan
# Above this t the mean varies by little beside the shift, and SciPy's power is NaN, or too low, as in SciPy 1.11
MOST_CRITICAL = 500.0
MAX_ENUMERATED = 20  # units with a difference: their 2**20 sums take 1 ms


class Significance(NamedTuple):
    """
    The outcome of a test.

    `exact` is True if a test with an exact and a sampled form used the exact one. `reason` explains a p-value of NaN.
    `smallest` is the smallest p-value that so many queries with a difference can give, NaN for tests without one.
    """

    p: float
    exact: bool = False
    reason: str = ""
    smallest: float = math.nan


def judge_constant_differences(moments: Moments) -> Significance:
    """Return the outcome of the tests that use the spread of the differences, if all differences are equal."""
    if not (moments.wins or moments.losses):
        return Significance(1.0)
    return Significance(math.nan, reason="all differences are equal, so their spread is 0")


def check_test_fits_design(test: str, design: Design) -> None:
    """Raise if a test of ranks or signs of queries is used with weights or clusters."""
    if test not in ("wilcoxon", "sign", "mcnemar"):
        return
    for name, is_present in (("weights", design.weights is not None), ("clusters", design.is_clustered)):
        if is_present:
            raise InvalidInputError(
                f"`{name}` must be left out with test={shorten(test)}, which does not support them. Pass ",
                Option("test", "'randomization'"),
                f", 'bootstrap' or 't' to use `{name}`.",
            )


def find_smallest_p_value(n_different: int, alternative: str) -> float:
    """
    Return the smallest p-value of a test of signs or signed ranks, if this number of queries differ.

    It is that of differences that all have one sign, which is one of 2**n equally probable cases.

    >>> find_smallest_p_value(3, "two-sided"), find_smallest_p_value(3, "greater")
    (0.25, 0.125)
    """
    return min(1.0, (2.0 if alternative == "two-sided" else 1.0) * 0.5**n_different)


def run_randomization_test(sums: Sums, quantities: Sequence[int], settings: Settings) -> list[Significance]:
    """
    Run the sign-flip randomisation test on quantities, given as indices of the plans of `sums`.

    If systems do not differ, the difference of each unit is as likely to have the other sign. If at most 20 units
    differ, all signs are tried. Otherwise signs are drawn at random, and the observed ones count as one more replicate,
    so that p is above 0. R. A. Fisher 1935.
    """
    totals = sums.totals()
    outcomes: dict[int, Significance] = {}
    for place in quantities:
        differences = sums.unit_numerators(sums.plans[place])
        nonzero = differences[differences != 0]
        if len(nonzero) <= MAX_ENUMERATED:
            p = _enumerate_signs(nonzero, settings.alternative, sums.rounding)
            smallest = find_smallest_p_value(len(nonzero), settings.alternative)
            outcomes[place] = Significance(p, True, smallest=smallest)
    sampled = [place for place in quantities if place not in outcomes]
    if sampled:
        replicates = sign_sums(sums.rows, settings)
        for place in sampled:
            plan = sums.plans[place]
            observed = float(sums.numerators(totals, plan))
            n_extreme = count_extreme(sums.numerators(replicates, plan), observed, settings.alternative, sums.rounding)
            outcomes[place] = Significance((1 + n_extreme) / (1 + settings.replicates))
    return [outcomes[place] for place in quantities]


def count_extreme(replicates: Array, observed: float, alternative: str, rounding: float = 0.0) -> int:
    """Return the number of replicates that are at least as extreme as the observed value, up to `rounding`."""
    if alternative == "two-sided":
        replicates = np.abs(replicates)
        observed = abs(observed)
    elif alternative == "less":
        replicates = -replicates
        observed = -observed
    return int(np.count_nonzero(replicates >= observed - rounding))


def _enumerate_signs(differences: Array, alternative: str, rounding: float) -> float:
    """Return the exact p-value over all signs of the differences."""
    from fastndcg.kernels import statistics as kernels

    if not len(differences):
        return 1.0
    if alternative == "less":
        differences = -differences
    counts = np.zeros(2, "i8")
    kernels.count_extreme(differences, float(differences.sum()), rounding, np.empty(len(differences)), counts)
    return float(counts[1 if alternative == "two-sided" else 0]) / 2.0 ** len(differences)


def run_bootstrap_test(replicates: Array, observed: float, moments: Moments, settings: Settings) -> Significance:
    """
    Run the paired bootstrap test: compare the observed difference with replicates that are shifted to a mean of 0.

    The p-value is expanded for small samples like the intervals, see `intervals.compute_expanded_quantile`. Without
    it, 12 queries whose true difference is 0 are significant at 5 % in 9 % of the cases.
    """
    special = optional_import("scipy.special", "the paired bootstrap test", "statistics")
    defined = replicates[~np.isnan(replicates)]
    n_extreme = count_extreme(defined - observed, observed, settings.alternative)
    n_tails = 2 if settings.alternative == "two-sided" else 1
    z = float(special.ndtri((1 + n_extreme) / (1 + len(defined)) / n_tails))
    shrunk = z * math.sqrt(moments.degrees_of_freedom / moments.n_effective)
    return Significance(n_tails * float(special.stdtr(moments.degrees_of_freedom, shrunk)))


def run_t_test(moments: Moments, settings: Settings) -> Significance:
    """Run the paired t test. With weights or clusters, it uses the robust standard error of the mean."""
    special = optional_import("scipy.special", "the t test", "statistics")
    t = moments.mean / moments.standard_error
    if settings.alternative == "two-sided":
        return Significance(float(2 * special.stdtr(moments.degrees_of_freedom, -abs(t))))
    return Significance(float(special.stdtr(moments.degrees_of_freedom, t if settings.alternative == "less" else -t)))


def compute_equivalence(difference: float, standard_error: float, degrees_of_freedom: float, margin: float) -> float:
    """
    Return the p-value of two one-sided t tests that the mean difference is within ±margin, NaN without a spread.

    D. J. Schuirmann 1987, doi:10.1007/BF01068419.
    """
    distance = margin - abs(difference)
    if standard_error == 0:
        return 0.0 if distance > 0 else 1.0
    special = optional_import("scipy.special", "a test of equivalence", "statistics")
    return float(special.stdtr(degrees_of_freedom, -distance / standard_error))


def run_scipy_test(test: str, quantity: Quantity, columns: Sequence[Array], settings: Settings) -> Significance:
    """
    Run SciPy's Wilcoxon signed-rank test or sign test on the queries that differ.

    The sign test of values that are 0 or 1 is the exact test of Q. McNemar 1947, doi:10.1007/BF02295996.
    """
    stats = optional_import("scipy.stats", f"the test {shorten(test)}", "statistics")
    differences = quantity.values(columns)
    threshold = find_tie_threshold(columns, quantity.metric)
    nonzero = differences[np.abs(differences) > threshold]  # False for NaN
    alternative = settings.alternative
    smallest = find_smallest_p_value(len(nonzero), alternative)
    if not len(nonzero):
        return Significance(1.0, True, smallest=smallest)
    if test == "wilcoxon":
        return _run_wilcoxon_test(stats, nonzero, threshold, alternative)._replace(smallest=smallest)
    outcome = stats.binomtest(int(np.count_nonzero(nonzero > 0)), len(nonzero), alternative=alternative)
    return Significance(float(outcome.pvalue), True, smallest=smallest)


def _run_wilcoxon_test(stats: Any, differences: Array, threshold: float, alternative: str) -> Significance:
    """Run the signed-rank test, over all signs if at most 20 queries differ."""
    signed = np.copysign(tie_equal_sizes(np.abs(differences), threshold), differences)
    if len(signed) <= MAX_ENUMERATED:
        doubled = 2 * np.sign(signed) * stats.rankdata(np.abs(signed))  # whole numbers
        return Significance(_enumerate_signs(doubled, alternative, 0.0), True)
    has_ties = len(np.unique(np.abs(signed))) < len(signed)
    method = "approx" if has_ties else "auto"  # by itself, SciPy before 1.13 takes the exact distribution without ties
    return Significance(float(stats.wilcoxon(signed, alternative=alternative, method=method).pvalue))


def tie_equal_sizes(sizes: Array, threshold: float) -> Array:
    """
    Return the number of the distinct size of each difference, from 1, where sizes within the threshold are equal.

    >>> tie_equal_sizes(np.array([0.3 - 0.2, 0.5, 0.2 - 0.1]), 1e-12).tolist()
    [1.0, 2.0, 1.0]
    """
    order = np.argsort(sizes, kind="stable")
    numbers = np.empty(len(sizes))
    numbers[order] = 1 + np.cumsum(np.diff(sizes[order], prepend=sizes[order[:1]]) > threshold)
    return numbers


def run_tukey_test(
    columns: Sequence[Array], design: Design, settings: Settings
) -> list[dict[tuple[int, int], Significance]]:
    """
    Return, for each metric, the outcome for each ordered pair of systems, corrected for all pairs.

    If systems do not differ, each unit's values can be exchanged among them. The p-value of a pair is a share of
    the exchanges: those in which the best and the worst system differ at least as much as the pair.
    Queries without a value in some system do not count. B. A. Carterette 2012, doi:10.1145/2094072.2094076.
    """
    n_metrics = columns[0].shape[1]
    values = np.stack([_sum_complete_queries(columns, metric, design) for metric in range(n_metrics)])
    ranges = permuted_ranges(values, settings)
    totals = values.sum(axis=1)
    outcomes: list[dict[tuple[int, int], Significance]] = []
    for metric in range(n_metrics):
        pairs: dict[tuple[int, int], Significance] = {}
        for first, second in combinations(range(len(columns)), 2):
            observed = abs(float(totals[metric, first] - totals[metric, second]))
            n_extreme = count_extreme(ranges[:, metric], observed, "two-sided", bound_rounding(design.n_units))
            outcome = Significance((1 + n_extreme) / (1 + settings.replicates))
            pairs[first, second] = outcome
            pairs[second, first] = outcome
        outcomes.append(pairs)
    return outcomes


def _sum_complete_queries(columns: Sequence[Array], metric: int, design: Design) -> Array:
    """Return the (n_units, n_systems) integer sums of the queries that have a value in all systems."""
    values = np.stack([column[:, metric] for column in columns], axis=1)
    values[np.isnan(values).any(axis=1)] = 0.0
    unit_sums = np.stack([design.sum_units(design.apply_weights(column)) for column in values.T], axis=1)
    return scale_to_integers(unit_sums, design.n_units)


def correct_p_values(p_values: Array, correction: str) -> Array:
    """
    Return p-values that are corrected for their number.

    'holm' (S. Holm 1979) and 'bonferroni' bound the probability of any false discovery. 'bh' bounds the expected share
    of false discoveries (Y. Benjamini and Y. Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x).
    NaN is a missing test: it stays NaN and does not count as a test.

    >>> correct_p_values(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, "f8")
    defined = np.flatnonzero(~np.isnan(p_values))
    out = p_values.copy()
    if correction == "none" or not len(defined):
        return out
    n = len(defined)
    order = defined[np.argsort(p_values[defined], kind="stable")]
    ascending = p_values[order]
    if correction == "bonferroni":
        corrected = ascending * n
    elif correction == "holm":
        corrected = np.maximum.accumulate(ascending * np.arange(n, 0, -1))
    else:
        corrected = np.minimum.accumulate((ascending * n / np.arange(1, n + 1))[::-1])[::-1]
    out[order] = np.minimum(corrected, 1.0)
    return out


def correct_in_families(p_values: Array, metrics: Sequence[int], settings: Settings) -> Array:
    """
    Return p-values that are corrected within their families: the whole table, or each metric.

    `metrics` has the index of the metric of each p-value. Tukey's p-values are returned unchanged.

    >>> correct_in_families(np.array([0.01, 0.04, 0.03]), [0, 0, 1], Settings(family="metric")).tolist()
    [0.02, 0.04, 0.03]
    """
    p_values = np.asarray(p_values, "f8")
    if not settings.is_corrected:
        return p_values
    if settings.family == "table":
        return correct_p_values(p_values, settings.correction)
    corrected = p_values.copy()
    for metric in set(metrics):
        is_member = np.asarray(metrics) == metric
        corrected[is_member] = correct_p_values(p_values[is_member], settings.correction)
    return corrected


def find_corrected_level(is_tested: Array, metrics: Sequence[int], n_systems: int, settings: Settings) -> Array:
    """
    Return the level at which each test of the table is significant, whatever the other tests of its family give.

    This is the level divided by the number of tests: for Holm and Benjamini–Hochberg that of the smallest p-value. A
    test of Tukey counts all pairs of the systems.

    >>> find_corrected_level(np.array([True, True, False]), [0, 0, 0], 3, Settings()).tolist()
    [0.025, 0.025, 0.025]
    """
    n_tests = np.ones(len(metrics))
    if settings.test == "tukey":
        n_tests[:] = n_systems * (n_systems - 1) / 2
    elif settings.is_corrected:
        for metric in set(metrics):
            is_member = np.asarray(metrics) == metric
            family = is_tested if settings.family == "table" else is_tested & is_member
            n_tests[is_member] = max(1, int(np.count_nonzero(family)))
    return settings.alpha / n_tests


def bound_p_values(
    p_values: Array, are_sampled: Array, metrics: Sequence[int], settings: Settings
) -> tuple[float, float]:
    """
    Return the smallest p-value that the number of replicates can give, and the smallest corrected one.

    The observed order counts as one more replicate, so that p is at least 1 / (replicates + 1). `are_sampled` is True
    for tests with replicates. The p-values of other tests stay as they are.

    >>> bound_p_values(np.full(64, 0.5), np.ones(64, bool), [0] * 64, Settings(replicates=9999))
    (0.0001, 0.0064)
    """
    smallest = 1 / (settings.replicates + 1)
    corrected = correct_in_families(np.where(are_sampled, smallest, p_values), metrics, settings)
    return smallest, float(corrected[are_sampled].min())


def count_needed_replicates(limit: float, corrected: float, settings: Settings) -> int:
    """
    Return the number of replicates from which a corrected p-value can be below a limit, in two digits.

    `corrected` is the smallest corrected p-value with the present number of replicates.

    >>> count_needed_replicates(0.001, 0.0064, Settings(replicates=9999))
    65000
    """
    n_replicates = corrected * (settings.replicates + 1) / limit
    digit = int(10 ** max(0, math.floor(math.log10(n_replicates)) - 1))
    return math.floor(n_replicates / digit + 1) * digit


def compute_smallest_difference(
    standard_error: float, degrees_of_freedom: float, alpha: float, power: float, alternative: str = "two-sided"
) -> float:
    """
    Return the size of the true difference that a paired t test at level alpha detects with this power.

    The differences are assumed to have the observed standard error. NaN if all of them are equal, or there is one.
    With a one-sided alternative, it is the difference in that direction.
    J. Cohen 1988, by the noncentral t distribution.
    """
    if not standard_error > 0:
        return math.nan
    return find_noncentrality(degrees_of_freedom, alpha, power, 2 if alternative == "two-sided" else 1) * standard_error


@functools.cache
def find_noncentrality(degrees_of_freedom: float, alpha: float, power: float, n_tails: int = 2) -> float:
    """Return the number of standard errors that a difference needs to be detected with this power."""
    special = optional_import("scipy.special", "the smallest detectable difference", "statistics")
    optimize = optional_import("scipy.optimize", "the smallest detectable difference", "statistics")
    critical = float(special.stdtrit(degrees_of_freedom, 1 - alpha / n_tails))
    if critical > MOST_CRITICAL:
        return critical * math.sqrt(float(special.chdtri(degrees_of_freedom, 1 - power)) / degrees_of_freedom)

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
