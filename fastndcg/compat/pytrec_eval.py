"""
pytrec_eval: `RelevanceEvaluator` and what stands beside it.

Names, values and errors are those of pytrec_eval-terrier, which holds trec_eval 9.0.8; errors are ours too, each a
subclass of the one that pytrec_eval raises. Measures that the catalogue lacks are refused by name. What stops the
process there, a cutoff of 0, is an error here. pytrec_eval itself is not needed.

>>> from fastndcg.compat import pytrec_eval
>>> evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d1": 0, "d2": 1}}, {"map", "ndcg_cut.1,2"})
>>> evaluator.evaluate({"q1": {"d1": 1.0, "d2": 0.5}})
{'q1': {'map': 0.5, 'ndcg_cut_1': 0.0, 'ndcg_cut_2': 0.6309297535714575}}
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fastndcg.compat.lookups import look_at_judgments, values_of
from fastndcg.compat.tables import read_lines
from fastndcg.conventions import conventions
from fastndcg.errors import InvalidTypeError, UnknownMetricError
from fastndcg.inputs.dicts import DictQrels
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.trec import BY_NAME, NICKNAMES, NOT_IN_ALL, SINCE_10, Asked, at_level, lines

NUMBERS = r"[0-9]+(?:\.[0-9]+)?"
WITH_ARGUMENTS = re.compile(rf"(.+?)[._]({NUMBERS}(?:,{NUMBERS})*)")

supported_measures = {name for name in BY_NAME if name not in (*SINCE_10, *NOT_IN_ALL)}
supported_nicknames = {nickname: set(names) & supported_measures for nickname, names in NICKNAMES.items()}
CONSTANTS = {"runid": 0.0, "num_q": 1.0, "relstring": 0.0}  # what is no number has these values there
LOWEST_OF_GEOMETRIC = 1e-5


class Column(NamedTuple):
    """A measure in the output: its metric, or the constant that pytrec_eval gives in its place."""

    metric: Metric | None
    constant: float = 0.0

    def of(self, values: Array) -> list[float]:
        """What pytrec_eval gives for values of the metric: logarithms where the mean is to be geometric."""
        if self.metric is None:
            return [self.constant] * len(values)
        if self.metric.aggregate is not None:
            values = np.log(np.maximum(values, LOWEST_OF_GEOMETRIC))
        return list(map(float, values))


class RelevanceEvaluator:
    """
    Judgments and measures, ready for the runs of many systems.

    Parameters
    ----------
    query_relevance : dict of dict of int
        Judgments: {query: {document: label}}.
    measures : iterable of str
        Such as "map", "ndcg_cut_10", "P.5,10", or a nickname.
    relevance_level : int
        The lowest label that is relevant; nDCG takes all labels as they are.
    judged_docs_only_flag : bool
        Whether documents without a judgment are taken out first.

    Raises
    ------
    UnknownMetricError
        If the catalogue lacks a measure; a ValueError.
    InvalidTypeError
        If the judgments are no dict of dicts from texts to whole numbers; a TypeError.
    """

    def __init__(
        self, query_relevance: dict[str, dict[str, int]], measures: Iterable[str], relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(relevance_level, int) or relevance_level < 1:
            raise InvalidTypeError(f"`relevance_level` must be a whole number of 1 or more, not {relevance_level!r}")
        if not isinstance(judged_docs_only_flag, int):
            raise InvalidTypeError(f"`judged_docs_only_flag` must be True or False, not {judged_docs_only_flag!r}")
        self._columns = columns_of(measures, relevance_level)
        self._qrels = DictQrels(query_relevance)
        _check_labels(query_relevance)
        choices = {"unjudged": "removed", "negative_labels": "removed"} if judged_docs_only_flag else {}
        self._convention = conventions["trec_eval_9"].replace(**choices)

    def evaluate(self, scores: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        """
        Give {query: {measure: value}} for the queries of the run that have judgments.

        Parameters
        ----------
        scores : dict of dict of float
            A run: {query: {document: score}}.
        """
        queries, columns = self._values(scores)
        named = partial(zip, list(self._columns))
        rows = zip(*columns, strict=True) if columns else [()] * len(queries)
        return dict(zip(queries, map(dict, map(named, rows)), strict=True))

    def aggregate(self, scores: dict[str, dict[str, float]]) -> dict[str, float]:
        """Give {measure: value} over all queries of the run that have judgments, as `compute_aggregated_measure`."""
        _, columns = self._values(scores)
        return {
            name: compute_aggregated_measure(name, column)
            for name, column in zip(self._columns, columns, strict=True)
            if column
        }

    def _values(self, scores: dict[str, dict[str, float]]) -> tuple[list[str], list[list[float]]]:
        """The queries that are evaluated, and each measure's values."""
        if not scores:
            return [], [[] for _ in self._columns]
        metrics = [column.metric for column in self._columns.values() if column.metric is not None]
        judged = self._qrels.judged(scores, tells_unjudged=look_at_judgments(metrics, self._convention))
        found = iter(values_of(judged, metrics, self._convention).T)
        nothing = np.empty(len(judged.queries))
        return judged.queries, [
            column.of(nothing if column.metric is None else next(found)) for column in self._columns.values()
        ]


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """
    Aggregate a measure's values: counts are summed, logarithms averaged to a geometric mean, the rest averaged.

    >>> compute_aggregated_measure("num_ret", [2.0, 3.0]), compute_aggregated_measure("map", [0.5, 1.0])
    (5.0, 0.75)
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return math.exp(float(np.mean(values)))
    return float(np.mean(values))


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read the lines of a run, "query Q0 document rank score name", as {query: {document: score}}."""
    return read_lines(f_run, float)[0]


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read the lines of judgments, "query 0 document label", as {query: {document: label}}."""
    return read_lines(f_qrel, int)[0]


def columns_of(measures: Iterable[str], relevance_level: int) -> dict[str, Column]:
    """Read measures' texts as {name in the output: column}, the arguments of each measure put together."""
    arguments: defaultdict[str, set[str]] = defaultdict(set)
    for measure in measures:
        if not isinstance(measure, str):
            raise InvalidTypeError(f"`measures` must be texts, but one is {measure!r}")
        for text in sorted(supported_nicknames.get(measure, {measure})):
            name, given = _split(text)
            arguments[name].update(given)
    found = (pair for name in sorted(arguments) for pair in _read(name, arguments[name]))
    return {name: column._replace(metric=_at_level(column.metric, relevance_level)) for name, column in found}


def _split(text: str) -> tuple[str, list[str]]:
    """A measure's name and its arguments."""
    if text in supported_measures:
        return text, []
    match = WITH_ARGUMENTS.fullmatch(text)
    if match is None or match[1] not in supported_measures or BY_NAME[match[1]].kind not in ("cutoffs", "at", "beta"):
        known = ", ".join(sorted(supported_measures))
        raise UnknownMetricError(f"unsupported measure {text}: the catalogue has {known}")
    return match[1], match[2].split(",")


def _read(name: str, arguments: set[str]) -> list[tuple[str, Column]]:
    """A measure, or one for each of its cutoffs, with its name in the output."""
    if name in CONSTANTS:
        return [(name, Column(None, CONSTANTS[name]))]
    measure = BY_NAME[name]
    if measure.kind == "cutoffs":  # trec_eval cuts fractions off
        arguments = {str(int(float(argument))) for argument in arguments}
    if measure.kind == "beta":  # of which trec_eval looks at the first alone
        arguments = set(sorted(arguments)[:1])
    found = lines([Asked(measure, ",".join(arguments))])
    shown = (name,) if measure.kind == "beta" else tuple(line.name for line in found)
    return [(text, Column(line.metric)) for text, line in zip(shown, found, strict=True)]


def _at_level(metric: Metric | None, level: int) -> Metric | None:
    return None if metric is None else at_level(metric, level)


def _check_labels(qrels: dict[str, dict[str, int]]) -> None:
    for query, row in qrels.items():
        for kind in set(map(type, row.values())):
            if not issubclass(kind, int):
                document = next(document for document, label in row.items() if type(label) is kind)
                raise InvalidTypeError(
                    f"labels must be whole numbers, but that of document {document!r} of query {query!r} is "
                    f"{row[document]!r}; use int()"
                )
