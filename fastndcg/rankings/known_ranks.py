"""Rankings whose ranks are known, because documents come in rank order or another part has ranked or counted them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.kernels.limits import MAX_RANK
from fastndcg.rankings.rankings import CheckedRankings
from fastndcg.rankings.validation import Array, read_only

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


class RankCounts(NamedTuple):
    """
    Counts for labelled candidates, user after user.

    above   int32, number of the user's candidates with a higher score
    ties    int32, number of the user's candidates with the same score, the labelled one included
    before  int32, number of these with a lower item number
    """

    above: Array
    ties: Array
    before: Array


NO_COUNTS = RankCounts(NO_TIES, NO_TIES, NO_TIES)


class CountedHits(NamedTuple):
    """The labelled candidates of all queries, in the order of the input, with their counts."""

    counts: RankCounts
    labels: Array
    offsets: Array


class HitRankings(CheckedRankings):
    """
    Rankings of which only the hits and the pool are stored. No metric and no convention may need other documents.

    `has_whole_groups` is True if the hits have the whole tie group also where all labels of it are equal.
    """

    __slots__ = ("has_whole_groups", "judged_hits")

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
        self.judged_hits = hits
        self.offsets = offsets
        self.pool = pool
        self.query_ids = query_ids
        self.has_whole_groups = has_whole_groups
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(hits.labels) + (0 if pool is None else len(pool[0]))
        self.tie_keys = self.patterns = None
        self.are_ordinals = self.has_repeats = False
        self._find_name = find_name
        self._set_documents()

    def _set_documents(self) -> None:
        """Set the arrays of documents: there are none besides the hits."""
        self.labels = self.judged_hits.labels
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
        self.judged_hits = self.judged_hits._replace(counts=counts)

    def take_document_ids(self, name: str, places: Array) -> Array:
        """Return the ids of labelled candidates by their places, or of documents of the pool."""
        return self._take_ids(name, places)

    def document_name(self, name: str, place: int) -> str:
        """Return the id of a document for error messages."""
        return str(self._take_ids(name, np.array([place]))[0])

    def _find_offsets(self, name: str) -> Array:
        del name  # there are no scores
        offsets: Array = self.judged_hits.offsets
        return offsets

    def without_pool(self) -> CountedRankings:
        """Return rankings whose judged documents are the candidates alone."""
        return CountedRankings(self.judged_hits, self.offsets, None, self.query_ids, self._take_ids)


class RankedLists(HitRankings):
    """
    Rankings whose order is known: only the hits are stored.

    Arrays with an entry for each document are made on first use, by conventions and metrics that need unjudged
    documents.
    """

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
        users = np.searchsorted(self.judged_hits.offsets, places, side="right") - 1
        return np.asarray(items[starts[users] + self.judged_hits.above[places]])

    def __getattr__(self, name: str) -> Any:
        """Make the arrays of all documents on first use."""
        if name not in ("judged", "labels", "scores"):
            raise AttributeError(f"Rankings have no {name!r}")
        hits = self.judged_hits
        places = np.repeat(self.offsets[:-1], np.diff(hits.offsets)) + hits.above
        labels = np.zeros(self.n_documents, hits.labels.dtype)
        judged = np.zeros(self.n_documents, bool)
        labels[places] = hits.labels
        judged[places] = True
        scores = np.repeat(self.offsets[:-1], np.diff(self.offsets)) - np.arange(self.n_documents)
        self.labels = read_only(labels)
        self.judged = read_only(judged)
        self.scores = read_only(scores.astype("f4"))
        return object.__getattribute__(self, name)


def find_tie_starts(starts: Array, matters: Array) -> Array:
    """Return `KnownHits.tie_starts` from the starts of tie groups, and True where their order matters."""
    return read_only(np.where(matters, starts, MAX_RANK).astype("i4"))
