"""What a comparison can show: equivalence within a margin, and the smallest difference that its tests detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import check_positive
from fastndcg.statistics.moments import refuse_wide_margin
from fastndcg.statistics.result_rows import Row
from fastndcg.statistics.settings import Settings, check_power
from fastndcg.statistics.significance import compute_equivalence, compute_smallest_difference, find_corrected_level
from fastndcg.statistics.table import Column, Table, format_number, format_p_value


class Equivalence(NamedTuple):
    """
    Two one-sided t tests that a system's mean difference from the baseline is within ±margin.

    `p` is not corrected. It is NaN if fewer than two queries have a difference.
    """

    system: str
    metric: str
    n_pairs: int
    difference: float
    margin: float
    p: float
    equivalent: bool


class DetectableDifference(NamedTuple):
    """
    The smallest true difference from the baseline that a paired t test of these queries detects with a power.

    `level` is the significance level that the correction leaves for the test. The difference is NaN if all differences
    are equal, or there is one.
    """

    system: str
    metric: str
    n_pairs: int
    level: float
    power: float
    smallest_difference: float


def run_equivalence_tests(
    rows: Sequence[Row], baseline: str, margin: float, settings: Settings, conventions: Sequence[Convention]
) -> Table[Equivalence]:
    """Return the tests of all rows but those of the baseline. See `Comparison.equivalence`."""
    check_positive(margin, "margin", "0.01")
    for name in dict.fromkeys(row.metric for row in rows):
        refuse_wide_margin(margin, Metric.parse(name), conventions)
    tests: list[Equivalence] = []
    for row in rows:
        if row.system != baseline:
            p = compute_equivalence(row.difference, row.standard_error, row.degrees_of_freedom, margin)
            facts = row.system, row.metric, row.n_pairs, row.difference, float(margin)
            tests.append(Equivalence(*facts, p, settings.is_significant(p)))
    columns = [
        *_HEAD,
        Column("difference", lambda test: format_number(test.difference, signed=True)),
        Column("p, equivalent", lambda test: format_p_value(test.p)),
        Column("", lambda test: "equivalent" if test.equivalent else "", left=True),
    ]
    return Table(tests, columns, [f"equivalent: two one-sided t tests within ±{margin:g}, not corrected"])


def find_smallest_differences(
    rows: Sequence[Row], baseline: str, power: float, settings: Settings
) -> Table[DetectableDifference]:
    """Return what the tests of all rows but those of the baseline detect. See `Comparison.smallest_difference`."""
    power = check_power(power)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    is_tested = np.array([not math.isnan(row.p) for row in rows])
    places = [metrics.index(row.metric) for row in rows]
    levels = find_corrected_level(is_tested, places, len({row.system for row in rows}), settings).tolist()
    found: list[DetectableDifference] = []
    for row, level in zip(rows, levels, strict=True):
        if row.system != baseline:
            spread = row.standard_error, row.degrees_of_freedom
            size = compute_smallest_difference(*spread, level, power, settings.alternative)
            found.append(DetectableDifference(row.system, row.metric, row.n_pairs, level, power, size))
    columns = [
        *_HEAD,
        Column("level", lambda one: f"{one.level:.4g}"),
        Column("smallest difference", lambda one: format_number(one.smallest_difference)),
    ]
    note = f"what a paired t test ({settings.alternative}) at this level detects with a power of {100 * power:g} %"
    return Table(found, columns, [note])


_HEAD = (
    Column("system", lambda row: row.system, left=True),
    Column("metric", lambda row: row.metric, left=True),
    Column("queries", lambda row: str(row.n_pairs)),
)
