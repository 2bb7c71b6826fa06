"""
Drop-in for pytrec_eval: `RelevanceEvaluator` and the functions of the module.

Names, values and errors are those of pytrec_eval-terrier, which contains trec_eval 9.0.8. Each error is also a subclass
of the built-in exception that pytrec_eval raises. Measures that the catalogue lacks raise an `UnknownMetricError`.
pytrec_eval itself is not needed. Differences:

- What ends the process in pytrec_eval, such as a cutoff of 0, is an error here.
- NaN scores, labels above 2**53 in size, and a relevance level below 1 are errors here. pytrec_eval takes them.
- Cutoffs that end in a comma or a full stop are errors here. pytrec_eval takes them.
- Ids may contain NUL. pytrec_eval cuts them there.
- Scores may be NumPy's numbers. Whole numbers beyond 64 bits are errors here.

`install` makes other libraries, such as BEIR and MTEB, compute by fastndcg.

>>> from fastndcg.compat import pytrec_eval
>>> evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d1": 0, "d2": 1}}, {"map", "ndcg_cut.1,2"})
>>> evaluator.evaluate({"q1": {"d1": 1.0, "d2": 0.5}})
{'q1': {'map': 0.5, 'ndcg_cut_1': 0.0, 'ndcg_cut_2': 0.6309297535714575}}
"""

from __future__ import annotations

import io
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from fastndcg.compat.common import as_whole_number, evaluate_judged, judge, list_rows, read_table
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, shorten
from fastndcg.inputs.files import File
from fastndcg.inputs.formats import TREC
from fastndcg.inputs.table import Qrels, Run
from fastndcg.inputs.text_lines import read_rows
from fastndcg.metrics.metric import Metric, at_level, list_trec_lines
from fastndcg.metrics.trec_eval import BY_NAME, NICKNAMES, NOT_IN_ALL, SINCE_10, TrecMeasureRequest
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array

__all__ = ["RelevanceEvaluator", "compute_aggregated_measure", "install", "parse_qrel", "parse_run", "uninstall"]

__version__ = "0.5.11"  # of the pytrec_eval-terrier with these values; ir_measures takes no module without a version

NUMBERS = r"[0-9]+(?:\.[0-9]+)?"
WITH_ARGUMENTS = re.compile(rf"(.+?)[._]({NUMBERS}(?:,{NUMBERS})*)")

supported_measures = {name for name in BY_NAME if name not in (*SINCE_10, *NOT_IN_ALL)}
supported_nicknames = {nickname: set(names) & supported_measures for nickname, names in NICKNAMES.items()}
CONSTANTS = {"runid": 0.0, "num_q": 1.0, "relstring": 0.0}  # pytrec_eval's values of measures that are not numbers
MIN_OF_GEOMETRIC_MEAN = 1e-5  # trec_eval raises smaller values to this, because the logarithm of 0 is infinite


class Column(NamedTuple):
    """A measure in the output: its metric, or a constant for a measure that is not a number."""

    metric: Metric | None
    constant: float = 0.0

    def convert(self, values: Array) -> list[float]:
        """Return pytrec_eval's values for values of the metric: logarithms for a geometric mean."""
        if self.metric is None:
            return [self.constant] * len(values)
        if self.metric.aggregate is not None:
            values = np.log(np.maximum(values, MIN_OF_GEOMETRIC_MEAN))
        numbers: list[float] = values.tolist()
        return numbers


class StructureError(InvalidTypeError, AttributeError, AssertionError):
    """Input is no dict, or a line has the wrong fields or a document that its query has already."""


class RelevanceEvaluator:
    """
    Judgments and measures that are prepared once for the runs of many systems.

    Parameters
    ----------
    query_relevance : dict of dict of int
        Judgments: {query: {document: label}}.
    measures : iterable of str
        Such as "map", "ndcg_cut_10", "P.5,10", or a nickname.
    relevance_level : int
        The smallest relevant label, 1 or more. nDCG takes all labels as they are.
    judged_docs_only_flag : bool
        True to remove unjudged documents before ranking.

    Raises
    ------
    UnknownMetricError
        If the catalogue lacks a measure. It is also a ValueError.
    InvalidTypeError
        If the judgments are no dict of dicts from texts to integers. It is also a TypeError.

    Examples
    --------
    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 2, "d2": 1}}, {"P_1"}, relevance_level=2)
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 0.9}})
    {'q1': {'P_1': 0.0}}
    """

    def __init__(
        self,
        query_relevance: dict[str, dict[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        level = as_whole_number(relevance_level)
        if level is None or level < 1:
            raise InvalidTypeError(
                f"`relevance_level` must be a whole number of 1 or more, not {shorten(relevance_level)}. Pass an int."
            )
        judged_only = as_whole_number(judged_docs_only_flag)
        if judged_only is None:
            raise InvalidTypeError(
                f"`judged_docs_only_flag` must be True or False, not {shorten(judged_docs_only_flag)}. Pass a bool."
            )
        self._columns = parse_measures(measures, level)
        if not isinstance(query_relevance, Mapping):
            raise StructureError(
                f"`query_relevance` must be a dict that maps queries to dicts, not {type(query_relevance).__name__}. "
                "Pass {query: {document: label}}."
            )
        qrels = dict(query_relevance)
        _check_labels(qrels)
        self._qrels = read_table(Qrels, qrels)
        convention = conventions["trec_eval_9"]
        self._convention = convention.replace(unjudged="removed") if judged_only else convention

    def evaluate(self, scores: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        """
        Evaluate a run query by query.

        Parameters
        ----------
        scores : dict of dict of float
            The run: {query: {document: score}}.

        Returns
        -------
        dict of dict of float
            {query: {measure: value}}, for the queries of the run that have judgments.

        Raises
        ------
        InvalidInputError
            If a score is NaN.
        InvalidTypeError
            If the run is no dict of dicts from texts to numbers.
        """
        queries, columns = self._evaluate(scores)
        zip_names = partial(zip, list(self._columns))
        rows = zip(*columns, strict=True) if columns else [()] * len(queries)
        return dict(zip(queries, map(dict, map(zip_names, rows)), strict=True))

    def aggregate(self, scores: dict[str, dict[str, float]]) -> dict[str, float]:
        """
        Evaluate a run over all its queries that have judgments. See `compute_aggregated_measure`.

        Parameters
        ----------
        scores : dict of dict of float
            The run: {query: {document: score}}.

        Returns
        -------
        dict of float
            {measure: value}, empty without queries.
        """
        _, columns = self._evaluate(scores)
        return {
            name: compute_aggregated_measure(name, column)
            for name, column in zip(self._columns, columns, strict=True)
            if column
        }

    def _evaluate(self, scores: dict[str, dict[str, float]]) -> tuple[list[str], list[list[float]]]:
        """Return the queries that are evaluated, and the values of each measure."""
        if not scores:
            return [], [[] for _ in self._columns]
        metrics = [column.metric for column in self._columns.values() if column.metric is not None]
        judged = judge(self._qrels, read_table(Run, scores))
        values = iter(evaluate_judged(judged, metrics, self._convention).T)
        no_values = np.empty(len(judged.queries))
        return judged.queries, [
            column.convert(no_values if column.metric is None else next(values)) for column in self._columns.values()
        ]


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """
    Aggregate the values of a measure over queries.

    Parameters
    ----------
    measure : str
        The measure's name. It decides the aggregate: the sum for counts (``num_…``), the geometric mean of logarithms
        for ``gm_…``, the mean for all others.
    values : sequence of float
        One value for each query.

    Returns
    -------
    float
        The aggregate.

    Examples
    --------
    >>> compute_aggregated_measure("num_ret", [2.0, 3.0]), compute_aggregated_measure("map", [0.5, 1.0])
    (5.0, 0.75)
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return math.exp(float(np.mean(values)))
    return float(np.mean(values))


class Installation:
    """The drop-in in place of pytrec_eval. At the end of a ``with`` block, pytrec_eval is what it was before."""

    def __init__(self) -> None:
        self._before = sys.modules.get("pytrec_eval")
        sys.modules["pytrec_eval"] = sys.modules[__name__]

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Restore what was there before."""
        if self._before is not None:
            sys.modules["pytrec_eval"] = self._before
        else:
            uninstall()


def install() -> Installation:
    """
    Make ``import pytrec_eval`` give this drop-in from now on, until `uninstall` is called.

    Call it before BEIR, MTEB or another library that imports pytrec_eval: a module that has imported it keeps it.
    pytrec_eval need not be installed.

    Returns
    -------
    Installation
        Use it in a ``with`` statement to restore pytrec_eval at the end of the block.

    Examples
    --------
    >>> with install():
    ...     import pytrec_eval
    ...     pytrec_eval.RelevanceEvaluator({"q": {"d": 1}}, {"map"}).evaluate({"q": {"d": 0.5}})
    {'q': {'map': 1.0}}
    """
    return Installation()


def uninstall() -> None:
    """
    Make ``import pytrec_eval`` load pytrec_eval again. Modules that imported the drop-in keep it.

    Examples
    --------
    >>> installation = install()
    >>> uninstall()
    """
    if sys.modules.get("pytrec_eval") is sys.modules[__name__]:
        del sys.modules["pytrec_eval"]


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """
    Parse the lines of a run.

    Parameters
    ----------
    f_run : iterable of str
        Lines such as "q1 Q0 d1 1 0.9 bm25": query, Q0, document, rank, score, name.

    Returns
    -------
    dict of dict of float
        The run as {query: {document: score}}.

    Raises
    ------
    InvalidInputError
        If a line has the wrong fields, or a query has a document twice.

    Examples
    --------
    >>> parse_run(["q1 Q0 d1 1 0.9 bm25"])
    {'q1': {'d1': 0.9}}
    """
    return _read_lines(f_run, Run, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """
    Parse the lines of judgments.

    Parameters
    ----------
    f_qrel : iterable of str
        Lines such as "q1 0 d1 2": query, 0, document, label.

    Returns
    -------
    dict of dict of int
        The judgments as {query: {document: label}}.

    Raises
    ------
    InvalidInputError
        If a line has the wrong fields, or a query has a document twice.

    Examples
    --------
    >>> parse_qrel(["q1 0 d1 2"])
    {'q1': {'d1': 2}}
    """
    return _read_lines(f_qrel, Qrels, int)


def _read_lines(
    lines: Iterable[str], kind: type[Qrels] | type[Run], number: type[int] | type[float]
) -> dict[str, dict[str, Any]]:
    """Read lines of TREC's format as {query: {document: number}}."""
    try:
        text = "\n".join(line.removesuffix("\n") for line in lines)
    except (TypeError, AttributeError):
        raise StructureError("lines must be texts, of an open file or a list. Pass such lines.") from None
    if not text.strip():
        return {}
    try:
        with File(io.BufferedReader(io.BytesIO(text.encode()))) as file:
            return list_rows(kind.from_rows(*read_rows(file, TREC[kind.what])), number)
    except InvalidInputError as error:
        raise StructureError(*error.args) from None


def parse_measures(measures: Iterable[str], relevance_level: int) -> dict[str, Column]:
    """Return {name in the output: column}. The arguments of a measure that occurs several times are combined."""
    arguments: defaultdict[str, set[str]] = defaultdict(set)
    if not isinstance(measures, Iterable):
        raise InvalidTypeError(
            f"`measures` must be a set of texts, not {type(measures).__name__}. Pass a set such as {{'map'}}."
        )
    for measure in measures:
        if not isinstance(measure, str):
            raise InvalidTypeError(
                f"`measures` must contain texts only, but contains {shorten(measure)}. Pass names such as 'map'."
            )
        for text in sorted(supported_nicknames.get(measure, {measure})):
            name, values = _split(text)
            arguments[name].update(values)
    columns: dict[str, Column] = {}
    for name in sorted(arguments):
        for text, column in _make_columns(name, arguments[name]):
            metric = None if column.metric is None else at_level(column.metric, relevance_level)
            columns[text] = column._replace(metric=metric)
    return columns


def _split(text: str) -> tuple[str, list[str]]:
    """Return the name of a measure and its arguments."""
    if text in supported_measures:
        return text, []
    match = WITH_ARGUMENTS.fullmatch(text)
    kind = BY_NAME[match[1]].kind if match is not None and match[1] in supported_measures else None
    if match is None or kind not in ("cutoffs", "at", "beta", "single"):
        names = ", ".join(sorted(supported_measures))
        raise UnknownMetricError(f"unsupported measure {text}. Use one of {names}.")
    return match[1], [] if kind == "single" else match[2].split(",")  # trec_eval ignores arguments of a single measure


def _make_columns(name: str, arguments: set[str]) -> list[tuple[str, Column]]:
    """Return the names and columns of a measure, one for each of its cutoffs."""
    if name in CONSTANTS:
        return [(name, Column(None, CONSTANTS[name]))]
    measure = BY_NAME[name]
    if measure.kind == "cutoffs":  # trec_eval drops the fraction of a cutoff
        arguments = {str(int(float(argument))) for argument in arguments}
    if measure.kind == "beta":  # trec_eval reads the first argument only
        arguments = set(sorted(arguments)[:1])
    measure_lines = list_trec_lines([TrecMeasureRequest(measure, ",".join(arguments))])
    names = (name,) if measure.kind == "beta" else tuple(line.name for line in measure_lines)
    return [(text, Column(line.metric)) for text, line in zip(names, measure_lines, strict=True)]


def _check_labels(qrels: dict[str, Any]) -> None:
    """Raise an error for the first label that is no integer. `read_table` checks everything else."""
    for query, row in qrels.items():
        if not isinstance(row, dict):
            continue
        for kind in set(map(type, row.values())):
            if not issubclass(kind, int):
                document = next(document for document, label in row.items() if type(label) is kind)
                raise InvalidTypeError(
                    f"labels must be whole numbers, but that of document {shorten(document)} of query "
                    f"{shorten(query)} is {shorten(row[document])}. Convert labels by int()."
                )
