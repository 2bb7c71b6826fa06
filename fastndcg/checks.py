"""Labels that the kernels found and that a convention or a metric cannot take."""

from __future__ import annotations

import functools
import math
import sys
from itertools import pairwise

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.rankings import EXACT_LIMIT, LONGEST_QUERY, Array, Rankings
from fastndcg.texts import Value

HIGHEST_EXP2_LABEL = 1023.0  # 2^1024 leaves float64
HARMLESS_LABEL = 1000.0  # most data sets have nothing above it, and every formula can take it
FORMULAS = frozenset({"linear", "exp2", "binary"})
LOWEST_RELEVANT = {
    "at least 1": 1.0,
    "above 0": sys.float_info.min,  # below it, processors may be told to take numbers for 0
    "above 0.5": math.nextafter(0.5, 1),
}


def check_labels(
    rankings: Rankings,
    name: str,
    extremes: tuple[float, float, float],
    found: Array,
    gains: frozenset[Value],
    convention: Convention,
) -> None:
    """
    Refuse labels of the array `name` that the `gains` asked for, or the convention, cannot take.

    Of a chunk's labels the lowest, the highest, the number of NaN, and those that are not 0, `found`, are known.
    """
    lowest, highest, n_nan = extremes
    if lowest == 0 and highest <= HARMLESS_LABEL and not n_nan and gains <= FORMULAS:
        return
    labels = rankings.pool[0] if name == "pool" and rankings.pool else rankings.labels
    refuse = functools.partial(rankings.refuse, name)
    negative = convention.negative_labels
    if n_nan:
        refuse(np.isnan(labels), "not be NaN: leave the document out, or give it the label 0")
    if lowest < 0 and negative == "raise":
        refuse(labels < 0, "not be negative: set it to 0, or take convention.replace(negative_labels='zero')")
    if highest >= EXACT_LIMIT or lowest <= -EXACT_LIMIT:  # 2**53 may have been 2**53 + 1 before it became a float64
        beyond = (labels > int(EXACT_LIMIT)) | (labels < -int(EXACT_LIMIT))
        if beyond.any():
            refuse(beyond, "be finite and at most 2**53 in size: rescale the labels")
    for gain in gains:
        seen = np.trunc if convention.label_fractions == "cut off" else np.asarray
        if gain == "exp2" and seen(highest) > HIGHEST_EXP2_LABEL:
            beyond = seen(labels) > HIGHEST_EXP2_LABEL
            refuse(beyond, "be at most 1023 for gain exp2, beyond float64: take gain linear")
        if isinstance(gain, tuple):
            below = seen(lowest) < 0 and negative == "keep"
            if seen(highest) >= len(gain) or below:
                outside = (seen(labels) >= len(gain)) | ((seen(labels) < 0) & below)
                refuse(outside, f"have a gain in the table of labels 0 to {len(gain) - 1}: make the table longer")
            if (seen(found) % 1 != 0).any():
                refuse(labels % 1 != 0, "be whole for a table of gains: round the labels, or take gain linear")


def check_sums(gains: Array, offsets: Array, discount: float, metric: Metric, rankings: Rankings, first: int) -> None:
    """
    Refuse gains that may add up beyond float64 in a query, or may where each counts `discount` times.

    The first query of these is query `first` of the rankings.
    """
    if not gains.max(initial=0.0) > np.finfo("f8").max / LONGEST_QUERY / max(discount, 1.0):
        return
    with np.errstate(over="ignore"):
        for query, (start, stop) in enumerate(pairwise(offsets.tolist()), first):
            if not np.isfinite(gains[start:stop].sum() * max(discount, 1.0)):
                raise InvalidInputError(
                    f"gains of {metric} must add up within float64, but those of {rankings.query_name(query)} do not; "
                    "take gain linear, or rescale the labels"
                )


def check_stops(judged: Array, candidates: Array, metric: Metric, rankings: Rankings) -> None:
    """Refuse labels above the highest that a metric takes for a chance to stop; those not 0 are given."""
    highest = highest_stop(metric)
    if max(judged.max(initial=0.0), candidates.max(initial=0.0)) <= highest:
        return
    rule = f"be at most {highest:g} for {metric}, the chance to stop at a document: " + (
        "take stop='grades'" if metric.get("stop") == "labels" else "take a higher max_grade, or rescale the labels"
    )
    for name, labels in (("labels", rankings.labels), ("pool", rankings.pool[0] if rankings.pool else rankings.labels)):
        if (labels > highest).any():
            rankings.refuse(name, labels > highest, rule)


def check_unit_gains(extremes: Array, gains: Array, metric: Metric, rankings: Rankings) -> None:
    """Refuse the lowest or highest label if its gain is below 0 or above 1."""
    for label, gain in zip(extremes.tolist(), gains.tolist(), strict=True):
        if not 0 <= gain <= 1:
            rule = (
                f"have a gain from 0 to 1 for {metric}, not {gain:g}: take a table such as gain=[0,0.5,1], or rescale"
            )
            rankings.refuse("labels", rankings.labels == label, f"{rule} the labels")


def highest_stop(metric: Metric) -> float:
    """The highest label that a metric takes for a chance to stop at a document, infinite if for none."""
    if metric.get("stop") is None:
        return math.inf
    return 1.0 if metric.get("stop") == "labels" else float(metric.get("max_grade"))


def gain_of(metric: Metric, convention: Convention) -> Value:
    """The gain that a metric adds up: its own, or else the convention's."""
    own: Value | None = metric.get("gain")
    if own is None and metric.name == "RBP" and convention.rbp_gain == "binary":
        return "binary"
    return convention.gain if own is None else own


def rel_of(metric: Metric, convention: Convention) -> float:
    """The lowest label that is relevant: the metric's own threshold, or what the convention says."""
    own: float | None = dict(metric.parameters).get("rel")  # type: ignore[assignment]
    return LOWEST_RELEVANT[convention.relevant] if own is None else float(own)


def gains_asked(metrics: tuple[Metric, ...], convention: Convention) -> frozenset[Value]:
    """The gains that some metrics add up."""
    adding = [metric for metric in metrics if any(parameter.name == "gain" for parameter in metric.record.parameters)]
    return frozenset(gain_of(metric, convention) for metric in adding)
