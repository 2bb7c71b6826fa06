"""Compact rankings, without an array entry for each document: ranks that are known, and rows of a score matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.kernels.shared import MAX_RANK, RankCounts
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import CheckedRankings, Rankings, has_labels_below_0
from fastndcg.rankings.validation import Array, as_offsets, read_only

DOCUMENT_ARRAYS = ("judged", "labels", "scores", "tie_keys")
NO_TIES = read_only(np.empty(0, "i4"))


class KnownHits(NamedTuple):
    """
    Labelled documents with their ranks, query after query in rank order.

    `above` is the number of documents above, and `ties` the number of documents at that place. `tie_starts` is the
    number of documents above the tie group where the order of its documents matters, else `MAX_RANK`. Both are
    empty if nothing ties. Query q owns the entries ``offsets[q]`` up to ``offsets[q + 1]``.
    """

    above: Array
    labels: Array
    offsets: Array
    ties: Array = NO_TIES
    tie_starts: Array = NO_TIES


NO_COUNTS = RankCounts(NO_TIES, NO_TIES, NO_TIES)


class CountedHits(NamedTuple):
    """The labelled candidates of all queries, in the order of the input, with their counts."""

    counts: RankCounts
    labels: Array
    offsets: Array


class CompactRankings(CheckedRankings):
    """
    Base class of rankings without an entry for each document.

    Arrays with such entries are made on first use, by conventions and metrics that need all documents.
    """

    __slots__ = ()

    def __init__(
        self, labels: Array, offsets: Array, pool: tuple[Array, Array] | None, query_ids: Array | None,
        find_name: Callable[[str, int], str] | None = None,
    ) -> None:  # fmt: skip
        """Take the labels that are stored, the offsets of all ranked documents, all judged labels, and ids."""
        self.offsets = offsets
        self.pool = pool
        self.query_ids = query_ids
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(labels) + (0 if pool is None else len(pool[0]))
        self.patterns = None
        self.are_ordinals = self.has_repeats = False
        self._find_name = find_name

    def _check_restored(self) -> None:
        as_offsets(self.offsets, "offsets", self.n_documents)

    def __getattr__(self, name: str) -> Any:
        """Make the arrays of all documents on first use."""
        if name not in DOCUMENT_ARRAYS:
            raise AttributeError(f"Rankings have no {name!r}")
        self._make_documents()
        return object.__getattribute__(self, name)

    def _make_documents(self) -> None:
        raise NotImplementedError

    def _put_labels(self, labels: Array, offsets: Array, places: Array) -> None:
        """Set labels and judgments of all documents, given those of some by their places in their queries."""
        indices = np.repeat(self.offsets[:-1], np.diff(offsets)) + places
        all_labels = np.zeros(self.n_documents, labels.dtype)
        judged = np.zeros(self.n_documents, bool)
        all_labels[indices] = labels
        judged[indices] = True
        self.labels = read_only(all_labels)
        self.judged = read_only(judged)


class HitRankings(CompactRankings):
    """
    Rankings of which only the hits and the pool are stored. No metric and no convention may need other documents.

    `has_whole_groups` is True if the hits have the whole tie group also where all labels of it are equal.
    """

    __slots__ = ("has_whole_groups", "known_hits")

    def __init__(
        self,
        hits: Any,
        offsets: Array,
        pool: tuple[Array, Array] | None,
        query_ids: Array | None = None,
        *,
        find_name: Callable[[str, int], str] | None = None,
        has_whole_groups: bool = False,
    ) -> None:
        """Take hits, the offsets of all ranked documents, all judged labels (None: all were ranked), and ids."""
        super().__init__(hits.labels, offsets, pool, query_ids, find_name)
        self.known_hits = hits
        self.has_whole_groups = has_whole_groups
        self.tie_keys = None
        self._set_documents()

    def _set_documents(self) -> None:
        """Set the arrays of documents: there are none besides the hits."""
        self.labels = self.known_hits.labels
        self.judged = None
        self.scores = self.labels[:0]


class CountedRankings(HitRankings):
    """Rankings that store the labelled candidates with their counts in place of scores."""

    __slots__ = ("_take_ids",)

    def __init__(
        self,
        hits: CountedHits,
        offsets: Array,
        pool: tuple[Array, Array] | None,
        query_ids: Array | None,
        take_ids: Callable[[str, Array], Array],
    ) -> None:
        """
        Take hits, the offsets of all candidates, all judged labels (None: all are candidates) and ids.

        `take_ids` returns the ids of documents by the name of an array, "labels" or "pool", and their places there.
        """
        super().__init__(hits, offsets, pool, query_ids)
        self._take_ids = take_ids

    def set_counts(self, counts: RankCounts) -> None:
        """Set the counts, which are found after the labels have been checked."""
        self.known_hits = self.known_hits._replace(counts=counts)

    def take_document_ids(self, name: str, places: Array) -> Array:
        """Return the ids of labelled candidates by their places, or of documents of the pool."""
        return self._take_ids(name, places)

    def document_name(self, name: str, place: int) -> str:
        """Return the id of a document for error messages."""
        return str(self._take_ids(name, np.array([place]))[0])

    def _find_offsets(self, name: str) -> Array:
        del name  # there are no scores
        offsets: Array = self.known_hits.offsets
        return offsets

    def without_pool(self) -> CountedRankings:
        """Return rankings whose judged documents are the candidates alone."""
        return CountedRankings(self.known_hits, self.offsets, None, self.query_ids, self._take_ids)


class RankedLists(HitRankings):
    """Rankings whose order is known: only the hits are stored."""

    __slots__ = ("item_arrays",)
    item_arrays: tuple[Array, Array, Array] | None  # items of all users, the start of each user, items of the pool

    def _set_documents(self) -> None:
        self.item_arrays = None

    def take_document_ids(self, name: str, places: Array) -> Array:
        """Return items by their places among the hits or in the pool."""
        if self.item_arrays is None:
            return super().take_document_ids(name, places)
        items, starts, pool_items = self.item_arrays
        if name == "pool":
            return pool_items[places]
        users = np.searchsorted(self.known_hits.offsets, places, side="right") - 1
        return np.asarray(items[starts[users] + self.known_hits.above[places]])

    def _make_documents(self) -> None:
        hits = self.known_hits
        self._put_labels(hits.labels, hits.offsets, hits.above)
        scores = np.repeat(self.offsets[:-1], np.diff(self.offsets)) - np.arange(self.n_documents)
        self.scores = read_only(scores.astype("f4"))


def find_tie_starts(starts: Array, matters: Array) -> Array:
    """Return `KnownHits.tie_starts` from the starts of tie groups, and True where their order matters."""
    return read_only(np.where(matters, starts, MAX_RANK).astype("i4"))


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


class ScoreRowRankings(CompactRankings):
    """Rankings of the candidates in rows of scores."""

    __slots__ = ("name_items", "pool_items", "rows")
    name_items: Callable[[Array], Array] | None  # returns the ids of columns, None where these are their numbers
    pool_items: Array | None  # the items of the pool

    def __init__(
        self, rows: ScoreRows, offsets: Array, pool: tuple[Array, Array] | None, query_ids: Array | None
    ) -> None:  # fmt: skip
        """Take rows, offsets of all candidates, the labels of all items if some are no candidates, and users."""
        super().__init__(rows.labels, offsets, pool, query_ids)
        self.rows = rows
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

    def _make_documents(self) -> None:
        rows = self.rows
        columns = rows.list_candidates()
        self._put_labels(rows.labels, rows.offsets, rows.places)
        users = np.repeat(np.arange(self.n_queries), np.diff(self.offsets))
        self.scores = read_only(rows.scores[users * rows.n_columns + columns])
        self.tie_keys = read_only(columns.astype("i8"))

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
        rankings = ScoreRowRankings(self.rows, self.offsets, None, self.query_ids)
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
        return ColumnNames(self.tie_keys, self.name_items)(name, place)


class ColumnNames:
    """The names of documents by their places, and their ids."""

    def __init__(self, columns: Array | None, name_items: Callable[[Array], Array] | None) -> None:
        """Take the column of each document, and a function that returns the ids of columns."""
        self._columns = columns
        self._name_items = name_items

    def __call__(self, name: str, place: int) -> str:
        """Return the column of a document or its id, or the place of a label of the pool."""
        is_unknown = name == "pool" or self._columns is None
        return str(place if is_unknown else self.take(name, np.array([place]))[0])

    def take(self, name: str, places: Array) -> Array:
        """Return the ids of documents, -1 for those of the pool."""
        if name == "pool" or self._columns is None:
            return np.full(len(places), -1)
        columns = self._columns[places]
        return columns if self._name_items is None else self._name_items(columns)
