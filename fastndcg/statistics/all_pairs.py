"""Tests of all pairs of systems, by the test of a comparison or by Tukey's honestly significant difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.moments import compute_moments
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Significance, correct_in_families, run_tukey_test
from fastndcg.statistics.table import Column, format_number, format_p_value

MAX_QUANTITIES = 512  # pairs of a call: 10,000 replicates of them take 40 MB


def make_pair_settings(settings: Settings) -> Settings:
    """Return the settings of pairs: two-sided, corrected within a metric, with the interval that takes least time."""
    return replace(settings, alternative="two-sided", family="metric", interval="t")


class Pair(NamedTuple):
    """
    The difference of two systems in a metric, with its p-value.

    `p_corrected` is corrected for all pairs of the metric. Tukey's p-values hold for all of them already.
    """

    system: str
    against: str
    difference: float
    p: float
    significant: bool
    p_corrected: float


def run_pair_tests(
    systems: Sequence[str], columns: Sequence[Array], design: Design, settings: Settings
) -> list[list[Pair]]:
    """
    Return the pairs of systems for each metric, tested two-sided and corrected for all pairs of the metric.

    A difference is over the queries that both systems have. With Tukey's test it is over those that all systems have.
    """
    two_sided = make_pair_settings(settings)
    n_metrics = columns[0].shape[1]
    if settings.test == "tukey":
        return [_run_tukey(systems, columns, design, two_sided, metric) for metric in range(n_metrics)]
    quantities = [
        Quantity(first, metric, second)
        for metric in range(n_metrics)
        for first, second in combinations(range(len(systems)), 2)
    ]
    differences: list[float] = []
    outcomes: list[Significance] = []
    for start in range(0, len(quantities), MAX_QUANTITIES):
        analysis = Analysis(columns, quantities[start : start + MAX_QUANTITIES], design, two_sided)
        differences += [moments.mean for moments in analysis.moments]
        outcomes += analysis.tests(range(len(analysis.quantities)))
    p_values = np.array([outcome.p for outcome in outcomes])
    corrected = correct_in_families(p_values, [quantity.metric for quantity in quantities], two_sided)
    pairs: list[list[Pair]] = [[] for _ in range(n_metrics)]
    for place, quantity in enumerate(quantities):
        names = systems[quantity.system], systems[quantity.against or 0]
        p = float(corrected[place])
        pairs[quantity.metric].append(
            Pair(*names, differences[place], float(p_values[place]), settings.is_significant(p), p)
        )
    return pairs


def _run_tukey(
    systems: Sequence[str], columns: Sequence[Array], design: Design, settings: Settings, metric: int
) -> list[Pair]:
    """Return the pairs of systems in one metric, tested by Tukey's honestly significant difference."""
    own = [column[:, metric : metric + 1] for column in columns]
    outcomes = run_tukey_test(own, design, settings)[0]
    is_complete = ~np.isnan(np.hstack(own)).any(axis=1)
    complete = [np.where(is_complete[:, None], column, np.nan) for column in own]
    pairs: list[Pair] = []
    for first, second in combinations(range(len(systems)), 2):
        mean = compute_moments(Quantity(first, 0, second), complete, design).mean
        p = outcomes[first, second].p
        pairs.append(Pair(systems[first], systems[second], mean, p, settings.is_significant(p), p))
    return pairs


def make_pair_columns(settings: Settings) -> list[Column]:
    """Return the printed columns of a table of pairs."""
    corrected = Column(f"p, {settings.correction}", lambda pair: format_p_value(pair.p_corrected))
    return [
        Column("system", lambda pair: pair.system, left=True),
        Column("against", lambda pair: pair.against, left=True),
        Column("difference", lambda pair: format_number(pair.difference, signed=True)),
        Column("p, Tukey HSD" if settings.test == "tukey" else "p", lambda pair: format_p_value(pair.p)),
        *([corrected] if settings.is_corrected else []),
    ]
