"""
Large queries: rows of one query that many tasks share.

A rank is one plus the number of higher scores, and such counts can be added up. Each task counts its rows above and at
the score of each labelled document, Spark adds the counts, and the driver makes metrics of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.run import needs_all_documents
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.evaluation import evaluate_prepared, parse_request
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.options import Options
from fastndcg.integrations.spark.columns import Scored
from fastndcg.integrations.spark.errors import SCHEMA, Part, raise_errors, send_parts
from fastndcg.integrations.spark.partitions import Request, refuse_nulls
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.known_ranks import CountedHits, CountedRankings, RankCounts
from fastndcg.rankings.validation import Array, as_labels, read_only
from fastndcg.results.results import Results
from fastndcg.runtime.optional_packages import optional_import

MOST_LABELLED = 1_000_000  # labelled documents of all large queries, whose scores each task gets
MOST_QUERIES = 10_000
IS_LABELLED = "CAST(label AS DOUBLE) <> 0"  # of rows, which have columns by role


class Labelled(NamedTuple):
    """
    The documents of large queries with a label other than 0.

    Query q owns the entries ``offsets[q]`` up to ``offsets[q + 1]``, whose scores do not fall.
    """

    labels: Array
    scores: Array
    offsets: Array


class LargeQueries(NamedTuple):
    """The ids of large queries, as a column of Arrow and as numbers or texts, and how many rows they have."""

    column: Any
    ids: Array
    sizes: Array
    n_labelled: Array  # rows with a label other than 0

    def check(self, what: str, numbers: Array, new_numbers: Array) -> None:
        """Raise an error for a query whose rows two jobs counted differently."""
        is_other = numbers != new_numbers
        if is_other.any():
            query = int(np.argmax(is_other))
            raise InvalidInputError(
                "`truth` must have the same rows in each job of `split_above`, but query "
                f"{shorten(self.ids[query : query + 1].tolist()[0])} had {numbers[query]:,} {what} in one job and "
                f"{new_numbers[query]:,} in the next. Write it to a file or cache it first."
            )


def check_metrics(request: Request, columns: Scored) -> None:
    """Raise an error for metrics and conventions that counts do not suffice for."""
    convention = parse_request(request.metrics, request.convention).array_convention

    def refuse(what: str) -> None:
        raise InvalidInputError(
            f"`split_above` must be left out for {what}, as the rows of a query are only counted. Leave it out, and "
            "each query is one task's."
        )

    if columns.has_lists:
        refuse("columns of lists")
    if columns.order is not None or convention.ties not in ("average", "mean_rank", "best", "worst"):
        refuse(f"ties={shorten(convention.ties)} or with `order`")
    if convention.nan_scores == "last":
        refuse("nan_scores='last'")
    if _needs_all(parse_metrics("rr"), convention):  # which itself reads labelled documents alone
        refuse(f"convention {convention.name}")
    metric = next((metric for metric in request.metrics if _needs_all((metric,), convention)), None)
    if metric is not None:
        refuse(f"{metric}")


def _needs_all(metrics: tuple[Metric, ...], convention: Convention) -> bool:
    return needs_all_documents(metrics, convention, np.dtype("f4"), np.empty(0, "i1"))


def find_large_queries(rows: Any, columns: Scored, split_above: int) -> LargeQueries | None:
    """Run a job that counts the rows of each query. Return the queries to split, None without any."""
    pyarrow = optional_import("pyarrow", "Spark", "spark")
    types = optional_import("pyspark.sql.pandas.types", "Spark", "spark")
    functions = optional_import("pyspark.sql.functions", "Spark", "spark")
    row_counts = rows.groupBy("query").agg(
        functions.expr("count(*) AS n"), functions.expr(f"count_if({IS_LABELLED}) AS n_labelled")
    )
    large = (
        row_counts.where(f"n > {split_above} AND query IS NOT NULL").orderBy("query").limit(MOST_QUERIES + 1).collect()
    )
    n_labelled = sum(row["n_labelled"] for row in large)
    if len(large) > MOST_QUERIES or n_labelled > MOST_LABELLED:
        raise InvalidInputError(
            f"`split_above` must leave at most {MOST_QUERIES:,} queries to split, with {MOST_LABELLED:,} labelled "
            f"documents in all, but at least {len(large):,} with {n_labelled:,} have over {split_above:,} rows. Raise "
            "it, or leave it out."
        )
    if not large:
        return None
    query = columns.names["query"]
    column = pyarrow.array([row["query"] for row in large], types.to_arrow_type(rows.schema["query"].dataType))
    frame = Frame(pyarrow.table({query: column}), {"query": query}, "truth")
    sizes, numbers = (np.array([row[name] for row in large], "i8") for name in ("n", "n_labelled"))
    return LargeQueries(column, frame.read_ids("query").names(), sizes, numbers)


def select_rows(rows: Any, large: LargeQueries, *, are_large: bool) -> Any:
    """Return the rows of the large queries, or those of all others."""
    functions = optional_import("pyspark.sql.functions", "Spark", "spark")
    query = functions.col("query")
    is_large = query.isin(large.column.to_pylist())
    return rows.where(is_large if are_large else ~is_large | query.isNull())  # an id that is null is an error later


def evaluate_large(rows: Any, columns: Scored, request: Request, large: LargeQueries) -> Results:
    """Evaluate large queries in jobs whose tasks count rows."""
    own_rows = select_rows(rows, large, are_large=True)
    _refuse_repeated(own_rows, columns)
    labelled = _collect_labelled(own_rows, columns, large)
    parsed = parse_request(request.metrics, request.convention)
    convention = parsed.array_convention
    if needs_all_documents(request.metrics, convention, labelled.scores.dtype, labelled.labels):
        raise InvalidInputError(
            f"`split_above` must be left out where convention {convention.name} changes rows: it removes labels below "
            "0, or rounds scores to float32. Leave it out, or change the rows yourself."
        )
    task = CountTask(columns, large.column, labelled.scores, labelled.offsets)
    (counts,) = _collect(own_rows.mapInArrow(task, SCHEMA).repartition(1).mapInArrow(add_counts, SCHEMA))
    ranks = _make_counts(labelled, large, np.frombuffer(counts, "<i8"))
    hits = CountedHits(ranks, labelled.labels, read_only(labelled.offsets))
    offsets = read_only(count_before(large.sizes))
    rankings = CountedRankings(hits, offsets, None, large.ids, lambda _, places: places)
    return evaluate_prepared(rankings, None, parsed, Options())


@dataclass(frozen=True, slots=True)
class CountTask:
    """The count of rows of large queries around the scores of their labelled documents."""

    columns: Scored
    queries: Any
    scores: Array
    offsets: Array

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """
        Yield the counts of this task's rows, int64 numbers as bytes.

        Number p of a query is that of rows with p labelled scores below theirs. After those of all queries come the
        numbers of rows with the score at place p itself.
        """
        return send_parts(lambda: iter([Part(self._count(batches).astype("<i8").tobytes())]))

    def _count(self, batches: Iterator[Any]) -> Array:
        pyarrow = optional_import("pyarrow", "Spark", "spark")
        compute = optional_import("pyarrow.compute", "Spark", "spark")
        starts = _find_starts(self.offsets)
        counts = np.zeros((2, starts[-1]), "i8")
        for batch in map(self.columns.restore, batches):
            refuse_nulls(batch, self.columns)
            frame = Frame(pyarrow.Table.from_batches([batch]), self.columns.names, "truth")
            scores = frame.read_numbers("score")
            names = batch.column(batch.schema.get_field_index(self.columns.names["query"]))
            if scores.dtype.kind == "f" and np.isnan(scores).any():
                query = names[int(np.argmax(np.isnan(scores)))].as_py()
                raise InvalidInputError(
                    f"`scores` must not be NaN, but one of query {shorten(query)} is nan. Find out where it comes from."
                )
            queries = compute.index_in(names, value_set=self.queries).to_numpy()
            for query in np.unique(queries).tolist():
                own_scores = scores[queries == query]
                labelled = self.scores[self.offsets[query] : self.offsets[query + 1]]
                below = np.searchsorted(labelled, own_scores, side="left")
                is_tied = below < np.searchsorted(labelled, own_scores, side="right")
                own_counts = counts[:, starts[query] : starts[query + 1]]
                own_counts[0] += np.bincount(below, minlength=len(labelled) + 1)
                own_counts[1] += np.bincount(below[is_tied], minlength=len(labelled) + 1)
        return counts


def add_counts(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the sum of the counts of many tasks, and their errors."""

    def add_up() -> Iterator[Part]:
        total: Any = 0
        for row in (row for batch in batches for row in batch.to_pylist()):
            if row["error"] is not None:
                yield Part(error=row["error"], message=row["message"])
            else:
                total = total + np.frombuffer(row["part"], "<i8")
        yield Part(np.asarray(total, "<i8").tobytes())

    return send_parts(add_up)


@dataclass(frozen=True, slots=True)
class PackTask:
    """The conversion of a task's rows to one row with an Arrow stream, which is collected faster."""

    columns: Scored

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the stream, if there are rows."""
        return send_parts(lambda: self._pack(batches))

    def _pack(self, batches: Iterator[Any]) -> Iterator[Part]:
        pyarrow = optional_import("pyarrow", "Spark", "spark")
        pieces = [self.columns.restore(batch) for batch in batches if batch.num_rows]
        if not pieces:
            return
        for batch in pieces:
            refuse_nulls(batch, self.columns)
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, pieces[0].schema) as writer:
            for batch in pieces:
                writer.write_batch(batch)
        yield Part(sink.getvalue().to_pybytes())


def _collect(parts: Any) -> list[bytes]:
    """Run a job, raise the error of a task, and return the bytes of all tasks."""
    rows = parts.collect()
    raise_errors(rows)
    return [bytes(row["part"]) for row in rows]


def _find_starts(offsets: Array) -> Array:
    """Return the first count of each query. A query has one count more than labelled documents."""
    return offsets + np.arange(len(offsets))


def _refuse_repeated(rows: Any, columns: Scored) -> None:
    """Run a job that finds a document that stands twice in a query."""
    if "document" not in columns.names:
        return
    numbers = rows.groupBy("query", "document").count().where("count > 1 AND document IS NOT NULL")
    for row in numbers.orderBy("query", "document").limit(1).collect():
        raise InvalidInputError(
            f"`truth`: a document must stand once in a query, but document {row[1]} of query {row[0]} is in {row[2]} "
            "rows. Keep one of them."
        )


def _collect_labelled(rows: Any, columns: Scored, large: LargeQueries) -> Labelled:
    """Run a job that collects the documents with labels, by query and rising score."""
    pyarrow = optional_import("pyarrow", "Spark", "spark")
    types = optional_import("pyspark.sql.pandas.types", "Spark", "spark")
    compute = optional_import("pyarrow.compute", "Spark", "spark")
    names = {role: columns.names[role] for role in ("query", "label", "score")}
    selected = rows.where(IS_LABELLED).select(*names)
    fields = [(names[field.name], types.to_arrow_type(field.dataType)) for field in selected.schema.fields]
    streams = _collect(selected.mapInArrow(PackTask(columns._replace(names=names)), SCHEMA))
    tables = [pyarrow.ipc.open_stream(stream).read_all() for stream in streams]
    table = pyarrow.concat_tables(tables) if tables else pyarrow.schema(fields).empty_table()
    frame = Frame(table, names, "truth")
    labels = as_labels(frame.read_numbers("label"), "labels")
    scores = frame.read_numbers("score")
    queries = compute.index_in(table.column(names["query"]), value_set=large.column).to_numpy()
    order = np.lexsort((labels, scores, queries))
    numbers = np.bincount(queries, minlength=len(large.column))
    large.check("labelled documents", large.n_labelled, numbers)
    offsets = count_before(numbers)
    return Labelled(read_only(labels[order]), scores[order], offsets)


def _make_counts(labelled: Labelled, large: LargeQueries, counts: Array) -> RankCounts:
    """Return the counts of the labelled documents from those of all tasks."""
    starts = _find_starts(labelled.offsets)
    numbers, numbers_tied = counts.reshape(2, -1)
    large.check("rows", large.sizes, np.add.reduceat(numbers, starts[:-1]))
    n_found = np.zeros(len(large.sizes), "i8")
    above = np.zeros(len(labelled.labels), "i8")
    ties = np.zeros(len(labelled.labels), "i8")
    for query, (start, stop) in enumerate(pairwise(labelled.offsets.tolist())):
        scores = labelled.scores[start:stop]
        first = np.searchsorted(scores, scores, side="left")  # the place at which equal scores were counted
        own = slice(starts[query], starts[query + 1])
        ties[start:stop] = numbers_tied[own][first]
        above[start:stop] = (numbers[own][::-1].cumsum()[::-1] - numbers[own])[first]
        n_found[query] = np.minimum(numbers_tied[own], np.bincount(first, minlength=stop - start + 1)).sum()
    large.check("labelled documents", large.n_labelled, n_found)
    return RankCounts(*(read_only(counts.astype("i4")) for counts in (above, ties, np.zeros_like(ties))))
