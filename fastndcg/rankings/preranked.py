"""Rankings whose hits are known, because their documents come in rank order or another part has ranked them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings.rankings import CheckedRankings
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array


class JudgedHits(NamedTuple):
    """The judged documents that were ranked, query after query in rank order. `above` is the 0-based rank."""

    above: Array
    labels: Array
    offsets: Array


class Ranked(CheckedRankings):
    """
    Rankings whose order is known: only the hits are stored.

    Arrays with an entry for each document are made on first use, by conventions and metrics that need unjudged
    documents.
    """

    __slots__ = ("item_arrays", "judged_hits")
    item_arrays: tuple[Array, Array, Array] | None  # items of all users, the start of each user, items of the pool

    def __init__(self, judged_hits: JudgedHits, offsets: Array, pool: tuple[Array, Array], query_ids: Array) -> None:
        self.judged_hits = judged_hits
        self.offsets = offsets
        self.pool = pool
        self.query_ids = query_ids
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(judged_hits.labels) + len(pool[0])
        self.tie_keys = self.patterns = self._find_name = None
        self.item_arrays = None
        self.are_ordinals = False

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
        above, hit_labels, offsets = self.judged_hits
        places = np.repeat(self.offsets[:-1], np.diff(offsets)) + above
        labels = np.zeros(self.n_documents, hit_labels.dtype)
        judged = np.zeros(self.n_documents, bool)
        labels[places] = hit_labels
        judged[places] = True
        scores = np.repeat(self.offsets[:-1], np.diff(self.offsets)) - np.arange(self.n_documents)
        self.labels = read_only(labels)
        self.judged = read_only(judged)
        self.scores = read_only(scores.astype("f4"))
        return object.__getattribute__(self, name)


class TiedHits(NamedTuple):
    """Hits in rank order, query after query. `above` documents rank higher, and `ties` have the same rank."""

    above: Array
    ties: Array
    labels: Array
    offsets: Array


class HitRankings(CheckedRankings):
    """Rankings of which only the hits and the pool are stored. No metric and no convention may need other documents."""

    __slots__ = ("judged_hits",)

    def __init__(self, hits: TiedHits, offsets: Array, pool: tuple[Array, Array]) -> None:
        self.judged_hits = hits
        self.offsets = offsets
        self.pool = pool
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(hits.labels) + len(pool[0])
        self.labels = pool[0]
        self.query_ids = self.judged = self.tie_keys = self.patterns = self._find_name = None
        self.are_ordinals = False
