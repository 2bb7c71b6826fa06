"""Rankings of the columns of a score matrix, whose hits come from its rows without a list of all candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.named_conventions import Convention
from fastndcg.rankings.filters import has_labels_below_0
from fastndcg.rankings.rankings import CheckedRankings, Rankings
from fastndcg.rankings.validation import Array, read_only

DOCUMENT_ARRAYS = ("judged", "labels", "scores", "tie_keys")


class ScoreRows(NamedTuple):
    """
    Rows of scores, the labels of some columns, and the columns that are candidates.

    `labels`, `places` and `offsets` describe the labelled candidates, row after row. The fields from `places` on are
    described in kernels/ranking/rank_matrix.py.
    """

    scores: Array
    labels: Array
    offsets: Array
    places: Array
    n_columns: int
    list_columns: Array
    list_offsets: Array
    gaps: Array
    gap_offsets: Array

    @property
    def kernel_rows(self) -> tuple[Any, ...]:
        """The fields that kernels take as `Rows`."""
        return self[3:]

    def list_candidates(self) -> Array:
        """Return the columns that are candidates, row after row."""
        n_rows = len(self.offsets) - 1
        if len(self.list_offsets) == 1:
            columns = np.tile(np.arange(self.n_columns, dtype="i4"), n_rows)
            starts = np.arange(n_rows) * self.n_columns
        elif len(self.list_offsets) == 2:
            columns = np.tile(self.list_columns, n_rows)
            starts = np.arange(n_rows) * len(self.list_columns)
        else:
            columns = self.list_columns
            starts = self.list_offsets[:-1]
        is_candidate = np.ones(len(columns), bool)
        n_gaps = np.diff(self.gap_offsets)
        is_candidate[np.repeat(starts, n_gaps) + self.gaps[self.gap_offsets[0] : self.gap_offsets[-1]]] = False
        return columns[is_candidate]


class ScoreRowRankings(CheckedRankings):
    """
    Rankings of the candidates in rows of scores.

    Arrays with an entry for each candidate are made on first use, by conventions and metrics that need them.
    """

    __slots__ = ("_users", "name_items", "pool_items", "rows")
    name_items: Callable[[Array], Array] | None  # returns the ids of columns, None where these are their numbers
    pool_items: Array | None  # the items of the pool

    def __init__(
        self, rows: ScoreRows, offsets: Array, pool: tuple[Array, Array] | None, query_ids: Array
    ) -> None:  # fmt: skip
        """Take rows, offsets of all candidates, the labels of all items if some are no candidates, and users."""
        self.rows = rows
        self.offsets = offsets
        self.pool = pool
        self.query_ids = self._users = query_ids
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(rows.labels) + (0 if pool is None else len(pool[0]))
        self.patterns = None
        self._find_name = None
        self.are_ordinals = self.has_repeats = False
        self.pool_items = None
        self.name_items = None

    def take_document_ids(self, name: str, places: Array) -> Array:
        """Return the columns of labelled candidates by their places in `rows.labels`, or items of the pool."""
        if name == "pool":
            return np.full(len(places), -1) if self.pool_items is None else self.pool_items[places]
        columns = self._take_columns(places)
        return columns if self.name_items is None else self.name_items(columns)

    def _take_columns(self, places: Array) -> Array:
        """Return the columns of labelled candidates."""
        rows = self.rows
        candidates = rows.places[places].astype("i8")
        if len(rows.list_offsets) == 1 and not len(rows.gaps):
            return candidates
        users = np.searchsorted(rows.offsets, places, side="right") - 1
        return np.asarray(rows.list_candidates()[self.offsets[users] + candidates])

    def __getattr__(self, name: str) -> Any:
        """Make the arrays of all candidates on first use."""
        if name not in DOCUMENT_ARRAYS:
            raise AttributeError(f"Rankings have no {name!r}")
        rows = self.rows
        columns = rows.list_candidates()
        users = np.repeat(np.arange(self.n_queries), np.diff(self.offsets))
        places = np.repeat(self.offsets[:-1], np.diff(rows.offsets)) + rows.places
        labels = np.zeros(self.n_documents, rows.labels.dtype)
        judged = np.zeros(self.n_documents, bool)
        labels[places] = rows.labels
        judged[places] = True
        self.labels = read_only(labels)
        self.judged = read_only(judged)
        self.scores = read_only(rows.scores[users * rows.n_columns + columns])
        self.tie_keys = read_only(columns.astype("i8"))
        return object.__getattribute__(self, name)

    def needs_documents(self, convention: Convention) -> bool:
        """Return True if a convention removes candidates, or changes scores."""
        return (
            convention.unjudged == "removed"
            or convention.nan_scores == "last"
            or (convention.score_dtype == "float32" and self.rows.scores.dtype != np.float32)
            or (convention.removes_negative_labels and self._has_negative_labels())
        )

    def without_pool(self) -> ScoreRowRankings:
        """Return rankings whose judged documents are the candidates alone."""
        rankings = ScoreRowRankings(self.rows, self.offsets, None, self._users)
        rankings.name_items = self.name_items
        return rankings

    def _has_negative_labels(self) -> bool:
        return has_labels_below_0(self.rows.labels) or (self.pool is not None and has_labels_below_0(self.pool[0]))

    def replace(self, **arrays: Any) -> Rankings:
        """Return rankings with an array entry for each candidate, some arrays replaced."""
        rankings = super().replace(**arrays)
        if rankings.n_documents == self.n_documents:
            rankings.set_locator(ColumnNames(self.tie_keys, self.name_items))
        return rankings

    def document_name(self, name: str, place: int) -> str:
        """Return the column of a document for error messages."""
        return name_column(self.tie_keys, name, place, self.name_items)


class ColumnNames:
    """The names of documents by their places, and their ids."""

    def __init__(self, columns: Array | None, name_items: Callable[[Array], Array] | None) -> None:
        """Take the column of each document, and a function that returns the ids of columns."""
        self._columns = columns
        self._name_items = name_items

    def __call__(self, name: str, place: int) -> str:
        """Return the name of a document for messages."""
        return name_column(self._columns, name, place, self._name_items)

    def take(self, name: str, places: Array) -> Array:
        """Return the ids of documents, -1 for those of the pool."""
        if name == "pool" or self._columns is None:
            return np.full(len(places), -1)
        columns = self._columns[places]
        return columns if self._name_items is None else self._name_items(columns)


def name_column(
    columns: Array | None, name: str, place: int, name_items: Callable[[Array], Array] | None = None
) -> str:
    """Return the column of a document or its id, or the place of a label of the pool."""
    if name == "pool" or columns is None:
        return str(place)
    return str(columns[place] if name_items is None else name_items(columns[place : place + 1])[0])
