"""
Rows with labels and scores, query after query: those of a whole table, or of tables that are read one by one.

Rows are (query, score, label) in any order, or one row per query with lists. Streamed tables are cut at the boundaries
of queries, in bounded memory. The first and the last query of a table may continue in the neighbouring tables: their
rows are collected, and evaluated when all tables have been read. Rows in any order are sorted in memory, or by DuckDB
on disk.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from fastndcg.choices import DuplicateChoice, DuplicateRanks, Format
from fastndcg.errors import Column, InvalidInputError, MissingPackageError, Words, shorten
from fastndcg.inputs.arrays import convert_ranks
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.duplicates import make_duplicates
from fastndcg.inputs.frames import ColumnNames, Frame
from fastndcg.inputs.ids import Groups, IdColumn, concatenate_columns, group, split_spans
from fastndcg.inputs.join import tie_keys
from fastndcg.inputs.messages import Options, Source, answer_keywords
from fastndcg.inputs.table import Qrels, RepeatedRun, Run, Table, TableRows, describe_row, refuse_repeated, refuse_sizes
from fastndcg.inputs.table_sources import TableSource, pyarrow
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import as_float
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, as_offsets, as_scores, is_wide, read_only
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.progress import is_watched

TELL_APART = (
    "Keep one of them, name a column that tells them apart: ", Column("document"), ", or take ",
    Words("fn.Rows(…, duplicates='first')", "--duplicates first"),
)  # fmt: skip
LEAST_MEMORY = 1 << 26  # bytes that DuckDB sorts with
PREFIX = "fastndcg-"
METHODS = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")  # of DuckDB 2, and of earlier ones

Kind = TypeVar("Kind", bound=Table)


class PlainRows(NamedTuple):
    """The label, score and query of each row, and its document if the rows have documents."""

    labels: Array
    scores: Array
    queries: IdColumn
    documents: IdColumn | None

    @classmethod
    def of_frame(cls, frame: Frame) -> Self:
        """Read the columns of a frame with labels and scores, or ranks in their place."""
        queries = frame.read_ids("query")
        labels = as_labels(frame.read_numbers("label"), "labels")
        documents = frame.read_ids("document") if frame.has("document") else None
        return cls(labels, frame.read_numbers("rank" if frame.is_ranked else "score"), queries, documents)

    def take(self, places: Array) -> Self:
        """Copy some rows: a view would keep the memory of all."""
        documents = None if self.documents is None else self.documents.take(places)
        return self._replace(
            labels=self.labels[places], scores=self.scores[places], queries=self.queries.take(places),
            documents=documents,
        )  # fmt: skip


class Batch(NamedTuple):
    """Rankings of whole queries, and the first row of each query among all rows."""

    rankings: Rankings
    query_ids: Array
    first_rows: Array


class ScoredRows:
    """Labels and scores, query after query."""

    def __init__(
        self, rows: PlainRows, groups: Groups, source: Source, threads: int | None, *, has_ids: bool = True
    ) -> None:
        """Take rows in the order of the input, but the id of each query once."""
        source = source._replace(remedy=TELL_APART)
        self._source = source
        self.queries = rows.queries  # ids, or the numbers of rows with lists that have none
        self.names = read_only(rows.queries.names()) if has_ids else None
        self.groups = groups  # the rows of each query in the order of the input
        self._run: Run | None = None
        if rows.documents is not None:
            self._run = Run.from_rows(TableRows(rows.queries, groups, rows.documents, rows.scores), source, threads)
        order = slice(None) if groups.rows is None else groups.rows
        self._are_ordinals = is_wide(rows.scores)
        self._labels = read_only(rows.labels[order])
        self._scores = read_only(as_scores(rows.scores[order], "scores"))
        self._offsets = as_offsets(groups.offsets, "offsets", len(rows.labels))

    @classmethod
    def of_rows(cls, rows: PlainRows, source: Source, threads: int | None = 1, *, are_ranked: bool = False) -> Self:
        """Group rows by query."""
        groups = group(rows.queries, threads)
        if are_ranked:
            describe = functools.partial(describe_row, rows.queries, rows.documents, source)
            rows = rows._replace(scores=convert_ranks(rows.scores, groups, describe, source.name))
        return cls(rows._replace(queries=rows.queries.take(groups.firsts)), groups, source, threads)

    @classmethod
    def of_frame(
        cls, frame: Frame, threads: int | None = None, source: Source | None = None, *, is_part: bool = False
    ) -> Self:
        """
        Read the columns of a frame: numbers, or lists.

        With `is_part`, the frame is one of several, and the caller checks that no query with lists occurs twice.
        """
        frame.check_named()
        source = source or Source("`truth`", "row", n_before=frame.first_row)
        source = source._replace(notes=frame.notes)
        if not frame.has_list_columns:
            return cls.of_rows(PlainRows.of_frame(frame), source, threads, are_ranked=frame.is_ranked)
        labels = frame.read_lists("label")
        values = as_labels(labels.values, "labels")
        scores, offsets = frame.read_lists("score")
        ids: tuple[Any, ...] = ()
        if not np.array_equal(labels.offsets, offsets) and (scores % 1 == 0).all():
            ids = (", or for lists of ids ", Column("document", "fn.Qrels"), " and ", Column("document", "fn.Run"))
        refuse_sizes("label", labels.offsets, "score", offsets, source, ids)
        has_ids = frame.has("query")
        queries = frame.read_ids("query") if has_ids else frame.number_rows()
        if has_ids and not is_part:
            refuse_repeated(queries, source)
        documents = None
        if frame.has("document"):
            documents, own_offsets = frame.read_id_lists("document")
            refuse_sizes("document", own_offsets, "score", offsets, source)
        rows = PlainRows(values, scores, queries, documents)
        groups = Groups(offsets, None, offsets[:-1])
        return cls(rows, groups, source._replace(lists=offsets), threads, has_ids=has_ids)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on how rows were read."""
        return self._source.notes

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self._offsets) - 1

    def order_ties(self, convention: Convention | None, threads: int | None = 1) -> Array | None:
        """Return tie keys if there are document ids and the convention orders ties by id, else None."""
        if self._run is None or convention is None or TIES[convention.ties].orders != "id":
            return None
        return tie_keys(self._run, threads)

    def rankings(self, convention: Convention | None, threads: int | None = None) -> Rankings:
        """Make rankings of all queries."""
        rankings = Rankings.from_checked(
            self._labels, self._scores, self._offsets, self.names, tie_keys=self.order_ties(convention, threads),
            find_name=self._place if self._run is None else _DocumentIds(self._place, self._run),
        )  # fmt: skip
        rankings.are_ordinals = self._are_ordinals
        return rankings

    def batch(self, first: int, stop: int, keys: Array | None) -> Batch:
        """Make rankings of some queries with ids, given the tie keys of all rows."""
        bounds = self._offsets[first : stop + 1]
        span = slice(*bounds[[0, -1]].tolist())
        names = np.asarray(self.names)[first:stop]
        rankings = Rankings.from_checked(
            self._labels[span], self._scores[span], read_only(bounds - bounds[0]), names,
            find_name=lambda _, document: f"row {self._source.number(self._find_row(span.start + document))}",
            tie_keys=None if keys is None else keys[span],
        )  # fmt: skip
        rankings.are_ordinals = self._are_ordinals
        return Batch(rankings, names, self.number(self.groups.firsts[first:stop]))

    def number(self, rows: Array) -> Array:
        """Return the numbers of rows among all rows."""
        return np.asarray(self._source.select(rows).numbers)

    def _find_row(self, document: int) -> int:
        """Return the row of a document in the input, or its index in all lists."""
        return document if self.groups.rows is None else int(self.groups.rows[document])

    def _place(self, _: str, document: int) -> str:
        return str(self._find_row(document))


@dataclass(frozen=True, slots=True)
class _DocumentIds:
    """The places of documents in a frame for messages, and their ids."""

    place: Callable[[str, int], str]
    run: Run

    def __call__(self, name: str, document: int) -> str:
        """Return the row of a document in the frame."""
        return self.place(name, document)

    def take(self, name: str, places: Array) -> Array:
        """Return the ids of several documents."""
        del name
        return self.run.documents.take(places).names()


class Rows:
    """
    One table with labels and scores, the truth of `evaluate`, which then takes no predictions.

    Parameters
    ----------
    data : path, frame or records
        Queries, labels, scores or ranks, and, optionally, documents, in any order; or one row a query with lists.
        Parquet and Arrow files and data sets are streamed.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"query": "qid", "label": "clicks"}``.
    format : str, optional
        Of a file: 'csv', 'json', 'jsonl', 'parquet' or 'arrow'. By default the file shows it.
    memory : int or str, optional
        The number of bytes for streaming, such as "500MB", by default 2 GiB.
    duplicates, ranks, parents : optional
        What to do with a document that a query has again, which needs a column of documents: see `Run`.

    Raises
    ------
    InvalidInputError
        If an option has no such value. What the table holds is checked when it is evaluated.

    Examples
    --------
    >>> table = {"qid": [1, 1, 2], "clicks": [0, 3, 1], "score": [0.2, 0.1, 0.9]}
    >>> fn.evaluate(fn.Rows(table, columns={"label": "clicks"}), metrics="rr").mean()
    {'RR': 0.75}
    """

    __slots__ = ("_again", "columns", "data", "format", "memory")

    @answer_keywords
    def __init__(
        self,
        data: Any,
        *,
        columns: Mapping[str, str] | None = None,
        format: Format | None = None,
        memory: int | str | None = None,
        duplicates: DuplicateChoice | None = None,
        ranks: DuplicateRanks | None = None,
        parents: Any = None,
    ) -> None:
        self.data = data
        self.columns = columns
        self.format = format
        self.memory = memory
        self._again = make_duplicates(duplicates, ranks, parents)

    def options(self, others: Options) -> Options:
        """Return options of reading with these, beside those of an evaluation."""
        again = None if self._again is None else self._again.read_parents(self.data, self.columns)
        return replace(others, columns=self.columns, memory=self.memory, duplicates=again, other=None, is_alone=True)

    def __repr__(self) -> str:
        return f"Rows of {describe(self.data)}"


def describe(data: Any) -> str:
    """Return the path of a file, or what a table is."""
    return shorten(data) if isinstance(data, str | os.PathLike) else f"a {type(data).__name__}"


@contextlib.contextmanager
def sort_rows(
    chunks: Iterable[tuple[PlainRows, int]], memory: int, most_rows: int
) -> Iterator[Iterator[tuple[PlainRows, int, Array]]]:
    """
    Sort rows by query, and those of a query by their number, given chunks of rows and the number of the first of each.

    DuckDB may take `memory` bytes. Yield an iterator over chunks of at most `most_rows` sorted rows, the place of the
    first one among all sorted rows, and their numbers.
    """
    try:
        duckdb = optional_import("duckdb", "sorting rows that do not fit into `memory`", "duckdb")
    except MissingPackageError as error:
        raise error.reword(after=". Or sort the rows by query, or give more `memory`") from None
    import tempfile  # late: it takes 4 ms of each start

    tables = (_make_table(rows, first) for rows, first in chunks)
    first_table = next(tables)
    batches = (batch for group in ((first_table,), tables) for table in group for batch in table.to_batches())
    reader = pyarrow.RecordBatchReader.from_batches(first_table.schema, batches)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        settings = {"temp_directory": folder, "memory_limit": f"{max(memory // 2, LEAST_MEMORY)}B", "threads": 2}
        connection = duckdb.connect(config=settings)
        try:
            connection.execute("SET enable_progress_bar = false")  # on standard output, after two seconds
            connection.register("unsorted", reader)
            found = connection.sql("SELECT * FROM unsorted ORDER BY query, number")
            fetch = next(getattr(found, method) for method in METHODS if hasattr(found, method))
            yield _read_sorted(fetch(most_rows))
        except duckdb.Error as error:
            raise OSError(f"DuckDB cannot sort rows in {show_name(folder)}: {show_name(str(error))}") from None
        finally:
            connection.close()


def _make_table(rows: PlainRows, first: int) -> Any:
    """Return rows with their numbers as a pyarrow table."""
    scores = rows.scores.astype("f4") if rows.scores.dtype == "f2" else rows.scores
    labels = rows.labels.astype("f4") if rows.labels.dtype == "f2" else rows.labels
    columns = {"label": labels, "score": scores, "number": np.arange(first, first + len(labels))}
    for name, ids in (("query", rows.queries), ("document", rows.documents)):
        if ids is not None:
            columns[name] = _as_arrow(ids)
    return pyarrow.table(columns)


def _as_arrow(ids: IdColumn) -> Any:
    if not ids.are_texts:
        return pyarrow.array(ids.names())
    data, offsets = ids.text_bytes()
    buffers = [None, pyarrow.py_buffer(np.ascontiguousarray(offsets, "i8")), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(ids), buffers)


def _read_sorted(reader: Any) -> Iterator[tuple[PlainRows, int, Array]]:
    """Read the batches of sorted rows."""
    place = 0
    for batch in reader:
        if batch.num_rows:
            table = pyarrow.Table.from_batches([batch])
            yield PlainRows.of_frame(Frame(table, None, "rows")), place, table.column("number").to_numpy()
            place += batch.num_rows


def _join(pieces: Sequence[PlainRows]) -> PlainRows:
    labels, scores, queries, documents = zip(*pieces, strict=True)
    return PlainRows(
        np.concatenate(labels),
        np.concatenate(scores),
        concatenate_columns(queries),
        None if documents[0] is None else concatenate_columns(documents),
    )


class Stream(NamedTuple):
    """Items that threads turn into batches, and a function that returns the last batch after all others."""

    items: Iterable[Any]
    batches: Callable[[Any], Iterator[Batch]]
    last: Callable[[], Iterator[Batch]]
    most_threads: int
    n_items: int = 0  # about, 0 if unknown


class NotSorted(Exception):
    """Raised if query ids neither rise nor fall, so that rows must be grouped by query first."""


class ListCutter:
    """Cuts tables whose rows are queries with lists. No query id may occur twice."""

    def __init__(self, name: str, convention: Convention | None) -> None:
        self._name = name
        self._convention = convention
        self._queries: dict[int, IdColumn] = {}  # of each table, by the number of its first row

    def whole_queries(self, frame: Frame, first_row: int) -> Iterator[Batch]:
        """Yield all queries of a table."""
        rows = ScoredRows.of_frame(frame, 1, Source(self._name, "row", n_before=first_row), is_part=True)
        if rows.names is not None:
            self._queries[first_row] = rows.queries
        rankings = rows.rankings(self._convention, 1)
        numbers = np.arange(first_row, first_row + len(frame))
        names = numbers if rankings.query_ids is None else rankings.query_ids

        def find_name(_: str, document: int) -> str:
            return f"row {first_row + int(np.searchsorted(rankings.offsets, document, side='right')) - 1}"

        yield Batch(rankings.replace(query_ids=names).set_locator(find_name), names, numbers)

    def remaining(self) -> Iterator[Batch]:
        """Check that no query occurred twice, and return an empty iterator."""
        if self._queries:
            refuse_repeated(
                concatenate_columns([self._queries[first] for first in sorted(self._queries)]),
                Source(self._name, "row"),
            )
        return iter(())


class QueryCutter:
    """Cuts tables at query boundaries, and collects the rows of their first and last queries."""

    def __init__(self, name: str, convention: Convention | None) -> None:
        self._name = name
        self._convention = convention
        self._edges: dict[int, tuple[PlainRows, Array]] = {}  # rows and their numbers, by the place of the first one
        self._ends: dict[int, Array] = {}  # by place: the query on one side of it, until the other side is read
        self._rises = self._falls = True
        self._lock = threading.Lock()

    def whole_queries(self, frame: Frame, first_row: int) -> Iterator[Batch]:
        """Yield the inner queries of a table, and collect the first and the last query."""
        return self.cut(PlainRows.of_frame(frame), first_row)

    def cut(self, rows: PlainRows, place: int, numbers: Array | None = None) -> Iterator[Batch]:
        """Yield the inner queries of rows that stand at a place among all, and collect the first and the last query."""
        queries = ScoredRows.of_rows(rows, Source(self._name, "row", numbers, place))
        if not queries.n_queries:
            return
        if queries.groups.rows is not None:
            raise NotSorted
        last = queries.n_queries - 1
        ends = {}
        for query in {0, last}:
            places = np.arange(*queries.groups.offsets[query : query + 2].tolist())
            ends[place + int(places[0])] = rows.take(places), queries.number(places)
        with self._lock:
            self._check_order(place, place + len(rows.labels), np.asarray(queries.names))
            self._edges |= ends
        if last > 1:
            yield queries.batch(1, last, queries.order_ties(self._convention))

    def _check_order(self, first_row: int, stop_row: int, names: Array) -> None:
        """Raise NotSorted unless query ids rise, or fall, throughout: then no query occurs twice."""
        steps = [(names[:-1], names[1:])]
        for row, own, is_first in ((first_row, names[:1], True), (stop_row, names[-1:], False)):
            other = self._ends.pop(row, None)
            if other is None:
                self._ends[row] = own.copy()
            elif other[0] != own[0]:
                steps.append((other, own) if is_first else (own, other))
        self._rises = self._rises and all((before < after).all() for before, after in steps)
        self._falls = self._falls and all((before > after).all() for before, after in steps)
        if not (self._rises or self._falls):
            raise NotSorted

    def remaining(self) -> Iterator[Batch]:
        """Yield the collected queries after all tables were read."""
        if not self._edges:
            return
        pieces, numbers = zip(*(self._edges[place] for place in sorted(self._edges)), strict=True)
        queries = ScoredRows.of_rows(_join(pieces), Source(self._name, "row", np.concatenate(numbers)))
        yield queries.batch(0, queries.n_queries, queries.order_ties(self._convention))


MEMORY = 2 << 30
MOST_MEMORY = 1 << 60
UNITS = {"": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
ROW_BYTES = 64  # upper bound of the memory for a row while it is decoded, sorted and evaluated
MOST_ROWS = 1 << 20  # the size of row groups that pyarrow writes: splitting one takes time
LIST_ROWS = 128  # a list counts as so many rows
LEAST_ROWS = 1 << 14  # of a table that is evaluated: small batches are joined
READ_ROWS = 1 << 17  # that libraries are to read at once


def parse_memory(memory: Any) -> int:
    """
    Parse a number of bytes: a number, or a text such as "500MB".

    >>> parse_memory("500 MB"), parse_memory("2GiB"), parse_memory(None)
    (500000000, 2147483648, 2147483648)
    """
    if memory is None:
        return MEMORY
    text = memory if isinstance(memory, str) else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?b)?\s*", text, re.IGNORECASE)
    n_bytes = as_float(memory) if match is None else float(match[1]) * UNITS[(match[2] or "").lower()]
    if n_bytes is None or not 1 <= n_bytes <= MOST_MEMORY:
        raise InvalidInputError(f"`memory` must be bytes or a text such as '2GB', not {shorten(memory)}")
    return int(n_bytes)


class StreamedTables:
    """
    Rows with scores and labels of a source, which are read table by table.

    Rows that can be read once, or at high cost only, stay in memory if they fit. Error messages call columns those of
    `name`, and rows those of `place`.
    """

    n_missing = (0, 0)  # queries that only the truth, or only the predictions, have

    def __init__(self, source: TableSource, columns: ColumnNames, options: Options, name: str, place: str) -> None:
        self._source = source
        self._columns = columns
        self._name = name
        self._place = place
        self._memory = parse_memory(options.memory)
        self._progress: Callable[[int, int], None] | None = None
        self._convention: Convention | None = None
        # names alone decide on the columns, of which the first table may show the types
        empty = self._frame(source.make_empty_table(source.names), 0)
        empty.check_named()
        self._has_lists = empty.has_list_columns
        self._has_documents = empty.has("document")
        optional = ["query"] * empty.has("query") + ["document"] * self._has_documents
        self._notes = empty.notes
        self._columns_to_read = list(dict.fromkeys(map(empty.column_name, ("label", "score", *optional))))
        if source.passes != "any":
            most = self._memory // 4 // self._row_bytes
            self._source, first = _keep_first_tables(source, self._columns_to_read, most, name)
            self._has_lists = first is not None and self._frame(first, 0).has_list_columns

    def notes(self) -> tuple[str, ...]:
        """Return how rows are read."""
        return self._notes

    def under(self, convention: Convention, progress: Callable[[int, int], None] | None) -> Self:
        """Return a copy under a convention, which may need document ids to order ties, and with progress."""
        copied = copy.copy(self)
        copied._convention = convention
        copied._progress = progress
        return copied

    def in_order(self) -> Stream:
        """Stream rankings of whole queries. Raise NotSorted if queries are not in order, or rows come only once."""
        if self._source.passes != "any" and not self._has_lists:
            raise NotSorted
        queries = (ListCutter if self._has_lists else QueryCutter)(self._place, self._convention)
        most = self._most_rows(4)
        return Stream(
            self._read_in_order(most),
            lambda piece: queries.whole_queries(self._frame(*piece), piece[1]),
            queries.remaining,
            max(1, self._memory // (self._row_bytes * most)),
            -(-self._count_rows() // most) if self._source.is_counted and is_watched() else 0,
        )

    @contextlib.contextmanager
    def by_query(self) -> Iterator[Stream]:
        """Stream rankings of whole queries whose rows are in any order: sorted in memory, or by DuckDB on disk."""
        tables = self._read_in_order(self._most_rows(1))
        first_tables: list[tuple[Any, int]] = []
        n_rows = 0
        for table, first in tables:
            first_tables.append((table, first))
            n_rows += table.num_rows
            if n_rows * self._row_bytes > self._memory:
                break
        else:
            yield self._group_rows([table for table, _ in first_tables])
            return
        chunks = itertools.chain(_drain(first_tables), tables)
        rows = ((PlainRows.of_frame(self._frame(table, first)), first) for table, first in chunks)
        queries = QueryCutter(self._place, self._convention)
        with sort_rows(rows, self._memory, self._most_rows(8)) as parts:
            yield Stream(parts, lambda part: queries.cut(*part), queries.remaining, 2)

    def _group_rows(self, tables: list[Any]) -> Stream:
        """Stream rankings of tables in memory."""
        if not tables:
            return Stream((), lambda _: iter(()), lambda: iter(()), 1)
        rows = PlainRows.of_frame(self._frame(_concatenate(tables), 0))
        queries = ScoredRows.of_rows(rows, Source(self._place, "row"))
        keys = queries.order_ties(self._convention)
        spans = split_spans(queries.groups.offsets)
        n = len(spans)
        return Stream(spans, lambda span: iter((queries.batch(span[0], span[1], keys),)), lambda: iter(()), n, n)

    def whole(self) -> Rankings:
        """Read all rankings at once, whatever memory they take."""
        tables = [table for table, _ in self._read_in_order(MOST_ROWS)]
        table = _concatenate(tables) if tables else self._source.make_empty_table(self._columns_to_read)
        return ScoredRows.of_frame(self._frame(table, 0), source=Source(self._place, "row")).rankings(self._convention)

    @property
    def _row_bytes(self) -> int:
        return ROW_BYTES * (LIST_ROWS if self._has_lists else 1) * (1 + self._has_documents)

    def _most_rows(self, n_tables: int) -> int:
        """Return how many rows each of some tables may have so that together they fit into the memory limit."""
        return max(1, min(MOST_ROWS, self._memory // (n_tables * self._row_bytes)))

    def _frame(self, table: Any, first: int) -> Frame:
        return Frame(table, self._columns, self._name, first)

    def _count_rows(self) -> int:
        """Return the number of rows, 0 if it is not known before they are read."""
        return 0 if self._source.count_rows is None else self._source.count_rows()

    def _read_in_order(self, most: int) -> Iterator[tuple[Any, int]]:
        """Yield tables of at most `most` rows in the order of the rows, and the number of the first row of each."""
        first = 0
        n_all = 0 if self._progress is None else self._count_rows()
        tables = self._source.read_tables(self._columns_to_read, most, self._name)
        for table in _join_small(self._check_types(tables), min(LEAST_ROWS, most)):
            for start in range(0, table.num_rows, most):
                piece = table.slice(start, most)
                yield piece, first
                first += piece.num_rows
                if self._progress is not None:
                    self._progress(first, n_all)

    def _check_types(self, tables: Iterator[Any]) -> Iterator[Any]:
        """Yield tables with rows. Raise for a column of another type than in the first table."""
        first: Any = None
        n_rows = 0
        for table in tables:
            if not table.num_rows:
                continue
            first = table.schema if first is None else first
            for name in self._columns_to_read:
                kinds = [_as_plain_type(schema.field(name).type) for schema in (first, table.schema)]
                if kinds[0] != kinds[1]:
                    raise InvalidInputError(
                        f"{self._place} must have columns of one type, but column {shorten(name)} is {kinds[0]} in the "
                        f"first rows and {kinds[1]} from row {n_rows} on. Cast it to one type"
                    )
            yield table
            n_rows += table.num_rows


def _drain(items: list[Any]) -> Iterator[Any]:
    """Yield items, and forget each, so that its memory is freed."""
    items.reverse()
    while items:
        yield items.pop()


def _keep_first_tables(source: TableSource, columns: list[str], most: int, name: str) -> tuple[TableSource, Any]:
    """
    Return a source whose first tables are in memory, `most` rows or about, and the first table with rows, or None.

    If that is all, it can be read any number of times.
    """
    tables: list[Any] = []
    n_rows = 0
    rest = source.read_tables(columns, READ_ROWS, name)
    for table in rest:
        if table.num_rows:
            tables.append(table)
            n_rows += table.num_rows
        if n_rows >= most and tables:
            break
    else:
        count = functools.partial(sum, [table.num_rows for table in tables])
        whole = source._replace(read=lambda *_: iter(tables), passes="any", count_rows=count)
        return whole, tables[0] if tables else None
    first = tables[0]
    unread = [itertools.chain(_drain(tables), rest)]

    def read(columns: Sequence[str], most: int) -> Iterator[Any]:
        try:
            return unread.pop()  # no other thread gets it, too
        except IndexError:
            if source.passes == "costly":
                return source.read(columns, READ_ROWS)
        raise InvalidInputError(
            f"`{name}` must be read anew for a second evaluation, but its rows come only once and exceed `memory`. "
            "Pass a data set or a file, or give more `memory`"
        )

    return source._replace(read=read), first


def _join_small(tables: Iterator[Any], least: int) -> Iterator[Any]:
    """Join tables until they have `least` rows."""
    pieces: list[Any] = []
    n_rows = 0
    for table in tables:
        pieces.append(table)
        n_rows += table.num_rows
        if n_rows >= least:
            yield _concatenate(pieces)
            pieces = []
            n_rows = 0
    if pieces:
        yield _concatenate(pieces)


def _concatenate(tables: list[Any]) -> Any:
    return pyarrow.concat_tables([table.replace_schema_metadata(None) for table in tables])


def _as_plain_type(kind: Any) -> Any:
    """Return the type of the values of categories, and any other type as it is."""
    types = pyarrow.types
    return kind.value_type if types.is_dictionary(kind) else kind


def open_tables(
    tables: TableSource, kind: type[Table], options: Options, name: str, place: str, source: Source | None = None
) -> Any:
    """Read tables, whose columns error messages call those of `name`. Rows of truth with scores are streamed."""
    columns = options.name_columns(kind.side)
    # documents that a query has again are read at once
    is_streamed = options.takes_scores(kind.side) and tables.is_streamed and options.duplicates is None
    if is_streamed and Frame(tables.make_empty_table(tables.names), columns, name).is_streamable:
        return StreamedTables(tables, columns, options, name, place)
    return read_frame(Frame(tables, columns, name), kind, options, source)


def read_frame(frame: Frame, kind: type[Table], options: Options, source: Source | None = None) -> Any:
    """Read what the columns of a table hold: judgments or a run, or, without predictions, labels and scores."""
    threads = options.threads
    if options.takes_scores(kind.side):
        pair = frame.find_id_lists()
        if pair is not None:
            return Qrels.of_frame(pair[0], threads, source).beside(_read_scores(pair[1], options, source))
        if frame.has_scores and options.duplicates is not None and frame.has("document"):
            return _read_repeated(frame, options, source)
        if frame.has_scores:
            return ScoredRows.of_frame(frame, threads, source)
    if issubclass(DiversityQrels, kind) and frame.has("subtopic"):
        return DiversityQrels.of_frame(frame, threads, source)
    return kind.of_frame(frame, threads, source)


def _read_scores(frame: Frame, options: Options, source: Source | None) -> Run:
    if options.duplicates is None:
        return Run.of_frame(frame, options.threads, source)
    return RepeatedRun.of_frame(frame, options.threads, source).settled_by(options.duplicates)


class _RepeatedQrels(Qrels):
    """Judgments that may have a document several times in a query."""

    __slots__ = ()
    may_repeat = True


def _read_repeated(frame: Frame, options: Options, source: Source | None) -> Qrels:
    """Read labels beside scores as judgments and a run, where a query may have a document in several rows."""
    source = source or Source("`truth`", "row")
    run = _read_scores(frame, options, source)
    judged = _RepeatedQrels.of_frame(frame, options.threads, source)
    owners, firsts = judged.number_pairs(options.threads)
    differs = judged.values != judged.values[firsts][owners]
    if differs.any():
        row = int(np.argmax(differs))
        first = int(firsts[owners[row]])
        raise InvalidInputError(
            f"{source.name}: a document must have one label in a query, but {judged.describe(row)} has "
            f"{judged.values[first]} and {judged.values[row]} in ",
            *judged.source.pair(*map(judged.input_row, (first, row))),
            ". Give it one",
        )
    return judged.keep(firsts).beside(run)
