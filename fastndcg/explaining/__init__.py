"""explain: show how a metric's value for a query comes about, and why it or a mean differs in another convention."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, NamedTuple

from fastndcg.choices import ConventionName
from fastndcg.errors import FastndcgError, printable
from fastndcg.evaluation import evaluate_prepared, parse_request
from fastndcg.explaining.contributions import (
    NO_NUMBER,
    IdealDocument,
    QueryCase,
    RankedDocument,
    allow_undefined,
    format_arithmetic,
    format_number,
    list_ideal,
    list_ranking,
    make_case,
)
from fastndcg.exports import Exportable, PrintedTable, Rows, dump_json, html_table, text_table
from fastndcg.forms.dispatch import TruthInput, prepare_truth
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.inputs.records import read_once
from fastndcg.metrics.metric import Metric, Metrics, parse_single_metric
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.named_conventions.convention import short
from fastndcg.parsing import Value
from fastndcg.runtime.escapes import html, show_name
from fastndcg.runtime.progress import without_progress


@answer_keywords
def explain(
    truth: Any,
    predictions: Any = None,
    metric: Metrics | None = None,
    *,
    query: Any = None,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
    against: str | Convention | None = None,
) -> Explanation:
    """
    Show how a metric's value for one query comes about, or why its mean differs under another convention.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels, Interactions, sparse matrix or Rankings
        See `evaluate`.
    predictions : array, path, dict, frame or Run, optional
        See `evaluate`.
    metric : str or Metric
        One metric, such as "ndcg@10".
    query : str or int, optional
        The id of the query, or its index from 0 if queries have no ids. May be left out if there is one query. With
        `against` the mean is explained where there are several.
    offsets, groups, query_ids : array, optional
        See `evaluate`.
    convention : str or Convention
        See `evaluate`.
    against : str or Convention, optional
        Another convention. Both are shown side by side, with the fields that make the values, or the means, differ.

    Returns
    -------
    Explanation
        Ranks, documents, scores, tie groups, labels, gains, discounts and contributions, with the ideal ranking beside
        them, and the sums that give the value. Of a mean: what each field adds to the difference, and the queries that
        differ. It prints as tables.

    Raises
    ------
    InvalidInputError
        If `evaluate` raises it, if there is no such query, or if there is more than one metric.

    Examples
    --------
    >>> fn.explain({"q": {"a": 2, "c": 1}}, {"q": {"a": 0.5, "b": 0.7, "c": 0.1}}, "ndcg@2")
    nDCG@2 of query q: 0.4796; convention default, ties average
    rank  document   score  tie  label  gain  discount    adds  |  ideal  label  gain    adds
    1     b         0.7000           –     0         1       0  |      a      2     2  0.7602
    2     a         0.5000           2     2    0.6309  0.4796  |      c      1     1  0.2398
    DCG@2 = 2·0.6309 = 1.2619
    IDCG@2 = 2·1 + 1·0.6309 = 2.6309
    nDCG@2 = DCG@2 / IDCG@2 = 1.2619 / 2.6309 = 0.4796
    documents not shown: 1, with a label other than 0: 1
    """
    parsed = parse_single_metric(metric, "Explain one at a time.")
    options = Options(offsets, groups, query_ids, other=predictions, is_alone=predictions is None)
    prepared = prepare_truth(truth, options)
    predictions = read_once(predictions)  # an iterator gives its records to one convention only
    make_case_under = functools.partial(make_case, prepared, predictions, options, parsed, query)
    if against is None:
        return _explain_case(make_case_under(parse_convention(convention)))
    conventions = parse_convention(convention), parse_convention(against, "against")
    if query is None:
        evaluate_under = functools.partial(_evaluate, prepared, predictions, options, parsed)
        here, there = map(evaluate_under, conventions)
        if max(len(here.queries), len(there.queries)) > 1:
            return _explain_mean(parsed, here, there, _list_steps(evaluate_under, here, there))
    cases = [make_case_under(own) for own in conventions]
    steps = _list_steps(lambda own: _read_case(make_case_under(own)), *map(_read_case, cases))
    return dataclasses.replace(_explain_case(cases[0]), against=_explain_case(cases[1]), steps=tuple(steps))


def _explain_case(case: QueryCase) -> Explanation:
    value = case.value()
    ranking = tuple(list_ranking(case))
    ideal = tuple(list_ideal(case))
    return Explanation(
        metric=case.metric,
        convention=case.convention,
        query=case.rankings.query_name(0),
        value=value,
        ranking=ranking,
        ideal=ideal,
        arithmetic=tuple(format_arithmetic(case, ranking, ideal, value)),
        notes=case.notes,
    )


class _Side(NamedTuple):
    """A metric under a convention: its value over all queries, and that of each."""

    convention: Convention
    value: float
    queries: dict[Any, float]
    notes: tuple[str, ...] = ()


def _read_case(case: QueryCase) -> _Side:
    value = case.value()
    return _Side(case.convention, value, {None: value})


def _evaluate(
    prepared: TruthInput, predictions: Any, options: Options, metric: Metric, convention: Convention
) -> _Side:
    with without_progress():
        request = parse_request((metric,), allow_undefined(convention))
        results = evaluate_prepared(prepared, predictions, request, options)
    queries = dict(zip(results.query_ids.tolist(), results.values[:, 0].tolist(), strict=True))
    return _Side(convention, results.means()[0], queries, (*results.missing_notes, *results.notes))


def _explain_mean(metric: Metric, here: _Side, there: _Side, steps: Iterable[Step]) -> Explanation:
    def find_distance(row: QueryDifference) -> float:
        """Return the size of a difference. A query that one side leaves out is as far as from the mean there."""
        first = here.value if math.isnan(row.here) else row.here
        second = there.value if math.isnan(row.there) else row.there
        return abs(second - first)

    queries = tuple(sorted(_list_differences(here, there), key=find_distance, reverse=True))
    n_queries = len(here.queries | there.queries)
    notes = there.notes
    other = Explanation(metric, there.convention, None, there.value, (), (), (), n_queries=n_queries, notes=notes)
    return dataclasses.replace(
        other, convention=here.convention, value=here.value, against=other, steps=tuple(steps), queries=queries,
        notes=here.notes,
    )  # fmt: skip


def _list_differences(here: _Side, there: _Side) -> list[QueryDifference]:
    """Return the queries that differ."""
    names = here.queries | there.queries
    rows = (QueryDifference(name, *(side.queries.get(name, math.nan) for side in (here, there))) for name in names)
    return [row for row in rows if not _is_same(row.here, row.there)]


def _list_steps(find_side: Callable[[Convention], _Side], here: _Side, there: _Side) -> Iterator[Step]:
    """Yield the changes from one convention to the other, one field at a time, with the value after each."""
    convention, last, known = here.convention, here, here.value
    are_numbers = math.isfinite(here.value) and math.isfinite(there.value)
    for field, choice in convention.difference(there.convention).items():
        target = there.convention.choices()[field]
        convention = convention.replace(**{field: target})
        try:
            found = find_side(convention)
        except FastndcgError:  # a choice can depend on another one that is not replaced yet
            yield Step(field, choice, target, None, True, Fraction(0) if are_numbers else math.nan, 0)
            continue
        adds: Fraction | float = Fraction(0) if are_numbers else math.nan
        if are_numbers and math.isfinite(found.value):
            adds, known = Fraction(found.value) - Fraction(known), found.value
        n_queries = len(_list_differences(last, found))
        matters = n_queries > 0 or not _is_same(found.value, last.value)
        yield Step(field, choice, target, found.value, matters, adds, n_queries)
        last = found


def _is_same(first: float, second: float) -> bool:
    is_close = math.isclose(first, second, rel_tol=1e-12, abs_tol=1e-15)
    return is_close or (math.isnan(first) and math.isnan(second))


MAX_ROWS = 50
MAX_QUERIES = 10  # that are printed


class QueryDifference(NamedTuple):
    """A query's values under the two conventions, NaN where one leaves the query out or has no value."""

    query: Any
    here: float
    there: float


class Step(NamedTuple):
    """
    A change of one field on the way from one convention to another.

    `here` and `there` are the field's values in the two conventions. `value` is the metric's value after this change
    and all earlier ones, None if the metric cannot be evaluated then. `matters` is True if the value changed, or that
    of a query: of `n_queries`. `adds` is a fraction without rounding: the sum over all steps is the difference of the
    two values. A step without a value counts with the next one. NaN if one of the two values is undefined.
    """

    field: str
    here: Value
    there: Value
    value: float | None
    matters: bool
    adds: Fraction | float
    n_queries: int


@dataclass(frozen=True, slots=True)
class Explanation(Exportable):
    """
    The derivation of a metric's value for one query, or of the difference of two means.

    `explain` makes it. Parameters are attributes, too. Frames and CSV have the documents of `ranking`, JSON has
    everything, Markdown and LaTeX have the first printed table.

    Parameters
    ----------
    metric : Metric
        The metric, with the cutoff that the convention gives it.
    convention : Convention
        The convention.
    query : str or None
        The name of the query. None for a mean, which has no ranking, ideal and arithmetic.
    value : float
        The value that `evaluate` returns. NaN if the metric is undefined.
    ranking : tuple of RankedDocument
        All documents, best score first.
    ideal : tuple of IdealDocument
        The judged documents in the ideal ranking.
    arithmetic : tuple of str
        The sums that give the value, as text.
    against : Explanation or None
        The derivation under the other convention.
    steps : tuple of Step
        The fields in which the two conventions differ.
    queries : tuple of QueryDifference
        Of a mean, the queries that differ, the largest difference first. A query that one convention leaves out is as
        far as from the mean there.
    n_queries : int
        The number of queries.
    notes : tuple of str
        Remarks on how all queries were read and joined, as `evaluate` has them.

    Examples
    --------
    >>> explained = fn.explain([0, 2, 1], [0.3, 0.2, 0.1], "dcg@2", offsets=[0, 3], against="default(gain=exp2)")
    >>> round(explained.value, 5), round(explained.against.value, 5)  # 2/log2(3), (2² − 1)/log2(3)
    (1.26186, 1.89279)
    >>> explained.why()
    ('gain',)
    >>> mean = fn.explain([[2, 1], [0, 1]], [[1, 2], [1, 2]], "ndcg", against="default(gain=exp2)")
    >>> [(step.field, round(float(step.adds), 4), step.n_queries) for step in mean.steps]
    [('gain', -0.0315, 1)]
    """

    metric: Metric
    convention: Convention
    query: str | None
    value: float
    ranking: tuple[RankedDocument, ...]
    ideal: tuple[IdealDocument, ...]
    arithmetic: tuple[str, ...]
    against: Explanation | None = None
    steps: tuple[Step, ...] = ()
    queries: tuple[QueryDifference, ...] = ()
    n_queries: int = 1
    notes: tuple[str, ...] = ()

    def why(self) -> tuple[str, ...]:
        """
        Return the fields that make the value differ from the other convention's.

        Returns
        -------
        tuple of str
            Names of fields of `Convention`. Empty without a second convention, or if both values are equal.
        """
        return tuple(step.field for step in self.steps if step.matters)

    def __str__(self) -> str:
        return "\n".join(
            f"{printable(title)}\n{text_table(rows, n_left, notes)}"
            for title, rows, n_left, notes in self._make_parts()
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>{html(title)}</p>{html_table(rows, n_left, notes)}"
            for title, rows, n_left, notes in self._make_parts()
        )

    def _export_columns(self) -> dict[str, list[Any]]:
        rows: Sequence[Any] = self.queries if self.query is None else self.ranking
        fields = (QueryDifference if self.query is None else RankedDocument)._fields
        return {name: [getattr(row, name) for row in rows] for name in fields}

    def _print_table(self) -> PrintedTable:
        title, rows, n_left, notes = next(self._make_parts())
        return PrintedTable(rows, [column < n_left for column in range(len(rows[0]))], [title, *notes])

    def _json_pieces(self) -> Iterator[str]:
        yield dump_json(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """
        Return the explanation as a dict of plain values.

        Returns
        -------
        dict
            Metric, convention, query, value, arithmetic, notes, and lists of dicts for ranking, ideal and steps.
            The explanation under the other convention is in ``against``, None without one. A mean has `queries`.
        """
        return {
            "metric": str(self.metric),
            "convention": str(self.convention),
            "query": self.query,
            "value": self.value,
            "arithmetic": list(self.arithmetic),
            "ranking": [row._asdict() for row in self.ranking],
            "ideal": [row._asdict() for row in self.ideal],
            "against": None if self.against is None else self.against.to_dict(),
            "steps": [step._asdict() | {"adds": float(step.adds)} for step in self.steps],
            "queries": [row._asdict() for row in self.queries],
            "n_queries": self.n_queries,
            "notes": list(self.notes),
        }

    def _make_parts(self) -> Iterator[tuple[str, Rows, int, list[str]]]:
        """Yield the printed parts: a title, a table, its number of left-aligned columns, and notes."""
        if self.query is None:
            yield from self._make_parts_of_mean(self.against or self)
            return
        title = f"{self.metric} of {self.query}: {format_number(self.value)}"
        more_notes = [*self._list_formula(), *self._count_hidden_documents(), *self._list_notes()]
        if self.against is None:
            title = f"{title}; convention {self.convention.name}, ties {self.convention.ties}"
            yield title, self._make_rows(), 2, [*self.arithmetic, *more_notes]
            return
        other = self.against
        title = f"{title} with {self.convention.name}, {format_number(other.value)} with {other.convention.name}"
        sums = [f"{side.convention.name}: {line}" for side in (self, other) for line in side.arithmetic]
        yield title, self._make_rows_side_by_side(), 1, [*sums, *more_notes]
        heading = f"from {self.convention.name} to {other.convention.name}, one field at a time:"
        yield heading, [row[:4] for row in self._make_step_rows(other)], 1, [self._name_fields("value")]

    def _make_parts_of_mean(self, other: Explanation) -> Iterator[tuple[str, Rows, int, list[str]]]:
        """Yield a part with what each field adds to the difference, and one with the queries that differ most."""
        values = [f"{format_number(side.value)} with {side.convention.name}" for side in (self, other)]
        what = "mean" if self.metric.aggregate is None else "overall value"
        title = f"{what} of {self.metric}: {', '.join(values)} ({_format_change(other.value - self.value)})"
        notes = [self._name_fields(what), *self._list_notes()]
        yield f"{title}, one field at a time:", self._make_step_rows(other), 1, notes
        rows = [["query", self.convention.name, other.convention.name, "difference"]]
        for row in self.queries[:MAX_QUERIES]:
            rows.append([show_name(row.query), *map(format_number, row[1:]), _format_change(row.there - row.here)])
        if self.queries:
            yield f"{len(self.queries)} of {self.n_queries} queries differ, the largest difference first:", rows, 1, []

    def _list_notes(self) -> list[str]:
        """Return the notes under both conventions, each once."""
        return list(dict.fromkeys([*self.notes, *(self.against.notes if self.against else ())]))

    def _name_fields(self, what: str) -> str:
        return f"fields that change the {what}: {', '.join(self.why()) or 'none, the values are equal'}"

    def _make_rows(self) -> Rows:
        """Return the table of the ranking with the ideal ranking beside it."""
        has_gain = self._has_gain()
        gain_heads = ["gain", "discount"] if has_gain else []
        left_heads = ["rank", "document", "score", "tie", "label", *gain_heads, "adds"]
        right_heads = ["ideal", "label", *gain_heads[:1], "adds"]
        rows = [[*left_heads, "|", *right_heads]]
        for document, ideal in zip_longest(self._visible_ranking(), self._visible_ideal()):
            left = [""] * len(left_heads)
            right = [""] * len(right_heads)
            if document is not None:
                contribution = format_number(document.contribution)
                left = [*_make_document_cells(document), *_make_gain_cells(document, has_gain), contribution]
            if ideal is not None:
                gain = [format_number(ideal.gain)] if has_gain else []
                right = [ideal.document, format_number(ideal.label), *gain, format_number(ideal.contribution)]
            rows.append([*left, "|", *right])
        return rows

    def _make_rows_side_by_side(self) -> Rows:
        """Return a table with the ranks, gains, discounts and contributions under both conventions."""
        other = self.against or self
        rankings = [{document.document: document for document in side.ranking} for side in (self, other)]
        has_gain = self._has_gain()
        heads = ["rank", *(["gain", "discount"] if has_gain else []), "adds"]
        rows = [["document", "score", "label", "|", *heads, "|", *heads]]
        names = dict.fromkeys(document.document for side in (self, other) for document in side._visible_ranking())
        for name in names:
            entries = [ranking.get(name) for ranking in rankings]
            first = next(entry for entry in entries if entry is not None)
            row = [name, format_number(first.score), format_number(first.label)]
            for entry in entries:
                cells = [NO_NUMBER] * len(heads)
                if entry is not None:
                    cells = [entry.rank, *_make_gain_cells(entry, has_gain), format_number(entry.contribution)]
                row.extend(["|", *cells])
            rows.append(row)
        return rows

    def _make_step_rows(self, other: Explanation) -> Rows:
        """Return a row for each field, of which the last two columns are of means."""
        rows = [["field", self.convention.name, other.convention.name, str(self.metric), "adds", "queries"]]
        rows.append(["", "", "", format_number(self.value), "", ""])
        for step in self.steps:
            cells = [format_number(step.value), _format_change(step.adds), str(step.n_queries)]
            if not step.matters or step.value is None:
                cells = ["unchanged" if step.value is not None else NO_NUMBER, "", ""]
            rows.append([step.field, short(step.here), short(step.there), *cells])
        return rows

    def _visible_ranking(self) -> tuple[RankedDocument, ...]:
        """Return the documents within the cutoff, at most MAX_ROWS."""
        deepest = len(self.ranking) if self.metric.k is None else self.metric.k
        return tuple(document for document in self.ranking if document.first <= deepest)[:MAX_ROWS]

    def _visible_ideal(self) -> tuple[IdealDocument, ...]:
        """Return the ideal ranking without documents that add nothing, as long as the visible ranking."""
        n_rows = max(len(self._visible_ranking()), 1)
        within_cutoff = self.ideal[: self.metric.k]
        return tuple(document for document in within_cutoff if document.contribution or document.label)[:n_rows]

    def _has_gain(self) -> bool:
        gains = (*(document.gain for document in self.ranking), *(document.gain for document in self.ideal))
        return any(gain is not None for gain in gains)

    def _list_formula(self) -> list[str]:
        """Return the metric's definition as a note, unless the sums show it."""
        return [] if self.metric.record.gain_sums else [f"{self.metric}: {self.metric.record.formula}"]

    def _count_hidden_documents(self) -> list[str]:
        """Return a note on the documents that the table leaves out."""
        hidden = self.ranking[len(self._visible_ranking()) :]
        if not hidden:
            return []
        n_labelled = sum(bool(document.label) for document in hidden)
        return [f"documents not shown: {len(hidden)}, with a label other than 0: {n_labelled}"]


def _format_change(change: Fraction | float) -> str:
    return NO_NUMBER if math.isnan(change) else f"{'-' if change < 0 else '+'}{format_number(abs(float(change)))}"


def _make_document_cells(document: RankedDocument) -> list[str]:
    tie = "" if document.tie_group is None else str(document.tie_group)
    return [document.rank, document.document, format_number(document.score), tie, format_number(document.label)]


def _make_gain_cells(document: RankedDocument, has_gain: bool) -> list[str]:
    return [format_number(document.gain), format_number(document.discount)] if has_gain else []
