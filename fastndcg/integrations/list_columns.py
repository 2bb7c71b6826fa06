"""Metrics of columns with one list per query, for the engines of tables: what DuckDB and Polars share."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import check_combinations
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array


def parse_query_metrics(metrics: Metrics, convention: Convention) -> tuple[Metric, ...]:
    """Parse metrics of single queries. Raise an error for aggregates, which need all queries."""
    parsed = parse_metrics(metrics)
    for metric in parsed:
        if metric.aggregate is not None:
            raise InvalidInputError(f"`metrics` must have values for single queries, not {metric}. Take {metric.bare}.")
    check_combinations(parsed, convention)
    return parsed


def evaluate_lists(
    labels: Any, scores: Any, metrics: tuple[Metric, ...], convention: Convention, threads: int | None
) -> Array:
    """Return the (n_queries, n_metrics) values of two columns of lists, which are read in place."""
    if not len(labels):
        return np.empty((0, len(metrics)))
    return evaluate(labels, scores, metrics, convention=convention, threads=threads, progress=False).values
