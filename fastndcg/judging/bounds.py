"""bounds: the lowest and the highest means that labels of unjudged documents allow, without any assumption."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, suggest_name
from fastndcg.evaluation import evaluate_prepared, parse_request
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.judging.metric_bounds import MetricBounds, check_has_bounds, make_bounds
from fastndcg.judging.unjudged import Unjudged
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, Metrics, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import mean
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.table import Column, Table, format_interval, format_number

ROUNDING = 1e-12  # a difference that rounding could make


class Bound(NamedTuple):
    """
    The bounds of a mean, or of the difference of two means.

    Attributes
    ----------
    system : str
        The system.
    against : str or None
        The system that is subtracted. None for a mean.
    metric : str
        The metric.
    value : float
        The mean, or the difference, if unjudged documents count as not relevant.
    low, high : float
        The lowest and the highest value over all labels of the unjudged documents.
    is_exact : bool
        True if labels reach both bounds. False if some query has a bound beyond what labels can reach.
    certain : bool or None
        True if the sign of a difference holds whatever the labels. None for a mean.
    """

    system: str
    against: str | None
    metric: str
    value: float
    low: float
    high: float
    is_exact: bool
    certain: bool | None

    @property
    def width(self) -> float:
        """The highest value less the lowest one."""
        return self.high - self.low


class QueryBound(NamedTuple):
    """
    The bounds of a query's value, or of the difference of two values.

    Attributes
    ----------
    query : int or str
        The query.
    value : float
        The value, or the difference, if unjudged documents count as not relevant.
    low, high : float
        The lowest and the highest value over all labels. NaN for a query that has no value whatever its labels.
    unjudged : int
        The number of unjudged documents that the systems rank.
    is_exact : bool
        True if labels reach both bounds.
    """

    query: Any
    value: float
    low: float
    high: float
    unjudged: int
    is_exact: bool


class Bounds(Table[Bound]):
    """
    The bounds of all means, and of the differences from the first system.

    `bounds` makes it. Rows are those of the means, and then of the differences.

    Parameters
    ----------
    unjudged : Unjudged
        The unjudged documents of all systems.
    metrics : tuple of Metric
        The metrics.

    Examples
    --------
    >>> b = fn.bounds({"q": {"d1": 1, "d2": 0}}, {"a": {"q": ["d2", "new", "d1"]}, "b": {"q": ["d1", "new"]}}, "p@2")
    >>> b.means
    {'a': {'P@2': (0.0, 0.5)}, 'b': {'P@2': (0.5, 1.0)}}
    >>> difference = b.difference("b", "a")
    >>> difference.low, difference.high, difference.certain
    (0.5, 0.5, True)
    """

    def __init__(self, unjudged: Unjudged, metrics: tuple[Metric, ...]) -> None:
        self.metrics = metrics
        self.systems = tuple(unjudged.systems)
        self._unjudged = unjudged
        self._metric_bounds = {str(metric): make_bounds(metric, unjudged) for metric in metrics}
        self._values = {name: _evaluate(unjudged, name, metrics) for name in unjudged.systems}
        own = [self._bound(name, None, metric) for metric in self._metric_bounds for name in self.systems]
        differences = [
            self._bound(name, self.systems[0], metric) for metric in self._metric_bounds for name in self.systems[1:]
        ]
        outer = dict.fromkeys(row.metric for row in (*own, *differences) if not row.is_exact)
        notes = [
            f"{metric}: bounds beyond what labels can reach, in queries with many unjudged documents"
            for metric in outer
        ]
        super().__init__([*own, *differences], (), [*unjudged.notes, *notes])

    def _print_columns(self) -> list[Column]:
        columns = [
            Column("system", _name_system, left=True),
            Column("metric", lambda row: row.metric, left=True),
            Column("as judged", lambda row: format_number(row.value, row.against is not None)),
            Column("bounds", lambda row: format_interval(row.low, row.high, row.against is not None)),
        ]
        if len(self.systems) > 1:
            columns.append(Column("certain", lambda row: {True: "yes", False: "no", None: ""}[row.certain], left=True))
        return columns

    @property
    def means(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The lowest and the highest mean of each system and metric."""
        means: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in self.systems}
        for row in self.rows:
            if row.against is None:
                means[row.system][row.metric] = row.low, row.high
        return means

    def difference(self, system: str, against: str, metric: str | Metric | None = None) -> Bound:
        """
        Return the bounds of the difference of two means.

        They are those of the difference, in which a document has one label for both systems. Bounds of the two means
        say less.

        Parameters
        ----------
        system, against : str
            Two systems. The mean of the second is subtracted.
        metric : str or Metric, optional
            One of the metrics. By default the first.

        Returns
        -------
        Bound
            The bounds, and whether the sign holds whatever the labels.

        Raises
        ------
        InvalidInputError
            If there is no such system or metric, or both systems are the same.
        """
        self._check_system(system, "system")
        self._check_system(against, "against")
        if system == against:
            raise InvalidInputError(f"`against` must be another system than {show_name(system)}. Name two systems")
        return self._bound(system, against, self._find_metric(metric))

    def queries(self, system: str, against: str | None = None, metric: str | Metric | None = None) -> Table[QueryBound]:
        """
        Return the bounds of each query.

        Parameters
        ----------
        system, against, metric
            See `difference`. Without `against`, bounds are those of the system's values.

        Returns
        -------
        Table of QueryBound
            One row a query that the systems answer, the widest first.
        """
        self._check_system(system, "system")
        if against is not None:
            self._check_system(against, "against")
        case = self._find_case(system, against, self._find_metric(metric))
        n_unjudged = np.diff(self._unjudged.offsets).tolist()
        names = self._unjudged.queries.names().tolist()
        rows = [
            QueryBound(names[q], value, low, high, n_unjudged[q], is_exact)
            for q, value, low, high, is_exact in zip(*(column.tolist() for column in case[:5]), strict=True)
        ]
        rows.sort(key=lambda row: -math.inf if math.isnan(row.low) else row.low - row.high)
        is_signed = against is not None
        columns = [
            Column("query", lambda row: show_name(row.query), left=True),
            Column("as judged", lambda row: format_number(row.value, is_signed)),
            Column("bounds", lambda row: format_interval(row.low, row.high, is_signed)),
            Column("unjudged", lambda row: str(row.unjudged)),
        ]
        return Table(rows, columns)

    def _check_system(self, name: Any, argument: str) -> None:
        if not isinstance(name, str) or name not in self.systems:
            hint = suggest_name(name, self.systems) or " Name one of them."
            systems = ", ".join(map(show_name, self.systems))
            raise InvalidInputError(f"`{argument}` must be one of {systems}, not {show_name(name)}.{hint}")

    def _find_metric(self, metric: str | Metric | None) -> str:
        parsed = self.metrics[:1] if metric is None else parse_metrics(metric)
        name = ", ".join(map(str, parsed))
        if name not in self._metric_bounds:
            remedy = "Bound it, too" if len(parsed) == 1 else "Take one at a time"
            raise InvalidInputError(f"`metric` must be one of {', '.join(self._metric_bounds)}, not {name}. {remedy}")
        return name

    def _find_case(self, system: str, against: str | None, metric: str) -> QueryCases:
        case = find_extremes(self._metric_bounds[metric], system, against)
        place = list(self._metric_bounds).index(metric)
        values = self._values[system][:, place]
        if against is not None:
            values = values - self._values[against][:, place]
        return case._replace(values=values[case.queries])

    def _bound(self, system: str, against: str | None, metric: str) -> Bound:
        case = self._find_case(system, against, metric)
        value = mean(case.values)
        low, high = find_mean_bounds(case)
        certain = None if against is None else bool(low > ROUNDING or high < -ROUNDING)
        return Bound(system, against, metric, value, low, high, bool(case.is_exact.all()), certain)


class QueryCases(NamedTuple):
    """Bounds by query. `is_optional` is True for queries that labels can make undefined, so that means lack them."""

    queries: Array
    values: Array
    lows: Array
    highs: Array
    is_exact: Array
    is_optional: Array


def find_extremes(bounds: MetricBounds, system: str, against: str | None) -> QueryCases:
    """Return the lowest and the highest value of each query that the systems answer, without values as judged."""
    highest, lowest = bounds.find_highest(system, against), bounds.find_highest(against, system)
    lows, highs = -lowest.values + 0.0, highest.values + 0.0
    is_ranked = bounds.unjudged.systems[system].is_ranked
    if against is not None:
        is_ranked = is_ranked & bounds.unjudged.systems[against].is_ranked
    is_optional = bounds.can_be_undefined
    undefined = _choose_undefined(bounds)
    if undefined in (0, 1):
        value = float(undefined) if against is None else 0.0  # both systems are undefined for the same labels
        lows = np.where(is_optional, np.minimum(lows, value), lows)
        highs = np.where(is_optional, np.maximum(highs, value), highs)
        is_optional = np.zeros(len(lows), bool)
    is_never = np.isneginf(highs)
    lows[is_never] = highs[is_never] = np.nan
    queries = np.flatnonzero(is_ranked)
    columns = (lows, highs, highest.is_exact & lowest.is_exact, is_optional)
    return QueryCases(queries, np.full(len(queries), np.nan), *(column[queries] for column in columns))


def _choose_undefined(bounds: MetricBounds) -> str | int:
    """Return the value of a query for which the metric is undefined. If that is an error, `evaluate` has raised it."""
    convention = bounds.unjudged.convention
    choice: str | int = getattr(convention, bounds.metric.record.undefined_choice)
    return convention.undefined if choice == "as undefined" else choice


def find_mean_bounds(case: QueryCases) -> tuple[float, float]:
    """Return the lowest and the highest mean over the queries."""
    lowest = find_lowest_mean(case.lows, case.is_optional)
    return lowest, -find_lowest_mean(-case.highs, case.is_optional) + 0.0


def find_lowest_mean(lows: Array, is_optional: Array) -> float:
    """
    Return the lowest mean of values, of which the optional ones may be left out. NaN without values.

    Those that are left out are the highest of the optional ones.
    """
    needed = lows[~is_optional & ~np.isnan(lows)]
    optional = np.sort(lows[is_optional & ~np.isnan(lows)])
    counts = np.arange(len(optional) + 1) + len(needed)
    if not counts[-1]:
        return math.nan
    sums = needed.sum() + np.append(0.0, np.cumsum(optional))
    n = int(np.argmin(np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)))
    return mean(np.concatenate([needed, optional[:n]]))


def _evaluate(unjudged: Unjudged, name: str, metrics: tuple[Metric, ...]) -> Array:
    """Return the values of all queries with unjudged documents as not relevant, NaN for those of no ranking."""
    system = unjudged.systems[name]
    convention = unjudged.convention.for_input(qrels=True)
    request = parse_request(metrics, convention)
    values = np.full((unjudged.n_queries, len(metrics)), np.nan)
    results = evaluate_prepared(system.rankings, None, request, Options(threads=unjudged.threads))
    values[system.is_ranked] = results.values
    return values


def _name_system(row: Bound) -> str:
    return show_name(row.system) if row.against is None else f"{show_name(row.system)} − {show_name(row.against)}"


@answer_keywords
def bounds(
    truth: Any,
    systems: Any,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    labels: Any = (0, 1),
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
) -> Bounds:
    """
    Bound what the labels of unjudged documents could make of means and of differences of systems.

    A bound is the lowest or the highest value over all labels that the unjudged documents could have, if any of the
    systems ranks them. It needs no assumption, and says nothing about other queries.

    Parameters
    ----------
    truth : dict, path, frame, Qrels or other judgments with ids
        See `evaluate`. A document with a negative label is pooled but not judged.
    systems : {name: run}, list of paths, or list of (name, run)
        One system or more. See `compare`.
    metrics : str, Metric, or iterable of them
        Means of nDCG, DCG, CG, RBP, P, R, AP, RR and Success.
    labels : sequence of float
        The labels that a judge may choose. All labels of the truth must be among them.
    convention : str or Convention
        See `evaluate`. Ties must be averaged, or ordered by input or id.
    threads
        See `evaluate`.

    Returns
    -------
    Bounds
        The bounds of all means and of differences from the first system. Bounds of AP are exact for one system, and
        for differences in queries in which at most 16 unjudged documents count.

    Raises
    ------
    InvalidInputError
        If a metric has no bounds, a label of the truth is not among `labels`, or no query is common.
    InvalidTypeError
        If the truth has no ids of documents.

    References
    ----------
    A. Moffat and J. Zobel, 2008, doi:10.1145/1416950.1416952 (residuals of RBP).
    B. Carterette, J. Allan and R. Sitaraman, 2006, doi:10.1145/1148170.1148219 (differences).
    W. Dinkelbach, 1967, doi:10.1287/mnsc.13.7.492 (ratios).

    Examples
    --------
    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> systems = {"a": {"q1": ["d2", "new", "d1"], "q2": ["d3"]}, "b": {"q1": ["d1", "new"], "q2": ["d3"]}}
    >>> fn.bounds(qrels, systems, "ndcg@10", labels=(0, 1, 2))
    system  metric   as judged              bounds  certain
    a       nDCG@10     0.7500    [0.7500, 0.8467]
    b       nDCG@10     1.0000    [1.0000, 1.0000]
    b − a   nDCG@10    +0.2500  [+0.1533, +0.2500]  yes
    unjudged documents: 1 in 1 of 2 queries; any may have a label of 0, 1, 2
    """
    parsed = parse_metrics(metrics)
    for metric in parsed:
        check_has_bounds(metric)
    return Bounds(Unjudged(truth, systems, labels, parse_convention(convention), threads), parsed)
