"""Rows that threads read block by block, in any order, put one behind the other in the order of the blocks."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from fastndcg.inputs.columns import Column, joined
from fastndcg.rankings import Array

SHEET = 1 << 26  # bytes of text whose rows share arrays, where it is not known how many there will be


class Documents(NamedTuple):
    """Ids of documents, one after the other, and values; `ends` (n_rows,) says where each id ends."""

    ids: Array
    ends: Array
    values: Array

    def copied(self) -> Documents:
        """The same in memory of their own."""
        return Documents(*(array.copy() for array in self))


class _Place(NamedTuple):
    """Rows, and where they go: behind ids of so many bytes."""

    rows: Documents
    room: Documents
    n_ids: int

    def fill(self) -> None:
        """Copy the rows."""
        self.room.ids[:] = self.rows.ids
        self.room.values[:] = self.rows.values
        np.add(self.rows.ends, self.n_ids, out=self.room.ends)


class _Sheet:
    """Arrays for the rows of as many bytes of text; what is not written to takes no memory, and large arrays less."""

    def __init__(self, n_bytes: int, least_fields: int) -> None:
        n_rows = most_rows(n_bytes, least_fields)
        self._ids, self._ends, self._values = np.empty(n_bytes, "u1"), np.empty(n_rows + 1, "i8"), np.empty(n_rows)
        self._ends[0] = 0
        self._n_ids = self._n_rows = 0
        self.n_free = n_bytes

    def reserve(self, n_text: int, rows: Documents) -> _Place:
        """A place for the rows of a text."""
        first_row, first_id = self._n_rows, self._n_ids
        self._n_rows += len(rows.values)
        self._n_ids += len(rows.ids)
        self.n_free -= n_text
        n_rows, n_ids = self._n_rows, self._n_ids
        room = Documents(
            self._ids[first_id:n_ids], self._ends[first_row + 1 : n_rows + 1], self._values[first_row:n_rows]
        )
        return _Place(rows, room, first_id)

    def rows(self) -> tuple[Column, Array]:
        """All rows."""
        return Column.of_bytes(self._ids[: self._n_ids], self._ends[: self._n_rows + 1]), self._values[: self._n_rows]


class Sheets:
    """
    The rows of all blocks: sheet after sheet, mostly one.

    Small arrays for each block, and one of all made of them in the end, take twice the memory and, as memory that is
    fresh costs more than filling it, four times as long.
    """

    def __init__(self, least_fields: int, n_bytes: int | None) -> None:
        self._least_fields = least_fields
        self._n_bytes = n_bytes
        self._sheets: list[_Sheet] = []
        self._waiting: dict[int, tuple[int, Documents]] = {}  # by block, until those before are there
        self._next = 0
        self._lock = threading.Lock()

    def add(self, block: int, n_text: int, rows: Documents) -> None:
        """Put the rows of a block, of so many bytes, in their place; they may be overwritten afterwards."""
        if block != self._next:  # only this block could make it so
            rows = rows.copied()
        places = []
        with self._lock:
            self._waiting[block] = n_text, rows
            while self._next in self._waiting:
                n_text, rows = self._waiting.pop(self._next)
                places.append(self._sheet_for(n_text).reserve(n_text, rows))
                self._next += 1
        for place in places:
            place.fill()

    def whole(self) -> tuple[Column, Array]:
        """All rows."""
        ids, values = zip(*(sheet.rows() for sheet in self._sheets), strict=True)
        return (ids[0], values[0]) if len(ids) == 1 else (joined(ids), np.concatenate(values))

    def _sheet_for(self, n_text: int) -> _Sheet:
        """The last sheet, or a new one where the text does not fit."""
        if not self._sheets or self._sheets[-1].n_free < n_text:
            expected = SHEET if self._sheets or self._n_bytes is None else self._n_bytes
            self._sheets.append(_Sheet(max(expected, n_text), self._least_fields))
        return self._sheets[-1]


def most_rows(n_bytes: int, least_fields: int) -> int:
    """How many lines of so many fields a text may have: a byte each, and one behind it, but for the last."""
    return (n_bytes + 1) // (2 * least_fields)
