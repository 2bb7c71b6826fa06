"""
Rows with labels and scores that are read table by table, in bounded memory.

Tables are cut at the boundaries of queries. The first and the last query of a table may continue in the neighbouring
tables: their rows are collected, and evaluated when all tables have been read. Rows in any order are sorted in memory,
or by DuckDB on disk.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from fastndcg.errors import InvalidInputError, MissingPackageError, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.ids import IdColumn, concatenate_columns, group, split_spans
from fastndcg.inputs.messages import Source
from fastndcg.inputs.scored_frames import TELL_APART, ScoredRows, make_tie_keys
from fastndcg.inputs.table import Rows, Run, refuse_repeated
from fastndcg.inputs.table_sources import WHOLE, TableSource, convert_arrow_errors, pyarrow
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.runtime.progress import is_watched

LEAST_MEMORY = 1 << 26  # bytes that DuckDB sorts with
PREFIX = "fastndcg-"
METHODS = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")  # of DuckDB 2, and of earlier ones


class PlainRows(NamedTuple):
    """The label, score and query of each row, and its document if the rows have documents."""

    labels: Array
    scores: Array
    queries: IdColumn
    documents: IdColumn | None


@contextlib.contextmanager
def sort_rows(
    chunks: Iterable[tuple[PlainRows, int]], memory: int, most_rows: int
) -> Iterator[Iterator[tuple[PlainRows, int, Array]]]:
    """
    Sort rows by query, and those of a query by their number.

    Parameters
    ----------
    chunks : iterable of PlainRows and int
        Rows, and the number of the first one.
    memory : int
        Bytes that DuckDB may take.
    most_rows : int
        How many rows are yielded at once.

    Yields
    ------
    iterator of PlainRows, int and (n_rows,) int64 array
        The sorted rows, the place of the first one among all sorted rows, and their numbers.
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
            frame = Frame(table, {"query": "query", "document": "document"}, "rows")
            documents = frame.read_ids("document") if "document" in table.column_names else None
            labels, scores, numbers = (table.column(name).to_numpy() for name in ("label", "score", "number"))
            yield PlainRows(labels, scores, frame.read_ids("query"), documents), place, numbers
            place += len(numbers)


def _take(rows: PlainRows, places: Array) -> PlainRows:
    """Copy some rows: a view would keep the memory of all."""
    documents = None if rows.documents is None else rows.documents.take(places)
    return PlainRows(rows.labels[places], rows.scores[places], rows.queries.take(places), documents)


def _join(pieces: Sequence[PlainRows]) -> PlainRows:
    labels, scores, queries, documents = zip(*pieces, strict=True)
    return PlainRows(
        np.concatenate(labels),
        np.concatenate(scores),
        concatenate_columns(queries),
        None if documents[0] is None else concatenate_columns(documents),
    )


class Batch(NamedTuple):
    """Rankings of whole queries, and the first row of each query among all rows."""

    rankings: Rankings
    query_ids: Array
    first_rows: Array


class Stream(NamedTuple):
    """Items that threads turn into batches, and a function that returns the last batch after all others."""

    items: Iterable[Any]
    batches: Callable[[Any], Iterator[Batch]]
    last: Callable[[], Iterator[Batch]]
    most_threads: int
    n_items: int = 0  # about, 0 if unknown


class NotSorted(Exception):
    """Raised if query ids neither rise nor fall, so that rows must be grouped by query first."""


def plain_rows(frame: Frame) -> PlainRows:
    """Read the columns of a frame with labels and scores."""
    documents = frame.read_ids("document") if frame.has("document") else None
    labels = as_labels(frame.read_numbers("label"), "labels")
    return PlainRows(labels, frame.read_numbers("score"), frame.read_ids("query"), documents)


class QueryRows:
    """
    Rows grouped by query.

    `row_numbers` are the numbers of the rows among all rows, or that of the first row. Error messages call the rows
    `name`. A document that occurs twice in a query raises an error.
    """

    def __init__(
        self, rows: PlainRows, name: str, row_numbers: Array | int, convention: Convention | None = None
    ) -> None:
        self._labels = rows.labels
        self._scores = rows.scores
        self._row_numbers = row_numbers
        self.groups = group(rows.queries, threads=1)
        distinct = rows.queries.take(self.groups.firsts)
        self.names = distinct.names()
        self.n_queries = len(self.names)
        self._run: Run | None = None
        if rows.documents is not None:
            numbers, n_before = (None, row_numbers) if isinstance(row_numbers, int) else (row_numbers, 0)
            source = Source(name, "row", numbers, n_before, TELL_APART)
            self._run = Run.of(Rows(distinct, self.groups, rows.documents, self._scores), source, threads=1)
        self._keys = make_tie_keys(self._run, convention, threads=1)

    def batch(self, first: int, stop: int) -> Batch:
        """Make rankings of some queries."""
        bounds = self.groups.offsets[first : stop + 1]
        firsts = self.groups.firsts[first:stop]
        span = slice(*bounds[[0, -1]].tolist())
        rows = span if self.groups.rows is None else self.groups.rows[span]
        names = self.names[first:stop]
        keys = None if self._keys is None else self._keys[span]
        rankings = Rankings(self._labels[rows], self._scores[rows], bounds - bounds[0], tie_keys=keys, query_ids=names)
        return Batch(rankings.set_locator(lambda _, document: self._place(span, document)), names, self.number(firsts))

    def number(self, rows: Any) -> Any:
        """Return the numbers of rows among all rows."""
        return self._row_numbers + rows if isinstance(self._row_numbers, int) else self._row_numbers[rows]

    def _place(self, span: slice, document: int) -> str:
        """Return the row of a document among all rows."""
        row = span.start + document
        return f"row {self.number(row if self.groups.rows is None else self.groups.rows[row])}"


class ListCutter:
    """Cuts tables whose rows are queries with lists. No query id may occur twice."""

    def __init__(self, name: str, convention: Convention | None) -> None:
        self._name = name
        self._convention = convention
        self._queries: dict[int, IdColumn] = {}  # of each table, by the number of its first row

    def whole_queries(self, frame: Frame, first_row: int) -> Iterator[Batch]:
        """Yield all queries of a table."""
        rows = ScoredRows(frame, 1, self._name, is_part=True)
        if rows.queries is not None:
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
        return self.cut(plain_rows(frame), first_row, first_row)

    def cut(self, rows: PlainRows, place: int, numbers: Array | int) -> Iterator[Batch]:
        """Yield the inner queries of rows that stand at a place among all, and collect the first and the last query."""
        queries = QueryRows(rows, self._name, numbers, self._convention)
        if not queries.n_queries:
            return
        if queries.groups.rows is not None:
            raise NotSorted
        last = queries.n_queries - 1
        ends = {}
        for query in {0, last}:
            places = np.arange(*queries.groups.offsets[query : query + 2].tolist())
            ends[place + int(places[0])] = _take(rows, places), queries.number(places)
        with self._lock:
            self._check_order(place, place + len(rows.labels), queries.names)
            self._edges |= ends
        if last > 1:
            yield queries.batch(1, last)

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
        queries = QueryRows(_join(pieces), self._name, np.concatenate(numbers), self._convention)
        yield queries.batch(0, queries.n_queries)


MEMORY = 2 << 30
UNITS = {"": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
ROW_BYTES = 64  # upper bound of the memory for a row while it is decoded, sorted and evaluated
MOST_ROWS = 1 << 20  # the size of row groups that pyarrow writes: splitting one takes time
LIST_ROWS = 128  # a list counts as so many rows
LEAST_ROWS = 1 << 14  # of a table that is evaluated: small batches are joined
READ_ROWS = 1 << 17  # that libraries are to read at once

Progress = Callable[[int, int], None]


def parse_memory(memory: Any) -> int:
    """
    Parse a number of bytes: a number, or a text such as "500MB".

    >>> parse_memory("500 MB"), parse_memory("2GiB"), parse_memory(None)
    (500000000, 2147483648, 2147483648)
    """
    if memory is None:
        return MEMORY
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?b)?\s*", str(memory), re.IGNORECASE)
    if match is None or isinstance(memory, bool) or not float(match[1]):
        raise InvalidInputError(f"`memory` must be bytes or a text such as '2GB', not {shorten(memory)}")
    return int(float(match[1]) * UNITS[(match[2] or "").lower()])


class StreamedTables:
    """
    Rows with scores and labels of a source, which are read table by table.

    Rows that can be read once, or at high cost only, stay in memory if they fit. Error messages call columns those of
    `name`, and rows those of `place`.
    """

    def __init__(
        self,
        source: TableSource,
        columns: Mapping[str, str] | None,
        memory: Any,
        progress: Progress | None = None,
        *,
        name: str = "truth",
        place: str = "`truth`",
    ) -> None:
        self._source = source
        self._columns = columns
        self._name = name
        self._place = place
        self._memory = parse_memory(memory)
        self._progress = progress
        self._convention: Convention | None = None
        # names alone decide on the columns, of which the first table may show the types
        empty = self._frame(source.make_empty_table(source.names), 0)
        self._has_lists = empty.has_list_columns
        self._has_documents = empty.has("document")
        optional = ["query"] * empty.has("query") + ["document"] * self._has_documents
        self._columns_to_read = list(dict.fromkeys(map(empty.column_name, ("label", "score", *optional))))
        self._once: _OnePass | None = None
        if source.passes != "any":
            self._once = _OnePass(source, self._columns_to_read, name)
            self._once.buffer(self._memory // 4 // self._row_bytes)
            first = self._once.first_table
            self._has_lists = first is not None and self._frame(first, 0).has_list_columns

    def under(self, convention: Convention) -> Self:
        """Return a copy under a convention, which may need document ids to order ties."""
        copied = copy.copy(self)
        copied._convention = convention
        return copied

    def in_order(self) -> Stream:
        """Stream rankings of whole queries. Raise NotSorted if queries are not in order, or rows come only once."""
        if self._once is not None and not self._once.is_whole and not self._has_lists:
            raise NotSorted
        queries = (ListCutter if self._has_lists else QueryCutter)(self._place, self._convention)
        most = self._most_rows(4)
        return Stream(
            self._read_in_order(self._make_counter(), most),
            lambda piece: queries.whole_queries(self._frame(*piece), piece[1]),
            queries.remaining,
            max(1, self._memory // (self._row_bytes * most)),
            -(-(self._count_rows() or 0) // most) if self._source.is_counted and is_watched() else 0,
        )

    @contextlib.contextmanager
    def by_query(self) -> Iterator[Stream]:
        """Stream rankings of whole queries whose rows are in any order: sorted in memory, or by DuckDB on disk."""
        tables = self._read_in_order(self._make_counter(), self._most_rows(1))
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
        rows = ((plain_rows(self._frame(table, first)), first) for table, first in chunks)
        queries = QueryCutter(self._place, self._convention)
        with sort_rows(rows, self._memory, self._most_rows(8)) as parts:
            yield Stream(parts, lambda part: queries.cut(*part), queries.remaining, 2)

    def _group_rows(self, tables: list[Any]) -> Stream:
        """Stream rankings of tables in memory."""
        if not tables:
            return Stream((), lambda _: iter(()), lambda: iter(()), 1)
        queries = QueryRows(plain_rows(self._frame(_concatenate(tables), 0)), self._place, 0, self._convention)
        spans = split_spans(queries.groups.offsets)
        return Stream(spans, lambda span: iter((queries.batch(*span),)), lambda: iter(()), len(spans), len(spans))

    def whole(self) -> Rankings:
        """Read all rankings at once, whatever memory they take."""
        tables = [table for table, _ in self._read_in_order(self._make_counter(), MOST_ROWS)]
        table = _concatenate(tables) if tables else self._source.make_empty_table(self._columns_to_read)
        return ScoredRows(self._frame(table, 0), name=self._place).rankings(self._convention)

    @property
    def _row_bytes(self) -> int:
        return ROW_BYTES * (LIST_ROWS if self._has_lists else 1) * (1 + self._has_documents)

    def _most_rows(self, n_tables: int) -> int:
        """Return how many rows each of some tables may have so that together they fit into the memory limit."""
        return max(1, min(MOST_ROWS, self._memory // (n_tables * self._row_bytes)))

    def _frame(self, table: Any, first: int) -> Frame:
        return Frame(table, self._columns, self._name, first)

    def _count_rows(self) -> int | None:
        if self._once is not None and self._once.is_whole:
            return self._once.n_rows
        return None if self._source.count_rows is None else self._source.count_rows()

    def _make_counter(self) -> Callable[[int], None]:
        """Return a function that adds up the rows that have been read, and reports them."""
        n_read = 0
        progress = self._progress
        if progress is None:
            return lambda _: None
        n_all = self._count_rows() or 0

        def count(n_rows: int) -> None:
            nonlocal n_read
            n_read += n_rows
            progress(n_read, n_all)

        return count

    def _read_in_order(self, count: Callable[[int], None], most: int) -> Iterator[tuple[Any, int]]:
        """Yield tables of at most `most` rows in the order of the rows, and the number of the first row of each."""
        first = 0
        for table in _join_small(self._check_types(self._open(most)), min(LEAST_ROWS, most)):
            for start in range(0, table.num_rows, most):
                piece = table.slice(start, most)
                yield piece, first
                first += piece.num_rows
                count(piece.num_rows)

    def _open(self, most: int) -> Iterator[Any]:
        if self._once is not None:
            return self._once.open()
        return read_tables(self._source, self._columns_to_read, most, self._name)

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


class _OnePass:
    """
    The tables of a source that is read once: the first ones are collected, and the rest is read when it is needed.

    Copies of the truth share it.
    """

    def __init__(self, source: TableSource, columns: list[str], name: str) -> None:
        self._source = source
        self._columns = columns
        self._name = name
        self._tables: list[Any] = []
        self._rest: Iterator[Any] | None = self._read()
        self._lock = threading.Lock()
        self.is_whole = False
        self.n_rows = 0

    @property
    def first_table(self) -> Any:
        """The first table with rows, or None."""
        return self._tables[0] if self._tables else None

    def buffer(self, most: int) -> None:
        """Collect tables with about `most` rows, and at least one table."""
        if self._rest is None:
            return
        for table in self._rest:
            if table.num_rows:
                self._tables.append(table)
                self.n_rows += table.num_rows
            if self.n_rows >= most and self._tables:
                return
        self.is_whole = True
        self._rest = None

    def open(self) -> Iterator[Any]:
        """Return all tables. Raise if those that are not in memory have been read, and come only once."""
        if self.is_whole:
            return iter(self._tables)
        with self._lock:
            rest = self._rest
            tables = self._tables
            self._rest = None
            self._tables = []
        if rest is not None:
            return itertools.chain(_drain(tables), rest)
        if self._source.passes == "one":
            raise InvalidInputError(
                f"`{self._name}` must be read anew for a second evaluation, but its rows come only once and exceed "
                "`memory`. Pass a data set or a file, or give more `memory`"
            )
        return self._read()

    def _read(self) -> Iterator[Any]:
        return read_tables(self._source, self._columns, READ_ROWS, self._name)


def read_tables(source: TableSource, columns: list[str], most: int, name: str) -> Iterator[Any]:
    """Read the tables of a source, and replace pyarrow's errors by InvalidInputError."""
    tables = source.read_bounded(columns, most)
    while True:
        with convert_arrow_errors(f"`{name}`", WHOLE):
            table = next(tables, None)
        if table is None:
            return
        yield table


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
