"""
The measures of trec_eval: their names, parameters and nicknames, and the metric of each.

Texts have the form of trec_eval's option -m: "map", "P.5,10" or "P_5", "ndcg.1=3,2=9", "utility.1,-1,0,0", or a
nickname such as "all_trec".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError
from fastndcg.parsing import Value

Call = tuple[str, dict[str, Value], int | None]  # a metric: its name, parameters and cutoff

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
ELEVEN = tuple(tenth / 10 for tenth in range(11))
RELSTRING_LENGTH = 10
UTILITY = ("a", "b", "c", "d")
MOST_LABELS = 10_000  # in a table of gains, more than any data set has


class Measure(NamedTuple):
    """
    A measure of trec_eval.

    Attributes
    ----------
    name : str
        Name in trec_eval.
    kind : str
        What its parameters are. 'single' and 'geometric' have no parameters. 'cutoffs', 'gains' and 'recalls' have
        lists of numbers, 'at' has values of the parameter `at`. 'utility' has four numbers, 'beta' and 'p' have one.
        'line' is a line of the output that shows no metric.
    metric : str
        Name of the metric in the catalogue.
    usual : tuple of float
        Parameters of a measure without any.
    at : str
        Parameter of the metric that the values of kind 'at' set.
    """

    name: str
    kind: str
    metric: str = ""
    usual: tuple[float, ...] = ()
    at: str = ""


# in the order in which trec_eval prints them
MEASURES = (
    Measure("runid", "line"),
    Measure("num_q", "line"),
    Measure("num_ret", "single", "num_ret"),
    Measure("num_rel", "single", "num_rel"),
    Measure("num_rel_ret", "single", "num_rel_ret"),
    Measure("map", "single", "AP"),
    Measure("gm_map", "geometric", "AP"),
    Measure("Rprec", "single", "Rprec"),
    Measure("bpref", "single", "bpref"),
    Measure("recip_rank", "single", "RR"),
    Measure("iprec_at_recall", "at", "IPrec", ELEVEN, "recall"),
    Measure("P", "cutoffs", "P", CUTOFFS),
    Measure("relstring", "line"),
    Measure("recall", "cutoffs", "R", CUTOFFS),
    Measure("infAP", "single", "infAP"),
    Measure("gm_bpref", "geometric", "bpref"),
    Measure("Rprec_mult", "at", "Rprec", tuple(fifth / 5 for fifth in range(1, 11)), "mult"),
    Measure("utility", "utility", "Utility"),
    Measure("11pt_avg", "recalls", "IAP"),
    Measure("binG", "single", "binG"),
    Measure("G", "gains", "G"),
    Measure("dcg", "gains", "DCG"),
    Measure("ideal_dcg", "gains", "IDCG"),
    Measure("ndcg", "gains", "nDCG"),
    Measure("ndcg_rel", "gains", "nDCG_rel"),
    Measure("Rndcg", "gains", "Rndcg"),
    Measure("ndcg_cut", "cutoffs", "nDCG", CUTOFFS),
    Measure("map_cut", "cutoffs", "AP", CUTOFFS),
    Measure("relative_P", "cutoffs", "RelP", CUTOFFS),
    Measure("success", "cutoffs", "Success", (1, 5, 10)),
    Measure("set_P", "single", "P"),
    Measure("set_relative_P", "single", "RelP"),
    Measure("set_recall", "single", "R"),
    Measure("set_map", "single", "SetAP"),
    Measure("set_F", "beta", "F"),
    Measure("num_nonrel_judged_ret", "single", "num_nonrel_judged_ret"),
    Measure("rbp", "p", "RBP"),
    Measure("rbp_resid", "single", "RBP_resid"),
    Measure("unj", "cutoffs", "Unjudged", (5, 10, 20)),
)
BY_NAME = {measure.name: measure for measure in MEASURES}
SINCE_10 = ("rbp", "rbp_resid", "unj")  # that version 9 has not
SUMS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")  # over queries, in place of a mean
NOT_IN_ALL = ("dcg", "ideal_dcg")
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
        "iprec_at_recall", "P",
    ),
    "set": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_relative_P", "set_recall",
        "set_map", "set_F",
    ),
    "all_trec": tuple(name for name in BY_NAME if name not in NOT_IN_ALL),
}  # fmt: skip
BY_LOWER_NAME = {name.lower(): measure for name, measure in BY_NAME.items()}
_ANY_NAME = "|".join(sorted(map(re.escape, BY_NAME), key=len, reverse=True))
_MEASURE = re.compile(rf"({_ANY_NAME})(?:[._](.+))?")
_MEASURE_IN_ANY_CASE = re.compile(rf"({_ANY_NAME})[._](.+)", re.IGNORECASE)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)"


def find_names(metric: str) -> dict[str, Any]:
    """
    Return what trec_eval calls a metric, as fields of the metric's record.

    >>> find_names("P"), find_names("num_ret")
    ({'trec_cut': 'P', 'trec_name': 'set_P'}, {'trec_name': 'num_ret', 'sums_in_trec_eval': True})
    """
    names: dict[str, Any] = {}
    for measure in MEASURES:
        if measure.metric == metric and measure.kind == "cutoffs":
            names["trec_cut"] = measure.name
        elif measure.metric == metric and measure.kind == "at":
            names["trec_at"] = (measure.name, measure.at)
        elif measure.metric == metric and measure.kind != "geometric":
            names["trec_name"] = measure.name
    return names | ({"sums_in_trec_eval": True} if metric in SUMS else {})


class TrecMeasureRequest(NamedTuple):
    """A measure with the text of its parameters, which is empty for the usual parameters."""

    measure: Measure
    parameters: str


def read(text: str, *, version: int = 10) -> list[TrecMeasureRequest] | None:
    """Return the measures of a name or nickname, or None if trec_eval has no such name."""
    if text in NICKNAMES:
        names = [name for name in NICKNAMES[text] if version >= 10 or name not in SINCE_10]
        return [TrecMeasureRequest(BY_NAME[name], "") for name in names]
    match = _MEASURE.fullmatch(text)
    if match is None or (match[2] is not None and not _fits(BY_NAME[match[1]], match[2])):
        return None
    return [TrecMeasureRequest(BY_NAME[match[1]], match[2] or "")]


def parse_measure(text: str) -> list[Call]:
    """
    Return the metrics of a measure with parameters, in upper or lower case. Return none for other texts.

    >>> parse_measure("P.5,10"), parse_measure("ndcg_cut_10"), parse_measure("ndcg.1=3,2=9"), parse_measure("P")
    ([('P', {}, 5), ('P', {}, 10)], [('nDCG', {}, 10)], [('nDCG', {'gain': (0.0, 3.0, 9.0)}, None)], [])
    """
    match = _MEASURE_IN_ANY_CASE.fullmatch(text)
    if match is None or not _fits(measure := BY_LOWER_NAME[match[1].lower()], match[2]):
        return []
    return [call for _, call in named_calls(TrecMeasureRequest(measure, match[2])) if call is not None]


def _fits(measure: Measure, parameters: str) -> bool:
    """Return True if a text reads as parameters of a measure."""
    number = r"\d+" if measure.kind == "cutoffs" else _NUMBER
    patterns = {
        "single": None,
        "geometric": None,
        "gains": rf"\d+={_NUMBER}(,\d+={_NUMBER})*",
        "utility": rf"{number}(,{number}){{3}}",
        "p": rf"p={_NUMBER}",
        "beta": number,
        "line": r"\d+" if measure.name == "relstring" else None,
    }
    pattern = patterns.get(measure.kind, rf"{number}(,{number})*")
    return pattern is not None and re.fullmatch(pattern, parameters) is not None


def named_calls(request: TrecMeasureRequest, highest: int = 0) -> list[tuple[str, Call | None]]:
    """
    Return each line of a measure with its metric, or with None for a line that shows no metric.

    `highest` is the highest label. Tables of gains end there.
    """
    measure, parameters = request
    if measure.kind == "line":
        return [(f"{measure.name}_{parameters}" if parameters else measure.name, None)]
    if measure.kind == "cutoffs":
        cutoffs = sorted({int(text) for text in parameters.split(",")}) if parameters else measure.usual
        return [(f"{measure.name}_{k}", (measure.metric, {}, int(k))) for k in cutoffs]
    if measure.kind == "at":
        points = sorted({float(text) for text in parameters.split(",")}) if parameters else measure.usual
        return [(f"{measure.name}_{point:.2f}", (measure.metric, {measure.at: point}, None)) for point in points]
    if not parameters:
        return [(measure.name, (measure.metric, {}, None))]
    return [
        (f"{measure.name}_{parameters}", (measure.metric, _read_parameters(measure.kind, parameters, highest), None))
    ]


def _read_parameters(kind: str, parameters: str, highest: int) -> dict[str, Value]:
    """Return the parameters of a measure under their names in the catalogue."""
    if kind == "gains":
        return {"gain": _gains(parameters, highest)}
    if kind == "p":
        return {"p": float(parameters.removeprefix("p="))}
    numbers = tuple(float(text) for text in parameters.split(","))
    if kind == "utility":
        return dict(zip(UTILITY, numbers, strict=True))
    if kind == "recalls":
        return {"recalls": numbers}
    return {"beta": numbers[0] ** 0.5}  # trec_eval does not square its beta


def _gains(parameters: str, highest: int) -> tuple[float, ...]:
    """
    Return the gains of labels 0 to `highest`. A label without a gain in the text gains itself.

    If `highest` is 0, the table ends with the highest label of the text.
    """
    pairs = [pair.partition("=")[::2] for pair in parameters.split(",")]
    gains = {int(label): float(gain) for label, gain in pairs}
    if max(gains) > MOST_LABELS:
        raise InvalidInputError(f"labels of gains must be at most {MOST_LABELS}, not {max(gains)}. Rescale the labels")
    n_labels = (highest or max(gains)) + 1
    return tuple(gains.get(label, float(label)) for label in range(max(n_labels, 2)))


def relstring_length(requests: Iterable[TrecMeasureRequest]) -> int | None:
    """Return the number of labels in the relevance string, or None if no measure shows it."""
    for measure, parameters in requests:
        if measure.name == "relstring":
            return int(parameters or RELSTRING_LENGTH)
    return None
