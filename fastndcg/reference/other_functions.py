"""The public functions besides `evaluate` in plain Python, to check the kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.forms.dispatch import read_pairs
from fastndcg.inputs.join import PairedRankings
from fastndcg.inputs.messages import Options
from fastndcg.inputs.spans import join_spans
from fastndcg.metrics.families.beyond_accuracy import Facts
from fastndcg.metrics.families.spans import SpanCase
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.item_data import ItemData, read_item_data
from fastndcg.reference.definition import ORDERS_LIMIT, load_twin


def agreement(
    first: Any, second: Any, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None,
) -> Array:  # fmt: skip
    """
    Compare two rankings slowly, in plain Python, by every order of equal scores.

    Parameters
    ----------
    first, second, metrics, offsets, groups, query_ids
        See `fastndcg.agreement`.

    Returns
    -------
    (n_queries, n_metrics) float64 array
        NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.agreement([[2, 1, 1]], [[3, 2, 1]], "tau_ap, tau_b")
    array([[0.75      , 0.81649658]])
    """
    metric_list = parse_metrics(metrics, "agreement")
    pairs = read_pairs(first, second, Options(offsets, groups, query_ids))
    values = np.empty((len(pairs.first_offsets) - 1, len(metric_list)))
    for q in range(len(values)):
        x, y = read_scores(pairs, q)
        values[q] = [value(metric, x, y) for metric in metric_list]
    return values


def read_scores(pairs: PairedRankings, q: int) -> tuple[dict[int, float], dict[int, float]]:
    """Return the scores of a query's documents in both rankings, each as a dict by document."""
    a, b = (slice(*offsets[q : q + 2].tolist()) for offsets in (pairs.first_offsets, pairs.second_offsets))
    first = pairs.first[a].tolist()
    second = pairs.second[b].tolist()
    partners = list(range(len(second))) if pairs.partners is None else pairs.partners[b].tolist()
    names = [place if place >= 0 else -1 - row for row, place in enumerate(partners)]
    return dict(enumerate(first)), dict(zip(names, second, strict=True))


def value(metric: Metric, first: dict[int, float], second: dict[int, float]) -> float:
    """Return the value of a metric for one query."""
    function = load_twin(metric.record.place)
    if "average" in metric.record.ties and n_orders(first) * n_orders(second) > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} orders of equal scores. Call fastndcg.agreement"
        )
    return float(function(first, second, metric))


def n_orders(scores: dict[int, float]) -> int:
    """Return the number of orders of the documents by falling score."""
    values = list(scores.values())
    return math.prod(math.factorial(values.count(level)) for level in set(values))


def beyond_accuracy(
    recommended: Any, metrics: Metrics | None = None, *, catalogue: Any = None, interactions: Any = None,
    popularity: Any = None, n_users: Any = None, vectors: Any = None, categories: Any = None, liked: Any = None,
) -> Array:  # fmt: skip
    """
    Evaluate recommended items slowly, in plain Python.

    Parameters
    ----------
    recommended, metrics, catalogue, interactions, popularity, n_users, vectors, categories, liked
        See `fastndcg.beyond_accuracy`.

    Returns
    -------
    (n_users, n_metrics) float64 array
        A metric with one value for all users has it in every row. NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.beyond_accuracy([[0, 1], [0, 2]], "gini, popularity", popularity=[3, 2, 1, 0])
    array([[0.375, 2.5  ],
           [0.375, 2.   ]])
    """
    metric_list = parse_metrics(metrics, "beyond_accuracy")
    item_data = read_item_data(
        recommended, metric_list, 1, catalogue=catalogue, interactions=interactions, popularity=popularity,
        n_users=n_users, vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    lists = [
        item_data.items[start : start + size].tolist()
        for start, size in zip(item_data.starts, item_data.sizes, strict=True)
    ]
    values = np.empty((len(lists), len(metric_list)))
    for column, metric in enumerate(metric_list):
        values[:, column] = compute_column(metric, [items[: metric.k] for items in lists], item_data)
    return values


def compute_column(metric: Metric, lists: list[list[int]], item_data: ItemData) -> list[float]:
    """Return each user's value of a metric. A metric with one value for all users has it for each of them."""
    variants = {choice: place for name, choice, place in metric.record.variants if metric.get(name) == choice}
    function = load_twin(next(iter(variants.values()), metric.record.place))
    if metric.record.has_one_value:
        n_items = item_data.n_items if item_data.catalogue is None else item_data.catalogue
        return [float(function(lists, n_items))] * len(lists)
    return [float(function(items, read_facts(item_data, user), metric)) for user, items in enumerate(lists)]


def read_facts(item_data: ItemData, user: int) -> Facts:
    """Return the data of all items and of one user as lists, sets and dicts."""
    liked: dict[int, float] = {}
    if item_data.liked is not None:
        part = slice(*item_data.liked.offsets[user : user + 2].tolist())
        liked = dict(zip(item_data.liked.items[part].tolist(), item_data.liked.labels[part].tolist(), strict=True))
    sets = [] if item_data.sets is None else item_data.sets.tolist()
    return Facts(
        [] if item_data.popularity is None else item_data.popularity.tolist(),
        item_data.n_users or 0,
        [] if item_data.vectors is None else item_data.vectors.tolist(),
        [{64 * w + bit for w, word in enumerate(row) for bit in range(64) if word >> bit & 1} for row in sets],
        liked,
    )


def evaluate_spans(gold: Any, chunks: Any, metrics: Metrics | None = None) -> Array:
    """
    Evaluate the coverage of gold text slowly, character by character, in plain Python.

    Parameters
    ----------
    gold, chunks, metrics
        See `fastndcg.evaluate_spans`. Metrics have the parameter `overlap`.

    Returns
    -------
    (n_queries, n_metrics) float64 array
        NaN where a metric is undefined.

    Examples
    --------
    >>> fn.reference.evaluate_spans({"q": [("a", 0, 10)]}, {"q": [("a", 5, 25)]}, "span_recall, span_precision")
    array([[0.5 , 0.25]])
    """
    metric_list = parse_metrics(metrics, "evaluate_spans")
    joined = join_spans(gold, chunks)
    values = np.empty((len(joined.query_ids), len(metric_list)))
    for q in range(len(values)):
        own, gold_rows = (slice(*offsets[q : q + 2].tolist()) for offsets in (joined.offsets, joined.gold_offsets))
        found = (joined.chunk_documents, joined.chunk_starts, joined.chunk_ends)
        wanted = (joined.gold_documents, joined.gold_starts, joined.gold_ends)
        spans = list(zip(*(column[gold_rows].tolist() for column in wanted), strict=True))
        weights = joined.gold_weights[gold_rows].tolist()
        text = {
            (document, place): weight
            for (document, start, end), weight in zip(spans, weights, strict=True)
            for place in range(start, end)
        }
        case = SpanCase(text, spans, list(zip(*(column[own].tolist() for column in found), strict=True)))
        for column, metric in enumerate(metric_list):
            values[q, column] = load_twin(metric.record.place)(case, metric)
    return values


def index_recall(scores: Mapping[Any, float], found: Sequence[Any], k: int, tolerance: float = 0.0) -> float:
    """
    Compute the recall@k of what an index found for one query, slowly, in plain Python.

    Parameters
    ----------
    scores : dict
        The score of each candidate.
    found : sequence of candidates or others
        What the index found, the best first. -1 is padding.
    k : int
        The cutoff.
    tolerance : float
        See `fastndcg.index_recall`.

    Returns
    -------
    float
        From 0 to 1. NaN without candidates.

    Examples
    --------
    >>> fn.reference.index_recall({"a": 3.0, "b": 2.0, "c": 2.0}, ["c", "a", "a"], 2)
    1.0
    """
    n_best = min(k, len(scores))
    if not n_best:
        return math.nan
    level = sorted(scores.values(), reverse=True)[n_best - 1]
    counted = {item for item in found[:k] if item in scores and scores[item] >= level - tolerance}
    return min(len(counted), n_best) / n_best


def estimate_with_judge(
    human: Sequence[float], judge: Sequence[float], others: Sequence[float]
) -> tuple[float, float, float]:
    """
    Estimate a mean from human values and those of a judge slowly, in plain Python, each query left out in turn.

    Parameters
    ----------
    human, judge : sequences of float
        The values of the queries that the human judged. Three or more.
    others : sequence of float
        The judge's values of other queries. Two or more.

    Returns
    -------
    (float, float, float)
        The estimate, its standard error, and the weight of the judge: the mean one below 50 queries.

    Examples
    --------
    >>> fn.reference.estimate_with_judge([0.0, 0.5, 1.0, 0.5], [0.0, 0.5, 1.0, 0.5], [0.5, 0.7])
    (0.5333333333333333, 0.1401057801435388, 0.3333333333333333)
    """

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    def fit(rows: Sequence[int]) -> float:
        own, theirs = ([values[row] for row in rows] for values in (human, judge))
        spread = sum((value - mean(theirs)) ** 2 for value in theirs)
        product = sum((x - mean(own)) * (y - mean(theirs)) for x, y in zip(own, theirs, strict=True))
        return 0.0 if spread < 1e-20 else min(1.0, max(0.0, product / spread / (1 + len(human) / len(others))))

    n = len(human)
    is_few = n < 50
    weights = [fit([row for row in range(n) if row != left_out or not is_few]) for left_out in range(n)]
    estimates = [x + weight * (mean(others) - y) for x, y, weight in zip(human, judge, weights, strict=True)]
    residuals = [x - mean(human) - w * (y - mean(judge)) for x, y, w in zip(human, judge, weights, strict=True)]
    own = sum((residual - mean(residuals)) ** 2 for residual in residuals) / n / (n - (1 if is_few else 2))
    theirs = sum((value - mean(others)) ** 2 for value in others) / (len(others) - 1) / len(others)
    return mean(estimates), math.sqrt(own + mean(weights) ** 2 * theirs), mean(weights)


def compare_judges(human: Sequence[float], judge: Sequence[float]) -> tuple[float, float]:
    """
    Return Cohen's kappa with quadratic weights and Krippendorff's ordinal alpha slowly, from all pairs of labels.

    Parameters
    ----------
    human, judge : sequences of float
        The labels of the same documents.

    Returns
    -------
    (float, float)
        Kappa and alpha, NaN if all labels are equal.

    Examples
    --------
    >>> fn.reference.compare_judges([0, 1, 1, 2], [0, 1, 2, 2])
    (0.8, 0.79)
    """
    labels = [*human, *judge]

    def distance(first: float, second: float) -> float:
        low, high = sorted((first, second))
        between = sum(low <= label <= high for label in labels)
        return (between - (labels.count(low) + labels.count(high)) / 2) ** 2 if low < high else 0.0

    both = list(zip(human, judge, strict=True))
    found = [sum(measure(*pair) for pair in both) for measure in (lambda x, y: (x - y) ** 2, distance)]
    by_chance = sum((x - y) ** 2 for x in human for y in judge) / len(human)
    among_all = sum(distance(x, y) for x in labels for y in labels) / (len(labels) - 1) / 2
    return tuple(1 - x / y if y else math.nan for x, y in zip(found, (by_chance, among_all), strict=True))  # type: ignore[return-value]
