"""What a chunk does for one metric, and what several metrics share of it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from fastndcg.chunk import F8, Chunk
from fastndcg.discounts import Discounts, discounts_of
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.rankings import Array
from fastndcg.texts import Value

Kernel = Callable[..., None]
Source = Callable[[Chunk, "Step"], Any]
Fill = Callable[[Chunk, "Step", Array], None]


class Step(NamedTuple):
    """What a chunk does for one metric: a kernel, what gives its arguments, and what these depend on."""

    kernel: Kernel
    arguments: tuple[Source, ...]
    metric: Metric
    k: int
    rel: float  # a label below it is not relevant, or gains nothing
    gain: Value
    discount: Value | None  # the metric's own, a p of RBP's; None: the convention's
    least: float | None  # a query without a label of this or more is left out; None: none is
    views: frozenset[str]  # that the arguments come from


def once(keeper: str, *fields: str) -> Callable[[Fill], Callable[[Chunk, Step], Array]]:
    """
    Make what fills one value a query a source of it, which does so once for all metrics that agree in `fields`.

    What the scores matter to is kept by the chunk, all else by its truth.
    """

    def decorate(fill: Fill) -> Callable[[Chunk, Step], Array]:
        depends = operator.itemgetter(*(Step._fields.index(field) for field in fields))

        @functools.wraps(fill)
        def source(chunk: Chunk, step: Step) -> Array:
            kept = chunk if keeper == "chunk" else chunk.truth
            key = (fill, depends(step))
            made = kept.made.get(key)
            if made is None:
                made = kept.take(key, len(chunk.truth.sizes), F8)
                fill(chunk, step, made)
                kept.made[key] = made  # now, when it is full: another thread may look
            return made

        return source

    return decorate


@once("truth", "metric")
def cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many ranks of each query count."""
    out.fill(step.metric.k or UNLIMITED)


def discounts_for(chunk: Chunk, step: Step) -> Discounts:
    """The convention's discounts, or those that a metric has of its own."""
    return chunk.job.discounts if step.discount is None else discounts_like(chunk, step.discount)


def discounts_like(chunk: Chunk, discount: Value) -> Discounts:
    """Other discounts of as many ranks as the convention's."""
    return discounts_of(discount, len(chunk.job.discounts.values) - 1)
