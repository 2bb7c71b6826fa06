"""Evaluate recommended items beyond accuracy: popularity, novelty, diversity, serendipity, coverage."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fastndcg.engine.chunk import Span, cut_queries
from fastndcg.engine.plan import describe_kernel, find_depth
from fastndcg.engine.run import EvaluationOutput
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.item_data import ItemData, read_item_data, read_user_ids
from fastndcg.inputs.messages import answer_keywords, find_highest_label
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import find_place
from fastndcg.named_conventions import conventions
from fastndcg.partitions import note_low_labels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.results.kinds import BeyondAccuracy
from fastndcg.runtime.threads import check_threads, run_all


@answer_keywords
def beyond_accuracy(
    recommended: Any,
    metrics: Metrics | None = None,
    *,
    catalogue: int | None = None,
    interactions: Any = None,
    popularity: Any = None,
    n_users: int | None = None,
    vectors: Any = None,
    categories: Any = None,
    liked: Any = None,
    user_ids: Any = None,
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
    threads: int | None = None,
) -> BeyondAccuracy:
    """
    Evaluate recommended items beyond accuracy, such as by novelty, diversity and coverage.

    Parameters
    ----------
    recommended : (n_users, k) int array, ragged column, Recommendations, lists of texts, dict or frame
        Item ids, in rank order, one row a user, or ``{user: items}``. They are numbers from 0, or texts. Rows of an
        array may be padded with -1, or masked. A frame has columns of users, items, and scores or ranks. Where items
        are texts, `interactions` and `liked` are frames or dicts, and what is known of items is ``{item: value}``.
    metrics : str, Metric, or iterable of them
        Such as "coverage@10, novelty@10". ``fastndcg metrics`` lists them.
    catalogue : int, optional
        The number of items. By default that of `popularity`, `interactions`, `vectors` or `categories`.
    interactions : scipy.sparse matrix, Interactions, dict or frame, optional
        Users by items, such as a model's training data. They give the popularity of items and the number of users.
    popularity : (n_items,) array or dict, optional
        The number of users that have interacted with each item, in place of `interactions`.
    n_users : int, optional
        The number of users, next to `popularity`. Novelty needs it.
    vectors : (n_items, n_dimensions) array or dict, optional
        Vectors of items for ``ILD``, the diversity by cosine distance.
    categories : (n_items, n_categories) array or sparse matrix of 0 and 1, ragged column or dict, optional
        The categories of items, or lists of their numbers, for ``ILD(distance=jaccard)`` and ``ILD(distance=hamming)``.
    liked : scipy.sparse matrix, Interactions, dict or frame, optional
        Items that users like, with labels, one row a user. Serendipity needs them.
    user_ids : (n_users,) array, optional
        The ids of the users. By default their numbers from 0, or the users of the frame.
    columns, threads
        See `evaluate`.

    Returns
    -------
    BeyondAccuracy
        `Results` with one value a user and metric, or one value for all users (coverage, gini, entropy,
        personalisation).

    Raises
    ------
    InvalidInputError
        If an argument that a metric needs is missing, an item is unknown, or a list has an item twice.

    Examples
    --------
    >>> recommended = [[0, 1], [0, 2], [2, 1]]
    >>> fn.beyond_accuracy(recommended, "coverage, personalisation, novelty@1", popularity=[4, 2, 1, 1], n_users=4)
    metric             mean  users  undefined
    coverage         0.7500    all
    personalisation  0.5000    all
    novelty@1        0.6667      3          0
    all: one value for all users together
    """
    parsed = parse_metrics(metrics, "beyond_accuracy")
    n_threads = check_threads(threads)
    item_data = read_item_data(
        recommended, parsed, n_threads, catalogue=catalogue, interactions=interactions, popularity=popularity,
        n_users=n_users, vectors=vectors, categories=categories, liked=liked, columns=columns,
    )  # fmt: skip
    names = read_user_ids(user_ids, len(item_data.starts))
    if names is None and item_data.user_ids is not None:
        names = item_data.user_ids.names()
    output = evaluate_items(item_data, parsed, n_threads)
    notes = item_data.notes
    default = conventions["default"]
    if item_data.liked is not None:
        notes += note_low_labels(find_highest_label(item_data.liked), parsed, default)
    return BeyondAccuracy(output.values, parsed, names, default, has_one_value=output.overall or {}, notes=notes)


CHUNK_ITEMS = 1 << 17


def evaluate_items(item_data: ItemData, metrics: tuple[Metric, ...], threads: int) -> EvaluationOutput:
    """Evaluate every metric on every user. A metric with one value for all users has NaN for each of them."""
    values = np.full((len(metrics), len(item_data.starts)), np.nan)
    overall: dict[Metric, float] = {}
    count_users = functools.cache(functools.partial(count_users_by_item, item_data, threads=threads))
    for metric, row in zip(metrics, values, strict=True):
        if metric.record.has_one_value:
            overall[metric] = evaluate_all_users(item_data, metric, count_users)
        else:
            evaluate_each_user(item_data, metric, threads, row)
    return EvaluationOutput(values.T, overall=overall)


def evaluate_each_user(item_data: ItemData, metric: Metric, threads: int, out: Array) -> None:
    """Fill in each user's value of a metric."""
    call = describe_kernel(find_place(metric))
    shared = {"items": item_data.items, "k": find_depth(metric), **read_item_inputs(item_data, metric)}
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


def count_users_by_item(item_data: ItemData, k: int, threads: int) -> Array:
    """Count the users that have each item of the catalogue among their first k."""
    n_items = item_data.n_items if item_data.catalogue is None else item_data.catalogue
    counts_by_worker: list[Array] = []

    def make_worker() -> Callable[[Span], None]:
        counts = np.zeros(n_items, "i8")
        counts_by_worker.append(counts)
        return lambda span: load_kernels("metrics.beyond_accuracy").count_items(
            item_data.items, item_data.starts[slice(*span)], item_data.sizes[slice(*span)], k, counts
        )

    chunks = cut_users(item_data, max(CHUNK_ITEMS, n_items), threads)
    run_all(chunks, make_worker, min(threads, len(chunks)))
    return sum(counts_by_worker, np.zeros(n_items, "i8"))


def evaluate_all_users(item_data: ItemData, metric: Metric, count_users: Callable[[int], Array]) -> float:
    """Return the one value of a metric, whose kernel names what it needs by its parameters."""
    call = describe_kernel(find_place(metric))
    k = find_depth(metric)
    inputs: dict[str, Callable[[], Any]] = {
        "items": lambda: item_data.items,
        "starts": lambda: item_data.starts,
        "sizes": lambda: item_data.sizes,
        "n_items": lambda: item_data.n_items,
        "k": lambda: k,
        "counts": lambda: count_users(k),  # the number of users with each item
        "sorted_counts": lambda: np.sort(count_users(k)),
        "shortest_first": lambda: np.argsort(np.minimum(item_data.sizes, k), kind="stable"),  # users by their lists
    }
    out = np.empty(1)
    call.kernel(*call.bind({name: make() for name, make in inputs.items() if name in call.parameters}), out)
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


def compute_weights(metric: Metric, popularity: Array, n_users: int | None) -> Array:
    """Return the weight of each item in popularity, novelty or the share of the long tail."""
    if metric.name == "popularity":
        return popularity
    if metric.name == "novelty":
        total = float(n_users or 0) if metric.get("share_of") == "users" else popularity.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.maximum(-np.log2(popularity / total), 0.0))  # 0 and not −0 for items of all users
    return 1.0 - head_probability(count_head_items(metric, popularity), *rank_by_popularity(popularity))


def count_head_items(metric: Metric, popularity: Array) -> int:
    """Return the number of most popular items that are not in the long tail."""
    share = metric.get("items")
    if share is not None:
        return len(popularity) - math.floor(Fraction(str(share)) * len(popularity))
    min_interactions = float(Fraction(str(metric.get("head"))) * Fraction(float(popularity.sum())))
    sums = np.cumsum(np.sort(popularity)[::-1])
    return 0 if min_interactions == 0 else int(np.searchsorted(sums, min_interactions)) + 1


def rank_by_popularity(popularity: Array) -> tuple[Array, Array]:
    """Return for each item the number of more popular items, and of equally popular ones, itself included."""
    in_order = np.sort(popularity)
    n_up_to = np.searchsorted(in_order, popularity, side="right")
    return len(popularity) - n_up_to, n_up_to - np.searchsorted(in_order, popularity, side="left")


def head_probability(n_head: int, n_more_popular: Array, n_as_popular: Array) -> Array:
    """Return the probability that an item is one of the `n_head` most popular ones, with equal ones in random order."""
    return np.asarray(np.clip((n_head - n_more_popular) / n_as_popular, 0.0, 1.0))
