"""Rankings of which the counts are known: how many candidates score higher than a labelled one, or the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastndcg.rankings.rankings import CheckedRankings
from fastndcg.rankings.validation import Array


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


class CountedHits(NamedTuple):
    """The labelled candidates of all queries, in the order of the input, with their counts."""

    counts: RankCounts
    labels: Array
    offsets: Array


class CountedRankings(CheckedRankings):
    """Rankings that store the labelled candidates with their counts in place of scores."""

    __slots__ = ("_take_ids", "judged_hits")

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
        self.judged_hits = hits
        self.labels = hits.labels
        self.offsets = offsets
        self.pool = pool
        self.query_ids = query_ids
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(hits.labels) + (0 if pool is None else len(pool[0]))
        self.judged = self.tie_keys = self.patterns = None
        self.scores = hits.counts.above[:0]
        self.are_ordinals = False
        self._take_ids = take_ids
        self._find_name = None

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
