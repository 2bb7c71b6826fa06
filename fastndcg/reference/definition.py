"""The twin of a metric, and its definition under a convention, as functions of a label and of a rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastndcg.metrics.families.definition import Definition
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.parsing import Value
from fastndcg.runtime.lazy_import import load


def load_twin(place: str) -> Callable[..., Any]:
    """Return the definition in plain Python that has the place of a kernel, such as "gains.ndcg"."""
    file, _, name = place.partition(".")
    twin: Callable[..., Any] = getattr(load(f"fastndcg.metrics.families.{file}"), name)
    return twin


def read_definition(metric: Metric, convention: Convention) -> Definition:
    """Return the definition of a metric. The convention decides where the metric has no parameter."""
    default = convention.default_k if isinstance(convention.default_k, int) and metric.record.has_cutoff else None
    k = default if metric.k is None else metric.k
    is_relevant = make_relevance(metric, convention)
    return Definition(
        k, is_relevant, make_gain(metric, convention), make_discount(metric, convention), convention, metric
    )


def make_relevance(metric: Metric, convention: Convention) -> Callable[[float], bool]:
    """Return the function that says if a label is relevant, by the metric's `rel` or by the convention."""
    if "rel" not in dict(metric.parameters) and convention.relevant != "at least 1":
        lowest = {"above 0": 0, "above 0.5": 0.5}[convention.relevant]
        return lambda label: label > lowest
    return lambda label: label >= (metric.get("rel") or 1)


def make_gain(metric: Metric, convention: Convention) -> Callable[[float], float]:
    """Return the function from a label to its gain."""
    choice = choose_gain(metric, convention)
    is_relevant = make_relevance(metric, convention)

    def gain(label: float) -> float:
        if metric.get("rel") is not None and not is_relevant(label):
            return 0.0
        if choice == "binary":
            return float(is_relevant(label))
        if convention.label_fractions == "cut off":
            label = float(math.trunc(label))
        if isinstance(choice, tuple):
            return choice[int(label)]
        return label if choice == "linear" else 2.0**label - 1 if abs(label) >= 1 else math.expm1(label * math.log(2))

    return gain


def choose_gain(metric: Metric, convention: Convention) -> Value:
    """Return the gain parameter of the metric, or the gain of the convention if it has none."""
    if metric.name == "RBP" and convention.rbp_gain == "binary":
        return metric.get("gain") or "binary"
    return metric.get("gain") or convention.gain


def make_discount(metric: Metric, convention: Convention) -> Callable[[int], float]:
    """Return the function from a rank to its discount."""
    table = metric.get("discount") or convention.discount
    p = metric.get("p")
    if p is not None:
        return lambda rank: float((1 - p) * p ** (rank - 1))
    if isinstance(table, tuple):
        return lambda rank: table[rank - 1] if rank <= len(table) else 0.0
    if table == "none":
        return lambda rank: 1.0
    if table == "1/r":
        return lambda rank: 1 / rank
    if table == "log2(max(r, 2))":
        return lambda rank: 1 / math.log2(max(rank, 2))
    return lambda rank: 1 / math.log2(rank + 1)
