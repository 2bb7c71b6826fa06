"""All pairs of systems at once: Tukey's honestly significant difference, by randomisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.design import Design
from fastndcg.statistics.resampling import permuted_ranges
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Tested, count_extreme
from fastndcg.statistics.sums import rounding_of, whole_numbers


def honest_differences(
    columns: Sequence[Array], design: Design, settings: Settings
) -> list[dict[tuple[int, int], Tested]]:
    """
    For each metric, the p-value of every pair of systems, which holds for all pairs together.

    If no systems differ, each unit's values could be exchanged among them. A pair's p-value is the share of exchanges
    in which the best and the worst system lie as far apart as the two. Queries count where all systems have a value.
    B. A. Carterette 2012, doi:10.1145/2094072.2094076.
    """
    n_metrics = columns[0].shape[1]
    values = np.stack([_complete(columns, metric, design) for metric in range(n_metrics)])
    ranges = permuted_ranges(values, settings)
    totals = values.sum(axis=1)
    found = []
    for metric in range(n_metrics):
        tests = {}
        for one, other in combinations(range(len(columns)), 2):
            apart = abs(float(totals[metric, one] - totals[metric, other]))
            extreme = count_extreme(ranges[:, metric], apart, "two-sided", rounding_of(design.n_units))
            tests[one, other] = tests[other, one] = Tested((1 + extreme) / (1 + settings.replicates))
        found.append(tests)
    return found


def _complete(columns: Sequence[Array], metric: int, design: Design) -> Array:
    """The (n_units, n_systems) sums of queries that all systems have, as whole numbers."""
    values = np.stack([column[:, metric] for column in columns], axis=1)
    values[np.isnan(values).any(axis=1)] = 0.0
    unit_sums = np.stack([design.sums(design.weigh(column)) for column in values.T], axis=1)
    return whole_numbers(unit_sums, design.n_units)
