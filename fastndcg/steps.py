"""What a chunk does for one metric, and what several metrics share of it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.discounts import Discounts, discounts_of
from fastndcg.memory import F8
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.rankings import Array
from fastndcg.texts import Value

Kernel = Callable[..., None]
Source = Callable[[Chunk, "Step"], Any]
Fill = Callable[[Chunk, "Step", Array], None]
Points = tuple[float, ...]
FillAll = Callable[[Chunk, "Step", Any, Array], None]


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


def together(point: Callable[[Step], Points], *fields: str, ranks: bool = False) -> Callable[[FillAll], Source]:
    """
    Make what fills one value a query for each of several points, such as cutoffs, a source of those of a step.

    It does so once for all points that metrics which agree in `fields` ask for; they come in rising order, and those
    that are `ranks` beyond the longest query as one. Of a step with one point the source is its row, of others rows.
    """

    def decorate(fill: FillAll) -> Source:
        depends = operator.itemgetter(*(Step._fields.index(field) for field in fields))

        @functools.wraps(fill)
        def source(chunk: Chunk, step: Step) -> Array:
            key: tuple[Any, ...] = (fill, depends(step))
            points, wanted = chunk.job.points.get(key, ()), point(step)
            if wanted[0] not in points or (len(wanted) > 1 and any(one not in points for one in wanted)):
                # of a step that is not of the plan
                points, key = wanted, (*key, wanted)
            known = chunk.shared.get(key)
            if known is None and len(points) == 1:  # as most often: a small query takes as long as this
                row = chunk.take(key, len(chunk.truth.sizes), F8)
                rows = row[None]
                fill(chunk, step, points, rows)
                chunk.shared[key] = ({points[0]: 0}, rows)
                return row
            if known is None:
                if ranks and len(points) > 1:
                    longest = max(int(chunk.truth.sizes.max(initial=0)), 1)
                    distinct = tuple(sorted({min(k, longest) for k in points}))
                    places = {k: distinct.index(min(k, longest)) for k in points}
                else:
                    distinct, places = points, {one: place for place, one in enumerate(points)}
                rows = chunk.take(key, len(distinct) * len(chunk.truth.sizes), F8).reshape(len(distinct), -1)
                fill(chunk, step, distinct, rows)
                known = chunk.shared[key] = (places, rows)
            places, rows = known
            if len(wanted) == 1:
                return np.asarray(rows[places[wanted[0]]])
            return np.asarray(rows[[places[one] for one in wanted]])

        source.asks = lambda step: ((fill, depends(step)), point(step))  # type: ignore[attr-defined]
        return source

    return decorate


def points_of(steps: tuple[Step, ...]) -> dict[Hashable, Points]:
    """All points that steps ask for, by what fills them."""
    found: dict[Hashable, set[float]] = {}
    for step in steps:
        for argument in step.arguments:
            if hasattr(argument, "asks"):
                key, points = argument.asks(step)
                found.setdefault(key, set()).update(points)
    return {key: tuple(sorted(points)) for key, points in found.items()}


def cutoff(step: Step) -> Points:
    """How many ranks count, as the point of a step."""
    return (step.k,)


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
