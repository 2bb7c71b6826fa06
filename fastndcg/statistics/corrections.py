"""Corrections of p-values for multiple testing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.settings import Settings


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
