"""The agreement of two rankings in plain Python: `fastndcg.agreement` must give the same."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.pairs import Pairs, pairs_of
from fastndcg.inputs.prepare import Options
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array

ORDERS_LIMIT = 100_000


def agreement(
    first: Any, second: Any, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None, columns: Any = None,
) -> Array:  # fmt: skip
    """
    Compare two rankings slowly, in plain Python, going through every order of equal scores.

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
    asked = parse_metrics(metrics, "agreement")
    pairs = pairs_of(first, second, Options(offsets, groups, query_ids, columns))
    values = np.empty((len(pairs.first_offsets) - 1, len(asked)))
    for q in range(len(values)):
        x, y = scores_of(pairs, q)
        values[q] = [value(metric, x, y) for metric in asked]
    return values


def scores_of(pairs: Pairs, q: int) -> tuple[dict[int, float], dict[int, float]]:
    """The scores of a query's documents in either ranking, by document."""
    a, b = (slice(*offsets[q : q + 2].tolist()) for offsets in (pairs.first_offsets, pairs.second_offsets))
    first, second = pairs.first[a].tolist(), pairs.second[b].tolist()
    known = list(range(len(second))) if pairs.partners is None else pairs.partners[b].tolist()
    names = [place if place >= 0 else -1 - row for row, place in enumerate(known)]
    return dict(enumerate(first)), dict(zip(names, second, strict=True))


def value(metric: Metric, first: dict[int, float], second: dict[int, float]) -> float:
    """One metric of one query."""
    file, _, name = metric.record.kernel.partition(".")
    function = getattr(importlib.import_module(f"fastndcg.reference.{file}"), name)
    if metric.name in ("RBO", "tau_ap") and n_orders(first) * n_orders(second) > ORDERS_LIMIT:
        raise InvalidInputError(f"`reference` must have at most {ORDERS_LIMIT} orders of equal scores to go through")
    if metric.name == "RBO":
        return float(function(first, second, metric.get("p"), metric.get("form"), metric.k))
    common = [document for document in first if document in second]
    return float(function([first[one] for one in common], [second[one] for one in common]))


def n_orders(scores: dict[int, float]) -> int:
    """How many orders there are in which scores fall."""
    values = list(scores.values())
    return math.prod(math.factorial(values.count(level)) for level in set(values))
