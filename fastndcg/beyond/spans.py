"""From recommended items to one value a user and metric, or one value: in spans of users, on threads."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fastndcg.beyond.weights import popularity_ranks, weights_of
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.grouping import spans
from fastndcg.inputs.recommended import Known
from fastndcg.kernels import spread
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.rankings import Array, read_only
from fastndcg.threads import run_all

SPAN = 1 << 17  # items

Span = tuple[int, int]


class Evaluated(NamedTuple):
    """Values (n_users, n_metrics), and those of metrics that have one for all users, NaN among the others."""

    values: Array
    of_all: dict[Metric, float]


def evaluate(known: Known, metrics: tuple[Metric, ...], threads: int) -> Evaluated:
    """Evaluate every metric."""
    values = np.full((len(metrics), len(known.starts)), np.nan)
    of_all: dict[Metric, float] = {}
    counts = functools.cache(functools.partial(_counts, known, threads=threads))
    for metric, row in zip(metrics, values, strict=True):
        if metric.record.of_all:
            of_all[metric] = _of_all(known, metric, counts)
        else:
            _of_users(known, metric, threads, row)
    return Evaluated(values.T, of_all)


def _kernel_of(metric: Metric) -> tuple[Callable[..., None], tuple[str, ...]]:
    """The kernel of a metric, and the names of its parameters, those that it writes to aside."""
    place = metric.record.kernel
    for parameter, choice, variant in metric.record.variants:
        if metric.get(parameter) == choice:
            place = variant
    file, _, name = place.partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    names = inspect.signature(getattr(kernel, "py_func", kernel)).parameters
    return kernel, tuple(name for name in names if not name.startswith("out"))


def _of_users(known: Known, metric: Metric, threads: int, out: Array) -> None:
    """Each user's value of a metric."""
    kernel, names = _kernel_of(metric)
    given = {"items": known.items, "k": _cutoff(metric), **_of_items(known, metric)}
    marked = metric.name == "serendipity"

    def make_worker() -> Callable[[Span], None]:
        marks = np.empty(known.n_items if marked else 0, "i4")

        def work(span: Span) -> None:
            part = slice(*span)
            of_users: dict[str, Any] = {"starts": known.starts[part], "sizes": known.sizes[part]}
            if marked and known.liked is not None:
                marks.fill(-1)
                of_users["liked_offsets"] = known.liked.offsets[span[0] : span[1] + 1]
            arguments = [of_users[name] if name in of_users else given[name] for name in names]
            kernel(*arguments, *([marks] if marked else []), out[part])

        return work

    parts = spans(np.append(known.starts, len(known.items)), max(SPAN, 4 * known.n_items if marked else 0))
    run_all(parts, make_worker, min(threads, len(parts)))
    if metric.name == "novelty" and np.isinf(out).any():
        _refuse_unknown(known, metric, int(np.argmax(np.isinf(out))))


def _of_items(known: Known, metric: Metric) -> dict[str, Any]:
    """What kernels have to know of items and of what users like, beside the lists, by the names they have for it."""
    if metric.name == "ILD":
        return {"vectors": known.vectors, "sets": known.sets}
    popularity = known.popularity
    if popularity is None:
        raise InvalidInputError(f"`popularity` must be given for {metric}")
    if metric.name != "serendipity" or known.liked is None:
        return {"weights": read_only(weights_of(metric, popularity, known.n_users))}
    more, as_much = popularity_ranks(popularity)
    return {
        "liked": read_only(known.liked.items), "liked_labels": known.liked.labels, "rel": float(metric.get("rel")),
        "more_popular": read_only(more), "as_popular": read_only(as_much),
    }  # fmt: skip


def _cutoff(metric: Metric) -> int:
    return UNLIMITED if metric.k is None else min(metric.k, UNLIMITED)


def _counts(known: Known, k: int, threads: int) -> Array:
    """How many users have each item of the catalogue among their first k."""
    n_items = known.n_items if known.catalogue is None else known.catalogue
    found: list[Array] = []

    def make_worker() -> Callable[[Span], None]:
        counts = np.zeros(n_items, "i8")
        found.append(counts)
        return lambda span: spread.count_items(
            known.items, known.starts[slice(*span)], known.sizes[slice(*span)], k, counts
        )

    parts = spans(np.append(known.starts, len(known.items)), max(SPAN, n_items))
    run_all(parts, make_worker, min(threads, len(parts)))
    return sum(found, np.zeros(n_items, "i8"))


def _of_all(known: Known, metric: Metric, counts: Callable[[int], Array]) -> float:
    """The one value of a metric."""
    kernel, names = _kernel_of(metric)
    k = _cutoff(metric)
    sources: dict[str, Callable[[], Any]] = {
        "items": lambda: known.items,
        "starts": lambda: known.starts,
        "sizes": lambda: known.sizes,
        "n_items": lambda: known.n_items,
        "k": lambda: k,
        "counts": lambda: counts(k),
        "sorted_counts": lambda: np.sort(counts(k)),
        "shortest_first": lambda: np.argsort(np.minimum(known.sizes, k), kind="stable"),
    }
    out = np.empty(1)
    kernel(*[sources[name]() for name in names], out)
    return float(out[0])


def _refuse_unknown(known: Known, metric: Metric, user: int) -> None:
    items = known.items[known.starts[user] : known.starts[user] + known.sizes[user]]
    popularity = known.popularity
    item = next(item for item in items.tolist() if popularity is not None and not popularity[item])
    raise InvalidInputError(
        f"`popularity` must be above 0 for {metric}, but that of item {item}, which user {user} has, is 0; leave the "
        "item out, or give popularity=numpy.maximum(popularity, 1)"
    )
