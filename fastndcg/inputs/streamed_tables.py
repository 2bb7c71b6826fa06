"""Rows with labels and scores in the tables of a `TableSource`: data sets, Dask frames, readers and Arrow files."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.parquet.batches import Batch, NotSorted, Stream
from fastndcg.inputs.parquet.truth import Progress, StreamedTruth
from fastndcg.inputs.table_sources import TableSource, convert_read_errors
from fastndcg.rankings.rankings import Rankings
from fastndcg.runtime.optional_packages import optional_import

LEAST_ROWS = 1 << 14  # of a table that is evaluated: small batches are joined
READ_ROWS = 1 << 17  # that libraries are to read at once


class StreamedTables(StreamedTruth):
    """
    Rows with scores and labels of a source.

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
        # names alone decide on the columns, of which the first table may show the types
        names = Frame(source.make_empty_table(source.names), columns, name)
        super().__init__(names, columns, memory, progress)
        self._columns_to_read = list(dict.fromkeys(self._columns_to_read))
        self._place = place
        self._once: _OnePass | None = None
        if source.passes != "any":
            self._once = _OnePass(source, self._columns_to_read, name)
            self._once.buffer(self._memory // 4 // self._row_bytes)
            first = self._once.first_table
            self._has_lists = first is not None and Frame(first, columns, name).has_list_columns
        self._source = source

    def in_order(self) -> Stream:
        """Stream rankings of whole queries. Raise NotSorted if queries are not in order, or rows come only once."""
        if self._once is not None and not self._once.is_whole and not self._has_lists:
            raise NotSorted
        queries = self._make_cutter()

        def batches(piece: tuple[Any, int]) -> Iterator[Batch]:
            table, first = piece
            yield from queries.whole_queries(table, first)

        most_threads = max(1, self._memory // (self._row_bytes * self._most_rows(4)))
        return Stream(self._read_in_order(self._make_counter()), batches, queries.remaining, most_threads)

    def whole(self) -> Rankings:
        """Read all rankings at once, whatever memory they take."""
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        tables = [table for table, _ in self._read_in_order(self._make_counter())]
        table = pyarrow.concat_tables(tables) if tables else self._source.make_empty_table(self._columns_to_read)
        return self._make_rankings(table)

    def _count_rows(self) -> int | None:
        if self._once is not None and self._once.is_whole:
            return self._once.n_rows
        return None if self._source.count_rows is None else self._source.count_rows()

    def _read_in_order(self, count: Callable[[int], None]) -> Iterator[tuple[Any, int]]:
        most = self._most_rows(4)
        first = 0
        for table in _join_small(self._check_types(self._open()), min(LEAST_ROWS, most)):
            for start in range(0, table.num_rows, most):
                piece = table.slice(start, most)
                yield piece, first
                first += piece.num_rows
                count(piece.num_rows)

    def _open(self) -> Iterator[Any]:
        if self._once is not None:
            return self._once.open()
        return read_tables(self._source, self._columns_to_read, self._most_rows(4), self._name)

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
        with convert_read_errors(name):
            table = next(tables, None)
        if table is None:
            return
        yield table


def _join_small(tables: Iterator[Any], least: int) -> Iterator[Any]:
    """Join tables until they have `least` rows."""
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    pieces: list[Any] = []
    n_rows = 0
    for table in tables:
        pieces.append(table)
        n_rows += table.num_rows
        if n_rows >= least:
            yield pyarrow.concat_tables([piece.replace_schema_metadata(None) for piece in pieces])
            pieces = []
            n_rows = 0
    if pieces:
        yield pyarrow.concat_tables([piece.replace_schema_metadata(None) for piece in pieces])


def _drain(tables: list[Any]) -> Iterator[Any]:
    """Yield tables, and forget each, so that its memory is freed."""
    tables.reverse()
    while tables:
        yield tables.pop()


def _as_plain_type(kind: Any) -> Any:
    """Return the type of the values of categories, and any other type as it is."""
    types = optional_import("pyarrow", "reading frames", "arrow").types
    return kind.value_type if types.is_dictionary(kind) else kind
