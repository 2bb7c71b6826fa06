"""
The work of one task: whole queries in Arrow batches come in, and one row of exact sums goes out.

Objects here are pickled for the tasks by name, so executors import fastndcg.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastndcg import errors
from fastndcg.errors import FastndcgError, InvalidInputError, reworded, shorten
from fastndcg.evaluation import evaluate, evaluate_prepared, parse_request
from fastndcg.inputs.frames import note_distances
from fastndcg.inputs.messages import Options
from fastndcg.inputs.streams import Rows
from fastndcg.inputs.table import Qrels, Run
from fastndcg.integrations.spark.columns import SIDE, Scored, compute, pyarrow, say
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import PartialSums
from fastndcg.results.notes import notes_on_systems
from fastndcg.results.results import Results
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.threads import check_threads
from fastndcg.statistics.alignment import align
from fastndcg.streaming import COUNTS, share_notes

LIST_BYTES = 64 << 20  # of lists that are evaluated at a time
ROW_SHARE = 4  # rows are evaluated at once if they take no more than this part of the memory
SCHEMA = "part binary, largest binary, error string, message string, notes string"


class Part(NamedTuple):
    """A row of a task: sums and largest values as bytes and notes in lines, or the name of an error and its message."""

    part: bytes | None = None
    largest: bytes | None = None
    error: str | None = None
    message: str | None = None
    notes: str | None = None


def send_parts(make_parts: Callable[[], Iterator[Part]]) -> Iterator[Any]:
    """
    Yield the parts of a task as Arrow batches, or the error that making them raised.

    The driver raises the error with the same class and message. Spark would retry a task that fails.
    """
    try:
        for part in make_parts():
            yield _make_batch(part)
    except FastndcgError as error:
        yield _make_batch(Part(error=type(error).__name__, message=str(error.reword(say))))


def _make_batch(part: Part) -> Any:
    kinds = [pyarrow.binary(), pyarrow.binary(), *[pyarrow.string()] * 3]
    arrays = [pyarrow.array([value], kind) for value, kind in zip(part, kinds, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(Part._fields))


@dataclass(frozen=True, slots=True)
class Request:
    """The metrics of a job and their convention. `memory` is the number of bytes for the rows of a task."""

    metrics: tuple[Metric, ...]
    convention: Convention
    memory: int

    def add_up(self, values: Array, counts: dict[str, int], names: tuple[Any, ...] = ()) -> PartialSums:
        """Return the exact sums of (n_queries, n_columns) values."""
        return PartialSums.from_values(names or self.metrics, self.convention, values, counts)


def count_cpus() -> int:
    """Return the number of CPUs of this task, as spark.task.cpus gives it."""
    pyspark = optional_import("pyspark", "Spark", "spark")
    context = pyspark.TaskContext.get()
    return 1 if context is None else min(int(context.cpus()), check_threads(None))


def refuse_nulls(batch: Any, columns: Scored) -> None:
    """Raise an error for a null in a column of a batch, with the query of its row."""
    for name in columns.list_columns():
        query = columns.names.get("query")
        queries = None if query in (None, name) else batch.column(query)
        _refuse_null(batch.column(name), queries, f"column {shorten(name)}")


def _refuse_null(column: Any, queries: Any, what: str) -> None:
    """Raise an error for a null in a column, with the query of its row unless `queries` is None."""
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        place = "" if queries is None else f" for query {shorten(queries[row].as_py())}"
        raise InvalidInputError(f"{what} must have no null, but has one{place}. Drop or fill it.")


def _refuse_equal_places(queries: Any, places: Any, last: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """
    Raise an error for two rows of a query with one place, or one that is NaN, in rows sorted by query and place.

    `last` is the query and the place of the row above. Return those of the last row.
    """
    is_nan = compute.is_nan(places) if pyarrow.types.is_floating(places.type) else None
    if is_nan is not None and compute.any(is_nan).as_py():
        row = is_nan.to_pylist().index(True)
        raise InvalidInputError(
            f"`order` must not be NaN, but that of a document of query {shorten(queries[row].as_py())} is nan. Give "
            "each document a place."
        )
    if last is not None:
        queries, places = (
            pyarrow.concat_arrays([pyarrow.array([value], column.type), column])
            for value, column in zip(last, (queries, places), strict=True)
        )
    is_equal = compute.and_(*(compute.equal(column[1:], column[:-1]) for column in (queries, places)))
    if compute.any(is_equal).as_py():
        row = is_equal.to_pylist().index(True)
        raise InvalidInputError(
            f"`order` must give each document of a query another place, but two of query "
            f"{shorten(queries[row].as_py())} have {shorten(places[row].as_py())}. Name a column without equal values."
        )
    return queries[-1].as_py(), places[-1].as_py()


@dataclass(frozen=True, slots=True)
class ScoredTask:
    """The evaluation of rows or lists with labels and scores."""

    request: Request
    columns: Scored

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row of sums."""
        return send_parts(lambda: self._make_parts(batches))

    def evaluate(self, batches: Iterator[Any]) -> Iterator[Results]:
        """Yield the results of all queries: of lists piece by piece, of rows at once."""
        batches = self._check(batches)
        if self.columns.has_lists:
            for pieces in _group_batches(batches, LIST_BYTES):
                yield self._evaluate(_make_table(pieces))
            return
        pieces = next(_group_batches(batches, self.request.memory // ROW_SHARE), [])
        if not pieces:
            return
        rest = next(batches, None)
        if rest is None:
            yield self._evaluate(_make_table(pieces))
            return
        stream = itertools.chain(pieces, [rest], batches)
        yield self._evaluate(pyarrow.RecordBatchReader.from_batches(rest.schema, stream), memory=self.request.memory)

    def _make_parts(self, batches: Iterator[Any]) -> Iterator[Part]:
        total: PartialSums | None = None
        notes: tuple[str, ...] | None = None
        for result in self.evaluate(batches):
            part = add_up_results(self.request, result)
            total = part if total is None else total + part
            notes = share_notes([notes, result.own_notes if len(result) else None])
        if total is not None:
            yield Part(total.to_bytes(), notes=None if notes is None else "\n".join(notes))

    def _evaluate(self, table: Any, memory: int | None = None) -> Results:
        query = self.columns.names.get("query")
        queries = table.column(query) if self.columns.has_lists and query is not None else None
        with reworded(partial(say, queries=queries)):
            return evaluate(
                Rows(table, columns=self.columns.names, memory=memory), metrics=self.request.metrics,
                convention=self.request.convention, threads=count_cpus(), progress=False,
            )  # fmt: skip

    def _check(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the batches with rows, and refuse nulls and equal places in an order."""
        last: tuple[Any, Any] | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            batch = self.columns.restore(batch)
            refuse_nulls(batch, self.columns)
            if self.columns.order is not None:
                last = _refuse_equal_places(
                    batch.column(self.columns.names["query"]), batch.column(self.columns.order), last
                )
                batch = batch.select(list(dict.fromkeys(self.columns.names.values())))
            yield batch


def add_up_results(request: Request, result: Results, **counts: int) -> PartialSums:
    """Return the exact sums and the counts of results, with other counts."""
    own = {"n_queries": len(result), **{name: getattr(result, name) for name in COUNTS}}
    return request.add_up(result.values, own | counts)


@dataclass(frozen=True, slots=True)
class PairsTask:
    """
    The evaluation of runs against judgments, whose rows come together with the side that each is of.

    `names` are the columns of each side for messages. `baseline` is the place of the run that others are compared with,
    None for a single run.
    """

    request: Request
    names: tuple[dict[str, str], ...]
    systems: tuple[str, ...] = ("run",)
    baseline: int | None = None
    has_order: bool = False

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row of sums."""
        return send_parts(lambda: self._make_parts(batches))

    def evaluate(self, batches: Iterator[Any]) -> Iterator[Results]:
        """Yield the results of the only run."""
        for results, _ in self._evaluate_all(batches):
            yield from results.values()

    def _make_parts(self, batches: Iterator[Any]) -> Iterator[Part]:
        for results, n_judged in self._evaluate_all(batches):
            if self.baseline is None:
                result = results[self.systems[0]]
                n_common = n_judged - result.n_missing_in_run
                part = add_up_results(self.request, result, n_common=n_common)
                yield Part(part.to_bytes(), notes="\n".join(result.own_notes) if len(result) else None)
            else:
                yield self._compare(results, n_judged, self.baseline)

    def _evaluate_all(self, batches: Iterator[Any]) -> Iterator[tuple[dict[str, Results], int]]:
        """Yield the results of all systems, and the number of judged queries, unless there are no rows."""
        pieces = [batch for batch in batches if batch.num_rows]
        if not pieces:
            return
        table = _make_table(pieces)
        sides = table.column(SIDE)
        if self.has_order:
            table = table.take(compute.sort_indices(table, [("query", "ascending"), ("order", "ascending")]))
            sides = table.column(SIDE)
        tables = [
            table.filter(compute.equal(sides, pyarrow.scalar(side, sides.type))) for side in range(len(self.names))
        ]
        for side, part in enumerate(tables):
            self._check(part, side)
        threads = count_cpus()
        roles = {"query": "query", "document": "document"}
        selected = [part.select(["query", "document", "value"]) for part in tables]
        qrels = Qrels(selected[0], columns=roles | {"label": "value"}, threads=threads)
        request = parse_request(self.request.metrics, self.request.convention)
        options = Options(threads=threads, is_part=True)
        results: dict[str, Results] = {}
        for system, part, names in zip(self.systems, selected[1:], self.names[1:], strict=True):
            with self._naming(system):
                value = {"rank" if "rank" in names else "score": "value"}
                run = Run(part, columns=roles | value, threads=threads)
                run.placed_in(run.source._replace(notes=note_distances(names.get("score", ""))))
                results[system] = evaluate_prepared(qrels, run, request, options)
        yield results, len(qrels.queries)

    def _naming(self, system: str) -> contextlib.AbstractContextManager[None]:
        """Let errors begin with the name of a system, if there are several."""
        return reworded(before=f"system {shorten(system)}: " if system and self.baseline is not None else "")

    def _compare(self, results: dict[str, Results], n_judged: int, baseline: int) -> Part:
        """Return the sums of all systems, and those of their differences from the baseline."""
        metrics = self.request.metrics
        aligned = align(results, metrics)
        base = aligned.columns[baseline]
        other_columns = [column for place, column in enumerate(aligned.columns) if place != baseline]
        values = np.hstack([*aligned.columns, *(column - base for column in other_columns)])
        counts = {"n_queries": len(values)}
        for place, (result, n_missing) in enumerate(zip(results.values(), aligned.n_missing, strict=True)):
            counts |= {f"{name} {place}": getattr(result, name) for name in COUNTS}
            counts |= {f"n_missing {place}": n_missing, f"n_common {place}": n_judged - result.n_missing_in_run}
        names = tuple(f"column {place}" for place in range(values.shape[1]))
        partial = self.request.add_up(values, counts, names)
        sizes = np.abs(np.stack(aligned.columns))
        largest = np.where(np.isnan(sizes), 0.0, sizes).max(axis=(0, 1), initial=0.0)
        notes = notes_on_systems({name: result.own_notes for name, result in results.items()})
        sent = "\n".join(notes) if len(values) else None
        return Part(partial.to_bytes(), largest.astype("<f8").tobytes(), notes=sent)

    def _check(self, table: Any, side: int) -> None:
        """Raise an error for a null in a column of a side, and for equal places in its order."""
        what = "qrels" if side == 0 else "run"
        names = self.names[side]
        value = next((names[role] for role in ("label", "score", "rank") if role in names), "value")
        with self._naming(self.systems[side - 1] if side else ""):
            for role in ("query", "document", "value", *["order"] * (self.has_order and side > 0)):
                name = value if role == "value" else names[role]
                queries = None if role == "query" else table.column("query")
                _refuse_null(table.column(role), queries, f"column {shorten(name)} of the {what}")
            if self.has_order and side > 0 and len(table):
                _refuse_equal_places(*(table.column(role).combine_chunks() for role in ("query", "order")))


@dataclass(frozen=True, slots=True)
class PerQueryTask:
    """The values of single queries of another task, with the queries' ids in a column of type `kind`."""

    task: ScoredTask | PairsTask
    query: str
    kind: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches with one row a query. A value is null where the metric is undefined."""
        for result in self.task.evaluate(batches):
            columns = {self.query: pyarrow.array(result.query_ids.tolist(), self.kind)}
            for place, metric in enumerate(result.metrics):
                values = np.ascontiguousarray(result.values[:, place])
                columns[str(metric)] = pyarrow.array(values, mask=np.isnan(values))
            yield pyarrow.RecordBatch.from_pydict(columns)


def add_up_parts(rows: Sequence[Any]) -> tuple[PartialSums | None, Array | None, tuple[str, ...]]:
    """
    Return the sum of the rows of all tasks and their largest values, None without rows, and the notes that all have.

    Raise the error that a task sent. Of several errors, the first in the order of texts is raised.
    """
    sent = sorted((row["error"], row["message"]) for row in rows if row["error"] is not None)
    if sent:
        raise getattr(errors, sent[0][0], FastndcgError)(sent[0][1])
    total: PartialSums | None = None
    largest: Array | None = None
    for row in rows:
        part = PartialSums.from_bytes(bytes(row["part"]))
        total = part if total is None else total + part
        if row["largest"] is not None:
            sizes = np.frombuffer(bytes(row["largest"]), "<f8")
            largest = sizes if largest is None else np.maximum(largest, sizes)
    notes = [None if row["notes"] is None else tuple(row["notes"].splitlines()) for row in rows]
    return total, largest, share_notes(notes) or ()


def _group_batches(batches: Iterator[Any], most: int) -> Iterator[list[Any]]:
    """Yield lists of batches that reach `most` bytes. The last list may have fewer."""
    pieces: list[Any] = []
    n_bytes = 0
    for batch in batches:
        pieces.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= most:
            yield pieces
            pieces = []
            n_bytes = 0
    if pieces:
        yield pieces


def _make_table(pieces: list[Any]) -> Any:
    return pyarrow.Table.from_batches(pieces)
