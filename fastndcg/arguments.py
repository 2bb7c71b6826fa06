"""What a kernel may ask for by the names of its parameters: the one list, and where each comes from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from fastndcg.checks import check_sums, gain_of
from fastndcg.chunk import Chunk, Hits, cutoff
from fastndcg.conventions import Convention
from fastndcg.kernels import candidates, gain, precision
from fastndcg.metric import Metric
from fastndcg.rankings import Array

Kernel = Callable[..., None]


@functools.cache
def kernel_of(metric: Metric, convention: Convention) -> tuple[Kernel, tuple[Callable[[Chunk, Metric], Any], ...]]:
    """The kernel of a metric under a convention, and what gives its arguments, `out` aside."""
    place = metric.record.kernel
    for field, choice, variant in metric.record.variants:
        if getattr(convention, field) == choice:
            place = variant
    file, _, name = place.partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    *names, _ = inspect.signature(getattr(kernel, "py_func", kernel)).parameters
    return kernel, tuple(ARGUMENTS[name] for name in names)


def evaluate_chunk(chunk: Chunk) -> None:
    """Fill in a chunk's part of its job's values."""
    for row, metric in zip(chunk.job.values, chunk.job.metrics, strict=True):
        kernel, arguments = kernel_of(metric, chunk.job.convention)
        kernel(*(argument(chunk, metric) for argument in arguments), row[chunk.first : chunk.stop])


def gains_of(chunk: Chunk, metric: Metric, name: str, hits: Hits) -> Array:
    """The gains of labels, worked out once for all metrics that take the same."""
    chosen = gain_of(metric, chunk.job.convention)
    rel = -np.inf if metric.get("rel") is None else float(metric.get("rel"))
    labels = hits.labels
    discount = float(chunk.job.discounts.values[1])
    if chosen == "linear" and rel == -np.inf and discount <= 1:
        return labels

    def make(out: Array) -> None:
        if chosen == "linear":
            gain.linear_gains(labels, rel, out)
        elif chosen == "exp2":
            gain.exp2_gains(labels, rel, out)
        else:
            gain.table_gains(labels, np.array(chosen), rel, out)
        check_sums(out, hits.offsets, discount, metric, chunk.job.rankings, chunk.first)

    return chunk.once((name, chosen, rel), len(labels), make)


def n_relevant(chunk: Chunk, metric: Metric) -> Array:
    """How many documents of each query are relevant, retrieved or not."""
    rel = float(metric.get("rel"))
    judged = chunk.judged

    def make(out: Array) -> None:
        candidates.count_relevant(judged.labels, judged.offsets, rel, out)

    return chunk.once(("n_relevant", rel), len(chunk.sizes), make)


def n_found(chunk: Chunk, metric: Metric) -> Array:
    """The expected number of relevant documents in the first k ranks of each query."""
    rel, k = float(metric.get("rel")), cutoff(metric)
    hits = chunk.hits

    def make(out: Array) -> None:
        precision.count_found(hits.above, hits.ties, hits.labels, hits.offsets, rel, k, out)

    return chunk.once(("n_found", rel, k), len(chunk.sizes), make)


def ap_denominators(chunk: Chunk, metric: Metric) -> Array:
    """What AP divides by; where that is the number of hits found, a kernel of its own knows."""
    if chunk.job.convention.ap_denominator == "n_relevant" or metric.k is None:
        return n_relevant(chunk, metric)
    return np.minimum(n_relevant(chunk, metric), float(metric.k))


def precision_denominators(chunk: Chunk, metric: Metric) -> Array:
    """What P divides by; without k, the number retrieved."""
    if metric.k is None:
        return chunk.sizes.astype("f8")
    if chunk.job.convention.precision_denominator == "k":
        return np.full(len(chunk.sizes), float(metric.k))
    return np.minimum(chunk.sizes, float(metric.k))


ARGUMENTS: dict[str, Callable[[Chunk, Metric], Any]] = {
    "hit_above": lambda chunk, _: chunk.hits.above,
    "hit_ties": lambda chunk, _: chunk.hits.ties,
    "hit_labels": lambda chunk, _: chunk.hits.labels,
    "hit_gains": lambda chunk, metric: gains_of(chunk, metric, "hit gains", chunk.hits),
    "hit_offsets": lambda chunk, _: chunk.hits.offsets,
    "ideal_above": lambda chunk, _: chunk.ideal.above,
    "ideal_gains": lambda chunk, metric: gains_of(chunk, metric, "ideal gains", chunk.ideal),
    "ideal_offsets": lambda chunk, _: chunk.ideal.offsets,
    "discounts": lambda chunk, _: chunk.job.discounts.values,
    "discount_sums": lambda chunk, _: chunk.job.discounts.sums,
    "discount_rests": lambda chunk, _: chunk.job.discounts.rests,
    "highest_ndcg": lambda chunk, _: np.inf if chunk.job.convention.negative_labels == "keep" else 1.0,
    "sizes": lambda chunk, _: chunk.sizes,
    "n_relevant": n_relevant,
    "n_found": n_found,
    "ap_denominators": ap_denominators,
    "precision_denominators": precision_denominators,
    "rel": lambda _, metric: float(metric.get("rel")),
    "beta": lambda _, metric: float(metric.get("beta")),
    "k": lambda _, metric: cutoff(metric),
}
