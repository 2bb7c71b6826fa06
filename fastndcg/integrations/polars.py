"""
Expressions of Polars: metrics over columns with one list of labels and one list of scores per query.

>>> import polars as pl
>>> from fastndcg.integrations.polars import metric
>>> frame = pl.DataFrame({"label": [[0, 1], [2]], "score": [[0.3, 0.2], [0.1]]})
>>> frame.select(metric("rr", "label", "score")).to_series().to_list()
[0.5, 1.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics, parse_single_metric
from fastndcg.metrics.resolve import check_combinations
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from polars import Expr

LABELS = "labels"
SCORES = "scores"


def metric(
    metric: str | Metric, labels: str | Expr, scores: str | Expr, *,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Expr:  # fmt: skip
    """
    Create the expression of one metric.

    Parameters
    ----------
    metric : str or Metric
        One metric that takes labels and scores, such as "ndcg@10".
    labels, scores : str or polars.Expr
        Columns of lists or arrays of numbers, one list per query. A text is the name of a column.
    convention, threads
        See `evaluate`.

    Returns
    -------
    polars.Expr
        A column of Float64 with the metric's name. A query in which the metric is undefined is null.

    Raises
    ------
    InvalidInputError
        If there are several metrics. When the expression runs: if a list or a number is null, a score is NaN, or a
        list of scores has another length than its list of labels.
    MissingPackageError
        If Polars or pyarrow is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> from fastndcg.integrations.polars import metric
    >>> rows = pl.LazyFrame({"q": ["a", "a", "b"], "label": [0, 1, 1], "score": [0.9, 0.4, 0.1]})
    >>> lists = rows.group_by("q", maintain_order=True).agg("label", "score")
    >>> lists.select("q", metric("rr", "label", "score")).collect().rows()
    [('a', 0.5), ('b', 1.0)]
    """
    name = str(parse_single_metric(metric, "Take `metrics` for several."))
    structs = metrics(metric, labels, scores, convention=convention, threads=threads)
    return structs.struct.field(name)


def metrics(
    metrics: Metrics, labels: str | Expr, scores: str | Expr, *,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Expr:  # fmt: skip
    """
    Create the expression of several metrics, which are evaluated together.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Metrics that take labels and scores, such as "ndcg@10, map".
    labels, scores, convention, threads
        See `metric`.

    Returns
    -------
    polars.Expr
        A column `metrics` of structs, with one field a metric. ``.struct.unnest()`` makes columns of them.

    Raises
    ------
    InvalidInputError, MissingPackageError
        See `metric`.

    Examples
    --------
    >>> import polars as pl
    >>> from fastndcg.integrations.polars import metrics
    >>> frame = pl.DataFrame({"label": [[0, 1], [2]], "score": [[0.3, 0.2], [0.1]]})
    >>> frame.select(metrics("rr, p@1", "label", "score").struct.unnest()).to_dict(as_series=False)
    {'RR': [0.5, 1.0], 'P@1': [0.0, 1.0]}
    """
    parsed_convention = parse_convention(convention)
    parsed = parse_query_metrics(metrics, parsed_convention)
    check_threads(threads)
    optional_import("pyarrow", "reading columns of lists", "arrow")
    polars = optional_import("polars", "an expression of Polars", "polars")
    names = list(map(str, parsed))

    def run(pairs: Any) -> Any:
        own_labels, own_scores = (_check_lists(polars, pairs.struct.field(name), name) for name in (LABELS, SCORES))
        values = evaluate_lists(own_labels, own_scores, parsed, parsed_convention, threads)
        columns = {
            name: polars.Series(name, np.ascontiguousarray(column), polars.Float64, nan_to_null=True)
            for name, column in zip(names, values.T, strict=True)
        }
        return polars.DataFrame(columns).to_struct("metrics")

    columns = ((labels, LABELS), (scores, SCORES))  # a struct of both copies no list
    pairs = polars.struct(*(_as_expression(polars, column, name).alias(name) for column, name in columns))
    dtype = polars.Struct(dict.fromkeys(names, polars.Float64))
    expression: Expr = pairs.map_batches(run, return_dtype=dtype, is_elementwise=True)
    return expression.alias("metrics")


def _as_expression(polars: Any, column: Any, name: str) -> Any:
    if isinstance(column, str):
        return polars.col(column)
    if not isinstance(column, polars.Expr):
        raise InvalidTypeError(
            f"`{name}` must be the name of a column or an expression, not {shorten(column)}. For a Series take "
            "fastndcg.evaluate."
        )
    return column


def _check_lists(polars: Any, column: Any, name: str) -> Any:
    if not isinstance(column.dtype, polars.List | polars.Array):
        raise InvalidTypeError(
            f"`{name}` must be a column of lists, one list per query, but its type is {column.dtype}. Take "
            "group_by(query).agg(labels, scores) before."
        )
    return column


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
