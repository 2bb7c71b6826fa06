"""Evaluate recommended items beyond accuracy: popularity, novelty, diversity, serendipity, coverage."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.engine.chunk import Span, cut_queries
from fastndcg.engine.compute.beyond_accuracy import ItemChunk
from fastndcg.engine.loop import evaluate_chunks
from fastndcg.engine.plan import find_depth, find_function
from fastndcg.engine.run import EvaluationOutput
from fastndcg.engine.scratch import Scratch
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.messages import answer_keywords, find_highest_label
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.partitions import note_low_labels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.recommenders.item_data import ItemData, read_item_data, read_user_ids
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
    threads: int | None = None,
) -> BeyondAccuracy:
    """
    Evaluate recommended items beyond accuracy, such as by novelty, diversity and coverage.

    Parameters
    ----------
    recommended : (n_users, k) int array, ragged column, Recommendations, lists of texts, dict, frame or Run
        Item ids, in rank order, one row a user, or ``{user: items}``. They are numbers from 0, or texts. Rows of an
        array may be padded with -1, or masked. A frame has columns of users, items, and scores or ranks. Where items
        are texts, `interactions` and `liked` are frames or dicts, and what is known of items is ``{item: value}``.
    metrics : str, Metric, or iterable of them
        Such as "coverage@10, novelty@10". ``fastndcg metrics`` lists them.
    catalogue : int, optional
        The number of items. By default that of `popularity`, `interactions`, `vectors` or `categories`.
    interactions : scipy.sparse matrix, Interactions, dict, frame or Qrels, optional
        Users by items, such as a model's training data. They give the popularity of items and the number of users.
    popularity : (n_items,) array or dict, optional
        The number of users that have interacted with each item, in place of `interactions`.
    n_users : int, optional
        The number of users, next to `popularity`. Novelty needs it.
    vectors : (n_items, n_dimensions) array or dict, optional
        Vectors of items for ``ILD``, the diversity by cosine distance.
    categories : (n_items, n_categories) array or sparse matrix of 0 and 1, ragged column or dict, optional
        The categories of items, or lists of their numbers, for ``ILD(distance=jaccard)`` and ``ILD(distance=hamming)``.
    liked : scipy.sparse matrix, Interactions, dict, frame or Qrels, optional
        Items that users like, with labels, one row a user. Serendipity needs them.
    user_ids : (n_users,) array, optional
        The ids of the users. By default their numbers from 0, or the users of the frame.
    threads
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
        n_users=n_users, vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    names = read_user_ids(user_ids, len(item_data.starts))
    if names is None and item_data.user_ids is not None:
        names = item_data.user_ids.names()
    output = evaluate_items(item_data, parsed, n_threads)
    notes = item_data.notes
    default = conventions["default"]
    if item_data.liked is not None:
        notes += note_low_labels(find_highest_label(item_data.liked), parsed, default)
    return BeyondAccuracy(output.values, parsed, names, default, overall_values=output.overall or {}, notes=notes)


CHUNK_ITEMS = 1 << 17  # 1 MB of their numbers


def evaluate_items(item_data: ItemData, metrics: tuple[Metric, ...], threads: int) -> EvaluationOutput:
    """Evaluate every metric on every user. A metric with one value for all users has NaN for each of them."""
    data = item_data
    liked = data.liked
    whole = ItemChunk(
        data.items, data.starts, data.sizes, data.n_items, data.popularity, data.n_users, data.vectors, data.sets, None,
        functools.cache(functools.partial(count_users_by_item, data, threads=threads)), {}, Scratch(),
    )  # fmt: skip

    def read(span: Span, scratch: Scratch) -> ItemChunk:
        users = slice(*span)
        chunk = whole._replace(starts=data.starts[users], sizes=data.sizes[users], scratch=scratch)
        if liked is None:
            return chunk
        items = read_only(liked.items.astype("i8", copy=False))
        return chunk._replace(liked=(items, liked.labels, liked.offsets[span[0] : span[1] + 1]))

    overall = {metric: np.empty(1) for metric in metrics if metric.record.has_one_value}
    for metric, out in overall.items():
        find_function(metric)(whole, metric, find_depth(metric), out)
    values = np.full((len(data.starts), len(metrics)), np.nan)
    others = [place for place, metric in enumerate(metrics) if metric not in overall]
    if others:
        chunk_items = max(CHUNK_ITEMS, 0 if liked is None else 4 * data.n_items)  # serendipity marks each item
        ends = list_ends(data)
        values[:, others] = evaluate_chunks(tuple(metrics[place] for place in others), ends, chunk_items, threads, read)
    if np.isinf(values).any():
        user, place = np.argwhere(np.isinf(values))[0].tolist()
        refuse_unpopular(data, metrics[place], user)
    return EvaluationOutput(values, overall={metric: float(out[0]) for metric, out in overall.items()})


def list_ends(item_data: ItemData) -> Array:
    """Return the offsets of users, which measure the work of their lists, padding included."""
    return np.append(item_data.starts, len(item_data.items))


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

    chunks = cut_queries(list_ends(item_data), max(CHUNK_ITEMS, n_items), threads)
    run_all(chunks, make_worker, min(threads, len(chunks)))
    return sum(counts_by_worker, np.zeros(n_items, "i8"))


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
