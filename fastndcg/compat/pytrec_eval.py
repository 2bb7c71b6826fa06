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

import numpy as np

from fastndcg.catalog import RECORDS
from fastndcg.compat.lookups import values_of
from fastndcg.compat.tables import read_lines
from fastndcg.conventions import conventions
from fastndcg.errors import InvalidTypeError, UnknownMetricError
from fastndcg.inputs.dicts import DictQrels
from fastndcg.metric import Metric
from fastndcg.rankings import Array

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
SUCCESS_CUTOFFS = (1, 5, 10)
NUMBERS = r"[0-9]+(?:\.[0-9]+)?"
WITH_ARGUMENTS = re.compile(rf"(.+?)[._]({NUMBERS}(?:,{NUMBERS})*)")

_SINGLE = {record.trec_name: record.name for record in RECORDS if record.trec_name}
_CUT = {record.trec_cut: record.name for record in RECORDS if record.trec_cut}
supported_measures = {*_SINGLE, *_CUT}
supported_nicknames = {
    "official": {
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
        "iprec_at_recall", "P",
    },
    "set": {
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_relative_P", "set_recall",
        "set_map", "set_F",
    },
    "all_trec": {
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "map", "gm_map", "Rprec",
        "bpref", "gm_bpref", "recip_rank", "iprec_at_recall", "11pt_avg", "P", "relative_P", "recall", "success",
        "infAP", "map_cut", "Rprec_mult", "utility", "ndcg", "ndcg_cut", "ndcg_rel", "Rndcg", "binG", "G", "set_P",
        "set_relative_P", "set_recall", "set_map", "set_F", "relstring",
    },
}  # fmt: skip


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
        self._metrics = metrics_of(measures, relevance_level)
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
        queries, values = self._values(scores)
        names = list(self._metrics)
        rows = zip(*values.T.tolist(), strict=True) if names else [()] * len(queries)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, rows, strict=True)}

    def aggregate(self, scores: dict[str, dict[str, float]]) -> dict[str, float]:
        """Give {measure: value} over all queries of the run that have judgments, as `compute_aggregated_measure`."""
        _, values = self._values(scores)
        return {
            name: compute_aggregated_measure(name, column)
            for name, column in zip(self._metrics, values.T.tolist(), strict=True)
            if column
        }

    def _values(self, scores: dict[str, dict[str, float]]) -> tuple[list[str], Array]:
        if not scores:
            return [], np.empty((0, len(self._metrics)))
        judged = self._qrels.judged(scores)
        return judged.queries, values_of(judged, list(self._metrics.values()), self._convention)


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


def metrics_of(measures: Iterable[str], relevance_level: int) -> dict[str, Metric]:
    """Read measures' texts as {name in the output: metric}, the arguments of each measure put together."""
    arguments: defaultdict[str, set[str]] = defaultdict(set)
    for measure in measures:
        if not isinstance(measure, str):
            raise InvalidTypeError(f"`measures` must be texts, but one is {measure!r}")
        for text in sorted(supported_nicknames.get(measure, {measure})):
            name, given = _split(text)
            arguments[name].update(given)
    found = (pair for name in sorted(arguments) for pair in _read(name, arguments[name]))
    return {text: _at_level(metric, relevance_level) for text, metric in found}


def _split(text: str) -> tuple[str, list[str]]:
    """A measure's name and its arguments."""
    if text in supported_measures:
        return text, []
    match = WITH_ARGUMENTS.fullmatch(text)
    if match is None or match[1] not in (*_CUT, "set_F"):
        known = ", ".join(sorted(supported_measures))
        raise UnknownMetricError(f"unsupported measure {text}: the catalogue has {known}")
    return match[1], match[2].split(",")


def _read(name: str, arguments: set[str]) -> list[tuple[str, Metric]]:
    """A measure, or one for each of its cutoffs, with its name in the output."""
    if name in _CUT:
        usual = SUCCESS_CUTOFFS if name == "success" else CUTOFFS
        cutoffs = sorted(int(float(argument)) for argument in arguments) or usual  # trec_eval cuts fractions off, too
        return [(f"{name}_{k}", Metric(_CUT[name], k)) for k in cutoffs]
    if arguments:  # of set_F: beta², and trec_eval looks at the first alone
        return [(name, Metric("F", beta=math.sqrt(float(min(arguments)))))]
    return [(name, Metric(_SINGLE[name]))]


def _at_level(metric: Metric, level: int) -> Metric:
    return metric(rel=level) if metric.get("rel") is not None else metric


def _check_labels(qrels: dict[str, dict[str, int]]) -> None:
    for query, row in qrels.items():
        for kind in set(map(type, row.values())):
            if not issubclass(kind, int):
                document = next(document for document, label in row.items() if type(label) is kind)
                raise InvalidTypeError(
                    f"labels must be whole numbers, but that of document {document!r} of query {query!r} is "
                    f"{row[document]!r}; use int()"
                )
