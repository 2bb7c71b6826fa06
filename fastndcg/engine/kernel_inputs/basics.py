"""Inputs that are read from a chunk or a task: hits, the ideal ranking, discounts, cutoffs, sizes, scratch arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from fastndcg.engine.buffers import F8
from fastndcg.engine.chunk import Chunk
from fastndcg.engine.discounts import Discounts, make_discounts
from fastndcg.engine.kernel_inputs.kernel_input import KernelInput, kernel_input, register_input, register_reader
from fastndcg.engine.task import MetricTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import UNLIMITED, Metric
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array


def find_discounts(chunk: Chunk, task: MetricTask) -> Discounts:
    """Return the metric's own discounts, or the convention's."""
    return chunk.context.discounts if task.discount is None else make_similar_discounts(chunk, task.discount)


def make_similar_discounts(chunk: Chunk, discount: Value) -> Discounts:
    """Return other discounts for the same number of ranks as the convention's."""
    return make_discounts(discount, len(chunk.context.discounts.values) - 1)


def read_cutoff(metric: Metric) -> float:
    """Return a metric's cutoff as a number to divide by. It may exceed `MetricTask.k`, which counts ranks."""
    try:
        return float(UNLIMITED if metric.k is None else metric.k)
    except OverflowError:  # beyond float64
        return math.inf


register_reader("hit_labels", lambda chunk, task: chunk.hits.labels)
register_reader("hit_above", lambda chunk, task: chunk.hits.above)
register_reader("hit_ties", lambda chunk, task: chunk.hits.ties)
register_reader("hit_queries", lambda chunk, task: chunk.hits.queries)
register_reader("hit_offsets", lambda chunk, task: chunk.hits.offsets)
register_reader("sizes", lambda chunk, task: chunk.labels.sizes)


@kernel_input("ideal_above")
def ideal_above(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of documents above each hit of the ideal ranking."""
    return chunk.labels.ideal(chunk.context).above


@kernel_input("ideal_labels")
def ideal_labels(chunk: Chunk, task: MetricTask) -> Array:
    """Return the labels of the ideal ranking."""
    return chunk.labels.ideal(chunk.context).labels


@kernel_input("ideal_offsets")
def ideal_offsets(chunk: Chunk, task: MetricTask) -> Array:
    """Return the query offsets of the ideal ranking."""
    return chunk.labels.ideal(chunk.context).offsets


def _register_discounts(names: tuple[str, str, str], find: Callable[[Chunk, MetricTask], Discounts]) -> None:
    """Register discounts by rank, their running sums, and the rounding errors of the sums."""
    for name, field in zip(names, ("values", "sums", "rests"), strict=True):
        read = operator.attrgetter(field)
        register_input(KernelInput(name, lambda chunk, task, read=read: read(find(chunk, task)), None, ()))


_register_discounts(("discounts", "discount_sums", "discount_rests"), find_discounts)
_register_discounts(
    ("log2_discounts", "log2_sums", "log2_rests"), lambda chunk, task: make_similar_discounts(chunk, "log2")
)


@kernel_input("highest_ndcg")
def highest_ndcg(chunk: Chunk, task: MetricTask) -> float:
    """Return the highest value that nDCG can have: 1, unless labels may be negative."""
    return np.inf if chunk.context.convention.negative_labels == "keep" else 1.0


@kernel_input("rel")
def rel(chunk: Chunk, task: MetricTask) -> float:
    """Return the lowest relevant label."""
    return task.rel


@kernel_input("k")
def k(chunk: Chunk, task: MetricTask) -> int:
    """Return the number of ranks that count."""
    return task.k


@kernel_input("cutoffs", scope="labels", key=("k", "metric.k"))
def cutoffs(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Fill in the number of ranks of each query that count."""
    out.fill(read_cutoff(task.metric))


@kernel_input("function")
def function(chunk: Chunk, task: MetricTask) -> Callable[..., float]:
    """Return the compiled function of a custom metric."""
    return load_kernels("jit").compile_custom_metric(task.metric.record.function)


@kernel_input("parameters")
def parameters(chunk: Chunk, task: MetricTask) -> tuple[float, ...]:
    """Return the parameters of a custom metric."""
    return tuple(float(task.metric.get(parameter.name)) for parameter in task.metric.record.parameters)


@kernel_input("out_at")
def out_at(chunk: Chunk, task: MetricTask) -> Array:
    """Return an array for the number of the query that a custom metric evaluates."""
    return np.zeros(1, "i8")


def _register_scratch(name: str) -> None:
    """Register a scratch array of one float64 a query."""
    register_reader(f"out_{name}", lambda chunk, task: chunk.take(name, chunk.labels.n_queries, F8))


for _name in ("counted", "whole", "rest", "dcg"):
    _register_scratch(_name)
