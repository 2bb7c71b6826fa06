"""
Scratch: arrays that kernels write to, and that are reused.

Each worker has one `Scratch`, and its next chunk overwrites what the last one wrote. Arrays have no names but their
order: chunks of a plan take about the same ones, and a sweep of a parameter takes as many for each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only

I4, I8, U8, F8, BOOL = (np.dtype(code) for code in ("i4", "i8", "u8", "f8", "?"))

NO_WORDS = np.empty(0, U8)
MIN_WORDS = 1 << 15  # of a workspace: for a query of 5,000 documents
MAX_CUTS = 64  # cutting the arrays of a few hits takes as long as ranking them


@dataclass(slots=True)
class ChunkHits:
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


@dataclass(slots=True)
class CandidateArrays:
    """Candidates. `arrays` is the tuple that kernels take: see kernels/ranking/candidates.py."""

    labels: Array
    offsets: Array
    arrays: tuple[Array, ...]


@dataclass(slots=True)
class IdealHits:
    """The ideal ranking of the judged documents as hits, without ties."""

    labels: Array
    above: Array
    offsets: Array


class Buffers:
    """
    Arrays that kernels write to, with space for more than they write.

    Attributes
    ----------
    arrays : tuple of arrays
        All of them, as kernels take them.
    """

    __slots__ = ("_cuts", "arrays")

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays
        self._cuts: dict[int, Any] = {}

    def cut(self, n: int) -> Any:
        """Return the first `n` entries: the same object again for a length that came before."""
        cut = self._cuts.get(n)
        if cut is None:
            if len(self._cuts) >= MAX_CUTS:
                self._cuts.clear()
            cut = self._cuts[n] = self._cut(n)
        return cut

    def _cut(self, n: int) -> Any:
        raise NotImplementedError


class HitBuffers(Buffers):
    """Arrays for hits, with space for all candidates: those of `Hits` in kernels/ranking/candidates.py."""

    __slots__ = ("above", "counts", "labels", "offsets", "queries", "ties")

    def __init__(self, *arrays: Array) -> None:
        super().__init__(*arrays)
        _, self.labels, self.above, self.ties, self.queries, self.offsets, self.counts, _ = arrays

    def enlarge_workspace(self, n_words: int) -> None:
        """Take a workspace of so many words or more, so that a chunk is seldom ranked again."""
        size = max(n_words, 2 * len(self.arrays[-1]), MIN_WORDS)
        self.arrays = (*self.arrays[:-1], np.empty(size, U8))

    def _cut(self, n: int) -> ChunkHits:
        return ChunkHits(self.labels[:n], self.above[:n], self.ties[:n], self.queries[:n], self.offsets)


class CandidateBuffers(Buffers):
    """Arrays for candidates, with space for all documents of some blocks, and for a summary of the labels."""

    __slots__ = ("offsets", "out_summary")

    def __init__(self, *arrays: Array, out_summary: Array) -> None:
        super().__init__(*arrays)
        self.offsets = arrays[2]
        self.out_summary = out_summary

    def _cut(self, n: int) -> CandidateArrays:
        documents, labels, offsets, bitmask, n_before_block = self.arrays
        labels = labels[:n]
        return CandidateArrays(labels, offsets, (documents[:n], labels, offsets, bitmask, n_before_block))


class IdealBuffers(Buffers):
    """Arrays for an ideal ranking: labels, numbers above and offsets."""

    __slots__ = ("offsets",)

    def __init__(self, *arrays: Array) -> None:
        super().__init__(*arrays)
        self.offsets = arrays[2]

    def _cut(self, n: int) -> IdealHits:
        labels, above, offsets = self.arrays
        return IdealHits(labels[:n], above[:n], offsets)


class Scratch:
    """Arrays that one worker reuses for every chunk."""

    __slots__ = (
        "_arrays", "_candidate_buffers", "_hit_buffers", "_ideal_buffers", "_n_ideals", "_n_taken", "_named", "_padded",
        "_views",
    )  # fmt: skip

    def __init__(self) -> None:
        self._arrays: list[Array] = []
        self._n_taken = 0
        self._named: dict[str, Array] = {}  # parts of the buffers below
        self._hit_buffers: tuple[int, int, HitBuffers] | None = None
        self._candidate_buffers: dict[str, tuple[tuple[int, int], CandidateBuffers]] = {}
        self._ideal_buffers: dict[int, tuple[int, int, IdealBuffers]] = {}
        self._n_ideals = 0
        self._padded: tuple[int, Array, Array] | None = None
        self._views: dict[str, Scratch] = {}

    def restart(self) -> None:
        """Begin a chunk, which may overwrite all arrays."""
        self._n_taken = self._n_ideals = 0
        for view in self._views.values():
            view.restart()

    def take(self, size: int, dtype: np.dtype[Any] = F8) -> Array:
        """Return an uninitialised array, which is valid until the scratch is restarted."""
        arrays = self._arrays
        place = self._n_taken
        self._n_taken = place + 1
        if place == len(arrays):
            arrays.append(np.empty(size, dtype))
        array = arrays[place]
        n = len(array)
        if n < size or array.dtype is not dtype:
            array = arrays[place] = np.empty(size, dtype)
            return array
        return array if n == size else array[:size]

    def _take_named(self, name: str, size: int, dtype: np.dtype[Any]) -> Array:
        """Return the uninitialised array of a name."""
        array = self._named.get(name)
        if array is None or len(array) < size:
            array = self._named[name] = np.empty(size, dtype)
        return array if len(array) == size else array[:size]

    def hit_buffers(self, n_hits: int, n_queries: int) -> HitBuffers:
        """
        Return arrays for up to `n_hits` hits: the last ones again where they are large enough.

        There may be more room for hits, whose number kernels write, but not for queries: kernels read their number from
        the length of the offsets.
        """
        last = self._hit_buffers
        if last is not None and last[0] >= n_hits and last[1] == n_queries:
            return last[2]
        take = self._take_named
        buffers = HitBuffers(
            take("hit documents", n_hits, I4), take("hit labels", n_hits, F8), take("hit above", n_hits, I4),
            take("hit ties", n_hits, I4), take("hit queries", n_hits, I4), take("hit offsets", n_queries + 1, I8),
            take("counts", 4, I8), NO_WORDS if last is None else last[2].arrays[-1],
        )  # fmt: skip
        self._hit_buffers = n_hits, n_queries, buffers
        return buffers

    def candidate_buffers(self, name: str, n_blocks: int, n_queries: int) -> CandidateBuffers:
        """Return arrays for candidates: the last ones again for a chunk of the same size."""
        size = n_blocks, n_queries
        last = self._candidate_buffers.get(name)
        if last is None or last[0] != size:
            last = self._candidate_buffers[name] = size, _make_candidate_buffers(self, name, n_blocks, n_queries)
        return last[1]

    def ideal_buffers(self, n_hits: int, n_offsets: int) -> IdealBuffers:
        """Return arrays for one more ideal ranking: those of an earlier chunk where they are large enough."""
        number = self._n_ideals
        self._n_ideals = number + 1
        last = self._ideal_buffers.get(number)
        if last is None or last[0] < n_hits or last[1] != n_offsets:
            take = self._take_named
            buffers = IdealBuffers(
                take(f"ideal {number} labels", n_hits, F8),
                take(f"ideal {number} above", n_hits, I4),
                take(f"ideal {number} offsets", n_offsets, I8),
            )
            last = self._ideal_buffers[number] = n_hits, n_offsets, buffers
        return last[2]

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
        """Give each worker's scratch as large arrays as the others have, so that the next call allocates nothing."""
        for scratch in workers:
            scratch.restart()
        for arrays in zip_longest(*(scratch._arrays for scratch in workers)):
            largest = max((array for array in arrays if array is not None), key=len)
            for scratch in workers:
                scratch.take(len(largest), largest.dtype)
        for name in {name for scratch in workers for name in scratch._named}:
            largest = max((scratch._named[name] for scratch in workers if name in scratch._named), key=len)
            for scratch in workers:
                scratch._take_named(name, len(largest), largest.dtype)
        for name in {name for scratch in workers for name in scratch._views}:
            Scratch.equalize([scratch.view(name) for scratch in workers])


def _make_candidate_buffers(scratch: Scratch, name: str, n_blocks: int, n_queries: int) -> CandidateBuffers:
    """Return arrays for the candidates among `n_blocks` blocks of documents."""
    take = scratch._take_named
    n_documents = n_blocks * load_kernels("simd").WIDE
    return CandidateBuffers(
        take(f"{name} documents", n_documents, I4), take(f"{name} labels of candidates", n_documents, F8),
        take(f"{name} offsets", n_queries + 1, I8), take(f"{name} bitmask", n_blocks, U8),
        take(f"{name} n_before_block", n_blocks, I8), out_summary=take(f"{name} out_summary", 4, F8),
    )  # fmt: skip
