"""compare: differences of systems whose runs are Spark's DataFrames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import Alternative, ConventionName, Correction, Family, PartInterval
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten, suggest_name
from fastndcg.evaluation import parse_request
from fastndcg.integrations.list_columns import parse_query_metrics
from fastndcg.integrations.spark.columns import (
    bring_together,
    check_id_types,
    check_names,
    check_number,
    check_ties,
    read_side,
)
from fastndcg.integrations.spark.errors import name_system
from fastndcg.integrations.spark.evaluate import collect_parts, make_request, refuse_disjoint, split_names
from fastndcg.integrations.spark.partitions import PairsTask, Request
from fastndcg.metrics.metric import Metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.results.partial import PartialSums
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics import significance
from fastndcg.statistics.corrections import correct_in_families, find_corrected_level
from fastndcg.statistics.intervals import Interval, summarize_moments
from fastndcg.statistics.moments import (
    TIE_TOLERANCE,
    Moments,
    Range,
    add_range,
    count_binary_wins,
    find_bounds,
    find_range,
    summarize_exact_sums,
)
from fastndcg.statistics.one_system import describe_intervals
from fastndcg.statistics.power import compute_smallest_difference
from fastndcg.statistics.result_rows import explain_contradictions
from fastndcg.statistics.settings import PART_INTERVALS, Settings
from fastndcg.statistics.significance import Significance
from fastndcg.statistics.table import Column, Table, format_interval, format_number, format_p_value


class SystemRow(NamedTuple):
    """
    One system's mean of a metric, and its difference from the baseline over the queries that both have.

    Fields are those of the rows of `fn.compare` that can be added up in parts. Numbers that do not exist are NaN.
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
    significant: bool
    effect: float
    smallest_difference: float
    reason: str


class SparkComparison(Table[SystemRow]):
    """A table with one row per metric and system (see `fn.compare`). Values of single queries are not kept."""


def compare(
    qrels: Any,
    systems: Mapping[str, Any],
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    query: str | None = None,
    document: str | None = None,
    label: str | None = None,
    score: str | None = None,
    order: str | None = None,
    convention: ConventionName | str | Convention = "default",
    interval: PartInterval = "auto",
    correction: Correction = "holm",
    family: Family = "table",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    power: float = 0.8,
    partitions: int | None = None,
) -> SparkComparison:
    """
    Compare systems with a baseline in Spark's tasks, with the same numbers as `fn.compare` with test='t'.

    All systems are evaluated in one job. Each difference has a paired t test. Other tests need the values of single
    queries: collect those of `evaluate` with ``per_query=True``.

    Parameters
    ----------
    qrels : DataFrame
        The judgments.
    systems : {name: DataFrame}
        The runs of two systems or more.
    metrics : str, Metric, or iterable of them, optional
        See `fn.evaluate`.
    baseline : str, optional
        The name of the system that the others are compared with. By default the first.
    query, document, label, score, order, convention
        See `evaluate`.
    interval : {'auto', 't'}, default 'auto'
        The kind of confidence interval, from exact moments. See `fn.compare`.
    correction, family, alternative, level, power
        See `fn.compare`.
    partitions : int, optional
        See `evaluate`.

    Returns
    -------
    SparkComparison
        A table with one row per metric and system.

    Raises
    ------
    InvalidInputError
        If the data break a rule, there are fewer than two systems, or none has the baseline's name.
    MissingPackageError
        If PySpark, pyarrow or SciPy is not installed.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from fastndcg.integrations import spark
    >>> session = SparkSession.builder.master("local[1]").getOrCreate()
    >>> qrels = session.createDataFrame([(q, "d1", 1) for q in "abcd"], ["query", "document", "label"])
    >>> old = session.createDataFrame([(q, "d1", 0.1) for q in "ab"], ["query", "document", "score"])
    >>> new = session.createDataFrame([(q, "d1", 0.1) for q in "abcd"], ["query", "document", "score"])
    >>> comparison = spark.compare(qrels, {"old": old, "new": new}, "rr", baseline="old")
    >>> [(row.system, row.mean, row.difference) for row in comparison]
    [('old', 0.5, nan), ('new', 1.0, 0.5)]
    """
    settings = Settings(
        interval=interval, test="t", correction=correction, family=family, alternative=alternative, level=level,
        power=power,
    )  # fmt: skip
    if interval not in PART_INTERVALS:
        raise InvalidInputError(
            f"`interval` must be 'auto' or 't' for data in parts, got {shorten(interval)}. For other intervals, "
            "collect the values of spark.evaluate with per_query=True."
        )
    names = _check_systems(systems)
    place = _find_baseline(baseline, names)
    columns = {"query": query, "document": document, "label": label, "score": score, "order": order}
    qrels_names, run_names = split_names(check_names(columns))
    request = make_request(metrics, convention, False, None)
    parse_query_metrics(request.metrics, parse_convention(convention))
    check_ties(parse_request(request.metrics, request.convention).qrels_convention, order)
    sides = [read_side(qrels, qrels_names, "qrels")]
    for name, run in systems.items():
        with name_system(name):
            sides.append(read_side(run, run_names, "run", order))
            check_id_types(sides[0], sides[-1])
    n_partitions = filter(None, [check_number(partitions, "partitions")])
    data = bring_together(sides[0], sides[1:]).repartition(*n_partitions, "query")
    task = PairsTask(request, tuple(side.names for side in sides), names, place, order is not None)
    sums, largest = collect_parts(data, task)
    if sums is None or largest is None:
        refuse_disjoint()
    return _Summary(request, names, place, settings).tabulate(sums, np.frombuffer(largest, "<f8"))


class _Summary(NamedTuple):
    """The table of a comparison from the sums of all tasks."""

    request: Request
    systems: tuple[str, ...]
    baseline: int
    settings: Settings

    def tabulate(self, sums: PartialSums, largest: Array) -> SparkComparison:
        """Return the rows of all metrics and systems."""
        self._check_queries(sums)
        n_metrics = len(self.request.metrics)
        ranges = [self._find_range(sums, column) for column in range(len(self.systems) * n_metrics)]
        other_places = [place for place in range(len(self.systems)) if place != self.baseline]
        rows: list[tuple[int, Interval, Moments, Interval | None, Significance]] = []
        places = list(product(range(n_metrics), range(len(self.systems))))
        for metric, system in places:
            own = ranges[system * n_metrics + metric]
            mean, moments = self._summarize(sums, system * n_metrics + metric, [own], 0.0)
            if system == self.baseline:
                rows.append((metric, mean, moments, None, Significance(math.nan)))
                continue
            column = (len(self.systems) + other_places.index(system)) * n_metrics + metric
            threshold = TIE_TOLERANCE * float(largest[metric])
            both = [own, ranges[self.baseline * n_metrics + metric]]
            difference, moments = self._summarize(sums, column, both, threshold)
            rows.append((metric, mean, moments, difference, self._test(moments)))
        p_values = np.array([row[4].p for row in rows])
        families = [row[0] for row in rows]
        corrected = correct_in_families(p_values, families, self.settings)
        levels = find_corrected_level(~np.isnan(p_values), families, len(self.systems), self.settings)
        n_queries = sums.counts["n_queries"]
        table = [
            self._make_row(self.systems[system], row, (float(p), float(level)), n_queries)
            for (_, system), row, p, level in zip(places, rows, corrected, levels, strict=True)
        ]
        intervals = [interval for row in rows for interval in (row[1], row[3]) if interval is not None]
        methods = {interval.method for interval in intervals}
        notes = self._note(sums, methods) + explain_contradictions(table, self.settings)
        return SparkComparison(table, _make_columns(self.systems[self.baseline], self.settings), notes)

    def _find_range(self, sums: PartialSums, column: int) -> Range:
        """Return the range of one system's values of a metric."""
        metric = self.request.metrics[column % len(self.request.metrics)]
        return find_range(sums.sums[column], sums.squares[column], find_bounds(metric, self.request.convention))

    def _summarize(
        self, sums: PartialSums, column: int, ranges: Sequence[Range], threshold: float
    ) -> tuple[Interval, Moments]:
        """Return the interval and the moments of one column of values, or of differences of values in two ranges."""
        total = sums.sums[column]
        squares = sums.squares[column]
        is_difference = len(ranges) == 2
        moments = add_range(summarize_exact_sums(total, squares, threshold), ranges, is_difference=is_difference)
        if is_difference and moments.is_binary:
            moments = count_binary_wins(moments, total, squares)
        elif is_difference and moments.is_constant and abs(moments.mean) > threshold:
            moments = moments._replace(wins=moments.n_queries)  # all differ, so that no test can use their spread
        return summarize_moments(moments, level=self.settings.level, method=self.settings.interval), moments

    def _test(self, moments: Moments) -> Significance:
        if moments.reason:
            return Significance(math.nan, reason=moments.reason)
        if moments.is_constant:
            return significance.judge_constant_differences(moments)
        return significance.run_t_test(moments, self.settings)

    def _make_row(
        self,
        system: str,
        parts: tuple[int, Interval, Moments, Interval | None, Significance],
        corrected: tuple[float, float],
        n_queries: int,
    ) -> SystemRow:
        p_corrected, level = corrected
        metric, mean, moments, difference, test = parts
        has_pairs = difference is not None
        return SystemRow(
            system=system,
            metric=str(self.request.metrics[metric]),
            n=mean.n,
            n_undefined=n_queries - mean.n,
            mean=mean.mean,
            low=mean.low,
            high=mean.high,
            n_pairs=0 if difference is None else difference.n,
            difference=math.nan if difference is None else difference.mean,
            difference_low=math.nan if difference is None else difference.low,
            difference_high=math.nan if difference is None else difference.high,
            p=test.p,
            p_corrected=p_corrected,
            significant=self.settings.is_significant(p_corrected),
            effect=moments.effect if has_pairs else math.nan,
            smallest_difference=(
                compute_smallest_difference(moments, level, self.settings.power, self.settings.alternative)
                if has_pairs
                else math.nan
            ),
            reason=mean.reason if difference is None else difference.reason or test.reason,
        )

    def _check_queries(self, sums: PartialSums) -> None:
        """Raise an error for a system without a common query, or without any value of a metric."""
        for place, name in enumerate(self.systems):
            if not sums.counts[f"n_common {place}"]:
                raise InvalidInputError(
                    f"system {shorten(name)}: qrels and run must have a query in common, but have none. Check that the "
                    "ids are written alike."
                )
            for column, metric in enumerate(self.request.metrics):
                if not sums.sums[place * len(self.request.metrics) + column].n:
                    raise InvalidInputError(
                        f"each system must have a value for some query, but {shorten(name)} has none of {metric}. "
                        "Check that its query ids are those of the truth."
                    )

    def _note(self, sums: PartialSums, methods: set[str]) -> list[str]:
        """Return the notes below the table."""
        notes = [
            f"{sums.counts['n_queries']} queries; baseline {show_name(self.systems[self.baseline])}; convention "
            f"{self.request.convention.name}",
            describe_intervals(self.settings, methods),
            f"p: paired t test, {self.settings.alternative}",
        ]
        for place, name in enumerate(self.systems):
            n_missing = sums.counts[f"n_missing {place}"]
            n_in_run = sums.counts[f"n_missing_in_run {place}"]
            if n_missing:
                notes.append(f"{show_name(name)}: {n_missing} of the queries are missing, and left out")
            if n_in_run:
                choice = self.request.convention.missing_in_run
                notes.append(f"{show_name(name)}: {n_in_run} judged queries are missing in the run ({choice})")
        return notes


def _check_systems(systems: Any) -> tuple[str, ...]:
    if not isinstance(systems, Mapping) or not all(isinstance(name, str) and name for name in systems):
        raise InvalidTypeError(f"`systems` must be {{name: DataFrame}}, got {shorten(systems)}. Give each run a name.")
    if len(systems) < 2:
        raise InvalidInputError(
            f"`systems` must have two systems or more, got {len(systems)}. For one system, take spark.evaluate."
        )
    return tuple(systems)


def _find_baseline(baseline: str | None, names: Sequence[str]) -> int:
    if baseline is None:
        return 0
    if baseline not in names:
        raise InvalidInputError(
            f"`baseline` must be the name of a system, got {shorten(baseline)}.{suggest_name(baseline, names)} There "
            f"are {join_names(names)}."
        )
    return names.index(baseline)


def _make_columns(baseline: str, settings: Settings) -> list[Column]:
    def hide(text: str, row: SystemRow) -> str:
        return "" if row.system == baseline else text

    level = f"{100 * settings.level:g} % interval"
    return [
        Column("system", lambda row: row.system, left=True),
        Column("metric", lambda row: row.metric, left=True),
        Column("mean", lambda row: format_number(row.mean)),
        Column(level, lambda row: format_interval(row.low, row.high)),
        Column("difference", lambda row: hide(format_number(row.difference, signed=True), row)),
        Column(
            level,
            lambda row: hide(
                format_interval(row.difference_low, row.difference_high, signed=True, otherwise=row.reason), row
            ),
        ),
        Column("p", lambda row: hide(format_p_value(row.p), row)),
        Column(f"p, {settings.correction}", lambda row: hide(format_p_value(row.p_corrected), row)),
    ]
