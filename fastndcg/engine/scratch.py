"""
Scratch: arrays that kernels write to, and that are reused.

Each worker has one `Scratch`, and its next chunk overwrites what the last one wrote. Labels that are kept have one of
their own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only

I4, I8, U8, F8, BOOL = (np.dtype(code) for code in ("i4", "i8", "u8", "f8", "?"))

MAX_CACHED_HITS = 64  # slicing the arrays of so few hits takes as long as ranking them


@dataclass(slots=True)
class HitBuffers:
    """
    Arrays that kernels write hits to, with space for all candidates.

    kernels/ranking/candidates.py describes them. `arrays` is the tuple of all of them, as kernels take it.
    """

    documents: Array
    labels: Array
    above: Array
    ties: Array
    queries: Array
    offsets: Array
    open_queries: Array
    counts: Array
    arrays: tuple[Array, ...] = ()

    def __post_init__(self) -> None:
        self.arrays = (
            self.documents, self.labels, self.above, self.ties, self.queries, self.offsets, self.open_queries,
            self.counts,
        )  # fmt: skip


@dataclass(slots=True)
class HitArrays:
    """
    The hits of a chunk, query after query in rank order.

    `above` is the number of documents above the hit's tie group, which is the rank less one where nothing ties. `ties`
    is the size of the tie group, `queries` the number of the hit's query in the chunk.
    """

    labels: Array
    above: Array
    ties: Array
    queries: Array
    offsets: Array


class CandidateArrays(NamedTuple):
    """Candidates as kernels take them (see kernels/ranking/candidates.py)."""

    documents: Array
    labels: Array
    offsets: Array
    bitmask: Array
    n_before_block: Array


class CandidateBuffers(NamedTuple):
    """Arrays that kernels write candidates to, with space for all documents of some blocks, and `out_summary`."""

    documents: Array
    labels: Array
    offsets: Array
    bitmask: Array
    n_before_block: Array
    out_summary: Array

    def slice(self, n_candidates: int) -> CandidateArrays:
        """Return the candidates that were written."""
        return CandidateArrays(
            self.documents[:n_candidates], self.labels[:n_candidates], self.offsets, self.bitmask, self.n_before_block
        )


class Scratch:
    """Arrays that one worker reuses for every chunk."""

    __slots__ = ("_arrays", "_candidate_buffers", "_few_hits", "_hit_buffers", "_ideal_buffers", "_padded", "_views")

    def __init__(self) -> None:
        self._arrays: dict[Hashable, Array] = {}
        self._hit_buffers: tuple[int, int, HitBuffers] | None = None
        self._few_hits: dict[int, HitArrays] = {}
        self._candidate_buffers: dict[str, tuple[tuple[int, int], CandidateBuffers]] = {}
        self._ideal_buffers: dict[Hashable, tuple[Array, Array, Array]] = {}
        self._padded: tuple[int, Array, Array] | None = None
        self._views: dict[str, Scratch] = {}

    def take(self, key: Hashable, size: int, dtype: np.dtype[Any]) -> Array:
        """Return an uninitialised array, which is valid until the same key is taken again."""
        array = self._arrays.get(key)
        if array is None or len(array) < size:
            array = self._arrays[key] = np.empty(size, dtype)
        return array if len(array) == size else array[:size]

    def hit_buffers(self, n_hits: int, n_queries: int) -> HitBuffers:
        """Return arrays for up to `n_hits` hits: the last ones again where they are large enough."""
        last = self._hit_buffers
        if last is not None and last[0] >= n_hits and last[1] == n_queries:
            return last[2]
        take = self.take
        buffers = HitBuffers(
            documents=take("hit documents", n_hits, I4),
            labels=take("hit labels", n_hits, F8),
            above=take("hit above", n_hits, I4),
            ties=take("hit ties", n_hits, I4),
            queries=take("hit queries", n_hits, I4),
            offsets=take("hit offsets", n_queries + 1, I8),
            open_queries=take("open queries", n_queries, I4),
            counts=take("counts", 4, I8),
        )
        self._hit_buffers = n_hits, n_queries, buffers
        self._few_hits.clear()
        return buffers

    def slice_hits(self, buffers: HitBuffers, n_hits: int) -> HitArrays:
        """Return the first hits of the last buffers. Slices of few hits are cached."""
        hits = self._few_hits.get(n_hits)
        if hits is None:
            hits = HitArrays(
                buffers.labels[:n_hits],
                buffers.above[:n_hits],
                buffers.ties[:n_hits],
                buffers.queries[:n_hits],
                buffers.offsets,
            )
            if n_hits < MAX_CACHED_HITS:
                self._few_hits[n_hits] = hits
        return hits

    def candidate_buffers(self, name: str, n_blocks: int, n_queries: int) -> CandidateBuffers:
        """Return arrays for candidates: the last ones again for a chunk of the same size."""
        size = n_blocks, n_queries
        last = self._candidate_buffers.get(name)
        if last is None or last[0] != size:
            last = self._candidate_buffers[name] = size, _make_candidate_buffers(self, name, n_blocks, n_queries)
        return last[1]

    def ideal_buffers(self, key: Hashable, n_hits: int, n_offsets: int) -> tuple[Array, Array, Array]:
        """Return labels, numbers above and offsets of an ideal ranking: the last ones again for as many hits."""
        last = self._ideal_buffers.get(key)
        if last is None or len(last[0]) < n_hits or len(last[2]) != n_offsets:
            take = self.take
            last = self._ideal_buffers[key] = (
                take((key, "labels"), n_hits, F8),
                take((key, "above"), n_hits, I4),
                take((key, "offsets"), n_offsets, I8),
            )
        return last

    def view(self, name: str) -> Scratch:
        """Return the scratch arrays for a view of the same chunks."""
        scratch = self._views.get(name)
        if scratch is None:
            scratch = self._views[name] = Scratch()
        return scratch

    def pad(self, scores: Array, length: int) -> Array:
        """
        Return the scores, with zeros behind them up to `length`.

        Kernels read whole vectors. The last vector of a query reads on into the next query. At the end of the array it
        begins before the query. So an array must hold at least one vector.
        """
        if len(scores) >= length:
            return scores
        n_scores = len(scores)
        last = self._padded
        if last is None or last[0] != n_scores or last[1].dtype != scores.dtype:
            padded = np.zeros(length, scores.dtype)
            self._padded = last = n_scores, padded, read_only(padded)
        last[1][:n_scores] = scores
        return last[2]

    @staticmethod
    def equalize(workers: list[Scratch]) -> None:
        """Give each worker's scratch all arrays of the others, so that the next call allocates nothing."""
        largest: dict[Hashable, Array] = {}
        for scratch in workers:
            for key, array in scratch._arrays.items():
                if key not in largest or len(largest[key]) < len(array):
                    largest[key] = array
        for scratch in workers:
            for key, array in largest.items():
                scratch.take(key, len(array), array.dtype)
        for name in {name for scratch in workers for name in scratch._views}:
            Scratch.equalize([scratch.view(name) for scratch in workers])


def _make_candidate_buffers(scratch: Scratch, name: str, n_blocks: int, n_queries: int) -> CandidateBuffers:
    """Return arrays for the candidates among `n_blocks` blocks of documents."""
    take = scratch.take
    n_documents = n_blocks * load_kernels("simd").WIDE
    return CandidateBuffers(
        documents=take((name, "documents"), n_documents, I4),
        labels=take((name, "labels"), n_documents, F8),
        offsets=take((name, "offsets"), n_queries + 1, I8),
        bitmask=take((name, "bitmask"), n_blocks, U8),
        n_before_block=take((name, "n_before_block"), n_blocks, I8),
        out_summary=take((name, "out_summary"), 4, F8),
    )
