"""Run an evaluation of recommended items: one value a user and metric, or one for all users, on threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.engine.item_weights import compute_weights, rank_by_popularity
from fastndcg.engine.kernel_call import describe_kernel
from fastndcg.engine.output import EvaluationOutput
from fastndcg.engine.spans import Span, cut_queries
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.recommendations.item_data import ItemData
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import UNLIMITED, Metric
from fastndcg.metrics.resolve import find_kernel_place
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import run_all

CHUNK_ITEMS = 1 << 17


def run(item_data: ItemData, metrics: tuple[Metric, ...], threads: int) -> EvaluationOutput:
    """Evaluate every metric on every user. A metric with one value for all users has NaN for each of them."""
    values = np.full((len(metrics), len(item_data.starts)), np.nan)
    overall: dict[Metric, float] = {}
    count_users = functools.cache(functools.partial(count_users_by_item, item_data, threads=threads))
    for metric, row in zip(metrics, values, strict=True):
        if metric.record.has_one_value:
            overall[metric] = evaluate_all_users(metric, AllUserInputs(item_data, metric, count_users))
        else:
            evaluate_each_user(item_data, metric, threads, row)
    return EvaluationOutput(values.T, overall=overall)


def evaluate_each_user(item_data: ItemData, metric: Metric, threads: int, out: Array) -> None:
    """Fill in each user's value of a metric."""
    call = describe_kernel(find_kernel_place(metric))
    shared = {"items": item_data.items, "k": read_cutoff(metric), **read_item_inputs(item_data, metric)}
    has_marks = "out_marks" in call.parameters

    def make_worker() -> Callable[[Span], None]:
        marks = np.empty(item_data.n_items if has_marks else 0, "i4")

        def evaluate_chunk(span: Span) -> None:
            users = slice(*span)
            inputs: dict[str, Any] = {"starts": item_data.starts[users], "sizes": item_data.sizes[users]}
            if has_marks and item_data.liked is not None:
                marks.fill(-1)
                inputs["out_marks"] = marks
                inputs["liked_offsets"] = item_data.liked.offsets[span[0] : span[1] + 1]
            call.kernel(*call.bind(inputs, shared), out[users])

        return evaluate_chunk

    chunks = cut_users(item_data, max(CHUNK_ITEMS, 4 * item_data.n_items if has_marks else 0), threads)
    run_all(chunks, make_worker, min(threads, len(chunks)))
    if metric.name == "novelty" and np.isinf(out).any():
        refuse_unpopular(item_data, metric, int(np.argmax(np.isinf(out))))


def cut_users(item_data: ItemData, chunk_items: int, threads: int) -> list[Span]:
    """Return spans of users with about `chunk_items` items."""
    return cut_queries(np.append(item_data.starts, len(item_data.items)), chunk_items, threads)


def read_item_inputs(item_data: ItemData, metric: Metric) -> dict[str, Any]:
    """Return the arrays of items, and of what users like, by the names of kernels' parameters."""
    if metric.name == "ILD":
        return {"vectors": item_data.vectors, "sets": item_data.sets}
    popularity = item_data.popularity
    if popularity is None:
        raise InvalidInputError(f"`popularity` must be given for {metric}. Pass popularity= or interactions=.")
    if metric.name != "serendipity" or item_data.liked is None:
        return {"weights": read_only(compute_weights(metric, popularity, item_data.n_users))}
    more_popular, as_popular = rank_by_popularity(popularity)
    return {
        "liked": read_only(item_data.liked.items.astype("i8", copy=False)),
        "liked_labels": item_data.liked.labels,
        "rel": float(metric.get("rel")),
        "more_popular": read_only(more_popular),
        "as_popular": read_only(as_popular),
    }


def read_cutoff(metric: Metric) -> int:
    """Return the number of ranks that count."""
    return UNLIMITED if metric.k is None else min(metric.k, UNLIMITED)


def count_users_by_item(item_data: ItemData, k: int, threads: int) -> Array:
    """Count the users that have each item of the catalogue among their first k."""
    n_items = item_data.n_items if item_data.catalogue is None else item_data.catalogue
    counts_by_worker: list[Array] = []

    def make_worker() -> Callable[[Span], None]:
        counts = np.zeros(n_items, "i8")
        counts_by_worker.append(counts)
        return lambda span: load_kernels("beyond_accuracy.all_users").count_items(
            item_data.items, item_data.starts[slice(*span)], item_data.sizes[slice(*span)], k, counts
        )

    chunks = cut_users(item_data, max(CHUNK_ITEMS, n_items), threads)
    run_all(chunks, make_worker, min(threads, len(chunks)))
    return sum(counts_by_worker, np.zeros(n_items, "i8"))


class AllUserInputs:
    """Kernel inputs of metrics with one value for all users, by the names of kernels' parameters."""

    def __init__(self, item_data: ItemData, metric: Metric, count_users: Callable[[int], Array]) -> None:
        self._count_users = count_users
        self.items = item_data.items
        self.starts = item_data.starts
        self.sizes = item_data.sizes
        self.n_items = item_data.n_items
        self.k = read_cutoff(metric)

    @property
    def counts(self) -> Array:
        """The number of users with each item."""
        return self._count_users(self.k)

    @property
    def sorted_counts(self) -> Array:
        """The numbers of users with an item, in rising order."""
        return np.sort(self.counts)

    @property
    def shortest_first(self) -> Array:
        """The users in the order of the lengths of their lists."""
        return np.argsort(np.minimum(self.sizes, self.k), kind="stable")


def evaluate_all_users(metric: Metric, inputs: AllUserInputs) -> float:
    """Return the one value of a metric."""
    call = describe_kernel(find_kernel_place(metric))
    out = np.empty(1)
    call.kernel(*call.bind(inputs), out)
    return float(out[0])


def refuse_unpopular(item_data: ItemData, metric: Metric, user: int) -> None:
    """Raise an error for the first item of a user without any interaction."""
    start = item_data.starts[user]
    items = item_data.items[start : start + item_data.sizes[user]]
    popularity = item_data.popularity
    item = next(item for item in items.tolist() if popularity is not None and not popularity[item])
    raise InvalidInputError(
        f"`popularity` must be above 0 for {metric}, but that of item {item}, which user {user} has, is 0. Leave the "
        "item out, or give popularity=numpy.maximum(popularity, 1)."
    )
