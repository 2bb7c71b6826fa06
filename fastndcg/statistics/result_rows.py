"""Rows and columns of the tables of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import Interval, convert_gain
from fastndcg.statistics.moments import Bounds, Moments
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import (
    Significance,
    compute_smallest_difference,
    correct_in_families,
    find_corrected_level,
)
from fastndcg.statistics.table import Column, format_interval, format_number, format_p_value

AT_LIMIT = (
    "the interval and the test are of different methods, and the difference is at the limit of what these queries show"
)
MOST_NAMED = 3  # rows in a note
POWER = 0.8  # of the smallest difference in a row
STARS = ((0.001, "***"), (0.01, "**"), (1.0, "*"))  # for corrected p-values below these


def describe_gain(gain: float) -> str:
    """Return 'better' for a gain, 'worse' for a loss, and an empty text for neither."""
    return "better" if gain > 0 else "worse" if gain < 0 else ""


class Row(NamedTuple):
    """
    One system's mean of a metric, and its difference from the baseline over the queries that both have.

    Numbers that do not exist are NaN, such as the baseline's difference from itself, or the interval of a single query.
    So are wins, ties and losses of a metric without direction, and in Spark, whose parts do not have them, unless
    values are 0 and 1. A query is won where its value is better: lower, if lower values are better.
    `n` queries have a value and a weight above 0, and count like `n_effective` of equal weight. `smallest_p` is the
    smallest p-value that the queries with a difference can give, NaN for tests without one. `smallest_difference` is at
    the corrected level, with a power of 80 %. `statistic` is Student's t of the difference, its mean in standard
    errors, with so many `degrees_of_freedom`. `reason` explains a missing interval or test.
    """

    system: str
    metric: str
    n: int
    n_effective: float
    n_undefined: int
    mean: float
    low: float
    high: float
    n_pairs: int = 0
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan
    standard_error: float = math.nan
    degrees_of_freedom: float = math.nan
    statistic: float = math.nan
    p: float = math.nan
    p_corrected: float = math.nan
    exact: bool = False
    significant: bool = False
    wins: int = 0
    ties: int = 0
    losses: int = 0
    effect: float = math.nan
    smallest_difference: float = math.nan
    smallest_p: float = math.nan
    reason: str = ""

    @property
    def outcome(self) -> str:
        """'better' or 'worse' than the baseline's mean, by the metric's direction. Empty for neither."""
        return describe_gain(Metric.parse(self.metric).sign * self.difference)

    @property
    def counts(self) -> str:
        """The numbers of queries won, tied and lost, such as 3/2/1. Empty where they are unknown."""
        return "" if math.isnan(self.wins) else f"{self.wins}/{self.ties}/{self.losses}"

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
    n_effective: float
    mean: float
    low: float
    high: float
    n_pairs: int = 0
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan
    reason: str = ""


class PairSummary(NamedTuple):
    """The statistics of a system's difference from the baseline, with the queries that are better as wins."""

    moments: Moments
    interval: Interval
    test: Significance

    @classmethod
    def of_gain(cls, gain: Moments, interval: Interval, test: Significance, sign: int) -> PairSummary:
        """Return the statistics from those of the gain, which has the metric's sign. Without one there are no wins."""
        mean, low, high = convert_gain(interval.mean, interval.low, interval.high, sign)
        if not sign:
            unknown: Any = math.nan
            gain = gain._replace(wins=unknown, ties=unknown, losses=unknown)
        return cls(gain._replace(mean=mean), interval._replace(mean=mean, low=low, high=high), test)


class SystemSummary(NamedTuple):
    """The statistics of one system in one metric, and of its difference from the baseline (None for the baseline)."""

    system: int
    metric: int
    interval: Interval
    pair: PairSummary | None


def summarize_systems(
    columns: Sequence[Array],
    baseline: int,
    design: Design,
    settings: Settings,
    bounds: Sequence[Bounds],
    signs: Sequence[int],
    *,
    with_tests: bool,
) -> list[SystemSummary]:
    """
    Analyse every metric of every system. All means and differences share one set of replicates.

    Tests and wins are of gains: differences, or those of the baseline from the system where lower values are better.
    """
    n_metrics = columns[0].shape[1]
    means = list(product(range(n_metrics), range(len(columns))))
    pairs = [(metric, system) for metric, system in means if system != baseline]
    quantities = [Quantity(system, metric) for metric, system in means]
    quantities += [Quantity(*(system, metric, baseline)[:: signs[metric] or 1]) for metric, system in pairs]
    analysis = Analysis(columns, quantities, design, settings, bounds)
    places = range(len(means), len(quantities))
    tests = analysis.tests(places) if with_tests else [Significance(math.nan)] * len(pairs)
    pair_summaries = {
        pair: PairSummary.of_gain(analysis.moments[place], analysis.intervals[place], test, signs[pair[0]])
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
    families = [summary.metric for summary in summaries]
    corrected = correct_in_families(p_values, families, settings).tolist()
    levels = find_corrected_level(~np.isnan(p_values), families, len(systems), settings).tolist()
    return tuple(
        _make_row(_list_facts(systems, metrics, summary), summary.pair, (p, level), n_queries, settings)
        for summary, p, level in zip(summaries, corrected, levels, strict=True)
    )


def _make_row(
    facts: dict[str, Any],
    pair: PairSummary | None,
    corrected: tuple[float, float],
    n_queries: int,
    settings: Settings,
) -> Row:
    """Return a row. `corrected` are its p-value, corrected, and the level that the test has by the correction."""
    row = Row(**facts, n_undefined=n_queries - facts["n"])
    if pair is None:
        return row
    p_corrected, level = corrected
    moments, difference, test = pair
    spread = moments.standard_error, float(moments.degrees_of_freedom)
    return row._replace(
        standard_error=spread[0],
        degrees_of_freedom=spread[1],
        statistic=moments.mean / moments.standard_error if moments.standard_error > 0 else math.nan,
        p=test.p,
        p_corrected=p_corrected,
        exact=test.exact,
        significant=settings.is_significant(p_corrected),
        wins=moments.wins,
        ties=moments.ties,
        losses=moments.losses,
        effect=moments.effect,
        smallest_difference=compute_smallest_difference(*spread, level, POWER, settings.alternative),
        smallest_p=test.smallest,
        reason=difference.reason or test.reason,
    )


def make_segment_rows(
    segment: Any, systems: Sequence[str], metrics: Sequence[str], summaries: Sequence[SystemSummary]
) -> list[SegmentRow]:
    """Return the rows of one segment."""
    return [SegmentRow(segment=segment, **_list_facts(systems, metrics, summary)) for summary in summaries]


def _list_facts(systems: Sequence[str], metrics: Sequence[str], summary: SystemSummary) -> dict[str, Any]:
    """Return the fields of a row that are those of intervals: of the mean, and of the difference if there is one."""
    mean = summary.interval
    facts: dict[str, Any] = {
        "system": systems[summary.system], "metric": metrics[summary.metric], "n": mean.n,
        "n_effective": mean.n_effective, "mean": mean.mean, "low": mean.low, "high": mean.high, "reason": mean.reason,
    }  # fmt: skip
    if summary.pair is not None:
        difference = summary.pair.interval
        facts |= {
            "n_pairs": difference.n, "difference": difference.mean, "difference_low": difference.low,
            "difference_high": difference.high, "reason": difference.reason,
        }  # fmt: skip
    return facts


def describe_result(rows: Sequence[Row], baseline: str) -> str:
    """Return which system is better in a metric, by how much, and how sure that is. `rows` are those of the metric."""
    metric = Metric.parse(rows[0].metric)
    tested = [row for row in rows if row.system != baseline]
    if not metric.sign:
        return f"{metric}: neither higher nor lower values are better, so that no system is best"
    if len(tested) == 1:
        return f"{metric}: {_describe_pair(tested[0], baseline)}"
    best = max(rows, key=lambda row: -math.inf if math.isnan(row.mean) else metric.sign * row.mean)
    text = f"{metric}: {show_name(best.system)} has the best mean of {len(rows)} systems"
    if best.system != baseline:
        text += f"; {_describe_pair(best, baseline)}"
    n_better, n_worse = (sum(row.significant and row.outcome == one for row in tested) for one in ("better", "worse"))
    return f"{text}; {n_better} of {len(tested)} significantly better than {show_name(baseline)}, {n_worse} worse"


def _describe_pair(row: Row, baseline: str) -> str:
    """Return whether a system is better than the baseline, and what the queries show."""
    system, other = show_name(row.system), show_name(baseline)
    if row.n_pairs and not row.wins + row.losses:
        return f"{system} and {other} do not differ in any query"
    verdict = f"{system} is {row.outcome or 'better'} than {other}"
    interval = format_interval(
        row.difference_low, row.difference_high, signed=True, otherwise=row.reason and f"({row.reason})"
    )
    p_value = f"{'corrected ' * (row.p_corrected > row.p)}p {format_p_value(row.p_corrected)}"
    facts = f"{format_number(row.difference, signed=True)} {interval}, {p_value}"
    if row.significant:
        return f"{verdict}: {facts}"
    limit = f"; {row.n_pairs} queries detect {format_number(row.smallest_difference)} or more"
    return f"undecided whether {verdict}: {facts}{limit * (not math.isnan(row.smallest_difference))}"


def explain_contradictions(rows: Sequence[Any], settings: Settings) -> list[str]:
    """Return notes on the rows whose interval excludes 0 while the test finds no difference, or the other way round."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        excludes_0 = row.difference_low > 0 or row.difference_high < 0
        if math.isnan(row.p) or math.isnan(row.difference_low) or excludes_0 == row.significant:
            continue
        if not excludes_0 and settings.alternative != "two-sided":
            reason = "significant, though the interval has 0 inside: the test is one-sided, the interval is two-sided"
        elif not excludes_0:
            reason = "significant, though the interval has 0 inside: " + (
                "the interval allows for differences that no query shows yet, and the test does not. Nor does "
                "interval='t'"
                if settings.interval in ("auto", "betting")
                else AT_LIMIT
            )
        elif settings.is_significant(row.p):
            reason = (
                "not significant, though the interval excludes 0: p is corrected for the number of tests, the "
                "interval is not"
            )
        elif settings.alternative != "two-sided" and (row.outcome == "better") != (settings.alternative == "greater"):
            reason = f"not significant, though the interval excludes 0: the alternative is {settings.alternative!r}"
        else:
            reason = f"not significant, though the interval excludes 0: {AT_LIMIT}"
        reasons.setdefault(reason, []).append(f"{show_name(row.system)} ({show_name(row.metric)})")
    return [f"{', '.join(names[:MOST_NAMED])}{_count_others(names)}: {reason}" for reason, names in reasons.items()]


def explain_smallest_p_values(rows: Sequence[Row], settings: Settings) -> list[str]:
    """Return notes on the rows whose queries with a difference cannot give a p-value below the level."""
    names: dict[str, list[str]] = {}
    limited = [row for row in rows if not math.isnan(row.smallest_p) and not settings.is_significant(row.smallest_p)]
    for row in sorted(limited, key=lambda row: row.smallest_p):
        reason = f"too few queries differ for a p below {format_p_value(row.smallest_p)}"
        differs = row.difference if math.isnan(row.wins) else row.wins + row.losses  # NaN without direction
        reason = reason if differs else "no query differs"
        names.setdefault(reason, []).append(f"{show_name(row.system)} ({show_name(row.metric)})")
    return [f"{', '.join(some[:MOST_NAMED])}{_count_others(some)}: {reason}" for reason, some in names.items()]


def _count_others(names: Sequence[str]) -> str:
    return f" and {len(names) - MOST_NAMED} others" if len(names) > MOST_NAMED else ""


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
            Column("won/tied/lost", lambda row: row.counts),
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
