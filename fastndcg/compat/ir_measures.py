"""
Drop-in provider for ir_measures, also used by PyTerrier, which calls ir_measures.

`register` puts the provider first in ir_measures' default pipeline. `ir_measures.calc_aggregate`, `iter_calc`, `calc`
and `evaluator` then use it for every measure that the catalogue has. NERR8 to NERR11, Accuracy with a cutoff and
measures that are defined at run time keep their providers.

Values are those of the provider that ir_measures takes by default, with its order of ties. Differences:

- RR@10 follows the same rule for ties as RR.
- nDCG(dcg='exp-log2') and ERR have all digits. Both may be without a cutoff.
- SetF(beta=…) uses beta², as the definition of F-beta does.
- IPrec@… takes all digits of the recall, where pytrec_eval takes two.
- RBP may have a cutoff, and labels are its gains without `rel`.
- NumRel(rel=…) counts labels of `rel` or more.
- Compat ranks documents of one label in the ideal ranking as they are ranked, also those with equal or negative scores.
- Accuracy leaves out a query whose retrieved documents are all relevant, which is a ZeroDivisionError in ir_measures.
- Values of INST, INSQ, BPM and SDCG come without the costs of cwl_eval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import itemgetter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastndcg.compat.common import JudgedRun, evaluate_judged, judge, read_table
from fastndcg.compat.ir_measures_requests import (
    Request,
    convert_measure,
    replace_labels,
)
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.table import Qrels, Run
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import

__all__ = ["Provider", "register", "unregister"]

QUERY = "query_id"
DOCUMENT = "doc_id"

Rows = dict[Any, dict[Any, Any]]  # {query: {document: label or score}}


def register() -> Provider:
    """
    Make ir_measures use fastndcg, until `unregister` is called. Further calls change nothing.

    Returns
    -------
    Provider
        The provider that ``ir_measures.providers.registry["fastndcg"]`` holds from now on.

    Raises
    ------
    MissingPackageError
        If ir_measures is not installed.

    Examples
    --------
    >>> register().NAME
    'fastndcg'
    >>> unregister()
    """
    library = _import_ir_measures()
    provider: Provider | None = library.providers.registry.get(Provider.NAME)
    if provider is None:
        provider = library.providers.register(Provider())
        library.DefaultPipeline.providers.insert(0, provider)
    return provider


def unregister() -> None:
    """
    Make ir_measures use its other providers again.

    Raises
    ------
    MissingPackageError
        If ir_measures is not installed.
    """
    library = _import_ir_measures()
    provider = library.providers.registry.pop(Provider.NAME, None)
    if provider is not None:
        library.DefaultPipeline.providers.remove(provider)


class Provider:
    """The provider of fastndcg's measures, with the methods that ir_measures calls."""

    NAME = "fastndcg"

    def supports(self, measure: Any) -> bool:
        """Return True if the catalogue has a measure with these parameters."""
        measure.validate_params()
        try:
            convert_measure(measure)
        except InvalidInputError:
            return False
        return True

    def is_available(self) -> bool:
        """Return True, because the provider needs no further package."""
        return True

    def install_instructions(self) -> str:
        """Return the command that installs fastndcg."""
        return "pip install . in a clone of fastndcg"

    def run_inputs(self, measures: Iterable[Any]) -> list[str]:
        """Return the columns that a run must have."""
        return ["query_id", "doc_id", "score"]

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:
        """Return the columns that judgments must have."""
        return ["query_id", "doc_id", "relevance"]

    def evaluator(self, measures: Iterable[Any], qrels: Any) -> Evaluator:
        """Prepare judgments and measures for many runs."""
        return Evaluator(measures, qrels)

    def iter_calc(self, measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[Any]:
        """Return an iterator over the values of each query."""
        return self.evaluator(measures, qrels).iter_calc(run)

    def calc_aggregate(self, measures: Iterable[Any], qrels: Any, run: Any) -> dict[Any, float]:
        """Return the values over all queries."""
        return self.evaluator(measures, qrels).calc_aggregate(run)

    def calc(self, measures: Iterable[Any], qrels: Any, run: Any) -> Any:
        """Return the values over all queries, and those of each query."""
        return self.evaluator(measures, qrels).calc(run)


class Evaluator:
    """
    Judgments and measures that are prepared once for many runs.

    A query that a run lacks has the default value of each measure, and none of Accuracy.
    Measures are those of ir_measures, such as ``[nDCG @ 10, AP]``, and judgments have any form that it reads.
    """

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._library = _import_ir_measures()
        self.measures = list(dict.fromkeys(measures))
        requests = [convert_measure(measure) for measure in self.measures]
        rows: Any = qrels
        if any(request.is_by_subtopic for request in requests):
            rows = list(self._library.util.QrelsConverter(qrels).as_namedtuple_iter())
        labels = read_rows(rows, self._library.Qrel, self._library.util.QrelsConverter)
        self.qrel_qids = set(labels)
        prepared: dict[Any, Qrels] = {None: read_table(Qrels, labels)}
        parts: dict[tuple[int, Convention], _Part] = {}
        for measure, request in zip(self.measures, requests, strict=True):
            key = DiversityQrels if request.is_by_subtopic else request.relabelling
            if request.is_by_subtopic and key not in prepared:
                prepared[key] = _read_subtopics(rows)
            elif key not in prepared:
                replaced = replace_labels(labels, request.relabelling)
                prepared[key] = prepared[None] if replaced is labels else read_table(Qrels, replaced)
            judgments = prepared[key]
            part = parts.setdefault(
                (id(judgments), request.convention), _Part([], [], [], judgments, request.convention)
            )
            part.measures.append(measure)
            part.requests.append(request)
            part.metrics.extend(request.metrics)
        self._parts = list(parts.values())
        self._qrels = {id(part.qrels): part.qrels for part in self._parts}

    def iter_calc(self, run: Any) -> Iterator[Any]:
        """Yield ir_measures' ``Metric`` of each query and measure. Queries that the run lacks come last."""
        yield from self._each(self._evaluate(run))

    def calc_aggregate(self, run: Any) -> dict[Any, float]:
        """Return {measure: value}: the sum of a count, or the mean over all queries that have judgments."""
        return self._aggregate(self._evaluate(run))

    def calc(self, run: Any) -> Any:
        """Return ir_measures' ``CalcResults``: the values over all queries, and those of each query."""
        parts = self._evaluate(run)
        return self._library.CalcResults(self._aggregate(parts), list(self._each(parts)))

    def _each(self, parts: list[_Values]) -> Iterator[Any]:
        """Yield ir_measures' ``Metric`` of each query and measure. Leave undefined values out."""
        metric = self._library.Metric
        evaluated_queries: set[str] = set()
        for queries, measures, columns, convention in parts:
            has_undefined = convention.undefined == "nan"
            if not has_undefined:
                evaluated_queries.update(queries)
            for query, *values in zip(queries, *columns.tolist(), strict=True):
                for measure, value in zip(measures, values, strict=True):
                    if not (has_undefined and math.isnan(value)):
                        yield metric(query_id=query, measure=measure, value=value)
        for query in sorted(self.qrel_qids - evaluated_queries):
            for part in self._parts:
                if part.convention.undefined != "nan":
                    for measure in part.measures:
                        yield metric(query_id=query, measure=measure, value=measure.DEFAULT)

    def _evaluate(self, run: Any) -> list[_Values]:
        """Return the values of each part's measures."""
        judged_runs = self._judge(run)
        parts = []
        for part in self._parts:
            judged = judged_runs[id(part.qrels)]
            values = np.ascontiguousarray(evaluate_judged(judged, part.metrics, part.convention).T)
            parts.append(_Values(judged.queries, part.measures, part.combine(values), part.convention))
        return parts

    def _judge(self, run: Any) -> dict[int, JudgedRun]:
        """Return the run joined with each of the judgments, by the identity of the judgments."""
        table = read_run_table(run)
        if table is None:
            table = read_table(Run, read_rows(run, self._library.ScoredDoc, self._library.util.RunConverter))
        return {key: judge(qrels, table) for key, qrels in self._qrels.items()}

    def _aggregate(self, parts: list[_Values]) -> dict[Any, float]:
        """Return sums and means. Queries that the run lacks add 0, the default value of all measures."""
        n_queries = len(self.qrel_qids)
        aggregates = dict.fromkeys(self.measures, math.nan)
        for _, measures, columns, convention in parts:
            for measure, column in zip(measures, columns, strict=True):
                values = column
                divisor = n_queries if isinstance(measure.aggregator(), self._library.MeanAgg) else 1
                if convention.undefined == "nan":
                    values = column[~np.isnan(column)]
                    divisor = len(values)
                aggregates[measure] = float(np.sum(values)) / (divisor or math.nan)
        return aggregates


class _Values(NamedTuple):
    """The values of a part's measures: one row for each measure, one column for each query."""

    queries: list[str]
    measures: list[Any]
    values: Array
    convention: Convention


class _Part(NamedTuple):
    """Measures that share judgments and a convention, with the metrics of all their requests."""

    measures: list[Any]
    requests: list[Request]
    metrics: list[Metric]
    qrels: Qrels
    convention: Convention

    def combine(self, values: Array) -> Array:
        """Return the (n_measures, n_queries) values of the measures for those of the metrics."""
        if all(request.combine is None for request in self.requests):
            return values
        combined = np.empty((len(self.requests), values.shape[1]))
        first = 0
        for row, request in zip(combined, self.requests, strict=True):
            columns = values[first : first + len(request.metrics)]
            row[:] = columns[0] if request.combine is None else request.combine(columns)
            first += len(request.metrics)
        return combined


def _read_subtopics(rows: Iterable[Any]) -> DiversityQrels:
    """Return judgments by subtopic. ir_measures has the subtopic in the field `iteration`, "0" if it is left out."""
    judgments = [(row.query_id, getattr(row, "iteration", "0"), row.doc_id, row.relevance) for row in rows]
    return DiversityQrels(*(zip(*judgments, strict=True) if judgments else ((), (), (), ())))


def _import_ir_measures() -> ModuleType:
    return optional_import("ir_measures", "this drop-in", "ir_measures")


def read_run_table(run: Any) -> Run | None:
    """Return a pandas DataFrame with text ids as a table. Return None for other runs."""
    if not is_frame(run, "score") or not len(run):
        return None
    try:
        table = Run(run[[QUERY, DOCUMENT, "score"]], columns={"query": QUERY, "document": DOCUMENT})
    except (InvalidInputError, InvalidTypeError):
        return None
    return table if table.queries.are_texts and table.documents.are_texts else None


def read_rows(rows: Any, kind: Any, converter: Any) -> Any:
    """
    Return judgments or a run, in any form that ir_measures reads, as {query: {document: label or score}}.

    If a query has a document twice, the last row counts, as in ir_measures. `kind` is ir_measures' named tuple of one
    row, ``Qrel`` or ``ScoredDoc``, and `converter` its own converter of forms that are neither frames nor such tuples.
    """
    query, document, number = kind._fields[:3]
    if is_frame(rows, number):
        return group_rows(zip(*(rows[name].tolist() for name in (query, document, number)), strict=True))
    if isinstance(rows, list) and set(map(type, rows)) == {kind}:
        return group_rows(rows if len(kind._fields) == 3 else map(itemgetter(0, 1, 2), rows))
    return converter(rows).as_dict_of_dict()


def is_frame(rows: Any, number: str) -> bool:
    """Return True for a pandas DataFrame with columns of queries, documents and the column `number`."""
    return hasattr(rows, "itertuples") and {QUERY, DOCUMENT, number} <= set(rows.columns)


def group_rows(items: Iterable[tuple[Any, Any, Any]]) -> Rows:
    """Return rows of (query, document, number) as a dict of dicts."""
    rows: Rows = {}
    row: dict[Any, Any] = {}
    last_query: Any = object()
    for query, document, number in items:
        if query is not last_query:
            last_query = query
            row = rows.setdefault(query, {})
        row[document] = number
    return rows
