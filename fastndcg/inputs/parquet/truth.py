"""`StreamedTruth`: rows with labels and scores that are read table by table, in bounded memory."""

from __future__ import annotations

import contextlib
import copy
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.group_by_query import split_spans
from fastndcg.inputs.parquet.batches import Batch, ListCutter, QueryCutter, QueryRows, Stream, plain_rows
from fastndcg.inputs.parquet.sorting import PlainRows, cut_at_queries, sort_rows
from fastndcg.inputs.scored_frames import ScoredRows
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.runtime.optional_packages import optional_import

MEMORY = 2 << 30
UNITS = {"": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
ROW_BYTES = 64  # upper bound of the memory for a row while it is decoded, sorted and evaluated
MOST_ROWS = 1 << 20  # the size of row groups that pyarrow writes: splitting one takes time
LIST_ROWS = 128  # a list counts as so many rows

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


class StreamedTruth:
    """
    Rows with scores and labels that are read table by table.

    `empty` is a frame with the columns and without rows. Subclasses read the tables.
    """

    def __init__(
        self, empty: Frame, columns: Mapping[str, str] | None, memory: Any, progress: Progress | None = None
    ) -> None:
        self._name = empty.name  # in messages on columns
        self._place = empty.name  # in messages on rows
        self._columns = columns
        self._memory = parse_memory(memory)
        self._progress = progress
        self._has_lists = empty.has_list_columns
        self._has_documents = empty.has("document")
        optional = ["query"] * empty.has("query") + ["document"] * self._has_documents
        self._columns_to_read = [empty.column_name(role) for role in ("label", "score", *optional)]
        self._convention: Convention | None = None

    def under(self, convention: Convention) -> Self:
        """Return a copy under a convention, which may need document ids to order ties."""
        copied = copy.copy(self)
        copied._convention = convention
        return copied

    def in_order(self) -> Stream:
        """Stream rankings of whole queries straight from the tables. Raise NotSorted if queries are not in order."""
        raise NotImplementedError

    @contextlib.contextmanager
    def by_query(self) -> Iterator[Stream]:
        """Stream rankings of whole queries whose rows are in any order: sorted in memory, or by DuckDB on disk."""
        pyarrow = optional_import("pyarrow", "reading tables", "arrow")
        tables = self._read_in_order(self._make_counter())
        first_tables: list[tuple[Any, int]] = []
        n_rows = 0
        for table, first in tables:
            first_tables.append((table, first))
            n_rows += table.num_rows
            if n_rows * self._row_bytes > self._memory:
                chunks = itertools.chain(_drain(first_tables), tables)
                rows = ((plain_rows(self._frame(table, first)), first) for table, first in chunks)
                with sort_rows(rows, self._memory, self._most_rows(8)) as parts:
                    yield Stream(cut_at_queries(parts), self._make_batches, lambda: iter(()), 2)
                return
        if not n_rows:
            yield Stream((), self._make_batches, lambda: iter(()), 1)
            return
        table = pyarrow.concat_tables([table.replace_schema_metadata(None) for table, _ in first_tables])
        first_tables.clear()
        queries = QueryRows(plain_rows(self._frame(table, 0)), self._place, 0, self._convention)
        spans = split_spans(queries.groups.offsets)
        yield Stream(spans, lambda span: iter((queries.batch(*span),)), lambda: iter(()), len(spans))

    def _make_batches(self, part: tuple[PlainRows, Array]) -> Iterator[Batch]:
        """Yield the queries of sorted rows, whose numbers among all rows are given."""
        rows, numbers = part
        queries = QueryRows(rows, self._place, numbers, self._convention)
        yield queries.batch(0, queries.n_queries)

    def whole(self) -> Rankings:
        """Read all rankings at once, whatever memory they take."""
        raise NotImplementedError

    def _read_in_order(self, count: Callable[[int], None]) -> Iterator[tuple[Any, int]]:
        """Yield tables in the order of the rows, and the number of the first row of each. Call `count` with sizes."""
        raise NotImplementedError

    def _count_rows(self) -> int | None:
        """Return the number of rows, or None if reading alone shows it."""
        raise NotImplementedError

    @property
    def _row_bytes(self) -> int:
        return ROW_BYTES * (LIST_ROWS if self._has_lists else 1) * (1 + self._has_documents)

    def _most_rows(self, n_tables: int) -> int:
        """Return the number of rows of a table if so many of them are in memory."""
        return max(1, min(MOST_ROWS, self._memory // (n_tables * self._row_bytes)))

    def _make_cutter(self) -> ListCutter | QueryCutter:
        return (ListCutter if self._has_lists else QueryCutter)(self._frame, self._place, self._convention)

    def _make_rankings(self, table: Any) -> Rankings:
        return ScoredRows(self._frame(table, 0), name=self._place).rankings(self._convention)

    def _make_counter(self) -> Callable[[int], None]:
        """Return a function that adds up the rows that threads have read, and reports them."""
        lock = threading.Lock()
        n_read = 0
        progress = self._progress
        if progress is None:
            return lambda _: None
        n_all = self._count_rows() or 0

        def count(n_rows: int) -> None:
            nonlocal n_read
            with lock:
                n_read += n_rows
                progress(n_read, n_all)

        return count

    def _frame(self, table: Any, first: int) -> Frame:
        return Frame(table, self._columns, self._name, first)


def _drain(items: list[Any]) -> Iterator[Any]:
    """Yield items, and forget each, so that its memory is freed."""
    items.reverse()
    while items:
        yield items.pop()
