"""Tukey's honestly significant difference over all pairs of systems, by randomisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.integer_sums import bound_rounding, scale_to_integers
from fastndcg.statistics.resampling import permuted_ranges
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Significance, count_extreme


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
