"""
Tables of a stream as rankings of whole queries.

The queries inside of a table are whole. Those that it begins and ends with may go on in its neighbours: their rows are
kept, and are a table of their own when all tables have been read, by whichever thread and in whatever order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.frames import Frame
from fastndcg.inputs.grouping import group
from fastndcg.rankings import Array, Rankings, as_labels


class Batch(NamedTuple):
    """Whole queries, and in which row of all each of them begins."""

    rankings: Rankings
    query_ids: Array
    first_rows: Array


class Stream(NamedTuple):
    """Items that threads make batches of, and the batch that is left when all are made."""

    items: Iterable[Any]
    batches: Callable[[Any], Iterator[Batch]]
    last: Callable[[], Iterator[Batch]]
    most_threads: int


class NotSorted(Exception):
    """Queries neither rise nor fall: their rows have to be brought together first."""


class QueryRows:
    """The rows of a frame, query after query; `row_numbers` are theirs among all rows, or that of the first."""

    def __init__(self, frame: Frame, row_numbers: Array | int) -> None:
        self._labels, self._scores = as_labels(frame.numbers("label"), "labels"), frame.numbers("score")
        self._queries = frame.ids("query")
        self._row_numbers = row_numbers
        self.groups = group(self._queries, threads=1)
        self.names = self._queries.take(self.groups.firsts).names()
        self.n_queries = len(self.names)

    def batch(self, first: int, stop: int) -> Batch:
        """Rankings of some queries."""
        bounds, firsts = self.groups.offsets[first : stop + 1], self.groups.firsts[first:stop]
        span = slice(*bounds[[0, -1]].tolist())
        chosen = span if self.groups.rows is None else self.groups.rows[span]
        names = self.names[first:stop]
        made = Rankings(self._labels[chosen], self._scores[chosen], bounds - bounds[0], query_ids=names)
        return Batch(made.placed_by(lambda _, document: self._place(span, document)), names, self._number(firsts))

    def _number(self, rows: Any) -> Any:
        """The numbers of rows among all rows."""
        return self._row_numbers + rows if isinstance(self._row_numbers, int) else self._row_numbers[rows]

    def _place(self, span: slice, document: int) -> str:
        """The row of a document among all rows."""
        row = span.start + document
        return f"row {self._number(row if self.groups.rows is None else self.groups.rows[row])}"

    def edge(self, query: int) -> _Edge:
        """The rows of one query in memory of their own: a view would hold the memory of all."""
        rows = slice(*self.groups.offsets[query : query + 2].tolist())
        return _Edge(self.names[query : query + 1].copy(), self._labels[rows].copy(), self._scores[rows].copy())


class _Edge(NamedTuple):
    """The rows of one query, or some of them."""

    name: Array  # (1,)
    labels: Array
    scores: Array


class Edges:
    """The rows of the queries that tables begin and end with."""

    def __init__(self, frame_of: Callable[[Any, int], Frame]) -> None:
        self._frame_of = frame_of
        self._kept: dict[int, _Edge] = {}  # by the number of their first row
        self._ends: dict[int, Array] = {}  # the query on one side of a row, of which the other side has not been read
        self._rises = self._falls = True
        self._lock = threading.Lock()

    def inner(self, table: Any, first_row: int) -> Iterator[Batch]:
        """The queries inside of a table; those at its ends are kept."""
        rows = QueryRows(self._frame_of(table, first_row), first_row)
        if not rows.n_queries:
            return
        if rows.groups.rows is not None:
            raise NotSorted
        last = rows.n_queries - 1
        ends = {first_row + int(rows.groups.offsets[query]): rows.edge(query) for query in {0, last}}
        with self._lock:
            self._check_order(first_row, first_row + table.num_rows, rows.names)
            self._kept |= ends
        if last > 1:
            yield rows.batch(1, last)

    def _check_order(self, first_row: int, stop_row: int, names: Array) -> None:
        """See whether queries have risen, or fallen, all the time: then none can come again."""
        steps = [(names[:-1], names[1:])]
        for row, own, is_first in ((first_row, names[:1], True), (stop_row, names[-1:], False)):
            other = self._ends.pop(row, None)
            if other is None:
                self._ends[row] = own
            elif other[0] != own[0]:
                steps.append((other, own) if is_first else (own, other))
        self._rises = self._rises and all((before < after).all() for before, after in steps)
        self._falls = self._falls and all((before > after).all() for before, after in steps)
        if not (self._rises or self._falls):
            raise NotSorted

    def kept(self) -> Iterator[Batch]:
        """What is left when all tables are read: in order, so that rows of the same query stand together."""
        if not self._kept:
            return
        rows = np.array(sorted(self._kept))
        names, labels, scores = (
            np.concatenate(arrays) for arrays in zip(*map(self._kept.__getitem__, rows.tolist()), strict=True)
        )
        sizes = [len(self._kept[row].labels) for row in rows.tolist()]
        are_new = np.append(True, names[1:] != names[:-1])
        firsts = np.cumsum([0, *sizes])[:-1]

        def place_of(_: str, document: int) -> str:
            edge = int(np.searchsorted(firsts, document, side="right")) - 1
            return f"row {rows[edge] + document - firsts[edge]}"

        made = Rankings(labels, scores, np.append(firsts[are_new], len(labels)), query_ids=names[are_new])
        yield Batch(made.placed_by(place_of), names[are_new], rows[are_new])
