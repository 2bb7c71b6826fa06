"""The rows of a comparison: what is known of each system, metric, segment and pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.corrections import corrected
from fastndcg.statistics.design import Design
from fastndcg.statistics.intervals import Interval
from fastndcg.statistics.moments import Moments
from fastndcg.statistics.power import smallest_difference
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Tested
from fastndcg.statistics.sums import Quantity
from fastndcg.statistics.table import Column, bounds, number, p_value

MARKS = ((0.001, "***"), (0.01, "**"), (1.0, "*"))


class Row(NamedTuple):
    """
    One system's mean of a metric, and its difference from the baseline over the queries that both have.

    What is not there (the baseline's difference from itself, the interval of a single query) is NaN; `reason` says
    why an interval or a test is missing.
    """

    system: str
    metric: str
    n: int
    n_undefined: int
    mean: float
    low: float
    high: float
    n_pairs: int
    difference: float
    difference_low: float
    difference_high: float
    p: float
    p_corrected: float
    exact: bool
    significant: bool
    wins: int
    ties: int
    losses: int
    effect: float
    smallest_difference: float
    reason: str

    @property
    def mark(self) -> str:
        """Stars for a significant difference: one, two below 0.01, three below 0.001."""
        return next(mark for most, mark in MARKS if self.p_corrected < most) if self.significant else ""


class SegmentRow(NamedTuple):
    """A system's mean of a metric in a segment, and its difference from the baseline there."""

    segment: Any
    system: str
    metric: str
    n: int
    mean: float
    low: float
    high: float
    n_pairs: int
    difference: float
    difference_low: float
    difference_high: float
    reason: str


class Both(NamedTuple):
    """What is known of a system's mean, and of its difference from the baseline, None for the baseline."""

    system: int
    metric: int
    moments: Moments
    interval: Interval
    pair: tuple[Moments, Interval, Tested] | None


def analysed(columns: Sequence[Array], baseline: int, design: Design, settings: Settings, tested: bool) -> list[Both]:
    """Every metric of every system, from one analysis: means first, then differences."""
    n_metrics = columns[0].shape[1]
    wanted = list(product(range(n_metrics), range(len(columns))))
    pairs = [(metric, system) for metric, system in wanted if system != baseline]
    quantities = [Quantity(system, metric) for metric, system in wanted]
    quantities += [Quantity(system, metric, baseline) for metric, system in pairs]
    analysis = Analysis(columns, quantities, design, settings)
    places = range(len(wanted), len(quantities))
    tests = analysis.tests(places) if tested else [Tested(math.nan)] * len(pairs)
    of_pair = {
        pair: (analysis.moments[place], analysis.intervals[place], test)
        for pair, place, test in zip(pairs, places, tests, strict=True)
    }
    return [
        Both(system, metric, analysis.moments[place], analysis.intervals[place], of_pair.get((metric, system)))
        for place, (metric, system) in enumerate(wanted)
    ]


def compared_rows(
    systems: Sequence[str], metrics: Sequence[str], found: Sequence[Both], n_queries: int, settings: Settings
) -> tuple[Row, ...]:
    """Rows with corrected p-values: all tests of the table are one family, Tukey's p-values are corrected already."""
    p_values = np.array([both.pair[2].p if both.pair else math.nan for both in found])
    final = p_values if settings.test == "tukey" else corrected(p_values, settings.correction)
    return tuple(
        _row(systems[both.system], metrics[both.metric], both, float(p), n_queries, settings)
        for both, p in zip(found, final, strict=True)
    )


def _row(system: str, metric: str, both: Both, p_corrected: float, n_queries: int, settings: Settings) -> Row:
    moments, interval = both.moments, both.interval
    of_mean = (system, metric, interval.n, n_queries - interval.n, interval.mean, interval.low, interval.high)
    if both.pair is None:
        nothing = (math.nan,) * 5
        return Row(*of_mean, 0, *nothing, False, False, 0, 0, 0, math.nan, math.nan, interval.reason)
    moments, interval, test = both.pair
    return Row(
        *of_mean, interval.n, interval.mean, interval.low, interval.high, test.p, p_corrected, test.exact,
        p_corrected < settings.alpha, moments.wins, moments.ties, moments.losses, moments.effect,
        smallest_difference(moments, settings.alpha, settings.power), interval.reason or test.reason,
    )  # fmt: skip


def segment_rows(
    segment: Any, systems: Sequence[str], metrics: Sequence[str], found: Sequence[Both]
) -> list[SegmentRow]:
    """Rows of one segment."""
    rows = []
    for both in found:
        mean, pair = both.interval, both.pair
        none = (0, math.nan, math.nan, math.nan, mean.reason)
        rows.append(
            SegmentRow(
                segment, systems[both.system], metrics[both.metric], mean.n, mean.mean, mean.low, mean.high,
                *(none if pair is None else (pair[1].n, pair[1].mean, pair[1].low, pair[1].high, pair[1].reason)),
            )
        )  # fmt: skip
    return rows


def columns_of_rows(settings: Settings, baseline: str) -> list[Column]:
    """How rows are shown."""
    corrected_p = Column(f"p, {settings.correction}", lambda row: p_value(row.p_corrected))
    return [
        Column("system", lambda row: row.system, left=True),
        *_of_mean(settings, baseline),
        *_of_pair(
            baseline,
            *_of_difference(settings),
            Column("p", lambda row: p_value(row.p)),
            *([] if settings.test == "tukey" or settings.correction == "none" else [corrected_p]),
            Column("", lambda row: row.mark, left=True),
            Column("won/tied/lost", lambda row: f"{row.wins}/{row.ties}/{row.losses}"),
        ),
    ]


def columns_of_segments(settings: Settings, baseline: str) -> list[Column]:
    """How rows of segments are shown."""
    metric, *of_mean = _of_mean(settings, baseline)
    return [
        Column("segment", lambda row: str(row.segment), left=True),
        Column("system", lambda row: row.system, left=True),
        metric,
        Column("queries", lambda row: str(row.n)),
        *of_mean,
        *_of_pair(baseline, *_of_difference(settings)),
    ]


def _of_mean(settings: Settings, baseline: str) -> list[Column]:
    def interval(row: Any) -> str:
        return bounds(row.low, row.high, otherwise=row.reason if row.system == baseline else "")

    return [
        Column("metric", lambda row: row.metric, left=True),
        Column("mean", lambda row: number(row.mean)),
        Column(f"{100 * settings.level:g} % interval", interval),
    ]


def _of_difference(settings: Settings) -> list[Column]:
    def interval(row: Any) -> str:
        return bounds(row.difference_low, row.difference_high, signed=True, otherwise=row.reason)

    return [
        Column("difference", lambda row: number(row.difference, signed=True)),
        Column(f"{100 * settings.level:g} % interval", interval),
    ]


def _of_pair(baseline: str, *columns: Column) -> list[Column]:
    """Columns that are empty for the baseline."""

    def emptied(cell: Callable[[Any], str]) -> Callable[[Any], str]:
        return lambda row: "" if row.system == baseline else cell(row)

    return [column._replace(cell=emptied(column.cell)) for column in columns]
