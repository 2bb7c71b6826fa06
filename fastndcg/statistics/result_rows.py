"""Rows and columns of the tables of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.corrections import correct_in_families
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import Interval
from fastndcg.statistics.moments import Moments
from fastndcg.statistics.power import compute_smallest_difference
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Significance
from fastndcg.statistics.table import Column, format_interval, format_number, format_p_value

STARS = ((0.001, "***"), (0.01, "**"), (1.0, "*"))  # for corrected p-values below these


class Row(NamedTuple):
    """
    One system's mean of a metric, and its difference from the baseline over the queries that both have.

    Numbers that do not exist are NaN, such as the baseline's difference from itself, or the interval of a single query.
    `reason` explains a missing interval or test.
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
        """One star for a significant difference, two for p below 0.01, three for p below 0.001."""
        return next(stars for limit, stars in STARS if self.p_corrected < limit) if self.significant else ""


class SegmentRow(NamedTuple):
    """One system's mean of a metric in a segment, and its difference from the baseline there."""

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


class PairSummary(NamedTuple):
    """The statistics of a system's difference from the baseline."""

    moments: Moments
    interval: Interval
    test: Significance


class SystemSummary(NamedTuple):
    """The statistics of one system in one metric, and of its difference from the baseline (None for the baseline)."""

    system: int
    metric: int
    interval: Interval
    pair: PairSummary | None


def summarize_systems(
    columns: Sequence[Array], baseline: int, design: Design, settings: Settings, with_tests: bool
) -> list[SystemSummary]:
    """Analyse every metric of every system. All means and differences share one set of replicates."""
    n_metrics = columns[0].shape[1]
    means = list(product(range(n_metrics), range(len(columns))))
    pairs = [(metric, system) for metric, system in means if system != baseline]
    quantities = [Quantity(system, metric) for metric, system in means]
    quantities += [Quantity(system, metric, baseline) for metric, system in pairs]
    analysis = Analysis(columns, quantities, design, settings)
    places = range(len(means), len(quantities))
    tests = analysis.tests(places) if with_tests else [Significance(math.nan)] * len(pairs)
    pair_summaries = {
        pair: PairSummary(analysis.moments[place], analysis.intervals[place], test)
        for pair, place, test in zip(pairs, places, tests, strict=True)
    }
    return [
        SystemSummary(system, metric, analysis.intervals[place], pair_summaries.get((metric, system)))
        for place, (metric, system) in enumerate(means)
    ]


def make_rows(
    systems: Sequence[str],
    metrics: Sequence[str],
    summaries: Sequence[SystemSummary],
    n_queries: int,
    settings: Settings,
) -> tuple[Row, ...]:
    """
    Return the rows of a comparison with corrected p-values.

    The correction counts the tests of a family: the whole table or one metric. Tukey's p-values hold for all pairs and
    are not corrected again.
    """
    p_values = np.array([summary.pair.test.p if summary.pair else math.nan for summary in summaries])
    corrected = correct_in_families(p_values, [summary.metric for summary in summaries], settings)
    return tuple(
        _make_row(systems[summary.system], metrics[summary.metric], summary, float(p), n_queries, settings)
        for summary, p in zip(summaries, corrected, strict=True)
    )


def _make_row(
    system: str, metric: str, summary: SystemSummary, p_corrected: float, n_queries: int, settings: Settings
) -> Row:
    interval = summary.interval
    row = Row(
        system=system,
        metric=metric,
        n=interval.n,
        n_undefined=n_queries - interval.n,
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        n_pairs=0,
        difference=math.nan,
        difference_low=math.nan,
        difference_high=math.nan,
        p=math.nan,
        p_corrected=math.nan,
        exact=False,
        significant=False,
        wins=0,
        ties=0,
        losses=0,
        effect=math.nan,
        smallest_difference=math.nan,
        reason=interval.reason,
    )
    if summary.pair is None:
        return row
    moments, difference, test = summary.pair
    return row._replace(
        n_pairs=difference.n,
        difference=difference.mean,
        difference_low=difference.low,
        difference_high=difference.high,
        p=test.p,
        p_corrected=p_corrected,
        exact=test.exact,
        significant=p_corrected < settings.alpha,
        wins=moments.wins,
        ties=moments.ties,
        losses=moments.losses,
        effect=moments.effect,
        smallest_difference=compute_smallest_difference(moments, settings.alpha, settings.power),
        reason=difference.reason or test.reason,
    )


def make_segment_rows(
    segment: Any, systems: Sequence[str], metrics: Sequence[str], summaries: Sequence[SystemSummary]
) -> list[SegmentRow]:
    """Return the rows of one segment."""
    rows: list[SegmentRow] = []
    for summary in summaries:
        mean = summary.interval
        difference = None if summary.pair is None else summary.pair.interval
        row = SegmentRow(
            segment=segment,
            system=systems[summary.system],
            metric=metrics[summary.metric],
            n=mean.n,
            mean=mean.mean,
            low=mean.low,
            high=mean.high,
            n_pairs=0 if difference is None else difference.n,
            difference=math.nan if difference is None else difference.mean,
            difference_low=math.nan if difference is None else difference.low,
            difference_high=math.nan if difference is None else difference.high,
            reason=mean.reason if difference is None else difference.reason,
        )
        rows.append(row)
    return rows


def make_columns(settings: Settings, baseline: str) -> list[Column]:
    """Return the printed columns of a comparison."""
    corrected = Column(f"p, {settings.correction}", lambda row: format_p_value(row.p_corrected))
    return [
        Column("system", lambda row: row.system, left=True),
        *_make_mean_columns(settings, baseline),
        *_hide_for_baseline(
            baseline,
            *_make_difference_columns(settings),
            Column("p", lambda row: format_p_value(row.p)),
            *([corrected] if settings.is_corrected else []),
            Column("", lambda row: row.mark, left=True),
            Column("won/tied/lost", lambda row: f"{row.wins}/{row.ties}/{row.losses}"),
        ),
    ]


def make_segment_columns(settings: Settings, baseline: str) -> list[Column]:
    """Return the printed columns of a comparison per segment."""
    metric, *mean_columns = _make_mean_columns(settings, baseline)
    return [
        Column("segment", lambda row: str(row.segment), left=True),
        Column("system", lambda row: row.system, left=True),
        metric,
        Column("queries", lambda row: str(row.n)),
        *mean_columns,
        *_hide_for_baseline(baseline, *_make_difference_columns(settings)),
    ]


def _make_mean_columns(settings: Settings, baseline: str) -> list[Column]:
    def format_bounds(row: Any) -> str:
        return format_interval(row.low, row.high, otherwise=row.reason if row.system == baseline else "")

    return [
        Column("metric", lambda row: row.metric, left=True),
        Column("mean", lambda row: format_number(row.mean)),
        Column(f"{100 * settings.level:g} % interval", format_bounds),
    ]


def _make_difference_columns(settings: Settings) -> list[Column]:
    def format_bounds(row: Any) -> str:
        return format_interval(row.difference_low, row.difference_high, signed=True, otherwise=row.reason)

    return [
        Column("difference", lambda row: format_number(row.difference, signed=True)),
        Column(f"{100 * settings.level:g} % interval", format_bounds),
    ]


def _hide_for_baseline(baseline: str, *columns: Column) -> list[Column]:
    """Return the columns with empty cells for the baseline."""

    def hide(cell: Callable[[Any], str]) -> Callable[[Any], str]:
        return lambda row: "" if row.system == baseline else cell(row)

    return [column._replace(cell=hide(column.cell)) for column in columns]
