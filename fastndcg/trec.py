"""
trec_eval's measures: their names, parameters and nicknames, and the metric behind each line that it prints.

A measure is named as trec_eval's -m takes it: "map", "P.5,10" or "P_5", "ndcg.1=3,2=9", "utility.1,-1,0,0", or a
nickname such as "all_trec".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastndcg.metric import Metric

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
ELEVEN = tuple(tenth / 10 for tenth in range(11))
RELSTRING_LENGTH = 10
UTILITY = ("a", "b", "c", "d")


class Measure(NamedTuple):
    """
    A measure of trec_eval's.

    `kind` says what its parameters are: none ('single'), 'cutoffs', values of the parameter `at`, 'gains' of labels,
    the four numbers of 'utility', the 'recalls' of 11pt_avg, the 'beta' of set_F, the 'p' of rbp; what is no metric
    is a 'line' of its own.
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
    Measure("gm_map", "single", "gm(AP)"),
    Measure("Rprec", "single", "Rprec"),
    Measure("bpref", "single", "bpref"),
    Measure("recip_rank", "single", "RR"),
    Measure("iprec_at_recall", "at", "IPrec", ELEVEN, "recall"),
    Measure("P", "cutoffs", "P", CUTOFFS),
    Measure("relstring", "line"),
    Measure("recall", "cutoffs", "R", CUTOFFS),
    Measure("infAP", "single", "infAP"),
    Measure("gm_bpref", "single", "gm(bpref)"),
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
_ASKED = re.compile(rf"({'|'.join(sorted(map(re.escape, BY_NAME), key=len, reverse=True))})(?:[._](.+))?")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)"


class Line(NamedTuple):
    """A line of trec_eval's: its place among all measures, its name, and its metric; None for what is no metric."""

    order: int
    name: str
    metric: Metric | None


class Asked(NamedTuple):
    """A measure with the text of its parameters, empty for the usual ones."""

    measure: Measure
    parameters: str


def read(text: str, *, version: int = 10) -> list[Asked] | None:
    """The measures that one name or nickname stands for; None for what is none of trec_eval's."""
    if text in NICKNAMES:
        names = [name for name in NICKNAMES[text] if version >= 10 or name not in SINCE_10]
        return [Asked(BY_NAME[name], "") for name in names]
    found = _ASKED.fullmatch(text)
    if found is None or (found[2] is not None and not _fits(BY_NAME[found[1]], found[2])):
        return None
    return [Asked(BY_NAME[found[1]], found[2] or "")]


def lines(asked: Iterable[Asked], *, level: int | None = None, documents: int = 0, highest: int = 0) -> list[Line]:
    """
    The lines of measures.

    Labels are relevant from `level` on; the collection has so many `documents`, which utility needs; `highest` is the
    highest label, up to which gains of labels are needed.

    >>> [(line.name, line.metric) for line in lines(read("P.5,10") + read("set_F_2"))]
    [('P_5', P@5), ('P_10', P@10), ('set_F_2', F(beta=1.4142135623730951))]
    """
    made = []
    for measure, parameters in asked:
        order = MEASURES.index(measure)
        for name, metric in _named_metrics(measure, parameters, highest):
            if metric is not None and metric.name == "Utility" and documents:
                metric = metric(documents=documents)
            made.append(Line(order, name, None if metric is None else at_level(metric, level)))
    return made


def at_level(metric: Metric, level: int | None) -> Metric:
    """The metric with the threshold `level`, if it looks for relevant documents and has no other threshold."""
    if level is None or "rel" in dict(metric.parameters) or metric.get("rel") is None:
        return metric
    return metric(rel=level)


def _fits(measure: Measure, parameters: str) -> bool:
    """Whether a text is one of parameters of a measure."""
    number = r"\d+" if measure.kind == "cutoffs" else _NUMBER
    patterns = {
        "single": None,
        "gains": rf"\d+={_NUMBER}(,\d+={_NUMBER})*",
        "utility": rf"{number}(,{number}){{3}}",
        "p": rf"p={_NUMBER}",
        "beta": number,
        "line": r"\d+" if measure.name == "relstring" else None,
    }
    pattern = patterns.get(measure.kind, rf"{number}(,{number})*")
    return pattern is not None and re.fullmatch(pattern, parameters) is not None


def _named_metrics(measure: Measure, parameters: str, highest: int) -> Sequence[tuple[str, Metric | None]]:
    """Each line of a measure, with its metric."""
    if measure.kind == "line":
        return [(f"{measure.name}_{parameters}" if parameters else measure.name, None)]
    if measure.kind == "cutoffs":
        cutoffs = sorted({int(text) for text in parameters.split(",")}) if parameters else measure.usual
        return [(f"{measure.name}_{k}", Metric(measure.metric, k)) for k in cutoffs]  # type: ignore[arg-type]
    if measure.kind == "at":
        points = sorted({float(text) for text in parameters.split(",")}) if parameters else measure.usual
        return [(f"{measure.name}_{point:.2f}", Metric(measure.metric)(**{measure.at: point})) for point in points]
    metric = Metric.parse(measure.metric)
    if not parameters:
        return [(measure.name, metric)]
    return [(f"{measure.name}_{parameters}", metric(**_chosen(measure.kind, parameters, highest)))]


def _chosen(kind: str, parameters: str, highest: int) -> dict[str, object]:
    """What the parameters of a measure are called here."""
    if kind == "gains":
        return {"gain": _gains(parameters, highest)}
    if kind == "p":
        return {"p": float(parameters.removeprefix("p="))}
    numbers = tuple(float(text) for text in parameters.split(","))
    if kind == "utility":
        return dict(zip(UTILITY, numbers, strict=True))
    if kind == "recalls":
        return {"recalls": numbers}
    return {"beta": numbers[0] ** 0.5}  # trec_eval's is not squared


def _gains(parameters: str, highest: int) -> tuple[float, ...]:
    """The gains of labels 0 to the highest: those given, and for others the label itself."""
    gains = [float(label) for label in range(max(highest, 1) + 1)]
    for pair in parameters.split(","):
        label, _, gain = pair.partition("=")
        if int(label) < len(gains):
            gains[int(label)] = float(gain)
    return tuple(gains)


def relstring_length(asked: Iterable[Asked]) -> int | None:
    """How many labels the relevance string shows, None where none is asked for."""
    for measure, parameters in asked:
        if measure.name == "relstring":
            return int(parameters or RELSTRING_LENGTH)
    return None
