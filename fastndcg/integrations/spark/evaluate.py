"""evaluate: metrics of Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, reworded, shorten
from fastndcg.evaluation import parse_request
from fastndcg.inputs.messages import answer_keywords
from fastndcg.inputs.streams import parse_memory
from fastndcg.integrations.polars import parse_query_metrics
from fastndcg.integrations.spark.columns import (
    bring_together,
    check_data,
    check_id_types,
    check_names,
    check_partitions,
    check_ties,
    read_scored,
    read_side,
)
from fastndcg.integrations.spark.partitions import (
    SCHEMA,
    PairsTask,
    PerQueryTask,
    Request,
    ScoredTask,
    add_up_parts,
)
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.runtime.imports import optional_import
from fastndcg.streaming import Summary, check_streaming

MEMORY = 1 << 30  # bytes for the rows of a task
METRICS_TYPES = (str, Metric, list, tuple, set, dict, Iterator)  # of what is no DataFrame


@answer_keywords
def evaluate(
    truth: Any,
    predictions: Any = None,
    metrics: Metrics | None = None,
    *,
    query: str | None = None,
    document: str | None = None,
    label: str | None = None,
    score: str | None = None,
    order: str | None = None,
    convention: ConventionName | str | Convention = "default",
    per_query: bool = False,
    has_whole_queries: bool = False,
    partitions: int | None = None,
    memory: int | str | None = None,
) -> Any:
    """
    Evaluate metrics of DataFrames in Spark's tasks, with the same bits as `fn.evaluate` of the same rows.

    Parameters
    ----------
    truth : DataFrame
        Rows with labels and scores, or one row per query with lists of them, or judgments.
    predictions : DataFrame, optional
        The run with scores or ranks, if the truth is judgments. Otherwise the metrics may be given here.
    metrics : str, Metric, or iterable of them, optional
        See `fn.evaluate`. A metric with an aggregate other than the mean is an error.
    query, document, label, score : str, optional
        The names of columns, by default the usual ones. Rows with labels and scores need no documents.
    order : str, optional
        The column with the order of the documents of a query. Tie policies by input order need it.
    convention : str or Convention, default "default"
        See `fn.evaluate`.
    per_query : bool, default False
        Return a DataFrame with a row per query.
    has_whole_queries : bool, default False
        Whether all rows of a query are in one partition already, so that no shuffle is needed. This is not checked.
    partitions : int, optional
        The number of partitions of the shuffle. By default Spark's setting.
    memory : int or str, optional
        The number of bytes for the rows of a task, such as "500MB", by default 1 GiB. Rows that exceed it go to a
        temporary file of the executor. Judgments and a run are always in memory.

    Returns
    -------
    Summary or DataFrame
        Means, counts and intervals. With ``per_query=True`` a DataFrame with the column of the queries and a column a
        metric, null where the metric is undefined.

    Raises
    ------
    InvalidInputError
        If the data break a rule. The message names the query.
    MissingPackageError
        If PySpark or pyarrow is not installed.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from fastndcg.integrations import spark
    >>> session = SparkSession.builder.master("local[1]").getOrCreate()
    >>> rows = [("a", 1, 0.3), ("a", 0, 0.7), ("b", 2, 0.1), ("c", 1, 0.5)]
    >>> frame = session.createDataFrame(rows, ["user", "clicked", "prediction"])
    >>> result = spark.evaluate(frame, "ndcg@10, rr", query="user", label="clicked", score="prediction")
    >>> result.mean()
    {'nDCG@10': 0.8769765845238192, 'RR': 0.8333333333333334}
    >>> print(result.confidence_interval("rr"))
    0.8333 [0.0075, 1.0000], 95 % Korn–Graubard, 3 queries
    """
    if predictions is not None and metrics is None and isinstance(predictions, METRICS_TYPES):
        metrics = predictions
        predictions = None
    names = check_names({"query": query, "document": document, "label": label, "score": score, "order": order})
    check_data(truth, "truth")
    if predictions is not None:
        check_data(predictions, "predictions")
    request = make_request(metrics, convention, per_query, memory)
    n_partitions = filter(None, [check_partitions(partitions)])
    if predictions is None:
        columns = read_scored(truth, names, order)
        array_convention = parse_request(request.metrics, request.convention).array_convention
        check_ties(array_convention, order, has_lists=columns.has_lists)
        rows, id_column = columns.select(truth), columns.names.get("query")
        task: ScoredTask | PairsTask = ScoredTask(request, columns)
        if not columns.has_lists and id_column is not None:
            rows = rows if has_whole_queries else rows.repartition(*n_partitions, "query")
            rows = rows if order is None else rows.sortWithinPartitions("query", "order")
    else:
        if has_whole_queries:
            raise InvalidInputError(
                "`has_whole_queries` must be left out for judgments and a run, which a shuffle brings together."
            )
        rows, sides = join_sides(truth, {"run": predictions}, names, request, order)
        rows, id_column = rows.repartition(*n_partitions, "query"), sides[0]["query"]
        task = PairsTask(request, sides, has_order=order is not None)
    if per_query:
        return _map_queries(rows, task, id_column)
    partial, _, notes = add_up_parts(rows.mapInArrow(task, SCHEMA).collect())
    partial = partial or request.add_up(np.empty((0, len(request.metrics))), {})
    if predictions is not None and not partial.counts.get("n_common"):
        refuse_disjoint()
    remedy = "Take spark.evaluate(..., per_query=True)."
    return Summary(partial, request.metrics, parse_convention(convention), remedy, notes)


def make_request(
    metrics: Metrics | None,
    convention: str | Convention,
    per_query: bool,
    memory: int | str | None,
) -> Request:
    """Check the arguments of a job."""
    parsed = parse_convention(convention)
    if per_query:
        parsed_metrics = parse_query_metrics(parse_metrics(metrics), parsed)
    else:
        parsed_metrics = parse_metrics(metrics)
        for metric in parsed_metrics:
            check_streaming(metric, parsed, per_query=False)
    for metric in parsed_metrics:
        if metric.record.function is not None:
            raise InvalidInputError(
                f"`metrics` must be metrics of the catalogue, but {metric} was registered in this process, which "
                "executors lack. Evaluate it by fn.evaluate or a StreamingEvaluator on collected rows."
            )
    n_bytes = MEMORY if memory is None else parse_memory(memory)
    return Request(parsed_metrics, parsed, n_bytes)


def refuse_disjoint() -> NoReturn:
    """Raise an error for judgments and a run without a common query."""
    raise InvalidInputError(
        "qrels and run must have a query in common, but have none. Check that the ids are written alike."
    )


def join_sides(
    qrels: Any, runs: Mapping[str, Any], names: dict[str, str], request: Request, order: str | None
) -> tuple[Any, tuple[dict[str, str], ...]]:
    """Return a DataFrame with the rows of judgments and runs, and the names of the columns of each side."""
    check_ties(parse_request(request.metrics, request.convention).qrels_convention, order)
    own_names = [{role: name for role, name in names.items() if role != absent} for absent in ("score", "label")]
    sides = [read_side(qrels, own_names[0], "qrels")]
    for name, run in runs.items():
        with reworded(before=f"system {shorten(name)}: " if len(runs) > 1 else ""):
            sides.append(read_side(run, own_names[1], "run", order))
            check_id_types(sides[0], sides[-1])
    return bring_together(sides[0], sides[1:]), tuple(side.names for side in sides)


def _map_queries(rows: Any, task: Any, query: str | None) -> Any:
    """Return a DataFrame with the values of each query, whose ids stand in the column `query`."""
    types = optional_import("pyspark.sql.types", "Spark", "spark")
    arrow_types = optional_import("pyspark.sql.pandas.types", "Spark", "spark")
    if query is None:
        raise InvalidInputError("queries must have ids for per_query=True. Name the column: query=.")
    metrics = [str(metric) for metric in task.request.metrics]
    if query in metrics:
        raise InvalidInputError(
            f"the column of queries must not have the name of a metric, {query}. Rename the column."
        )
    kind = rows.schema["query"].dataType  # of judgments and a run the wider one
    fields = [types.StructField(query, kind), *(types.StructField(name, types.DoubleType()) for name in metrics)]
    schema = types.StructType(fields)
    return rows.mapInArrow(PerQueryTask(task, query, arrow_types.to_arrow_type(kind)), schema)
