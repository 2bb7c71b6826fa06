"""Rankings whose relevant documents have known ranks and tie groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fastndcg.rankings.rankings import CheckedRankings
from fastndcg.rankings.validation import Array


class TieGroups(NamedTuple):
    """
    The labelled documents that were ranked, query after query in rank order.

    `above` is the number of documents above, and `ties` the number of documents at that place. Both are those of the
    tie group, unless the tie policy orders it. `starts` is the number of documents above the tie group. `differs` is
    True if the group has different labels. Query q owns the entries ``offsets[q]`` up to ``offsets[q + 1]``.
    """

    above: Array
    ties: Array
    starts: Array
    differs: Array
    labels: Array
    offsets: Array


class GroupedRankings(CheckedRankings):
    """Rankings that store the labelled documents with their tie groups in place of scores."""

    __slots__ = ("judged_hits",)

    def __init__(
        self,
        groups: TieGroups,
        offsets: Array,
        pool: tuple[Array, Array] | None,
        query_ids: Array | None,
        find_name: Callable[[str, int], str] | None = None,
    ) -> None:
        """Take the groups, the offsets of all ranked documents, all judged labels (None: all were ranked), and ids."""
        self.judged_hits = groups
        self.labels = groups.labels
        self.offsets = offsets
        self.pool = pool
        self.query_ids = query_ids
        self.n_documents = offsets.item(-1)
        self.n_queries = len(offsets) - 1
        self.n_labels = len(groups.labels) + (0 if pool is None else len(pool[0]))
        self.judged = self.tie_keys = self.patterns = None
        self.scores = groups.above[:0]
        self._find_name = find_name
        self.are_ordinals = False
