"""compare: differences of systems whose runs are Spark's DataFrames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from fastndcg.choices import Alternative, ConventionName, Correction, Family, PartInterval
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.messages import answer_keywords
from fastndcg.integrations.polars import parse_query_metrics
from fastndcg.integrations.spark.columns import (
    check_names,
    check_partitions,
)
from fastndcg.integrations.spark.evaluate import join_sides, make_request, refuse_disjoint
from fastndcg.integrations.spark.partitions import SCHEMA, PairsTask, Request, add_up_parts
from fastndcg.metrics.metric import Metrics, check_direction
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import PartialSums
from fastndcg.results.notes import describe_missing, notes_on_systems
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics import significance
from fastndcg.statistics.compare import find_baseline
from fastndcg.statistics.detection import (
    DetectableDifference,
    Equivalence,
    find_smallest_differences,
    run_equivalence_tests,
)
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
from fastndcg.statistics.result_rows import (
    PairSummary,
    Row,
    SystemSummary,
    explain_contradictions,
    make_columns,
    make_rows,
)
from fastndcg.statistics.settings import PART_INTERVALS, Settings
from fastndcg.statistics.significance import Significance
from fastndcg.statistics.table import Column, Table


class SparkComparison(Table[Row]):
    """
    A table with one row per metric and system (see `fn.compare`). Values of single queries are not kept.

    Wins, ties and losses cannot be added up in parts. They are NaN unless all values are 0 and 1.

    Parameters
    ----------
    rows, columns, notes
        Those of a table.
    baseline : str
        The name of the baseline.
    settings : Settings
        Methods and level.
    convention : Convention
        The convention of all systems.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        columns: Sequence[Column],
        notes: Sequence[str],
        baseline: str,
        settings: Settings,
        convention: Convention,
    ) -> None:
        super().__init__(rows, columns, notes)
        self.baseline = baseline
        self.settings = settings
        self.convention = convention

    def equivalence(self, margin: float) -> Table[Equivalence]:
        """Test whether each system is equivalent to the baseline. See `fastndcg.Comparison.equivalence`."""
        return run_equivalence_tests(self.rows, self.baseline, margin, self.settings, [self.convention])

    def smallest_difference(self, power: float = 0.8) -> Table[DetectableDifference]:
        """Return the smallest true differences that are detected. See `fastndcg.Comparison.smallest_difference`."""
        return find_smallest_differences(self.rows, self.baseline, power, self.settings)


@answer_keywords
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
    correction, family, alternative, level
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
        interval=interval, test="t", correction=correction, family=family, alternative=alternative, level=level
    )
    if interval not in PART_INTERVALS:
        raise InvalidInputError(
            f"`interval` must be 'auto' or 't' for data in parts, got {shorten(interval)}. For other intervals, "
            "collect the values of spark.evaluate with per_query=True."
        )
    names = _check_systems(systems)
    place = names.index(find_baseline(baseline, systems))
    columns = {"query": query, "document": document, "label": label, "score": score, "order": order}
    own_names = check_names(columns)
    request = make_request(metrics, convention, False, None)
    parse_query_metrics(request.metrics, request.convention)
    if alternative != "two-sided":
        check_direction(request.metrics, "a one-sided test")
    rows, sides = join_sides(qrels, systems, own_names, request, order)
    data = rows.repartition(*filter(None, [check_partitions(partitions)]), "query")
    task = PairsTask(request, sides, names, place, order is not None)
    sums, largest, notes = add_up_parts(data.mapInArrow(task, SCHEMA).collect())
    if sums is None or largest is None:
        refuse_disjoint()
    return _Summary(request, names, place, settings).tabulate(sums, largest, notes)


class _Summary(NamedTuple):
    """The table of a comparison from the sums of all tasks."""

    request: Request
    systems: tuple[str, ...]
    baseline: int
    settings: Settings

    def tabulate(self, sums: PartialSums, largest: Array, own_notes: tuple[str, ...]) -> SparkComparison:
        """Return the rows of all metrics and systems."""
        self._check_queries(sums)
        n_metrics = len(self.request.metrics)
        ranges = [self._find_range(sums, column) for column in range(len(self.systems) * n_metrics)]
        other_places = [place for place in range(len(self.systems)) if place != self.baseline]
        summaries: list[SystemSummary] = []
        for metric, system in product(range(n_metrics), range(len(self.systems))):
            own = ranges[system * n_metrics + metric]
            mean, _ = self._summarize(sums, system * n_metrics + metric, [own], 0.0)
            pair = None
            if system != self.baseline:
                column = (len(self.systems) + other_places.index(system)) * n_metrics + metric
                both = [own, ranges[self.baseline * n_metrics + metric]]
                sign = self.request.metrics[metric].sign
                gain, moments = self._summarize(sums, column, both, TIE_TOLERANCE * float(largest[metric]), sign)
                pair = PairSummary.of_gain(moments, gain, self._test(moments), sign)
            summaries.append(SystemSummary(system, metric, mean, pair))
        names = [str(metric) for metric in self.request.metrics]
        rows = make_rows(self.systems, names, summaries, sums.counts["n_queries"], self.settings)
        pairs = [summary.pair for summary in summaries]
        unknown: Any = math.nan
        rows = tuple(
            row if pair is None or pair.moments.is_binary else row._replace(wins=unknown, ties=unknown, losses=unknown)
            for row, pair in zip(rows, pairs, strict=True)
        )
        intervals = [summary.interval for summary in summaries] + [pair.interval for pair in pairs if pair is not None]
        notes = self._note(sums, {interval.method for interval in intervals})
        baseline = self.systems[self.baseline]
        columns = make_columns(self.settings, baseline)[:-1]  # without wins
        notes += [*own_notes, *explain_contradictions(rows, self.settings)]
        return SparkComparison(rows, columns, notes, baseline, self.settings, self.request.convention)

    def _find_range(self, sums: PartialSums, column: int) -> Range:
        """Return the range of one system's values of a metric."""
        metric = self.request.metrics[column % len(self.request.metrics)]
        return find_range(sums.sums[column], sums.squares[column], find_bounds(metric, self.request.convention))

    def _summarize(
        self, sums: PartialSums, column: int, ranges: Sequence[Range], threshold: float, sign: int = 1
    ) -> tuple[Interval, Moments]:
        """Return the interval and the moments of one column of values, or of gains between values in two ranges."""
        total = sums.sums[column]
        squares = sums.squares[column]
        is_difference = len(ranges) == 2
        moments = add_range(summarize_exact_sums(total, squares, threshold), ranges, is_difference=is_difference)
        if is_difference and moments.is_binary:
            moments = count_binary_wins(moments, total, squares)
        elif is_difference and moments.is_constant and abs(moments.mean) > threshold:
            moments = moments._replace(wins=moments.n_queries)  # all differ, so that no test can use their spread
        if sign < 0:
            moments = moments.turn()
        return summarize_moments(moments, level=self.settings.level, method=self.settings.interval), moments

    def _test(self, moments: Moments) -> Significance:
        if moments.reason:
            return Significance(math.nan, reason=moments.reason)
        if moments.is_constant:
            return significance.judge_constant_differences(moments)
        return significance.run_t_test(moments, self.settings)

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
            if n_missing:
                notes.append(f"{show_name(name)}: {n_missing} of the queries are missing, and left out")
        missing = {
            name: describe_missing(
                sums.counts[f"n_missing_in_run {place}"],
                sums.counts[f"n_missing_in_qrels {place}"],
                self.request.convention,
            )
            for place, name in enumerate(self.systems)
        }
        return notes + notes_on_systems(missing)


def _check_systems(systems: Any) -> tuple[str, ...]:
    if not isinstance(systems, Mapping) or not all(isinstance(name, str) and name for name in systems):
        raise InvalidTypeError(f"`systems` must be {{name: DataFrame}}, got {shorten(systems)}. Give each run a name.")
    if len(systems) < 2:
        raise InvalidInputError(
            f"`systems` must have two systems or more, got {len(systems)}. For one system, take spark.evaluate."
        )
    return tuple(systems)
