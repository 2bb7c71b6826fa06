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

from fastndcg.conventions import Convention
from fastndcg.inputs.columns import Column, joined
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.grouping import Groups, group
from fastndcg.inputs.rows import TELL_APART, ScoredRows, keys_of, refuse_repeated
from fastndcg.inputs.tables import Rows, Run, Source
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
    """
    The rows of a frame, query after query; `row_numbers` are theirs among all rows, or that of the first.

    A document that stands twice in a query is refused, where the frame names documents.
    """

    def __init__(self, frame: Frame, row_numbers: Array | int, convention: Convention | None = None) -> None:
        self._labels, self._scores = as_labels(frame.numbers("label"), "labels"), frame.numbers("score")
        self._queries = frame.ids("query")
        self._row_numbers = row_numbers
        self.groups = group(self._queries, threads=1)
        distinct = self._queries.take(self.groups.firsts)
        self.names = distinct.names()
        self.n_queries = len(self.names)
        self._run: Run | None = None
        if frame.has("document"):
            numbers, n_before = (None, row_numbers) if isinstance(row_numbers, int) else (row_numbers, 0)
            source = Source(frame.name, "row", numbers, n_before, TELL_APART)
            self._run = Run.of(Rows(distinct, self.groups, frame.ids("document"), self._scores), source, threads=1)
        self._keys = keys_of(self._run, convention, threads=1)

    def batch(self, first: int, stop: int) -> Batch:
        """Rankings of some queries."""
        bounds, firsts = self.groups.offsets[first : stop + 1], self.groups.firsts[first:stop]
        span = slice(*bounds[[0, -1]].tolist())
        chosen = span if self.groups.rows is None else self.groups.rows[span]
        names = self.names[first:stop]
        keys = None if self._keys is None else self._keys[span]
        made = Rankings(self._labels[chosen], self._scores[chosen], bounds - bounds[0], tie_keys=keys, query_ids=names)
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
        documents = None if self._run is None else self._run.documents.take(np.arange(rows.start, rows.stop))
        name = self.names[query : query + 1].copy()
        return _Edge(name, self._labels[rows].copy(), self._scores[rows].copy(), documents)


class _Edge(NamedTuple):
    """The rows of one query, or some of them."""

    name: Array  # (1,)
    labels: Array
    scores: Array
    documents: Column | None


class Lists:
    """Tables whose rows have lists: each row is a query, whose id may come in no other."""

    def __init__(self, frame_of: Callable[[Any, int], Frame], name: str, convention: Convention | None) -> None:
        self._frame_of = frame_of
        self._name = name
        self._convention = convention
        self._queries: dict[int, Column] = {}  # of each table, by the number of its first row

    def inner(self, table: Any, first_row: int) -> Iterator[Batch]:
        """All queries of a table."""
        rows = ScoredRows(self._frame_of(table, first_row), 1, self._name, is_part=True)
        if rows.queries is not None:
            self._queries[first_row] = rows.queries
        made, numbers = rows.rankings(self._convention, 1), np.arange(first_row, first_row + table.num_rows)
        names = numbers if made.query_ids is None else made.query_ids

        def place_of(_: str, document: int) -> str:
            return f"row {first_row + int(np.searchsorted(made.offsets, document, side='right')) - 1}"

        yield Batch(made.replace(query_ids=names).placed_by(place_of), names, numbers)

    def kept(self) -> Iterator[Batch]:
        """Nothing is left when all tables are read, but to see that no query came again."""
        if self._queries:
            refuse_repeated(
                joined([self._queries[first] for first in sorted(self._queries)]), Source(self._name, "row")
            )
        return iter(())


class Edges:
    """The rows of the queries that tables begin and end with."""

    def __init__(self, frame_of: Callable[[Any, int], Frame], name: str, convention: Convention | None) -> None:
        self._frame_of = frame_of
        self._name = name
        self._convention = convention
        self._kept: dict[int, _Edge] = {}  # by the number of their first row
        self._ends: dict[int, Array] = {}  # the query on one side of a row, of which the other side has not been read
        self._rises = self._falls = True
        self._lock = threading.Lock()

    def inner(self, table: Any, first_row: int) -> Iterator[Batch]:
        """The queries inside of a table; those at its ends are kept."""
        rows = QueryRows(self._frame_of(table, first_row), first_row, self._convention)
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
        firsts = sorted(self._kept)
        names, labels_of, scores_of, documents = zip(*map(self._kept.__getitem__, firsts), strict=True)
        numbers = np.concatenate([first + np.arange(len(own)) for first, own in zip(firsts, labels_of, strict=True)])
        queries = np.concatenate(names)
        are_new = np.append(True, queries[1:] != queries[:-1])
        starts = np.cumsum([0, *map(len, labels_of)])
        offsets, queries = starts[np.append(are_new, True)], queries[are_new]
        labels, scores = np.concatenate(labels_of), np.concatenate(scores_of)
        run = None
        if documents[0] is not None:
            rows = Rows(Column.of(queries, "query"), Groups(offsets, None, offsets[:-1]), joined(documents), scores)
            run = Run.of(rows, Source(self._name, "row", numbers, remedy=TELL_APART), threads=1)
        keys = keys_of(run, self._convention, threads=1)
        made = Rankings(labels, scores, offsets, tie_keys=keys, query_ids=queries)
        yield Batch(made.placed_by(lambda _, document: f"row {numbers[document]}"), queries, numbers[offsets[:-1]])
