"""Memory that chunks write to: fresh for what stays, a worker's own for what the next chunk writes over."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastndcg.kernels.vectors import WIDE
from fastndcg.rankings import Array, read_only

I4, I8, U4, U8, F8, BOOL = (np.dtype(code) for code in ("i4", "i8", "u4", "u8", "f8", "?"))

FEW_HITS = 64  # whose views take as long to make as to rank them


class Room(NamedTuple):
    """Where hits are written: as many as there may be, with their offsets and counts; see kernels/rank.py."""

    documents: Array
    labels: Array
    above: Array
    ties: Array
    queries: Array
    offsets: Array
    counts: Array


@dataclass(slots=True)
class Hits:
    """Documents that matter, query after query in rank order; `above` is the rank less one."""

    labels: Array
    above: Array
    ties: Array
    queries: Array
    offsets: Array


class LabelRoom(NamedTuple):
    """Where candidates are written: as many as there are documents in some blocks; see kernels/candidates.py."""

    documents: Array
    labels: Array
    offsets: Array
    marks: Array
    before: Array
    about: Array


class Fresh:
    """Uninitialised arrays of their own."""

    __slots__ = ()

    def take(self, name: Hashable, size: int, dtype: np.dtype[Any]) -> Array:
        """An array that stays."""
        del name
        return np.empty(size, dtype)

    def label_room(self, name: str, n_blocks: int, n_queries: int) -> LabelRoom:
        """Where the candidates of some queries go."""
        return _label_room(self, name, n_blocks, n_queries)

    def view(self, name: str) -> Fresh:
        """The same for a view of the same chunks."""
        del name
        return self


class Scratch:
    """Buffers that a worker uses again for every chunk: fresh memory costs more than filling it."""

    __slots__ = ("_buffers", "_hits", "_label_rooms", "_padded", "_room", "_views")

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Array] = {}
        self._room: tuple[int, int, Room] | None = None
        self._hits: dict[int, Hits] = {}  # of the room, by how many they are
        self._label_rooms: dict[str, tuple[tuple[int, int], LabelRoom]] = {}
        self._padded: tuple[Array, Array] | None = None
        self._views: dict[str, Scratch] = {}

    def take(self, name: Hashable, size: int, dtype: np.dtype[Any]) -> Array:
        """An uninitialised array, good until the same name is taken again."""
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer if len(buffer) == size else buffer[:size]

    def room_for(self, n_hits: int, n_queries: int) -> Room:
        """Where up to so many hits of some queries go; the same arrays for the next chunk that they are enough for."""
        last = self._room
        if last is not None and last[0] >= n_hits and last[1] == n_queries:
            return last[2]
        take = self.take
        room = Room(
            take("hit documents", n_hits, I4), take("hit labels", n_hits, F8), take("hit above", n_hits, I4),
            take("hit ties", n_hits, I4), take("hit queries", n_hits, I4), take("hit offsets", n_queries + 1, I8),
            take("counts", 3, I8),
        )  # fmt: skip
        self._room = n_hits, n_queries, room
        self._hits.clear()
        return room

    def hits(self, room: Room, n: int) -> Hits:
        """The first hits of the room that was asked for last; where they are few, the same views for as many again."""
        found = self._hits.get(n)
        if found is None:
            found = Hits(room.labels[:n], room.above[:n], room.ties[:n], room.queries[:n], room.offsets)
            if n < FEW_HITS:
                self._hits[n] = found
        return found

    def label_room(self, name: str, n_blocks: int, n_queries: int) -> LabelRoom:
        """Where the candidates of some queries go; the same arrays for the next chunk that is as large."""
        size = n_blocks, n_queries
        last = self._label_rooms.get(name)
        if last is None or last[0] != size:
            last = self._label_rooms[name] = size, _label_room(self, name, n_blocks, n_queries)
        return last[1]

    def view(self, name: str) -> Scratch:
        """The buffers for a view of the same chunks."""
        found = self._views.get(name)
        if found is None:
            found = self._views[name] = Scratch()
        return found

    def padded(self, scores: Array, length: int) -> Array:
        """Scores, or where there are less than `length` of them, these with 0 behind, so that they fill a vector."""
        if len(scores) >= length:
            return scores
        if self._padded is None or self._padded[0].dtype != scores.dtype:
            buffer = np.empty(length, scores.dtype)
            self._padded = buffer, read_only(buffer)
        buffer, view = self._padded
        buffer[: len(scores)] = scores
        buffer[len(scores) :] = 0
        return view

    @staticmethod
    def make_alike(several: list[Scratch]) -> None:
        """Let each have whatever one of them has: the next chunk of any of them may come to any other."""
        largest: dict[Hashable, Array] = {}
        for scratch in several:
            for name, buffer in scratch._buffers.items():
                if name not in largest or len(largest[name]) < len(buffer):
                    largest[name] = buffer
        for scratch in several:
            for name, buffer in largest.items():
                scratch.take(name, len(buffer), buffer.dtype)
        for name in {name for scratch in several for name in scratch._views}:
            Scratch.make_alike([scratch.view(name) for scratch in several])


def _label_room(memory: Memory, name: str, n_blocks: int, n_queries: int) -> LabelRoom:
    take, n_documents = memory.take, n_blocks * WIDE
    return LabelRoom(
        take((name, "documents"), n_documents, I4), take((name, "labels"), n_documents, F8),
        take((name, "offsets"), n_queries + 1, I8), take((name, "marks"), n_blocks, U8),
        take((name, "before"), n_blocks, I8), take((name, "about"), 4, F8),
    )  # fmt: skip


FRESH = Fresh()
Memory: TypeAlias = Fresh | Scratch
