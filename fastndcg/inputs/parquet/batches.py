"""
Split streamed tables at query boundaries.

The first and the last query of a table may continue in the neighbouring tables. Their rows are collected, and
evaluated when all tables have been read. Threads may read the tables in any order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.frames import Frame
from fastndcg.inputs.group_by_query import Groups, group
from fastndcg.inputs.id_column import IdColumn, concatenate_columns
from fastndcg.inputs.id_table import Rows, refuse_repeated
from fastndcg.inputs.parquet.sorting import PlainRows
from fastndcg.inputs.qrels_run import Run
from fastndcg.inputs.scored_frames import TELL_APART, ScoredRows, make_tie_keys
from fastndcg.inputs.source import Source
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels


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
        return Batch(rankings.set_locator(lambda _, document: self._place(span, document)), names, self._number(firsts))

    def _number(self, rows: Any) -> Any:
        """Return the numbers of rows among all rows."""
        return self._row_numbers + rows if isinstance(self._row_numbers, int) else self._row_numbers[rows]

    def _place(self, span: slice, document: int) -> str:
        """Return the row of a document among all rows."""
        row = span.start + document
        return f"row {self._number(row if self.groups.rows is None else self.groups.rows[row])}"

    def partial_query(self, query: int) -> PartialQuery:
        """Copy the rows of one query: a view would keep the memory of all rows."""
        rows = slice(*self.groups.offsets[query : query + 2].tolist())
        documents = None if self._run is None else self._run.documents.take(np.arange(rows.start, rows.stop))
        name = self.names[query : query + 1].copy()
        return PartialQuery(name, self._labels[rows].copy(), self._scores[rows].copy(), documents)


class PartialQuery(NamedTuple):
    """Some of the rows of one query."""

    name: Array  # (1,)
    labels: Array
    scores: Array
    documents: IdColumn | None


class ListCutter:
    """Cuts tables whose rows are queries with lists. No query id may occur twice."""

    def __init__(self, make_frame: Callable[[Any, int], Frame], name: str, convention: Convention | None) -> None:
        self._make_frame = make_frame
        self._name = name
        self._convention = convention
        self._queries: dict[int, IdColumn] = {}  # of each table, by the number of its first row

    def whole_queries(self, table: Any, first_row: int) -> Iterator[Batch]:
        """Yield all queries of a table."""
        rows = ScoredRows(self._make_frame(table, first_row), 1, self._name, is_part=True)
        if rows.queries is not None:
            self._queries[first_row] = rows.queries
        rankings = rows.rankings(self._convention, 1)
        numbers = np.arange(first_row, first_row + table.num_rows)
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

    def __init__(self, make_frame: Callable[[Any, int], Frame], name: str, convention: Convention | None) -> None:
        self._make_frame = make_frame
        self._name = name
        self._convention = convention
        self._edges: dict[int, PartialQuery] = {}  # by the number of their first row
        self._ends: dict[int, Array] = {}  # by row: the query on one side of it, until the other side is read
        self._rises = self._falls = True
        self._lock = threading.Lock()

    def whole_queries(self, table: Any, first_row: int) -> Iterator[Batch]:
        """Yield the inner queries of a table, and collect the first and the last query."""
        rows = QueryRows(plain_rows(self._make_frame(table, first_row)), self._name, first_row, self._convention)
        if not rows.n_queries:
            return
        if rows.groups.rows is not None:
            raise NotSorted
        last = rows.n_queries - 1
        ends = {first_row + int(rows.groups.offsets[query]): rows.partial_query(query) for query in {0, last}}
        with self._lock:
            self._check_order(first_row, first_row + table.num_rows, rows.names)
            self._edges |= ends
        if last > 1:
            yield rows.batch(1, last)

    def _check_order(self, first_row: int, stop_row: int, names: Array) -> None:
        """Raise NotSorted unless query ids rise, or fall, throughout: then no query occurs twice."""
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

    def remaining(self) -> Iterator[Batch]:
        """Yield the collected queries after all tables were read."""
        if not self._edges:
            return
        firsts = sorted(self._edges)
        names, edge_labels, edge_scores, documents = zip(*map(self._edges.__getitem__, firsts), strict=True)
        numbers = np.concatenate([first + np.arange(len(own)) for first, own in zip(firsts, edge_labels, strict=True)])
        queries = np.concatenate(names)
        are_new = np.append(True, queries[1:] != queries[:-1])
        starts = np.cumsum([0, *map(len, edge_labels)])
        offsets = starts[np.append(are_new, True)]
        queries = queries[are_new]
        labels = np.concatenate(edge_labels)
        scores = np.concatenate(edge_scores)
        run = None
        if documents[0] is not None:
            rows = Rows(
                IdColumn.of(queries, "query"),
                Groups(offsets, None, offsets[:-1]),
                concatenate_columns(documents),
                scores,
            )
            run = Run.of(rows, Source(self._name, "row", numbers, remedy=TELL_APART), threads=1)
        keys = make_tie_keys(run, self._convention, threads=1)
        rankings = Rankings(labels, scores, offsets, tie_keys=keys, query_ids=queries)
        yield Batch(
            rankings.set_locator(lambda _, document: f"row {numbers[document]}"), queries, numbers[offsets[:-1]]
        )
