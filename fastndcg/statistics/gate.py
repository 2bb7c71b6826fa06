"""gate: decide whether a candidate may replace a baseline, from the paired differences of their queries."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from fastndcg import __version__
from fastndcg.choices import GateInterval, Verdict
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.evaluation import Evaluator
from fastndcg.exports import FilePath, PrintedTable, align_columns, deliver_text, dump_json, format_markdown
from fastndcg.forms.digests import compute_digest
from fastndcg.inputs.messages import answer_keywords
from fastndcg.inputs.records import read_once
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, Metrics, check_direction, is_metric, parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.parsing import as_float
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import MOST, Array
from fastndcg.results.kinds import PairResults, SpanResults, load_result
from fastndcg.results.notes import notes_on_results
from fastndcg.results.results import Results
from fastndcg.results.saved import is_saved_result
from fastndcg.runtime import upper_floors
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.alignment import align, check_aggregates_are_means, find_clusters, list_row_ids, refuse_means
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import (
    BOLDEST,
    NO_RANGE,
    NORMAL,
    compute_exact_upper_bound,
    convert_gain,
    find_betting_bounds,
    summarize_moments,
)
from fastndcg.statistics.moments import Moments, find_bounds, refuse_wide_margin
from fastndcg.statistics.sampling_design import read_design
from fastndcg.statistics.settings import GATE_INTERVALS, VERDICTS, Settings, check_choice
from fastndcg.statistics.significance import count_needed_queries, find_smallest_p_value
from fastndcg.statistics.table import Column, Table, format_interval, format_number

SIGNS = {"pass": "✅", "fail": "❌", "undecided": "❔", "not comparable": "⚠️"}
MOST_REGRESSED = 10  # queries that are printed
PLANNED_POWER = 0.8
BY_LIMIT = " by limit"  # behind a floor that a bound of the mean must reach
SAME_QUERIES = "Rank the same queries with both systems."


class GateRow(NamedTuple):
    """
    The verdict on one metric.

    Attributes
    ----------
    metric : str
    verdict : {'pass', 'fail', 'undecided', 'not comparable'}
    n : int
        The number of queries with a value in both.
    baseline, candidate : float
        The means over these queries.
    difference : float
        The mean difference, candidate − baseline.
    low, high : float
        One-sided bounds of the difference, each at the level of the gate. The one that lets the metric fail is
        corrected for the number of metrics: `high`, or `low` where lower values are better.
    margin : float
        The drop that is allowed, or the rise where lower values are better. NaN where a floor alone decides.
    floor : float
        The lowest mean that is allowed, or the highest where lower values are better. NaN for none.
    wins, losses : int
        The numbers of queries that are better and worse with the candidate.
    n_needed : int
        About how many queries would decide with power 0.8, if the difference and its spread stayed as they are. 0 where
        it is decided, or where no number would do.
    method : str
        The kind of interval.
    reason : str
        Why, in words.
    """

    metric: str
    verdict: Verdict
    n: int = 0
    baseline: float = math.nan
    candidate: float = math.nan
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    margin: float = math.nan
    floor: float = math.nan
    wins: int = 0
    losses: int = 0
    n_needed: int = 0
    method: str = ""
    reason: str = ""


class Regression(NamedTuple):
    """A query that is worse with the candidate: its id, the metric, and its values."""

    query: Any
    metric: str
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        """The difference, candidate − baseline: below 0, or above it where lower values are better."""
        return self.candidate - self.baseline


class Gate(Table[GateRow]):
    """
    The verdict on a candidate. `gate` returns it.

    Parameters are attributes, too.

    Parameters
    ----------
    rows : tuple of GateRow
        One a metric.
    regressed : tuple of Regression
        The queries that are worse in any metric, the largest loss first.
    notes : tuple of str
        How the verdict was found, and what needs attention.
    columns : two (n_queries, n_metrics) float64 arrays
        The values of the baseline and of the candidate.
    changes : tuple of Change
        Of each metric that failed, the account of its change by `explain_change`. Empty if one of the two was given as
        results, which have no documents, or queries have weights.

    Attributes
    ----------
    verdict : {'pass', 'fail', 'undecided', 'not comparable'}
        'fail' if a metric fails, else 'not comparable' if the two cannot be compared, else 'undecided' if a metric is,
        else 'pass'.

    Examples
    --------
    >>> qrels = {query: {"a": 1, "b": 0} for query in "abcdefgh"}
    >>> old = {query: {"a": 2, "b": 1} for query in qrels}
    >>> new = {query: {"a": 1, "b": 2} for query in qrels}
    >>> result = fn.gate(qrels, old, new, "rr", margin=0.1)
    >>> result.verdict, len(result.regressed)
    ('fail', 8)
    """

    def __init__(
        self,
        rows: Sequence[GateRow],
        regressed: Sequence[Regression],
        notes: Sequence[str],
        columns: tuple[Array, Array],
        changes: Sequence[Any] = (),
    ) -> None:
        self.changes = tuple(changes)
        self.rows = tuple(rows)
        self.regressed = tuple(regressed)
        self.notes = tuple(notes)
        self.columns = columns
        found = {row.verdict for row in rows}
        self.verdict: Verdict = next(verdict for verdict in VERDICTS if verdict in found)

    def __bool__(self) -> bool:
        raise InvalidTypeError(
            "a gate is neither true nor false, since it may be undecided. Take gate.verdict == 'pass'."
        )

    def differences(self, metric: str | Metric | None = None) -> Array:
        """
        Return the difference of each compared query, candidate − baseline.

        Parameters
        ----------
        metric : str or Metric, optional
            One of the metrics. By default the first.

        Returns
        -------
        (n_queries,) float64 array
            NaN where one has no value.

        Raises
        ------
        InvalidInputError
            If the gate has no such metric.
        """
        names = [row.metric for row in self.rows]
        name = names[0] if metric is None else str(Metric.parse(metric) if isinstance(metric, str) else metric)
        if name not in names:
            raise InvalidInputError(f"this gate has no {shorten(name)}. It has {', '.join(names)}.")
        place = names.index(name)
        return np.asarray(self.columns[1][:, place] - self.columns[0][:, place])

    def to_junit(self, path: FilePath | None = None) -> str | None:
        """
        Return the verdicts as JUnit XML, or write them to a file.

        Parameters
        ----------
        path : str or path, optional
            See `to_json`.

        Returns
        -------
        str or None
            One test case a metric: 'fail' and 'not comparable' are failures, 'undecided' is an error.
        """
        return deliver_text([self._make_junit()], path)

    def to_github(self) -> str:
        """
        Return the verdicts as workflow commands of GitHub, which show as annotations.

        Returns
        -------
        str
            One line a metric.
        """
        kinds = {"pass": "notice", "undecided": "warning", "fail": "error", "not comparable": "error"}
        return "".join(
            f"::{kinds[row.verdict]} title={_escape_command(f'{row.metric}: {row.verdict}')}::"
            f"{_escape_command(row.reason)}\n"
            for row in self.rows
        )

    def _json_pieces(self) -> Iterator[str]:
        regressed = [row._asdict() | {"difference": row.difference} for row in self.regressed]
        rows = [row._asdict() for row in self.rows]
        facts = {"version": __version__, "verdict": self.verdict, "rows": rows, "regressed": regressed}
        changes = [change.to_dict() for change in self.changes]
        yield dump_json({**facts, "changes": changes, "notes": list(self.notes)})

    def _print_columns(self) -> list[Column]:
        return [
            Column("metric", lambda row: row.metric, left=True),
            Column("verdict", lambda row: row.verdict, left=True),
            Column("baseline", lambda row: format_number(row.baseline)),
            Column("candidate", lambda row: format_number(row.candidate)),
            Column("difference", lambda row: format_number(row.difference, signed=True)),
            Column("bounds", lambda row: format_interval(row.low, row.high, signed=True)),
            Column("margin", lambda row: format_number(row.margin)),
            Column("queries", lambda row: str(row.n)),
        ]

    def _print_table(self) -> PrintedTable:
        notes = [*self._reasons(), *self.notes]
        if self.regressed:
            notes += [self._count_regressed(), *map("  ".join, self._regressed_cells())]
        for change in self.changes:
            notes += [
                change.describe(),
                *(line for table in change.list_causes() for line in align_columns(table.cells, table.left)),
            ]
        return super()._print_table()._replace(notes=notes)

    def to_markdown(self, path: FilePath | None = None) -> str | None:  # type: ignore[override]
        """
        Return the verdict as Markdown for a comment or a summary of a workflow, or write it to a file.

        Parameters
        ----------
        path : str or path, optional
            See `to_json`.

        Returns
        -------
        str or None
            A heading with the verdict, the table, the queries that are worse, and why each metric that failed changed.
        """
        table = format_markdown(super()._print_table()._replace(notes=[*self._reasons(), *self.notes]))
        pieces = [f"### {SIGNS[self.verdict]} {self.verdict}\n\n{table}"]
        if self.regressed:
            cells = [["query", "metric", "baseline", "candidate", "difference"], *self._regressed_cells()]
            lines = format_markdown(PrintedTable(cells, [True, True, False, False, False]))
            pieces.append(f"\n<details><summary>{self._count_regressed()}</summary>\n\n{lines}\n</details>\n")
        for change in self.changes:
            lines = "\n".join(map(format_markdown, change.list_causes()))
            pieces.append(f"\n<details><summary>{change.describe()}</summary>\n\n{lines}\n</details>\n")
        return deliver_text(pieces, path)

    def __str__(self) -> str:
        return f"{self.verdict}\n{super().__str__()}"

    def _reasons(self) -> list[str]:
        by_reason: dict[str, list[str]] = {}
        for row in self.rows:
            by_reason.setdefault(row.reason, []).append(row.metric)
        return [f"{', '.join(metrics)}: {reason}" for reason, metrics in by_reason.items() if reason]

    def _count_regressed(self) -> str:
        n = len(self._find_largest_losses())
        shown = f", and these {MOST_REGRESSED} most" if n > MOST_REGRESSED else ""
        return f"{n} {'query is' if n == 1 else 'queries are'} worse{shown}:"

    def _find_largest_losses(self) -> list[Regression]:
        """Return one row for each query that is worse, that of its largest loss."""
        by_query: dict[Any, Regression] = {}
        for row in self.regressed:
            by_query.setdefault(row.query, row)
        return list(by_query.values())

    def _regressed_cells(self) -> list[list[str]]:
        return [
            [show_name(row.query), row.metric, f"{row.baseline:.4f}", f"{row.candidate:.4f}", f"{row.difference:+.4f}"]
            for row in self._find_largest_losses()[:MOST_REGRESSED]
        ]

    def _make_junit(self) -> str:
        n_failures = sum(row.verdict in ("fail", "not comparable") for row in self.rows)
        n_errors = sum(row.verdict == "undecided" for row in self.rows)
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuite name="fastndcg gate" tests="{len(self.rows)}" failures="{n_failures}" errors="{n_errors}">',
        ]
        for row in self.rows:
            lines.append(f'  <testcase classname="fastndcg.gate" name={quoteattr(row.metric)}>')
            tag = {"fail": "failure", "not comparable": "failure", "undecided": "error"}.get(row.verdict)
            if tag is not None:
                lines.append(f"    <{tag} message={quoteattr(row.verdict)}>{escape(row.reason)}</{tag}>")
            lines.append("  </testcase>")
        return "\n".join([*lines, "</testsuite>", ""])


@answer_keywords
def gate(
    truth: Any,
    baseline: Any,
    candidate: Any,
    metrics: Metrics | None = None,
    *,
    margin: float | str | Mapping[str, float | str] = 0.0,
    floors: Mapping[str, float | str] | None = None,
    interval: GateInterval = "auto",
    level: float = 0.95,
    sequential: bool = False,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    convention: str | Convention | None = None,
    threads: int | None = None,
) -> Gate:
    """
    Decide whether a candidate may replace a baseline: pass, fail, undecided, or not comparable.

    A metric passes if the lower one-sided bound of the paired difference lies above −margin, and fails if the upper one
    lies below it. Otherwise there are too few queries to tell. It also passes if no query's value changed. The upper
    bounds are corrected by Holm's method for the number of metrics, since one metric that fails fails the gate. The
    lower ones need no correction, since all metrics must pass. Where lower values are better, all this is mirrored: a
    margin is a rise, and a floor is a ceiling. A metric without direction, such as num_ret, is an error.

    Parameters
    ----------
    truth : array, path, dict, frame or None
        See `evaluate`. None if both are `Results` or `Rankings`.
    baseline : Results, path, Rankings or predictions
        What is replaced: results, a file of `Results.save`, or predictions of any kind that `evaluate` takes.
    candidate : Results, path, Rankings or predictions
        What replaces it, likewise.
    metrics : str, Metric, or iterable of them, optional
        See `evaluate`. By default those of the results, if there are any, else "ndcg@10, map, mrr, p@5, recall@10".
    margin : float, str, or {metric: float or str}
        The drop of the mean that is allowed, from 0 to below the metric's range, or such as "2%" of the baseline's
        mean. The rise where lower values are better. One for all metrics, or a dict: metrics that neither it nor
        `floors` name are not gated, which a note says.
    floors : {metric: float or str}, optional
        The lowest means that are allowed, whatever the baseline has. The highest where lower values are better.
        "0.45 by limit": the one-sided bound of the mean on the worse side must reach it, and not the mean alone.
    interval : {'auto', 't', 'betting'}
        See `compare`. For values that are 0 or 1 'auto' inverts Tango's score test exactly.
    level : float
        The confidence level of each one-sided bound, from 0.51 to 0.999999.
    sequential : bool
        Whether the bounds hold at any number of queries, for those who look again each time when queries are added:
        betting confidence sequences (I. Waudby-Smith and A. Ramdas 2024, doi:10.1093/jrsssb/qkad009), in the order of
        the queries. For metrics with a known range. Bounds are wider.
    weights, clusters, strata
        See `compare`. Not with `sequential` or the interval 'betting'.
    convention : str or Convention, optional
        See `evaluate`. By default that of the baseline, if it is results, else "default".
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Gate
        It prints as a table. ``gate.verdict`` is 'pass', 'fail', 'undecided' or 'not comparable'.

    Raises
    ------
    InvalidInputError
        If a margin or floor is out of range or of a metric that is not compared, a metric has no direction, or an
        option does not fit.
    MissingPackageError
        If SciPy is not installed.

    Examples
    --------
    >>> qrels = {f"q{q}": {"a": 1, "b": 0} for q in range(200)}
    >>> old = {query: {"a": 2, "b": 1} for query in qrels}
    >>> new = {query: {"a": 2 - 2 * (query in ("q3", "q7")), "b": 1} for query in qrels}
    >>> result = fn.gate(qrels, old, new, "rr", margin=0.05)
    >>> result.verdict, [(row.query, row.difference) for row in result.regressed]
    ('pass', [('q3', -0.5), ('q7', -0.5)])
    """
    settings = Settings(interval=interval, level=level, threads=threads)
    check_choice("interval", interval, GATE_INTERVALS)
    design_options = {"weights": weights, "clusters": clusters, "strata": strata}
    given = [name for name, value in design_options.items() if value is not None]
    if sequential and given:
        raise InvalidInputError(
            f"`{given[0]}` must be left out with sequential=True, whose bounds are of queries that count alike and are "
            "independent. Leave one of the two out."
        )
    if metrics is None and isinstance(candidate, str) and not os.path.exists(candidate) and is_metric(candidate):
        raise InvalidInputError(
            f"`candidate` must be a run, but {shorten(candidate)} is no file, and is a metric. Give both runs: "
            "gate(truth, baseline, candidate, metrics)"
        )
    truth = read_once(truth)
    baseline, candidate = (
        load_result(value) if is_saved_result(value) else read_once(value) for value in (baseline, candidate)
    )
    results, problems = _evaluate_both(truth, baseline, candidate, metrics, convention, threads)
    base, new = results
    if sequential and isinstance(base, PairResults):
        raise InvalidInputError(
            "`sequential` must be False for pairs, since those of a query are not independent. Leave it out."
        )
    parsed = base.metrics if metrics is None else parse_metrics(metrics, None)
    limits = _read_floors(floors, parsed)
    margins = _read_margins(margin, parsed, limits)
    notes = _note_left_out([str(metric) for metric in parsed if metric not in margins])
    parsed = tuple(margins)
    check_direction(parsed, "a gate")
    for metric, (value, is_share) in margins.items():
        if not is_share:
            refuse_wide_margin(
                value, metric, (base.convention, new.convention), f", or '{value:g}%' of the baseline's mean"
            )
    problems |= _find_problems(base, new, parsed)
    notes = _list_notes(base, new, settings, sequential) + notes
    if problems:
        reason = " ".join(["; ".join(problems) + ".", *dict.fromkeys(problems.values())])
        rows = [GateRow(str(metric), "not comparable", reason=reason) for metric in parsed]
        return Gate(rows, (), notes, (np.empty((0, len(parsed))),) * 2)
    aligned = align({"baseline": base, "candidate": new}, parsed)
    design_options["clusters"] = find_clusters(base, aligned.query_ids, clusters)
    design, weighted = read_design(aligned.query_ids, **design_options)
    columns = [column[weighted] for column in aligned.columns]
    places = range(len(parsed))
    quantities = [Quantity(*(1, place, 0)[:: metric.sign]) for place, metric in enumerate(parsed)]  # gains
    quantities += [Quantity(system, place) for system in (0, 1) for place in places]
    bounds = [find_bounds(metric, base.convention, new.convention) for metric in parsed]
    moments = Analysis(columns, quantities, design, settings, bounds).moments
    gains = (columns[1] - columns[0]) * [metric.sign for metric in parsed]
    rows = _Judge(settings, sequential, gains, columns[1]).judge_metrics(moments, margins, limits)
    regressed = _list_regressed(aligned.query_ids[weighted], parsed, columns, gains)
    changes = []
    if weights is None and not any(isinstance(value, Results | Rankings) for value in (baseline, candidate)):
        explain_change = upper_floors.find("explain_change")
        failed = [metric for metric, row in zip(parsed, rows, strict=True) if row.verdict == "fail"]
        changes = [explain_change(truth, baseline, candidate, metric, convention=base.convention, threads=threads)
                   for metric in failed]  # fmt: skip
    return Gate(rows, regressed, notes, (columns[0], columns[1]), changes)


class _Judge:
    """
    The bounds and the verdicts of all metrics.

    They are found for gains: differences, with the other sign where lower values are better. `values` are those of the
    candidate, for floors.
    """

    def __init__(self, settings: Settings, sequential: bool, gains: Array, values: Array) -> None:
        self._settings = settings
        self._sequential = sequential
        self._is_betting = sequential or settings.interval == "betting"
        self._gains = gains
        self._values = values

    def judge_metrics(
        self,
        moments: Sequence[Moments],
        margins: Mapping[Metric, tuple[float, bool]],
        floors: Mapping[Metric, tuple[float, bool]],
    ) -> list[GateRow]:
        """Return the row of each metric, from the moments of all gains, of the baseline, and of the candidate."""
        n_metrics = len(margins)
        gains, bases, news = (moments[first : first + n_metrics] for first in (0, n_metrics, 2 * n_metrics))
        allowed = [
            share * abs(base.mean) if is_share else share
            for (share, is_share), base in zip(margins.values(), bases, strict=True)
        ]
        highs, failed = self._find_failed(gains, allowed)
        rows: list[GateRow] = []
        for place, (metric, own, base, new) in enumerate(zip(margins, gains, bases, news, strict=True)):
            floor, by_limit = floors.get(metric, (math.nan, False))
            worst, method, reason = self._find_bound(own, self._gains[:, place], self._settings.alpha, is_upper=False)
            difference, low, high = convert_gain(own.mean, worst, highs[place], metric.sign)
            row = GateRow(
                metric=str(metric),
                verdict="undecided",
                n=own.n_queries,
                baseline=base.mean,
                candidate=new.mean,
                difference=difference,
                low=low,
                high=high,
                margin=allowed[place],
                floor=floor,
                wins=own.wins,
                losses=own.losses,
                method=method,
                reason=reason,
            )
            row = self._judge(row, own, place in failed, metric.sign)
            rows.append(self._judge_floor(row, new, place, metric.sign, by_limit=by_limit))
        return rows

    def _judge(self, row: GateRow, gains: Moments, is_failed: bool, sign: int) -> GateRow:
        level = f"{100 * self._settings.level:g} %"
        allowed = f"{'−' if sign > 0 else ''}{row.margin:.4g}" if row.margin else "0"
        above, below = ("above", "below")[::sign]  # of a difference: where it is better, and where it is worse
        bounds = (row.low, f"at least {row.low:+.4f}"), (row.high, f"at most {row.high:+.4f}")
        (worst, at_worst), (_, at_best) = bounds[::sign]
        if is_failed:
            return row._replace(
                verdict="fail",
                reason=f"with {level} confidence the mean difference is {below} {allowed}: {at_best}",
            )
        if not gains.n_queries:
            return row._replace(reason="no query has a value")
        if not row.wins and not row.losses:
            share = 100 * (1 - self._settings.alpha ** (1 / gains.n_effective))
            unchanged = f"no value of {gains.n_queries} queries changed: with {level} confidence fewer than"
            return row._replace(verdict="pass", reason=f"{unchanged} {share:.3g} % of all queries would change")
        if math.isnan(row.margin):
            return row._replace(verdict="pass", reason="no margin is given, so that the floor alone decides")
        if sign * worst > -row.margin:
            return row._replace(
                verdict="pass",
                reason=f"with {level} confidence the mean difference is {above} {allowed}: {at_worst}",
            )
        if math.isnan(worst):
            return row._replace(reason=f"no interval: {row.reason}")
        n_needed = self._count_needed(gains, row.margin)
        hint = f"; about {n_needed} queries would decide" if n_needed else ""
        smallest = find_smallest_p_value(row.wins + row.losses, "less")
        if not self._settings.is_significant(smallest):
            hint += f". Only {row.wins + row.losses} queries changed, so that no p is below {smallest:.3g}"
        return row._replace(
            n_needed=n_needed,
            reason=f"{'better in these queries, but ' * (gains.mean > 0)}too few queries to tell whether the mean "
            f"difference is {above} {allowed}: it is {row.difference:+.4f}, and {level} bounds are "
            f"{format_interval(row.low, row.high, signed=True)}{hint}",
        )

    def _judge_floor(self, row: GateRow, moments: Moments, place: int, sign: int, *, by_limit: bool) -> GateRow:
        if math.isnan(row.floor):
            return row
        if not by_limit:
            value, what = row.candidate, "the mean"
        else:
            values, alpha = self._values[:, place], self._settings.alpha
            value = self._find_bound(moments, values, alpha, is_upper=sign < 0)[0]
            what = f"the {100 * self._settings.level:g} % {'lower' if sign > 0 else 'upper'} bound of the mean"
        if sign * value >= sign * row.floor:
            return row
        limit = "below the floor" if sign > 0 else "above the ceiling"
        return row._replace(verdict="fail", n_needed=0, reason=f"{what} is {value:.4f}, {limit} {row.floor:g}")

    def _find_failed(self, gains: Sequence[Moments], allowed: Sequence[float]) -> tuple[list[float], set[int]]:
        """
        Return the upper bound of each gain, and the metrics that fail, by Holm's method.

        The bounds of k undecided metrics hold at the level 1 − α/k. Those of the metrics that failed do not count any
        more, until no further one fails.
        """
        failed: set[int] = set()
        highs = [math.nan] * len(gains)
        is_new = True
        while is_new:
            open_places = [place for place in range(len(gains)) if place not in failed]
            is_new = False
            for place in open_places:
                alpha = self._settings.alpha / len(open_places)
                highs[place] = self._find_bound(gains[place], self._gains[:, place], alpha, is_upper=True)[0]
            for place in open_places:
                if highs[place] < -allowed[place]:
                    failed.add(place)
                    is_new = True
        return highs, failed

    def _find_bound(self, moments: Moments, values: Array, alpha: float, *, is_upper: bool) -> tuple[float, str, str]:
        """Return a one-sided bound, the name of its method, and the reason if there is none. That of hits is exact."""
        if self._is_betting:
            if moments.bounds is None:
                return math.nan, "betting", NO_RANGE
            return (
                find_betting_bounds(values, moments.bounds, alpha, sequential=self._sequential)[is_upper],
                "betting",
                "",
            )
        interval = summarize_moments(moments, level=1 - 2 * alpha, method=self._settings.interval)
        bound = interval.high if is_upper else interval.low
        if interval.method == "tango":
            more, fewer = (moments.wins, moments.losses) if is_upper else (moments.losses, moments.wins)
            bound = compute_exact_upper_bound(more, fewer, moments.n_queries, alpha) * (1 if is_upper else -1)
        return bound, interval.method, interval.reason

    def _count_needed(self, moments: Moments, margin: float) -> int:
        """Return the number of queries that would decide, 0 where none would."""
        distance = abs(moments.mean + margin)
        if not distance or not moments.standard_deviation > 0:
            return 0
        per_query = moments.standard_error * math.sqrt(moments.n_queries)  # with clusters and weights in it
        alpha, least = self._settings.alpha, moments.n_queries + 1
        if self._is_betting and moments.bounds is not None:
            share = distance / (moments.bounds[1] - moments.bounds[0])
            least = max(least, math.ceil(math.log(1 / alpha) / math.log1p(2 * BOLDEST * share)))  # the boldest bets
            alpha = NORMAL.cdf(-math.sqrt(2 * math.log(1 / alpha)))  # where t has its quantile, bets have this one
        return max(count_needed_queries(per_query, distance, alpha, PLANNED_POWER), least)


def _evaluate_both(
    truth: Any,
    baseline: Any,
    candidate: Any,
    metrics: Metrics | None,
    convention: str | Convention | None,
    threads: int | None,
) -> tuple[tuple[Results, Results], dict[str, str]]:
    """Return the results of both, and the reasons why they cannot be compared, each with its remedy."""
    both = [baseline, candidate]
    for value in both:
        refuse_means(value)
    finished = [value for value in both if isinstance(value, Results)]
    needs_truth = any(not isinstance(value, Results | Rankings) for value in both)
    if needs_truth and truth is None:
        raise InvalidInputError("`truth` is missing, but there are predictions to evaluate. Pass the true labels.")
    if convention is None:
        convention = finished[0].convention if finished else "default"
    if metrics is None:
        metrics = finished[0].metrics if finished else DEFAULT_METRICS
    evaluator = None
    if needs_truth:
        evaluator = Evaluator(truth, metrics, convention=convention, threads=threads)

    def evaluate(value: Any) -> Results:
        if isinstance(value, Results):
            return value
        if evaluator is None or isinstance(value, Rankings):
            return Evaluator(value, metrics, convention=convention, threads=threads).evaluate()
        return evaluator.evaluate(value)

    first, second = map(evaluate, both)
    return (first, second), _find_foreign(finished, truth, evaluator and evaluator._truth)


def _say_how_to_save(results: Results, metrics: Sequence[Metric]) -> str:
    """Return the remedy for results that do not fit any more, with the command that saves results of their kind."""
    names, convention = quote(",".join(map(str, metrics))), quote(results.convention.name)
    remedies = {
        Results: f"Give the run in place of saved results, or save them again: fastndcg evaluate QRELS RUN -m {names} "
        f"--convention {convention} --save-baseline FILE.",
        SpanResults: f"Save the results again: fastndcg spans GOLD CHUNKS -m {names} --save-baseline FILE.",
    }
    return remedies.get(type(results), "Save the results again.")


def _find_foreign(finished: Sequence[Results], truth: Any, prepared: Any = None) -> dict[str, str]:
    """Return the reasons why saved results cannot be compared with what this version computes, or with each other."""
    saved = {value: value.provenance for value in finished if value.provenance is not None}
    versions = dict.fromkeys(own.version for own in saved.values() if own.version != __version__)
    problems = [f"saved results are of version {version}, and this is {__version__}" for version in versions]
    digests = {own.truth for own in saved.values() if own.truth}
    if digests and truth is not None:
        digests.add(compute_digest(truth, finished[0].sides[0], prepared))
    if len(digests - {""}) > 1:
        changed = "the truth has changed since the results were saved"
        problems.append("the two are results of different truths" if truth is None else changed)
    return {problem: _say_how_to_save(first, first.metrics) for problem in problems for first in list(saved)[:1]}


def _find_problems(base: Results, new: Results, metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the reasons why two results cannot be compared, each with its remedy."""
    problems: dict[str, str] = {}
    for name, results in (("the baseline", base), ("the candidate", new)):
        check_aggregates_are_means(results, [metric for metric in metrics if metric in results.metrics])
        lacking = [str(metric) for metric in metrics if metric not in results.metrics]
        if lacking:
            problems[f"{name} has no {', '.join(lacking)}"] = _say_how_to_save(results, metrics)
    if base.convention != new.convention:
        problem = f"the baseline is under {base.convention}, the candidate under {new.convention}"
        problems[problem] = f"Take one convention for both. {_say_how_to_save(new, metrics)}"
    if base.n_missing_in_run != new.n_missing_in_run:
        problem = f"{new.n_missing_in_run} of the candidate, {base.n_missing_in_run} of the baseline"
        remedy = "Give an empty list for a query that retrieves nothing, or rank the same queries with both systems."
        problems[f"judged queries missing in the run: {problem}"] = remedy
    problems |= _find_query_problems(list_row_ids(base), list_row_ids(new))
    if problems:
        return problems
    aligned = align({"baseline": base, "candidate": new}, tuple(metrics))
    for metric, *values in zip(metrics, *(column.T for column in aligned.columns), strict=True):
        differs = np.isnan(values[0]) != np.isnan(values[1])
        if differs.any():
            query = show_name(aligned.query_ids.tolist()[int(np.argmax(differs))])
            remedy = f"Drop the query, or take the convention {base.convention.replace(undefined=0)} for both."
            problems[f"query {query} has a value of {metric} in one of the two only"] = remedy
    return problems


def _find_query_problems(base: Array, new: Array) -> dict[str, str]:
    first, second = base.tolist(), new.tolist()
    for name, ids in (("baseline", first), ("candidate", second)):
        if len(set(ids)) < len(ids):
            return {f"query ids of the {name} are not unique": "Give each query an id of its own."}
    lacking, extra = set(first) - set(second), set(second) - set(first)
    problems: dict[str, str] = {}
    for name, ids, owner in (("candidate", lacking, first), ("baseline", extra, second)):
        if ids:
            example = show_name(next(query for query in owner if query in ids))
            problems[f"the {name} lacks {len(ids)} of the queries, such as {example}"] = SAME_QUERIES
    return problems


def _read_margins(
    margin: Any, metrics: Sequence[Metric], floors: Mapping[Metric, tuple[float, bool]]
) -> dict[Metric, tuple[float, bool]]:
    """Return the margin of each gated metric, NaN where a floor alone decides, and whether it is a share."""
    by_metric = (
        _read_names("margin", margin, metrics) if isinstance(margin, Mapping) else dict.fromkeys(metrics, margin)
    )
    read = {metric: _read_margin(value, metric) for metric, value in by_metric.items()}
    gated = {metric: read.get(metric, (math.nan, False)) for metric in metrics if metric in read or metric in floors}
    if not gated:
        raise InvalidInputError("`margin` must name a metric where there are no floors, but is {}. Pass a number.")
    return gated


def _note_left_out(names: Sequence[str]) -> list[str]:
    """Return a note on metrics that no margin names."""
    are = "is" if len(names) == 1 else "are"
    example = "Give each metric a margin, or all of them one, such as '2%'"
    return [f"{', '.join(names)} {are} not gated, as the margin names other metrics. {example}"] * bool(names)


def _read_margin(margin: Any, metric: Metric) -> tuple[float, bool]:
    text = margin.strip() if isinstance(margin, str) else margin
    is_share = isinstance(text, str) and text.endswith("%")
    try:
        value = float(text.removesuffix("%")) / (100 if is_share else 1) if isinstance(text, str) else as_float(text)
    except ValueError:
        value = None
    limit = 1 if is_share and metric.sign > 0 else MOST  # lower values are better: a mean may rise by 200 %
    if value is None or not 0 <= value < limit:
        raise InvalidInputError(
            f"`margin` must be a number from 0, or a share below 100 % such as '2%', got {shorten(margin)}. Pass the "
            "drop that is allowed."
        )
    return value, is_share


def _read_floors(
    floors: Mapping[str, float | str] | None, metrics: Sequence[Metric]
) -> dict[Metric, tuple[float, bool]]:
    """Return the floor of each metric that has one, and whether a bound of the mean must reach it."""
    found: dict[Metric, tuple[float, bool]] = {}
    for metric, value in (_read_names("floors", floors, metrics) if floors is not None else {}).items():
        by_limit = isinstance(value, str) and value.rstrip().endswith(BY_LIMIT)
        try:
            number = float(value.rstrip().removesuffix(BY_LIMIT)) if by_limit else as_float(value)
        except ValueError:
            number = None
        if number is None or not abs(number) <= MOST:
            raise InvalidInputError(
                f"`floors` must be numbers, or texts such as '0.45 by limit', but {metric} has {shorten(value)}. Pass "
                "such as 0.45."
            )
        found[metric] = number, by_limit
    return found


def _read_names(name: str, values: Any, metrics: Sequence[Metric]) -> dict[Metric, Any]:
    """Return values by metric, with an error for a metric that is not compared."""
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"`{name}` must be {{metric: number}}, got {shorten(values)}. Pass a dict.")
    by_metric = {parse_metrics(key, None)[0]: value for key, value in values.items()}
    for metric in by_metric:
        if metric not in metrics:
            raise InvalidInputError(
                f"`{name}` must be of compared metrics, but has {metric}. There are {', '.join(map(str, metrics))}."
            )
    return by_metric


def _list_regressed(
    query_ids: Array, metrics: Sequence[Metric], columns: Sequence[Array], gains: Array
) -> list[Regression]:
    """Return the queries whose value got worse, the largest loss first."""
    rows, places = np.nonzero(gains < -1e-12)
    order = np.argsort(gains[rows, places], kind="stable")
    ids = query_ids.tolist()
    return [
        Regression(ids[row], str(metrics[place]), float(columns[0][row, place]), float(columns[1][row, place]))
        for row, place in zip(rows[order].tolist(), places[order].tolist(), strict=True)
    ]


def _list_notes(base: Results, new: Results, settings: Settings, sequential: bool) -> list[str]:
    level = f"{100 * settings.level:g} %"
    if sequential:
        method = f"one-sided {level} bounds that hold at any number of queries (betting)"
    else:
        by = " by betting" * (settings.interval == "betting")
        method = (
            f"one-sided {level} bounds of the paired difference{by}; those that let a metric fail are corrected (Holm)"
        )
    notes = [method, f"convention {base.convention}"]
    return [*notes, *notes_on_results({"baseline": base, "candidate": new}, new.metrics)]


def _escape_command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")
