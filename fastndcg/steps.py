"""What a chunk does for one metric, and what several metrics share of it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.discounts import Discounts, discounts_of
from fastndcg.memory import F8
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.texts import Value

Kernel = Callable[..., None]
Source = Callable[[Chunk, "Step"], Any]
Made = Callable[[Chunk, "Step"], Array]
Fill = Callable[[Chunk, "Step", Array], None]
Points = tuple[float, ...]
FillAll = Callable[[Chunk, "Step", Any, Array], None]

MOST_SOURCES = 4096  # that are kept for steps that ask for the same


@dataclass(frozen=True, slots=True)  # its fields are read in every call: those of a tuple take three times as long
class Step:
    """What a chunk does for one metric: a kernel, what gives its arguments, and what these depend on."""

    kernel: Kernel
    arguments: tuple[Source, ...]
    metric: Metric
    k: int
    rel: float  # a label below it is not relevant, or gains nothing
    gain: Value
    discount: Value | None  # the metric's own, a p of RBP's; None: the convention's
    least: float | None  # a query without a label of this or more is left out; None: none is
    undefined: float | None  # the value of a query for which there is none; None: it keeps none
    views: frozenset[str]  # that the arguments come from
    gains_are_labels: bool  # where no fractions of them are cut off
    is_of_user: bool  # who registered the metric


def once(keeper: str, *fields: str) -> Callable[[Fill], Made]:
    """
    Make what fills one value a query a source of it, which does so once for all metrics that agree in `fields`.

    What the scores matter to is kept by the chunk, all else by its truth.
    """

    def decorate(fill: Fill) -> Made:
        depends, is_of_chunk = values_of(fields), keeper == "chunk"

        @functools.lru_cache(MOST_SOURCES)
        def bound(_: Hashable) -> Made:
            key = object()

            def source(chunk: Chunk, step: Step) -> Array:
                kept = chunk if is_of_chunk else chunk.truth
                made: Array | None = kept.made.get(key)
                if made is None:
                    made = kept.take(key, chunk.truth.n_queries, F8)
                    fill(chunk, step, made)
                    kept.made[key] = made  # now, when it is full: another thread may look
                return made

            return source

        return bindable(fill, lambda step, _: bound(depends(step)))

    return decorate


def together(point: Callable[[Step], Points], *fields: str) -> Callable[[FillAll], Made]:
    """
    Make what fills one value a query for each of several points, such as recalls, a source of those of a step.

    It does so once for all points that metrics which agree in `fields` ask for, a row for each; they come in rising
    order. Of a step with one point the source is its row, of others rows; what is filled is likewise a row where there
    is one point.
    """

    def decorate(fill: FillAll) -> Made:
        depends = values_of(fields)

        @functools.lru_cache(MOST_SOURCES)
        def key_of(_: Hashable) -> object:
            return object()

        @functools.lru_cache(MOST_SOURCES)
        def bound(depended: Hashable, wanted: Points, is_alone: bool) -> Made:
            shared, own, asked = key_of(depended), object(), frozenset(wanted)

            def source_alone(chunk: Chunk, step: Step) -> Array:
                row = chunk.made.get(shared)
                if row is None:
                    row = chunk.made[shared] = chunk.take(shared, chunk.truth.n_queries, F8)
                    fill(chunk, step, wanted, row)
                return row

            def source(chunk: Chunk, step: Step) -> Array:
                points, key = chunk.job.points.get(shared, ()), shared
                if wanted != points and not asked.issubset(points):  # of a step that is not of the plan
                    points, key = wanted, own
                rows = chunk.made.get(("rows", key))
                if rows is None:
                    rows = chunk.made["rows", key] = _rows(chunk, step, fill, points, key)
                if len(wanted) == 1:
                    return rows[wanted[0]]
                return rows[wanted] if wanted in rows else np.array([rows[one] for one in wanted])

            return source_alone if is_alone else source

        def bind(step: Step, points: dict[Hashable, Points]) -> Made:
            wanted = point(step)
            return bound(depends(step), wanted, len(wanted) == 1 and points.get(key_of(depends(step))) == wanted)

        source = bindable(fill, bind)
        source.asks = lambda step: (key_of(depends(step)), point(step))  # type: ignore[attr-defined]
        return source

    return decorate


def _rows(chunk: Chunk, step: Step, fill: FillAll, points: Points, key: Hashable) -> dict[float | Points, Array]:
    """A filled row for each point, and all of them for all points."""
    n_queries = chunk.truth.n_queries
    if len(points) == 1:  # as most often: a small query takes as long as this
        row = chunk.take(key, n_queries, F8)
        fill(chunk, step, points, row)
        return {points[0]: row}
    distinct = tuple(sorted(set(points)))
    rows = chunk.take(key, len(distinct) * n_queries, F8).reshape(len(distinct), n_queries)
    fill(chunk, step, distinct, rows if len(distinct) > 1 else rows[0])
    return {distinct: rows, **dict(zip(distinct, rows, strict=True))}


def values_of(fields: tuple[str, ...]) -> Callable[[Step], Hashable]:
    """What gives a step's values of some fields."""
    return operator.attrgetter(*fields)


def bindable(fill: Callable[..., None], bind: Callable[[Step, dict[Hashable, Points]], Made]) -> Made:
    """A source that works out what a step asks for in each call, with `bind`, which does so once for the step."""

    @functools.wraps(fill)
    def source(chunk: Chunk, step: Step) -> Array:
        return bind(step, {})(chunk, step)

    source.bind = bind  # type: ignore[attr-defined]
    return source


def bound(step: Step, shared: dict[Hashable, Any]) -> Step:
    """The step with arguments that have looked up what it and others ask for: a small query takes as long as that."""
    arguments = (one.bind(step, shared) if hasattr(one, "bind") else one for one in step.arguments)
    return replace(step, arguments=tuple(arguments))


def points_of(steps: tuple[Step, ...]) -> dict[Hashable, Points]:
    """All points that steps ask for, by what fills them."""
    found: dict[Hashable, set[float]] = {}
    for step in steps:
        for argument in step.arguments:
            if hasattr(argument, "asks"):
                key, points = argument.asks(step)
                found.setdefault(key, set()).update(points)
    return {key: tuple(sorted(points)) for key, points in found.items()}


@once("truth", "k")
def cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many ranks of each query count."""
    out.fill(step.k)


def discounts_for(chunk: Chunk, step: Step) -> Discounts:
    """The convention's discounts, or those that a metric has of its own."""
    return chunk.job.discounts if step.discount is None else discounts_like(chunk, step.discount)


def discounts_like(chunk: Chunk, discount: Value) -> Discounts:
    """Other discounts of as many ranks as the convention's."""
    return discounts_of(discount, len(chunk.job.discounts.values) - 1)
