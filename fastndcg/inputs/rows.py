"""One frame that has it all: rows of (query, score, label) in any order, or one row a query with lists of each."""

from __future__ import annotations

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.columns import Column
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.grouping import Groups, group
from fastndcg.inputs.join import tie_keys
from fastndcg.inputs.tables import Rows, Run, Source
from fastndcg.rankings import Array, Rankings, as_labels

TELL_APART = "keep one of them, or name a column that tells them apart: columns={'document': NAME}"


class ScoredRows:
    """
    Labels and scores of a frame, query after query; messages call it by `name`.

    Of a frame that `is_part` of others, whoever has them all sees whether a query with lists comes again.
    """

    def __init__(
        self, frame: Frame, threads: int | None = None, name: str = "`truth`", *, is_part: bool = False
    ) -> None:
        self._source = Source(name, "row", n_before=frame.first_row, remedy=TELL_APART)
        self.queries: Column | None = None  # one a row of lists, where they have ids
        self._run: Run | None = None
        self._names: Array | None = None
        self._order: Array | None = None
        if frame.are_lists:
            self._take_lists(frame, threads, is_part)
        else:
            self._take_rows(frame, threads)

    def rankings(self, convention: Convention | None, threads: int | None = None) -> Rankings:
        """The rankings; where the convention orders ties by id, with a place for each document among the ids."""
        keys = keys_of(self._run, convention, threads)
        made = Rankings(self._labels, self._scores, self._offsets, tie_keys=keys, query_ids=self._names)
        return made.placed_by(self._place)

    def _take_rows(self, frame: Frame, threads: int | None) -> None:
        queries, labels, scores = (
            frame.ids("query"),
            as_labels(frame.numbers("label"), "labels"),
            frame.numbers("score"),
        )
        groups = group(queries, threads)
        self._order = groups.rows
        distinct = queries.take(groups.firsts)
        self._offsets, self._names = groups.offsets, distinct.names()
        self._labels = labels if groups.rows is None else labels[groups.rows]
        if frame.has("document"):
            rows = Rows(distinct, groups, frame.ids("document"), scores)
            self._run = Run.of(rows, self._source, threads)
        self._scores = scores if groups.rows is None else scores[groups.rows]

    def _take_lists(self, frame: Frame, threads: int | None, is_part: bool) -> None:
        labels, scores = frame.lists("label"), frame.lists("score")
        self._labels, self._scores, self._offsets = labels.values, scores.values, scores.offsets
        self._refuse_sizes("label", labels.offsets)
        queries = None
        if frame.has("query"):
            queries = self.queries = frame.ids("query")
            self._names = queries.names()
            if not is_part:
                refuse_repeated(queries, self._source)
        if frame.has("document"):
            documents, offsets = frame.lists_of_ids("document")
            self._refuse_sizes("document", offsets)
            if queries is None:
                queries = Column.of_numbers(frame.first_row + np.arange(len(frame)))
            rows = Rows(queries, Groups(offsets, None, offsets[:-1]), documents, scores.values)
            self._run = Run.of(rows, self._source._replace(lists=offsets), threads)

    def _refuse_sizes(self, role: str, offsets: Array) -> None:
        """Refuse a list that is not as long as that of the scores."""
        sizes, n_scores = np.diff(offsets), np.diff(self._offsets)
        if (sizes != n_scores).any():
            row = int(np.argmax(sizes != n_scores))
            raise InvalidInputError(
                f"{self._source.name} must have as many {role}s as scores in each row, but row "
                f"{self._source.number(row)} has {sizes[row]} and {n_scores[row]}; give each score its {role}"
            )

    def _place(self, _: str, document: int) -> str:
        """Which row of the frame a document is; for lists, which of the numbers."""
        return str(document if self._order is None else int(self._order[document]))


def refuse_repeated(queries: Column, source: Source) -> None:
    """Refuse a query with two rows of lists: results by query would have one of its values."""
    groups = group(queries, threads=1)
    again = np.diff(groups.offsets) > 1
    if again.any():
        rows = np.arange(len(queries)) if groups.rows is None else groups.rows
        places = groups.offsets[:-1][again]
        place = int(places[np.argmin(rows[places + 1])])
        first, second = rows[place : place + 2].tolist()
        raise InvalidInputError(
            f"{source.name} must have one row a query where rows have lists, but query {queries.name(first)} has rows "
            f"{source.number(first)} and {source.number(second)}; join their lists, or name a column that tells them "
            "apart: columns={'query': NAME}"
        )


def keys_of(run: Run | None, convention: Convention | None, threads: int | None) -> Array | None:
    """A place for each document among the ids, where there are ids and the convention orders ties by them."""
    if run is None or convention is None or not convention.ties.startswith("id_"):
        return None
    return tie_keys(run, threads)
