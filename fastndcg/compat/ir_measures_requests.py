"""
Measures of ir_measures as requests: metrics of the catalogue, a convention, and replacements of labels.

Each measure follows the order of ties of the provider that computes it in ir_measures by default:

- pytrec_eval and gdeval: falling ids
- judged and compat: rising ids
- cwl_eval and accuracy: as given
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import UnknownMetricError
from fastndcg.metrics.families import CATALOG
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention, conventions
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name

LOGGER = logging.getLogger("ir_measures.fastndcg")  # shown where ir_measures shows the warnings of its providers

PYTREC_EVAL = conventions["trec_eval_9_c"]
GDEVAL = PYTREC_EVAL.replace(score_dtype="as given")
RISING_IDS = PYTREC_EVAL.replace(score_dtype="as given", ties="id_ascending")
AS_GIVEN = PYTREC_EVAL.replace(score_dtype="as given", ties="input")
SUBTOPIC_CONVENTION = conventions["ndeval"]
ACCURACY = AS_GIVEN.replace(pool="retrieved", undefined="nan")

N_RANKS_OF_CWL = 1000  # cwl_eval adds ranks without documents up to this one, and looks at no later one
MOST_GRADES = 1000  # in a table of gains, more than any data set has

# ir_measures' name of a measure that pytrec_eval computes: the name in the catalogue
PLAIN_NAMES = {
    "AP": "AP", "Bpref": "bpref", "IPrec": "IPrec", "NumRel": "num_rel", "P": "P", "R": "R", "RR": "RR",
    "Rprec": "Rprec", "SetAP": "SetAP", "SetF": "F", "SetP": "P", "SetR": "R", "Success": "Success", "infAP": "infAP",
}  # fmt: skip
SUBTOPIC_NAMES = {"StRecall": "S_recall"} | {
    name: name for name, record in CATALOG.items() if record.by_subtopic and name != "S_recall"
}


class Relabelling(NamedTuple):
    """
    Labels that are replaced first: by `gains`, pairs of an old and a new label, or by `grades` (lowest, highest).

    Grades count from the lowest one, 0 or more. Labels outside become the nearer of both. With (0, infinity) documents
    of labels below 0 count as judged.
    """

    gains: tuple[tuple[Any, Any], ...] = ()
    grades: tuple[float, float] | None = None

    def replace(self, label: Any) -> Any:
        """Return the new label. One without a gain is its own gain."""
        if self.grades is None:
            return dict(self.gains).get(label, label)
        lowest, highest = self.grades
        return min(max(label, 0, lowest), highest) - lowest

    def report(self, labels: set[Any]) -> None:
        """Log a warning for labels outside the grades, as cwl_eval's provider does."""
        lowest, highest = self.grades or (0, math.inf)
        outside = sorted(label for label in labels if not lowest <= max(label, 0) <= highest)
        if outside:
            LOGGER.warning(
                "labels must be from min_rel=%s to max_rel=%s, but there is %s: labels below count as min_rel, labels "
                "above as max_rel",
                lowest, highest, outside[0],
            )  # fmt: skip


class Request(NamedTuple):
    """
    The computation of a measure.

    `combine` returns its values for the (n_metrics, n_queries) values of the metrics. By default they are those of the
    only metric.
    """

    metrics: tuple[Metric, ...]
    convention: Convention
    relabelling: Relabelling | None = None  # of labels, first
    combine: Callable[[Array], Array] | None = None

    @property
    def is_by_subtopic(self) -> bool:
        """True if the measure needs judgments by subtopic."""
        return any(metric.record.by_subtopic for metric in self.metrics)


def convert_measure(measure: Any) -> Request:
    """Return the request of a measure of ir_measures. Raise for one, or a parameter, that the catalogue lacks."""
    arguments = {key: measure[key] for key in measure.SUPPORTED_PARAMS if _is_set(measure[key])}
    reader = READERS.get(measure.NAME)
    if reader is None:
        names = ", ".join(sorted(READERS))
        raise UnknownMetricError(f"unsupported measure {show_name(measure)}. Use one of {names}, or another provider.")
    request = reader(measure.NAME, arguments)
    if arguments.get("judged_only"):
        return request._replace(convention=request.convention.replace(unjudged="removed"))
    return request


def replace_labels(qrels: dict[str, dict[str, Any]], relabelling: Relabelling | None) -> dict[str, dict[str, Any]]:
    """
    Return the judgments with replaced labels. Labels that stay as they are give the same dict.

    A label that is no number is a TypeError.
    """
    if relabelling is None:
        return qrels
    labels = set(chain.from_iterable(row.values() for row in qrels.values()))
    table = {label: relabelling.replace(label) for label in labels}
    relabelling.report(labels)
    if all(old == new for old, new in table.items()):
        return qrels
    return {query: {document: table[label] for document, label in row.items()} for query, row in qrels.items()}


def _read_plain(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of a measure that pytrec_eval computes."""
    parameters = {key: arguments[key] for key in ("beta", "recall", "rel") if key in arguments}
    metric = "RelP" if arguments.get("relative") else PLAIN_NAMES[name]
    return Request((Metric(metric, arguments.get("cutoff"), **parameters),), PYTREC_EVAL)


def _read_by_subtopic(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of a measure that pyndeval computes."""
    parameters = {key: arguments[key] for key in ("alpha", "beta", "rel") if key in arguments}
    return Request((Metric(SUBTOPIC_NAMES[name], arguments.get("cutoff"), **parameters),), SUBTOPIC_CONVENTION)


def _read_ndcg(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of nDCG, which pytrec_eval computes, or gdeval for exponential gains."""
    is_exponential = arguments.get("dcg") == "exp-log2"
    metric = Metric(name, arguments.get("cutoff"), **({"gain": "exp2"} if is_exponential else {}))
    gains = arguments.get("gains")
    relabelling = Relabelling(gains=tuple(gains.items())) if isinstance(gains, dict) else None
    return Request((metric,), GDEVAL if is_exponential else PYTREC_EVAL, relabelling)


def _read_num_ret(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of the number of retrieved documents, or of those with a label of `rel`."""
    metric = Metric("num_rel_ret", rel=arguments["rel"]) if "rel" in arguments else Metric("num_ret")
    return Request((metric,), PYTREC_EVAL)


def _read_accuracy(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of the area under the ROC curve of the retrieved documents."""
    if "cutoff" in arguments:
        raise UnknownMetricError("Accuracy must have no cutoff, because AUC has none. Use the provider `accuracy`.")
    return Request((Metric("AUC", rel=arguments["rel"]),), ACCURACY)


def _read_compat(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of compatibility, which ends with the longer of the ranking and the ideal ranking."""
    metrics = (Metric(name, p=arguments["p"]), Metric("num_ret"), Metric("num_rel"), Metric("num_rel_ret"))
    combine = partial(_end_compatibility, arguments["p"], bool(arguments["normalize"]))
    return Request(metrics, RISING_IDS, combine=combine)


def _read_rbp(name: str, arguments: dict[str, Any]) -> Request:
    """
    Return the request of RBP.

    Labels are gains without `rel`. Without a cutoff, weights add up to 1 over the ranks that cwl_eval looks at.
    """
    p = arguments["p"]
    k = arguments.get("cutoff")
    gain = {"gain": "binary", "rel": arguments["rel"]} if "rel" in arguments else {"gain": "linear"}
    convention = AS_GIVEN.replace(rbp_gain="binary")
    if k is not None:
        return Request((Metric(name, k, p=p, **gain),), convention)
    combine = partial(_divide, 1 - p**N_RANKS_OF_CWL)
    return Request((Metric(name, N_RANKS_OF_CWL, p=p, **gain),), convention, combine=combine)


def _read_adaptive(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of INST or BPM, which cwl_eval computes."""
    k = min(arguments.get("cutoff", N_RANKS_OF_CWL), N_RANKS_OF_CWL)
    grades, gain = _read_grades(arguments)
    return Request((Metric(name, k, goal=arguments["T"], gain=gain),), AS_GIVEN, grades)


def _read_insq(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of INSQ: DCG with the discounts 1 / (r + 2T − 1)², which add up to 1."""
    grades, gain = _read_grades(arguments)
    weights = (2 * arguments["T"] / (np.arange(N_RANKS_OF_CWL) + 2 * arguments["T"])) ** 2
    metric = Metric("DCG", N_RANKS_OF_CWL, gain=gain, discount=tuple((weights / weights.sum()).tolist()))
    return Request((metric,), AS_GIVEN, grades)


def _read_sdcg(name: str, arguments: dict[str, Any]) -> Request:
    """Return the request of SDCG: DCG over that of k documents with the highest label."""
    k = min(arguments["cutoff"], N_RANKS_OF_CWL)
    grades, gain = _read_grades(arguments)
    metric = Metric("DCG", k, gain=gain, discount="log2")
    best = math.fsum(1 / math.log2(rank + 1) for rank in range(1, k + 1))
    return Request((metric,), AS_GIVEN, grades, partial(_divide, best))


READERS: dict[str, Callable[[str, dict[str, Any]], Request]] = {
    **dict.fromkeys(PLAIN_NAMES, _read_plain),
    **dict.fromkeys(SUBTOPIC_NAMES, _read_by_subtopic),
    "nDCG": _read_ndcg,
    "ERR": lambda name, arguments: Request((Metric(name, arguments.get("cutoff")),), GDEVAL),
    "NumRet": _read_num_ret,
    "NumQ": lambda name, arguments: Request((), PYTREC_EVAL, combine=lambda values: np.ones(values.shape[1])),
    "Judged": lambda name, arguments: Request(
        (Metric(name, arguments.get("cutoff")),), RISING_IDS, Relabelling(grades=(0, math.inf))
    ),
    "Accuracy": _read_accuracy,
    "Compat": _read_compat,
    "RBP": _read_rbp,
    "INST": _read_adaptive,
    "BPM": _read_adaptive,
    "INSQ": _read_insq,
    "SDCG": _read_sdcg,
}


def _read_grades(arguments: dict[str, Any]) -> tuple[Relabelling, tuple[float, ...]]:
    """Return the grades of `min_rel` and `max_rel`, and their gains from 0 to 1."""
    lowest = arguments["min_rel"]
    highest = arguments["max_rel"]
    if not 0 < highest - lowest <= MOST_GRADES:
        raise UnknownMetricError(
            f"`max_rel` must be above `min_rel` by {MOST_GRADES} at most, but max_rel={highest} and min_rel={lowest}. "
            "Give the lowest and the highest label."
        )
    gains = np.arange(highest - lowest + 1) / (highest - lowest)
    return Relabelling(grades=(lowest, highest)), tuple(gains.tolist())


def _divide(divisor: float, values: Array) -> Array:
    """Return the values of the only metric over a number."""
    quotients: Array = values[0] / divisor
    return quotients


def _end_compatibility(p: float, is_normalised: bool, values: Array) -> Array:
    """
    Return compatibility down to the end of the longer of the ranking and the ideal ranking.

    The catalogue's value has no last rank. Below the end of both rankings the overlap stays as it is. So the rest of
    the sum is the overlap times the tail of p^(d − 1) / d. The same holds for the ideal ranking with itself.
    """
    endless = values[0]
    n_retrieved, n_relevant, n_found = values[1:].astype("i8")
    lengths = np.maximum(n_retrieved, n_relevant)
    depths = np.arange(1, int(lengths.max(initial=0)) + 1)
    weights = p ** (depths - 1.0)
    tails = -math.log1p(-p) / p - np.concatenate([[0.0], np.cumsum(weights / depths)])
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    best = sums[n_relevant] + n_relevant * tails[n_relevant]
    overlap = np.maximum(endless * best - n_found * tails[lengths], 0.0)
    divisor = best - n_relevant * tails[lengths] if is_normalised else sums[lengths]
    shares: Array = np.zeros(len(overlap))
    np.divide(overlap, divisor, out=shares, where=(n_relevant > 0) & (divisor > 0))
    return shares


def _is_set(value: Any) -> bool:
    """Return True for a parameter with a value. ir_measures marks the others by sentinel objects."""
    return isinstance(value, int | float | str | dict)
