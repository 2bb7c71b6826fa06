"""Chunks of queries: their labels, which all systems share, and the ranking of their documents by one system."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.apply import check_labels
from fastndcg.engine.discounts import Discounts
from fastndcg.engine.ranking import Ranker
from fastndcg.engine.scratch import CandidateArrays, Scratch
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions import Convention
from fastndcg.parsing import Value
from fastndcg.rankings.rankings import Rankings, refuse_changed
from fastndcg.rankings.validation import Array


@dataclass(slots=True)  # not frozen: a frozen one takes four times as long to make, which one query feels
class EvaluationContext:
    """
    Everything that the chunks of one evaluation share.

    Attributes
    ----------
    depth : int
        The largest number of ranks that count.
    rankings : Rankings
        To which the convention has been applied.
    gains : frozenset
        The gains that labels are checked for.
    values : (n_metrics, n_queries) float64 array
        The output.
    truncates_labels : bool
        True if labels may have fractions and the convention cuts them off.
    views : dict
        Contexts of other selections of documents or labels, by the name of the view (see rankings/filters.py).
    """

    convention: Convention
    depth: int
    rankings: Rankings
    ranker: Ranker
    discounts: Discounts
    gains: frozenset[Value]
    values: Array
    truncates_labels: bool
    views: dict[str, EvaluationContext]


class IdealHits(NamedTuple):
    """The ideal ranking of the judged documents as hits, without ties."""

    labels: Array
    above: Array
    offsets: Array


class ChunkLabels:
    """
    The labels of queries `first` up to `stop`: all that does not depend on the ranking.

    Attributes
    ----------
    candidates : CandidateArrays
        The documents that may become hits, because their label is not 0.
    pool_candidates : CandidateArrays
        The judged documents with a label other than 0, retrieved or not.
    lowest_label, constant_label : float
        The lowest label of the pool's candidates, and the label that all of them have, NaN if they differ.
    cache : dict
        Kernel inputs with the scope 'labels'.
    """

    __slots__ = (
        "_longest",
        "_scratch",
        "_sizes",
        "cache",
        "candidates",
        "constant_label",
        "document_offsets",
        "first",
        "has_constant_label",
        "lowest_label",
        "n_queries",
        "pool_candidates",
        "stop",
        "take",
    )

    def __init__(self, context: EvaluationContext, scratch: Scratch, first: int, stop: int) -> None:
        ranker = context.ranker
        pool = context.rankings.pool
        self.first = first
        self.stop = stop
        self.n_queries = stop - first
        self.document_offsets = ranker.document_offsets
        self.take = scratch.take
        self.cache: dict[Hashable, Any] = {}
        self._scratch = scratch
        self._sizes: Array | None = None
        self._longest: int | None = None
        self.candidates, label_range = self._collect(context, "labels", ranker.labels, ranker.label_offsets)
        self.pool_candidates = self.candidates
        if pool is not None:
            self.pool_candidates, label_range = self._collect(context, "pool", *pool)
        self.lowest_label, self.constant_label = label_range
        self.has_constant_label = self.constant_label == self.constant_label

    @property
    def sizes(self) -> Array:
        """The number of documents ranked in each query."""
        if self._sizes is None:
            self._sizes = np.diff(self.document_offsets[self.first : self.stop + 1])
        return self._sizes

    @property
    def longest(self) -> int:
        """The number of documents ranked in the longest query."""
        if self._longest is None:
            self._longest = int(self.sizes.max(initial=0))
        return self._longest

    def view(self, context: EvaluationContext, name: str) -> ChunkLabels:
        """Return the labels of a view of the same queries."""
        key = "view", name
        if key not in self.cache:
            self.cache[key] = ChunkLabels(context.views[name], self._scratch.view(name), self.first, self.stop)
        return self.cache[key]  # type: ignore[no-any-return]

    def check_size(self, rankings: Rankings) -> None:
        """Raise an error if the number of documents has changed since the labels were read."""
        if self.document_offsets.item(-1) != rankings.n_documents:
            refuse_changed("labels")

    def ideal(
        self,
        context: EvaluationContext,
        *,
        gains: Array | None = None,
        gain_key: Hashable = None,
        skip_all_ones: bool = False,
    ) -> IdealHits:
        """
        Return the ideal ranking, computed once.

        Parameters
        ----------
        gains : array, optional
            The gains of the pool's candidates, cached under `gain_key`: the order is by falling gain. By default it is
            by falling label. The result has them in place of labels.
        skip_all_ones : bool
            Leave out the queries in which all labels are 1.
        """
        key = ("ideal", gain_key, skip_all_ones)
        ideal = self.cache.get(key)
        if ideal is None:
            kernels = load_kernels("ranking.ideal")
            labels = self.pool_candidates.labels if gains is None else gains
            offsets = self.pool_candidates.offsets
            pool = context.rankings.pool
            all_offsets = self.document_offsets if pool is None else pool[1]
            depth = context.depth
            out = self._scratch.ideal_buffers(key, len(labels), len(offsets))
            kernels.rank_ideal(labels, offsets, depth, skip_all_ones, out)
            n_hits = out[2].item(-1)
            if n_hits < 0:
                kernels.rank_ideal_rest(labels, offsets, all_offsets, self.first, depth, skip_all_ones, out)
                n_hits = out[2].item(-1)
            ideal = self.cache[key] = IdealHits(out[0][:n_hits], out[1][:n_hits], out[2])
        return ideal

    def _collect(
        self, context: EvaluationContext, name: str, labels: Array, offsets: Array
    ) -> tuple[CandidateArrays, tuple[float, float]]:
        """Collect the candidates of the array `name`, check its labels, and return the lowest and the only label."""
        convention = context.convention
        n_documents = offsets.item(self.stop) - offsets.item(self.first)
        n_blocks = -(-n_documents // load_kernels("simd").WIDE)
        buffers = self._scratch.candidate_buffers(name, n_blocks, self.n_queries)
        floor = 0.0 if convention.negative_labels == "keep" else -np.inf
        summary = buffers.out_summary
        load_kernels("ranking.candidates").collect(labels, offsets, self.first, floor, buffers[:5], summary)
        n_nan, lowest_of_all, lowest, highest = summary.tolist()
        candidates = buffers.slice(buffers.offsets.item(-1))
        extremes = (lowest_of_all, max(highest, 0.0), n_nan)
        check_labels(context.rankings, name, extremes, candidates.labels, context.gains, convention)
        return candidates, (lowest, lowest if lowest == highest else math.nan)


class Chunk:
    """
    The ranking of a chunk's documents by one system.

    Attributes
    ----------
    hits : HitArrays
        In rank order.
    n_tied : int
        The number of queries in which the order of equal scores matters.
    cache : dict
        Kernel inputs with the scope 'ranking'.
    """

    __slots__ = ("_scratch", "cache", "context", "hits", "labels", "n_tied", "take")

    def __init__(self, context: EvaluationContext, labels: ChunkLabels, scratch: Scratch) -> None:
        self.context = context
        self.labels = labels
        self.take = scratch.take
        self.cache: dict[Hashable, Any] = {}
        self._scratch = scratch
        buffers = scratch.hit_buffers(len(labels.candidates.labels), labels.n_queries)
        self.n_tied = context.ranker.find_hits(labels.first, labels.candidates, context.depth, buffers)
        self.hits = scratch.slice_hits(buffers, buffers.offsets.item(-1))

    @property
    def has_average_ties(self) -> bool:
        """True if any hits share their ranks, so that metrics are means over the orders of a tie."""
        return self.n_tied > 0 and self.context.convention.ties == "average"

    def view(self, name: str) -> Chunk:
        """Return the ranking of a view's documents, this one where the evaluation has no such view."""
        if name not in self.context.views:
            return self
        key = "view", name
        if key not in self.cache:
            context = self.context.views[name]
            labels = self.labels.view(self.context, name)
            labels.check_size(context.rankings)
            self.cache[key] = Chunk(context, labels, self._scratch.view(name))
        return self.cache[key]  # type: ignore[no-any-return]
