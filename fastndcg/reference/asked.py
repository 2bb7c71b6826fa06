"""What a metric's parameters and the convention say, as functions of a label and of a rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from fastndcg.conventions import Convention
from fastndcg.metric import Metric
from fastndcg.texts import Value


class Asked(NamedTuple):
    """What a metric's parameters and the convention say; a `k` of None counts all ranks."""

    k: int | None
    is_relevant: Callable[[float], bool]
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    convention: Convention
    metric: Metric

    def get(self, parameter: str) -> float:
        """The value of a parameter that is a number."""
        return float(self.metric.get(parameter))


def asked_of(metric: Metric, convention: Convention) -> Asked:
    """A metric's parameters, with the convention's choices where it has none."""
    default = convention.default_k if isinstance(convention.default_k, int) and metric.record.takes_k else None
    k = default if metric.k is None else metric.k
    is_relevant = relevance(metric, convention)
    return Asked(k, is_relevant, gain_of(metric, convention), discount_of(metric, convention), convention, metric)


def relevance(metric: Metric, convention: Convention) -> Callable[[float], bool]:
    """Whether a label is relevant: by a threshold of the metric's own, or what the convention says."""
    if "rel" not in dict(metric.parameters) and convention.relevant != "at least 1":
        border = {"above 0": 0, "above 0.5": 0.5}[convention.relevant]
        return lambda label: label > border
    return lambda label: label >= (metric.get("rel") or 1)


def gain_of(metric: Metric, convention: Convention) -> Callable[[float], float]:
    """What a label gains."""
    chosen = chosen_gain(metric, convention)
    is_relevant = relevance(metric, convention)

    def gain(label: float) -> float:
        if metric.get("rel") is not None and not is_relevant(label):
            return 0.0
        if chosen == "binary":
            return float(is_relevant(label))
        if convention.label_fractions == "cut off":
            label = float(math.trunc(label))
        if isinstance(chosen, tuple):
            return chosen[int(label)]
        return label if chosen == "linear" else 2.0**label - 1 if abs(label) >= 1 else math.expm1(label * math.log(2))

    return gain


def chosen_gain(metric: Metric, convention: Convention) -> Value:
    """The metric's own gain, or else the convention's."""
    if metric.name == "RBP" and convention.rbp_gain == "binary":
        return metric.get("gain") or "binary"
    return metric.get("gain") or convention.gain


def discount_of(metric: Metric, convention: Convention) -> Callable[[int], float]:
    """What a gain counts at a rank."""
    table, p = metric.get("discount") or convention.discount, metric.get("p")
    if p is not None:
        return lambda rank: float((1 - p) * p ** (rank - 1))
    if isinstance(table, tuple):
        return lambda rank: table[rank - 1] if rank <= len(table) else 0.0
    if table == "1/r":
        return lambda rank: 1 / rank
    if table == "log2(max(r, 2))":
        return lambda rank: 1 / math.log2(max(rank, 2))
    return lambda rank: 1 / math.log2(rank + 1)
