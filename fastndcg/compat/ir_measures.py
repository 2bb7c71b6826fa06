"""
ir_measures: a provider that computes its measures, here and in PyTerrier, which asks ir_measures.

`register` puts it before the others in ir_measures' default pipeline: `ir_measures.calc_aggregate`, `iter_calc`, `calc`
and `evaluator` then use it for every measure that the catalogue has, and the other providers for the rest. Values are
those of the default provider, pytrec_eval, for all measures alike: the one tie rule for RR and RR@10, all digits of
nDCG(dcg='exp-log2'), and beta² in SetF(beta=…), as in F-beta's definition. All else is ir_measures' own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastndcg.catalog import CATALOG
from fastndcg.compat.lookups import look_at_judgments, values_of
from fastndcg.compat.rows import join_table, rows_of, run_table
from fastndcg.compat.subtopics import CONVENTION as BY_SUBTOPIC
from fastndcg.compat.subtopics import SubtopicQrels
from fastndcg.conventions import Convention, conventions
from fastndcg.errors import InvalidInputError, UnknownMetricError, optional_import
from fastndcg.inputs.dicts import DictQrels
from fastndcg.metric import Metric
from fastndcg.rankings import Array

NAMES = {
    "AP": "AP", "nDCG": "nDCG", "NumRel": "num_rel", "P": "P", "R": "R", "RR": "RR", "Rprec": "Rprec", "SetF": "F",
    "SetP": "P", "SetR": "R", "Success": "Success", "StRecall": "S_recall",
} | {name: name for name, record in CATALOG.items() if record.by_subtopic and name != "S_recall"}  # fmt: skip


def register() -> Provider:
    """
    Let ir_measures compute by fastndcg what fastndcg has, until `unregister`; once is enough.

    Returns
    -------
    Provider
        What `ir_measures.providers.registry["fastndcg"]` holds from now on.

    Raises
    ------
    MissingPackageError
        If ir_measures is not installed.
    """
    library = _library()
    known: Provider | None = library.providers.registry.get(Provider.NAME)
    if known is None:
        known = library.providers.register(Provider())
        library.DefaultPipeline.providers.insert(0, known)
    return known


def unregister() -> None:
    """Leave the measures to the other providers again."""
    library = _library()
    known = library.providers.registry.pop(Provider.NAME, None)
    if known is not None:
        library.DefaultPipeline.providers.remove(known)


class Provider:
    """What ir_measures calls a provider."""

    NAME = "fastndcg"

    def supports(self, measure: Any) -> bool:
        """Whether the catalogue has a measure with these parameters."""
        measure.validate_params()
        try:
            metric_of(measure)
        except InvalidInputError:
            return False
        return True

    def is_available(self) -> bool:
        """Always."""
        return True

    def install_instructions(self) -> str:
        """How to install it."""
        return "pip install fastndcg"

    def run_inputs(self, measures: Iterable[Any]) -> list[str]:
        """The columns that a run must have."""
        return ["query_id", "doc_id", "score"]

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:
        """The columns that judgments must have."""
        return ["query_id", "doc_id", "relevance"]

    def evaluator(self, measures: Iterable[Any], qrels: Any) -> Evaluator:
        """Prepare judgments for many runs."""
        return Evaluator(measures, qrels)

    def iter_calc(self, measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[Any]:
        """Each measure of each query."""
        return self.evaluator(measures, qrels).iter_calc(run)

    def calc_aggregate(self, measures: Iterable[Any], qrels: Any, run: Any) -> dict[Any, float]:
        """Each measure over all queries."""
        return self.evaluator(measures, qrels).calc_aggregate(run)

    def calc(self, measures: Iterable[Any], qrels: Any, run: Any) -> Any:
        """Both."""
        return self.evaluator(measures, qrels).calc(run)


class Evaluator:
    """Judgments and measures, ready for many runs; queries that a run lacks have the measures' default."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._library = _library()
        self.measures = list(dict.fromkeys(measures))
        rows: Any = qrels
        if any(is_by_subtopic(measure) for measure in self.measures):
            rows = list(self._library.util.QrelsConverter(qrels).as_namedtuple_iter())
        given = rows_of(rows, self._library.Qrel, self._library.util.QrelsConverter)
        self.qrel_qids = set(given)
        parts: dict[tuple[Any, Convention], _Part] = {}
        for measure in self.measures:
            key, convention = _judgments_of(measure), convention_of(measure)
            if (key, convention) not in parts:
                shared = next((part.qrels for (other, _), part in parts.items() if other == key), None)
                made = shared or (_by_subtopic(rows) if key == BY_SUBTOPIC.name else DictQrels(_with_gains(given, key)))
                parts[key, convention] = _Part([], [], made, convention)
            parts[key, convention].measures.append(measure)
            parts[key, convention].metrics.append(metric_of(measure))
        self._parts = list(parts.values())

    def iter_calc(self, run: Any) -> Iterator[Any]:
        """Each measure of each query: those of the run, then those that it lacks."""
        yield from self._each(self._columns(run))

    def _each(self, parts: list[_Columns]) -> Iterator[Any]:
        metric = self._library.Metric
        evaluated: set[str] = set()
        for queries, measures, columns in parts:
            evaluated.update(queries)
            for query, *values in zip(queries, *columns.tolist(), strict=True):
                for measure, value in zip(measures, values, strict=True):
                    yield metric(query_id=query, measure=measure, value=value)
        for query in sorted(self.qrel_qids - evaluated):
            for measure in self.measures:
                yield metric(query_id=query, measure=measure, value=measure.DEFAULT)

    def calc_aggregate(self, run: Any) -> dict[Any, float]:
        """Each measure over all queries that have judgments: counts summed, the rest averaged."""
        return self._aggregated(self._columns(run))

    def calc(self, run: Any) -> Any:
        """Both, as ir_measures' CalcResults."""
        parts = self._columns(run)
        return self._library.CalcResults(self._aggregated(parts), list(self._each(parts)))

    def _columns(self, run: Any) -> list[_Columns]:
        """What is found for the measures of each part."""
        judged = self._judged(run)
        return [
            _Columns(one.queries, part.measures, np.ascontiguousarray(values_of(one, part.metrics, part.convention).T))
            for part in self._parts
            for one in [judged[id(part.qrels)]]
        ]

    def _judged(self, run: Any) -> dict[int, Any]:
        """A run with each of the judgments, read in the form that it has, or else as rows."""
        asked = {id(part.qrels) for part in self._parts if look_at_judgments(part.metrics, part.convention)}
        by_subtopic = any(isinstance(part.qrels, SubtopicQrels) for part in self._parts)
        judged = None if by_subtopic else self._joined(run) or self._listed(run, asked)
        if judged is not None:
            return judged
        rows = rows_of(run, self._library.ScoredDoc, self._library.util.RunConverter)
        return {
            key: qrels.judged(rows, tells_unjudged=key in asked) if isinstance(qrels, DictQrels) else qrels.judged(rows)
            for key, qrels in {id(part.qrels): part.qrels for part in self._parts}.items()
        }

    def _listed(self, run: Any, asked: set[int]) -> dict[int, Any] | None:
        """A list of tuples with the judgments; None where that cannot be, and rows are to be made of it."""
        if type(run) is not list:
            return None
        kind, plain = self._library.ScoredDoc, {id(part.qrels): part.qrels for part in self._parts}
        found = {
            key: qrels.judged_tuples(run, kind, tells_unjudged=key in asked)
            for key, qrels in plain.items()
            if isinstance(qrels, DictQrels)
        }
        return None if None in found.values() else found

    def _joined(self, run: Any) -> dict[int, Any] | None:
        """A frame's run joined to the judgments; None where that cannot be, and rows are to be looked at."""
        plain = {id(part.qrels): (part.qrels, part.convention) for part in self._parts}
        table = run_table(run)
        if table is None:
            return None
        try:
            return {
                key: join_table(qrels, table, convention)
                for key, (qrels, convention) in plain.items()
                if isinstance(qrels, DictQrels)
            }
        except InvalidInputError:
            return None

    def _aggregated(self, parts: list[_Columns]) -> dict[Any, float]:
        """Sums or means; queries that the run lacks add 0, the default of all these measures."""
        n_queries = len(self.qrel_qids)
        totals = {
            measure: float(np.sum(column))
            for _, measures, columns in parts
            for measure, column in zip(measures, columns, strict=True)
        }
        found = {}
        for measure in self.measures:
            is_mean = isinstance(measure.aggregator(), self._library.MeanAgg)
            divisor = (n_queries or math.nan) if is_mean else 1
            found[measure] = totals[measure] / divisor
        return found


class _Columns(NamedTuple):
    """What was found for the measures of a part: a row for each, a column for each query."""

    queries: list[str]
    measures: list[Any]
    values: Array


class _Part(NamedTuple):
    """Measures that share judgments and a convention."""

    measures: list[Any]
    metrics: list[Metric]
    qrels: DictQrels | SubtopicQrels
    convention: Convention


def metric_of(measure: Any) -> Metric:
    """A measure of ir_measures as one of ours, or an error that names it."""
    given = {key: measure[key] for key in measure.SUPPORTED_PARAMS if _is_given(measure[key])}
    k = given.get("cutoff")
    if measure.NAME == "NumRet":
        return Metric("num_rel_ret", rel=given["rel"]) if "rel" in given else Metric("num_ret")
    if measure.NAME not in NAMES or given.get("relative"):
        raise UnknownMetricError(f"unsupported measure {measure}: the catalogue has {', '.join([*NAMES, 'NumRet'])}")
    parameters = {key: given[key] for key in ("alpha", "beta", "rel") if key in given}
    if measure.NAME == "nDCG":
        parameters = {"gain": "exp2"} if given.get("dcg") == "exp-log2" else {}
    return Metric(NAMES[measure.NAME], k, **parameters)


def convention_of(measure: Any) -> Convention:
    """What a measure's numbers mean."""
    usual = BY_SUBTOPIC if is_by_subtopic(measure) else conventions["trec_eval_9_c"]
    if measure.params.get("judged_only"):
        return usual.replace(unjudged="removed", negative_labels="removed")
    return usual


def is_by_subtopic(measure: Any) -> bool:
    """Whether a measure needs judgments by subtopic."""
    return measure.NAME in NAMES and CATALOG[NAMES[measure.NAME]].by_subtopic


def _judgments_of(measure: Any) -> Any:
    """What the judgments are for a measure: by subtopic, with other labels for gains, or as given."""
    if is_by_subtopic(measure):
        return BY_SUBTOPIC.name
    gains = measure["gains"] if measure.NAME == "nDCG" else None
    return tuple(gains.items()) if isinstance(gains, dict) else None


def _by_subtopic(rows: Iterable[Any]) -> SubtopicQrels:
    """Judgments by subtopic: ir_measures has it in the field `iteration`, which is the same for all if left out."""
    return SubtopicQrels((row.query_id, getattr(row, "iteration", "0"), row.doc_id, row.relevance) for row in rows)


def _is_given(value: Any) -> bool:
    return isinstance(value, int | float | str | dict)


def _with_gains(qrels: dict[str, dict[str, int]], gains: tuple[tuple[int, int], ...] | None) -> Any:
    """The judgments, with other labels where gains say so."""
    if gains is None:
        return qrels
    table = dict(gains)
    return {
        query: {document: table.get(label, label) for document, label in row.items()} for query, row in qrels.items()
    }


def _library() -> ModuleType:
    return optional_import("ir_measures", "this drop-in", "ir_measures")
