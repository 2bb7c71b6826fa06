"""The agreement of two rankings in plain Python, to check `fastndcg.agreement`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.dispatch import Options, PairedRankings, read_pairs
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings.validation import Array
from fastndcg.runtime.lazy_import import load

ORDERS_LIMIT = 100_000


def agreement(
    first: Any, second: Any, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None, columns: Any = None,
) -> Array:  # fmt: skip
    """
    Compare two rankings slowly, in plain Python, by every order of equal scores.

    Parameters
    ----------
    first, second, metrics, offsets, groups, query_ids, columns
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
    pairs = read_pairs(first, second, Options(offsets, groups, query_ids, columns))
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
    file, _, name = metric.record.kernel.partition(".")
    function = getattr(load(f"fastndcg.metrics.families.{file}"), name)
    if metric.name in ("RBO", "tau_ap") and n_orders(first) * n_orders(second) > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} orders of equal scores. Call fastndcg.agreement"
        )
    if metric.name == "RBO":
        return float(function(first, second, metric.get("p"), metric.get("form"), metric.k))
    common = [document for document in first if document in second]
    return float(function([first[document] for document in common], [second[document] for document in common]))


def n_orders(scores: dict[int, float]) -> int:
    """Return the number of orders of the documents by falling score."""
    values = list(scores.values())
    return math.prod(math.factorial(values.count(level)) for level in set(values))
