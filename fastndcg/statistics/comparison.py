"""Comparison: the result of `compare`, with its tables, reports and plots."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import PlotKind
from fastndcg.errors import InvalidInputError, join_names, shorten, suggest_name
from fastndcg.exports import Printable, PrintedTable, write_whole
from fastndcg.inputs.messages import Options
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.notes import notes_on_results
from fastndcg.results.per_query import keep_known
from fastndcg.results.results import Results
from fastndcg.runtime import upper_floors
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.alignment import AlignedValues, align
from fastndcg.statistics.all_pairs import Pair, make_pair_columns, make_pair_settings, run_pair_tests
from fastndcg.statistics.curves import (
    CURVE_COLUMNS,
    NO_CURVES,
    CurvePoint,
    at_all_cutoffs,
    compute_points,
    find_curve_metrics,
)
from fastndcg.statistics.detection import (
    DetectableDifference,
    Equivalence,
    find_smallest_differences,
    run_equivalence_tests,
)
from fastndcg.statistics.moments import find_bounds
from fastndcg.statistics.one_system import describe_intervals, list_segments, split_segments
from fastndcg.statistics.result_rows import (
    STARS,
    Row,
    SegmentRow,
    SystemSummary,
    describe_result,
    explain_contradictions,
    explain_smallest_p_values,
    make_columns,
    make_rows,
    make_segment_columns,
    make_segment_rows,
    summarize_systems,
)
from fastndcg.statistics.sampling_design import Design, read_for_queries, select_queries
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import (
    bound_p_values,
    check_test_fits_design,
    count_needed_replicates,
)
from fastndcg.statistics.table import Table, format_p_value

TEST_NAMES = {
    "randomization": "sign-flip randomisation test",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "bootstrap": "paired bootstrap test",
    "tukey": "Tukey HSD by randomisation, all pairs of a metric",
}
RANDOM_TESTS = ("randomization", "bootstrap", "tukey")  # tests that use replicates and a seed
FAMILY_NAMES = {"table": "the table", "metric": "a metric"}
CORRECTION_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini–Hochberg"}


class ComparedInputs(NamedTuple):
    """
    References to the inputs of `compare`, for reports that list the documents of queries, and for curves.

    `truth` is None if all systems are finished results or rankings. `options` are the offsets, groups or query ids.
    `evaluate` returns the results of all systems in other metrics.
    """

    truth: Any
    predictions: Mapping[str, Any]
    options: Options
    convention: Convention
    evaluate: Callable[[tuple[Metric, ...]], Mapping[str, Results]]


class Comparison(Printable):
    """
    The comparison of systems with a baseline, query by query. `compare` returns it.

    The parameters `results`, `baseline`, `design`, `settings` and `inputs`
    are attributes, too. A pickle leaves `inputs` out.

    A comparison is equal only to itself. Compare the `rows` of two comparisons. Frames have every field of `rows`, CSV
    has the settings too, and JSON also has curves.

    Parameters
    ----------
    results : dict of Results
        The results of each system, by its name.
    aligned : AlignedValues
        The values of all systems for the same queries and metrics.
    baseline : str
        The name of the baseline.
    design : Design
        The weights, clusters and strata of the queries.
    settings : Settings
        Methods, level, replicates and seed.
    inputs : ComparedInputs, optional
        The truth and the predictions, for the documents of queries in reports, and for curves.
    weighted : ((n,) array, (n_queries,) int array), optional
        All ids, and the indices of those with a weight above 0, which `aligned` has. By default there are no others.
    notes : sequence of str, optional
        Notes on values of queries that are not compared.

    Attributes
    ----------
    systems : tuple of str
        The names of the systems.
    metrics : tuple of Metric
        The compared metrics.
    query_ids : (n_queries,) array
        The ids of all queries, without those of weight 0.
    columns : list of (n_queries, n_metrics) float64 array
        The values of each system, in the order of `query_ids`.
    n_missing : dict of int
        The number of queries that each system lacks.
    rows : tuple of Row
        The statistics of each metric and system.

    Examples
    --------
    >>> labels = {"old": [[0, 1], [1, 0]], "new": [[1, 0], [1, 0]]}
    >>> results = {name: fn.evaluate(rows, [[2, 1]] * 2, "rr") for name, rows in labels.items()}
    >>> comparison = fn.compare(results)
    >>> [(row.system, row.mean, row.difference) for row in comparison.rows]
    [('old', 0.75, nan), ('new', 1.0, 0.25)]
    """

    def __init__(
        self,
        results: Mapping[str, Results],
        aligned: AlignedValues,
        baseline: str,
        design: Design,
        settings: Settings,
        *,
        inputs: ComparedInputs | None = None,
        weighted: tuple[Array, Array] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.results = dict(results)
        self.systems = tuple(results)
        self.baseline = baseline
        self.metrics = aligned.metrics
        self.query_ids = aligned.query_ids
        self.columns = aligned.columns
        self.n_missing = dict(zip(self.systems, aligned.n_missing, strict=True))
        self.settings = settings
        self._weighted = (self.query_ids, np.arange(len(self.query_ids))) if weighted is None else weighted
        self.design = design
        self._notes_on_extra = list(notes)
        self.inputs = inputs
        self._pairs: dict[str, list[list[Pair]]] = {}
        conventions = [result.convention for result in self.results.values()]
        self._bounds = [find_bounds(metric, *conventions) for metric in self.metrics]
        self._signs = [metric.sign for metric in self.metrics]
        place = self.systems.index(baseline)
        about = settings, self._bounds, self._signs
        summaries = summarize_systems(self.columns, place, design, *about, with_tests=True)
        self._methods = _list_methods(summaries)
        self.rows = make_rows(self.systems, self._metric_names, summaries, len(self.query_ids), settings)

    def table(self) -> Table[Row]:
        """
        Return means and differences with intervals, p-values and wins as a table.

        Returns
        -------
        Table of Row
            One row per metric and system.
        """
        return Table(self.rows, make_columns(self.settings, self.baseline), self.notes)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which system is better in each metric, by how much, and how sure that is: a sentence for each."""
        n = len(self.systems)
        blocks = [self.rows[first : first + n] for first in range(0, len(self.rows), n)]
        return tuple(describe_result(rows, self.baseline) for rows in blocks)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes below the table: the settings, and the queries and tests that need attention."""
        counts = f"{len(self.query_ids)} queries; baseline {show_name(self.baseline)}; convention {self.convention}"
        return (
            counts,
            self._describe_intervals(),
            describe_test(self.settings, "tests"),
            *self._notes_on_replicates(),
            *self.remarks,
        )

    def smallest_p_values(self) -> tuple[float, float, int] | None:
        """
        Return the smallest p-values that the number of replicates can give.

        Returns
        -------
        (float, float, int) or None
            The smallest p-value, the smallest corrected p-value, and the number of replicates from which three stars
            are possible. None if no test uses replicates.
        """
        tested = [row for row in self.rows if not math.isnan(row.p)]
        if self.settings.test not in RANDOM_TESTS or all(row.exact for row in tested):
            return None
        smallest, corrected = bound_p_values(
            np.array([row.p for row in tested]),
            np.array([not row.exact for row in tested]),
            [self._metric_names.index(row.metric) for row in tested],
            self.settings,
        )
        return smallest, corrected, count_needed_replicates(STARS[0][0], corrected, self.settings)

    def _notes_on_replicates(self) -> list[str]:
        """Return a note if the number of replicates makes three stars impossible."""
        bounds = self.smallest_p_values()
        if bounds is None or bounds[1] < STARS[0][0]:
            return []
        corrected = f", corrected at least {format_p_value(bounds[1])}" if self.settings.is_corrected else ""
        return [
            f"{self.settings.replicates} replicates: p is at least {format_p_value(bounds[0])}{corrected}; three stars "
            f"need {bounds[2]} replicates or more"
        ]

    @property
    def remarks(self) -> tuple[str, ...]:
        """
        The notes on weights, queries and rows that need attention, without the settings.

        They have the notes of the results, such as on a run without any judged document. They say where too few queries
        differ for a small p-value, where an interval and a p-value seem to contradict each other, and where a
        difference has an interval but no p-value. Each has the reason.
        """
        return (
            *self._notes_on_extra,
            *self._notes_on_conventions(),
            *self._notes_on_weights(),
            *self._notes_on_queries(),
            *explain_smallest_p_values(self.rows, self.settings),
            *explain_contradictions(self.rows, self.settings),
            *self._untested_notes(),
        )

    def _untested_notes(self) -> list[str]:
        return [
            f"{show_name(row.system)}, {show_name(row.metric)}: no p-value, since {row.reason}"
            for row in self.rows
            if row.reason and not math.isnan(row.difference_low)
        ]

    @property
    def convention(self) -> str:
        """The name of the convention of all systems, or of each system if they differ."""
        names = {name: result.convention.name for name, result in self.results.items()}
        if len(set(names.values())) == 1:
            return names[self.baseline]
        return ", ".join(f"{convention} ({show_name(name)})" for name, convention in names.items())

    def by(self, segments: Any) -> Table[SegmentRow]:
        """
        Compare the systems within each segment.

        Parameters
        ----------
        segments : (n_queries,) array or {query id: segment}
            The segment of each query.

        Returns
        -------
        Table of SegmentRow
            One row per segment, metric and system.

        Raises
        ------
        InvalidInputError
            If there is not one segment per query.

        Examples
        --------
        >>> results = {
        ...     "old": fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr"),
        ...     "new": fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1], [1, 2]] * 2, "rr"),
        ... }
        >>> table = fn.compare(results).by(["long", "long", "short", "short"])
        >>> [(row.segment, row.system, row.mean) for row in table]
        [('long', 'old', 0.75), ('long', 'new', 1.0), ('short', 'old', 0.75), ('short', 'new', 1.0)]
        """
        own, extra_notes = self._read_segments(segments)
        baseline = self.systems.index(self.baseline)
        rows: list[SegmentRow] = []
        methods: set[str] = set()
        for name, queries in split_segments(own, list_segments(segments)):
            design = select_queries(self.design, queries, self.query_ids)
            columns = [column[queries] for column in self.columns]
            about = self.settings, self._bounds, self._signs
            summaries = summarize_systems(columns, baseline, design, *about, with_tests=False)
            methods |= _list_methods(summaries)
            rows += make_segment_rows(name, self.systems, self._metric_names, summaries)
        notes = [describe_intervals(self.settings, methods), *extra_notes]
        return Table(rows, make_segment_columns(self.settings, self.baseline), notes)

    def curves(self, metrics: Metrics | None = None) -> Table[CurvePoint]:
        """
        Return means at several cutoffs, with intervals.

        Parameters
        ----------
        metrics : str, Metric, or iterable of them, optional
            Metrics to evaluate at cutoffs from 1 to 100, such as "ndcg", beside the compared ones that have three
            cutoffs or more. Systems are evaluated again. Ranking down to rank 100 takes several times as long as
            nDCG@10 alone.

        Returns
        -------
        Table of CurvePoint
            One row per metric, cutoff and system.

        Raises
        ------
        InvalidInputError
            If a system is `Results` without these cutoffs, or the inputs have changed.

        Examples
        --------
        >>> qrels = {q: {"d1": 1} for q in "abcd"}
        >>> runs = {"old": dict.fromkeys("abcd", ["d2", "d1"]), "new": dict.fromkeys("abcd", ["d1"])}
        >>> comparison = fn.compare(qrels, runs, "rr")
        >>> [(point.system, point.k, point.mean) for point in comparison.curves("recall")][:4]
        [('old', 1, 0.0), ('new', 1, 1.0), ('old', 2, 1.0), ('new', 2, 1.0)]
        """
        requested = () if metrics is None else at_all_cutoffs(parse_metrics(metrics))
        selected = find_curve_metrics(tuple(dict.fromkeys((*self.metrics, *requested))))
        if not selected:
            return Table((), CURVE_COLUMNS, [NO_CURVES])
        conventions = [result.convention for result in self.results.values()]
        bounds = [find_bounds(metric, *conventions) for metric in selected]
        about = bounds, self.design, self.settings.level
        points = compute_points(self.systems, self._evaluate(selected), selected, *about)
        return Table(points, CURVE_COLUMNS, [f"intervals at the level {self.settings.level:g}"])

    def equivalence(self, margin: float) -> Table[Equivalence]:
        """
        Test whether each system is equivalent to the baseline: two one-sided t tests (D. J. Schuirmann 1987).

        Parameters
        ----------
        margin : float
            The largest difference that does not matter, above 0 and below the metric's range.

        Returns
        -------
        Table of Equivalence
            One row per metric and system but the baseline. ``equivalent`` is True if p, which is not corrected, is
            below 1 − level.

        Raises
        ------
        InvalidInputError
            If the margin is out of range.
        MissingPackageError
            If SciPy is not installed.

        Examples
        --------
        >>> results = {name: fn.evaluate([[1, 0]] * 9, [[2, 1]] * 9, "rr") for name in ("old", "new")}
        >>> [(row.system, row.p, row.equivalent) for row in fn.compare(results).equivalence(0.01)]
        [('new', 0.0, True)]
        """
        conventions = [result.convention for result in self.results.values()]
        return run_equivalence_tests(self.rows, self.baseline, margin, self.settings, conventions)

    def smallest_difference(self, power: float = 0.8) -> Table[DetectableDifference]:
        """
        Return the smallest true differences that these queries detect, as `rows` have them for a power of 0.8.

        Parameters
        ----------
        power : float
            The power of a paired t test in the direction of the alternative, at the level that the correction leaves
            for one test: from 0.01 to 0.999999.

        Returns
        -------
        Table of DetectableDifference
            One row per metric and system but the baseline.

        Raises
        ------
        InvalidInputError
            If the power is out of range.
        MissingPackageError
            If SciPy is not installed.

        Examples
        --------
        >>> labels = {"old": [[0, 1], [1, 0]] * 9, "new": [[1, 0], [1, 0]] * 9}
        >>> results = {name: fn.evaluate(rows, [[2, 1]] * 18, "rr") for name, rows in labels.items()}
        >>> [(row.system, round(row.smallest_difference, 4)) for row in fn.compare(results).smallest_difference(0.9)]
        [('new', 0.2087)]
        """
        return find_smallest_differences(self.rows, self.baseline, power, self.settings)

    def all_pairs(self, metric: str | Metric | None = None, *, test: str | None = "tukey") -> Table[Pair]:
        """
        Test every pair of systems, by default by Tukey's honestly significant difference with randomisation.

        Parameters
        ----------
        metric : str or Metric, optional
            The metric to test. By default the first.
        test : str, optional
            A test of `compare`, or None for the test of this comparison. Tests are two-sided. The p-values of other
            tests than 'tukey' are corrected for all pairs of the metric.

        Returns
        -------
        Table of Pair
            One row per pair of systems, in ascending order of the p-value.

        Raises
        ------
        InvalidInputError
            If the metric is not compared, or the test does not exist or does not fit the weights and clusters.

        References
        ----------
        B. A. Carterette, 2012, doi:10.1145/2094072.2094076.

        Examples
        --------
        >>> values = {"a": [[0, 1]] * 12, "b": [[1, 0]] * 12, "c": [[1, 0]] * 12}
        >>> results = {name: fn.evaluate(labels, [[2, 1]] * 12, "rr") for name, labels in values.items()}
        >>> pairs = fn.compare(results, replicates=999).all_pairs()
        >>> [(pair.system, pair.against, pair.difference, pair.significant) for pair in pairs]
        [('a', 'b', -0.5, True), ('a', 'c', -0.5, True), ('b', 'c', 0.0, False)]
        """
        place = self._find_metric(self.metrics[0] if metric is None else metric)
        settings = make_pair_settings(replace(self.settings, test=self.settings.test if test is None else test))
        pairs = self._list_pairs(settings.test)[place]
        notes = [str(self.metrics[place])]
        if settings.test == "tukey":
            is_complete = ~np.isnan(np.stack([column[:, place] for column in self.columns])).any(axis=0)
            notes[0] += f", {np.count_nonzero(is_complete)} queries that all systems have"
        notes.append(describe_test(settings, "pairs"))
        ordered = sorted(pairs, key=lambda pair: math.inf if math.isnan(pair.p) else pair.p)
        return Table(ordered, make_pair_columns(settings), notes)

    def _list_pairs(self, test: str) -> list[list[Pair]]:
        """Return the pairs of systems for each metric, in the order of `systems`. The result is cached."""
        settings = make_pair_settings(replace(self.settings, test=test))
        check_test_fits_design(test, self.design)
        if test not in self._pairs:
            self._pairs[test] = run_pair_tests(self.systems, self.columns, self.design, settings)
        return self._pairs[test]

    def differences(self, system: str, metric: str | Metric) -> Array:
        """
        Return each query's difference of a system from the baseline.

        Parameters
        ----------
        system : str
            The name of the system.
        metric : str or Metric
            The metric.

        Returns
        -------
        (n_queries,) float64 array
            In the order of `query_ids`. NaN if the system or the baseline has no value.

        Raises
        ------
        InvalidInputError
            If the system or the metric is not compared.

        Examples
        --------
        >>> labels = {"old": [[0, 1], [1, 0]], "new": [[1, 0], [1, 0]]}
        >>> results = {name: fn.evaluate(rows, [[2, 1]] * 2, "rr") for name, rows in labels.items()}
        >>> fn.compare(results).differences("new", "rr")
        array([0.5, 0. ])
        """
        place = self._find_metric(metric)
        own = self.columns[self._find_system(system)][:, place]
        base = self.columns[self._find_system(self.baseline)][:, place]
        return np.asarray(own - base)

    def _describe_intervals(self) -> str:
        """Return how the intervals were computed: the level, and the names of the methods."""
        return describe_intervals(self.settings, self._methods)

    def _find_metric(self, metric: str | Metric) -> int:
        """Return the index of a metric in `metrics`. Raise InvalidInputError if it is not compared."""
        parsed = Metric.parse(metric) if isinstance(metric, str) else metric
        if parsed not in self.metrics:
            hint = suggest_name(str(parsed), self._metric_names)
            names = show_name(", ".join(self._metric_names))
            raise InvalidInputError(f"this comparison has no {parsed}.{hint} It has {names}.")
        return self.metrics.index(parsed)

    def _find_system(self, name: str) -> int:
        """Return the index of a system in `systems`. Raise InvalidInputError if it is not compared."""
        if name not in self.systems:
            hint = suggest_name(name, self.systems)
            raise InvalidInputError(
                f"this comparison has no system {shorten(name)}.{hint} It has {join_names(self.systems)}."
            )
        return self.systems.index(name)

    def to_dict(self) -> dict[str, dict[str, dict[str, Any]]]:
        """
        Return the fields of `rows` by system and metric.

        Returns
        -------
        dict
            ``{system: {metric: {field: value}}}``, with NaN for numbers that do not exist.

        Examples
        --------
        >>> results = {name: fn.evaluate([[1, 0]], [scores], "rr") for name, scores in (("a", [2, 1]), ("b", [1, 2]))}
        >>> fn.compare(results).to_dict()["b"]["RR"]["difference"]
        -0.5
        """
        rows: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in self.systems}
        for row in self.rows:
            fields = row._asdict()
            rows[row.system][row.metric] = {name: fields[name] for name in fields if name not in ("system", "metric")}
        return rows

    def _export_columns(self) -> Mapping[str, Any]:
        return self.table()._export_columns()

    def _print_table(self) -> PrintedTable:
        return self.table()._print_table()._replace(lead=self.sentences, rows_per_block=len(self.systems))

    def _json_pieces(self) -> Iterator[str]:
        yield upper_floors.find("as_json")(self)

    def _csv_pieces(self) -> Iterator[str]:
        yield upper_floors.find("as_csv")(self)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        segments: Any = None,
        queries: Mapping[Any, str] | None = None,
        curves: Metrics | None = None,
        margin: float | None = None,
        documents: bool = False,
        judge: Any = None,
        labels: Any = None,
    ) -> None:
        """
        Write the report as one HTML file that needs no network and no other file.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced when the page is complete, so that an error leaves it unchanged.
        title : str, optional
            The title of the page. By default it names the number of systems and the baseline.
        segments : (n_queries,) array or {query id: segment}, optional
            Kinds of queries, for a section of `by`.
        queries : {query id: text}, optional
            The texts of queries. Those without a text are listed by their ids.
        curves : str, Metric, or iterable of them, optional
            Metrics to draw against the cutoff, such as "ndcg", see `curves`.
        margin : float, optional
            The margin of `equivalence`, for a column with its p-values.
        documents : bool
            Whether the page has the documents behind the queries won and lost most, and a section on how many moved
            from the baseline to each system, see `explain_change`. They take most of its time and size: 17 systems in
            4 metrics take 14 s instead of 2, and 1.2 MB instead of 0.6.
        judge : path, dict, frame, Qrels or other judgments, optional
            A judge's labels of more queries, for a section of `estimate_with_judge` and `compare_judges`.
        labels : sequence of float, optional
            All labels that a judge may choose, for a section of `bounds`.

        Raises
        ------
        InvalidInputError
            If a text is no str, no query has a text, or segments, curves or margin are refused by their methods.
        MissingPackageError
            If Jinja is not installed.
        OSError
            If the file cannot be written.
        """
        extra = {"segments": segments, "queries": queries, "curves": curves, "margin": margin}
        extra |= {"judge": judge, "labels": labels}
        write_whole(path, [upper_floors.find("page")(self, title, **extra, documents=documents).encode()])

    def plot(
        self,
        kind: PlotKind = "forest",
        *,
        metric: str | Metric | None = None,
        curves: Metrics | None = None,
        system: str | None = None,
        axes: Any = None,
    ) -> Any:
        """
        Draw the comparison with matplotlib.

        Parameters
        ----------
        kind : {'forest', 'curve', 'histogram'}
            'forest': the difference of each system from the baseline, with its interval.
            'curve': a metric against its cutoff.
            'histogram': the differences of one system from the baseline, query by query.
        metric : str or Metric, optional
            The metric to draw. By default the first.
        curves : str, Metric, or iterable of them, optional
            Metrics to evaluate at cutoffs from 1 to 100, for a curve, see `curves`.
        system : str, optional
            The system of a histogram. By default the first that is not the baseline.
        axes : matplotlib Axes, optional
            The axes to draw on. By default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInputError
            If the kind does not exist, or the metric, curve or system is not compared.
        MissingPackageError
            If matplotlib is not installed.
        """
        return upper_floors.find("plot")(self, kind, metric, curves, system, axes)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"inputs": None}

    @property
    def _metric_names(self) -> list[str]:
        return [str(metric) for metric in self.metrics]

    def _read_segments(self, segments: Any) -> tuple[Array, list[str]]:
        """Return the segment of each compared query, and notes. Arrays also have queries of weight 0."""
        query_ids, weighted = self._weighted
        known, notes = keep_known(segments, "segments", query_ids)
        return read_for_queries(known, "segments", query_ids, weighted), notes

    def _evaluate(self, metrics: tuple[Metric, ...]) -> list[Array]:
        """Return the values of each system in metrics of curves, by evaluating again if a system lacks one."""
        results: Mapping[str, Results] = self.results
        if self.inputs is not None and any(not set(metrics) <= set(result.metrics) for result in results.values()):
            results = self.inputs.evaluate(metrics)
        for name, result in results.items():
            lacking = [metric for metric in metrics if metric not in result.metrics]
            if lacking:
                raise InvalidInputError(
                    f"a curve needs values at each cutoff, but the results of {shorten(name)} have no {lacking[0]}, "
                    "and there are no predictions to evaluate. Pass these to compare in place of results."
                )
        query_ids, weighted = self._weighted
        aligned = align(results, metrics)
        if not np.array_equal(aligned.query_ids, query_ids):
            raise InvalidInputError("the inputs have changed since they were compared. Compare them again.")
        return [column[weighted] for column in aligned.columns]

    def _notes_on_conventions(self) -> list[str]:
        """Return a note that names the conventions, if there are several."""
        distinct = {result.convention for result in self.results.values()}
        note = f"differences are between conventions, too: {self.convention}. Evaluate all systems under one"
        return [note] * (len(distinct) > 1)

    def _notes_on_weights(self) -> list[str]:
        """Return a note on queries of weight 0, and on the effective number of queries."""
        notes: list[str] = []
        n_left_out = len(self._weighted[0]) - len(self.query_ids)
        if n_left_out:
            notes.append(f"weights: {n_left_out} of the queries have the weight 0, and are left out")
        if self.design.weights is not None:
            least = min(self.rows, key=lambda row: row.n_effective)
            notes.append(f"weights: {least.n} queries count like {least.n_effective:.1f} of equal weight (Kish)")
        return notes

    def _notes_on_queries(self) -> list[str]:
        """Return the notes on queries that are missing or have no value, and the notes of the results."""
        notes = [
            f"{show_name(name)}: {n} of the queries are missing, and left out of its differences"
            for name, n in self.n_missing.items()
            if n
        ]
        notes += notes_on_results(self.results, self.metrics)
        for place, metric in enumerate(self.metrics):
            n_undefined = [int(np.count_nonzero(np.isnan(column[:, place]))) for column in self.columns]
            if any(n_undefined):
                counts = " to ".join(map(str, sorted({min(n_undefined), max(n_undefined)})))
                notes.append(f"{metric}: {counts} of the queries have no value, and are left out")
        return notes


def _list_methods(summaries: Sequence[SystemSummary]) -> set[str]:
    """Return the methods of the intervals of means and differences."""
    means = {summary.interval.method for summary in summaries}
    return means | {summary.pair.interval.method for summary in summaries if summary.pair is not None}


def describe_test(settings: Settings, unit: str) -> str:
    """Return the note on a test and its correction. `unit` is what the correction counts, such as 'tests'."""
    test = f"p: {TEST_NAMES[settings.test]}, {settings.alternative}"
    if settings.test == "tukey" and unit == "pairs":
        test = f"p: {TEST_NAMES[settings.test]}"
    if settings.test in RANDOM_TESTS:
        test += f", {settings.replicates} replicates, seed {settings.seed}"
    if settings.is_corrected:
        test += f"; {CORRECTION_NAMES[settings.correction]} over all {unit} of {FAMILY_NAMES[settings.family]}"
    return test
