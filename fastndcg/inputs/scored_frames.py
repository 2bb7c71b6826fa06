"""Frames with labels and scores: rows of (query, score, label) in any order, or one row per query with lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastndcg.errors import Column, InvalidInputError, Row
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.group_by_query import Groups, group
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.join import tie_keys
from fastndcg.inputs.qrels_run import Run
from fastndcg.inputs.source import Source
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.pickling import Picklable

TELL_APART = ("Keep one of them, or name a column that tells them apart: ", Column("document"))


class ScoredRows(Picklable):
    """
    Labels and scores of a frame, query after query. Error messages call it `name`.

    With `is_part`, the frame is one of several, and the caller checks that no query with lists occurs twice.
    """

    def __init__(
        self, frame: Frame, threads: int | None = None, name: str = "`truth`", *, is_part: bool = False
    ) -> None:
        self._source = Source(name, "row", n_before=frame.first_row, remedy=TELL_APART)
        self.queries: IdColumn | None = None  # one per row of lists, if the rows have query ids
        self._run: Run | None = None
        self._names: Array | None = None
        self._order: Array | None = None
        if frame.has_list_columns:
            self._take_lists(frame, threads, is_part)
        else:
            self._take_rows(frame, threads)

    def rankings(self, convention: Convention | None, threads: int | None = None) -> Rankings:
        """Make rankings, with tie keys if the convention orders ties by id."""
        keys = make_tie_keys(self._run, convention, threads)
        rankings = Rankings(self._labels, self._scores, self._offsets, tie_keys=keys, query_ids=self._names)
        if self._run is not None:
            return rankings.set_locator(_DocumentIds(self._place, self._run))
        return rankings.set_locator(self._place)

    def _take_rows(self, frame: Frame, threads: int | None) -> None:
        queries = frame.read_ids("query")
        labels = as_labels(frame.read_numbers("label"), "labels")
        scores = frame.read_numbers("score")
        groups = group(queries, threads)
        self._order = groups.rows
        distinct = queries.take(groups.firsts)
        self._offsets = groups.offsets
        self._names = distinct.names()
        self._labels = labels if groups.rows is None else labels[groups.rows]
        if frame.has("document"):
            rows = Rows(distinct, groups, frame.read_ids("document"), scores)
            self._run = Run.of(rows, self._source, threads)
        self._scores = scores if groups.rows is None else scores[groups.rows]

    def _take_lists(self, frame: Frame, threads: int | None, is_part: bool) -> None:
        labels = frame.read_lists("label")
        scores = frame.read_lists("score")
        self._labels = labels.values
        self._scores = scores.values
        self._offsets = scores.offsets
        self._refuse_sizes("label", labels.offsets)
        queries = None
        if frame.has("query"):
            queries = self.queries = frame.read_ids("query")
            self._names = queries.names()
            if not is_part:
                refuse_repeated(queries, self._source)
        if frame.has("document"):
            documents, offsets = frame.read_id_lists("document")
            self._refuse_sizes("document", offsets)
            if queries is None:
                queries = IdColumn.from_limbs(frame.first_row + np.arange(len(frame)))
            rows = Rows(queries, Groups(offsets, None, offsets[:-1]), documents, scores.values)
            self._run = Run.of(rows, self._source._replace(lists=offsets), threads)

    def _refuse_sizes(self, role: str, offsets: Array) -> None:
        """Raise if a list does not have the length of the list of scores."""
        sizes = np.diff(offsets)
        n_scores = np.diff(self._offsets)
        if (sizes != n_scores).any():
            row = int(np.argmax(sizes != n_scores))
            raise InvalidInputError(
                f"{self._source.name} must have the same number of {role}s as scores in each row, but ",
                Row(self._source.number(row)),
                f" has {sizes[row]} and {n_scores[row]}. Give each score its {role}",
            )

    def _place(self, _: str, document: int) -> str:
        """Return the row of a document in the frame, or its index in all lists."""
        return str(document if self._order is None else int(self._order[document]))


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


def refuse_repeated(queries: IdColumn, source: Source) -> None:
    """Raise for a query with two rows of lists: results by query would have only one of its values."""
    groups = group(queries, threads=1)
    again = np.diff(groups.offsets) > 1
    if again.any():
        rows = np.arange(len(queries)) if groups.rows is None else groups.rows
        places = groups.offsets[:-1][again]
        place = int(places[np.argmin(rows[places + 1])])
        first, second = rows[place : place + 2].tolist()
        raise InvalidInputError(
            f"{source.name} must have one row per query where rows have lists, but query "
            f"{show_name(queries.name(first))} has ",
            Row(source.number(first), source.number(second)),
            ". Join their lists, or name a column that tells them apart: ",
            Column("query"),
        )


def make_tie_keys(run: Run | None, convention: Convention | None, threads: int | None) -> Array | None:
    """Return tie keys if there are document ids and the convention orders ties by id, else None."""
    if run is None or convention is None or not convention.ties.startswith("id_"):
        return None
    return tie_keys(run, threads)
