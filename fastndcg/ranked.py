"""Rankings of documents that were given in rank order, of which some have labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings import Array, Rankings, read_only


class Found(NamedTuple):
    """The judged documents that were ranked, query after query in rank order; `above` is the rank less one."""

    above: Array
    labels: Array
    offsets: Array


class Ranked(Rankings):
    """
    Rankings whose order is known: no document is looked at but those found among the judged ones.

    An array with an entry for each document is made where somebody asks for it, as do conventions and metrics that
    look at what was not judged.
    """

    __slots__ = ("found",)

    def __init__(self, found: Found, offsets: Array, pool: tuple[Array, Array], query_ids: Array) -> None:
        self.found, self.offsets, self.pool, self.query_ids = found, offsets, pool, query_ids
        self.n_documents, self.n_queries = offsets.item(-1), len(offsets) - 1
        self.n_labels = len(found.labels) + len(pool[0])
        self.tie_keys = self.patterns = self._place_of = None
        self.are_ordinals = False

    def __getattr__(self, name: str) -> Any:
        """Make the arrays of all documents; whatever else is missing is so."""
        if name not in ("judged", "labels", "scores"):
            raise AttributeError(f"Rankings have no {name!r}")
        above, found, offsets = self.found
        places = np.repeat(self.offsets[:-1], np.diff(offsets)) + above
        labels, judged = np.zeros(self.n_documents, found.dtype), np.zeros(self.n_documents, bool)
        labels[places], judged[places] = found, True
        scores = np.repeat(self.offsets[:-1], np.diff(self.offsets)) - np.arange(self.n_documents)
        self.labels, self.judged, self.scores = read_only(labels), read_only(judged), read_only(scores.astype("f4"))
        return object.__getattribute__(self, name)
