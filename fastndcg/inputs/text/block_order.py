"""Put rows that threads read block by block back into the order of the blocks."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from fastndcg.inputs.id_column import IdColumn, concatenate_columns
from fastndcg.rankings.validation import Array

BUFFER_BYTES = 1 << 26  # bytes of text whose rows share a buffer if the size of the file is unknown


class Documents(NamedTuple):
    """Ids of documents, one after the other, and values. `ends` (n_rows,) says where each id ends."""

    ids: Array
    ends: Array
    values: Array

    def copy_arrays(self) -> Documents:
        """Return copies of the arrays."""
        return Documents(*(array.copy() for array in self))


class _Slot(NamedTuple):
    """Rows, and the part of a buffer that they go to, behind `n_ids` bytes of ids."""

    rows: Documents
    target: Documents
    n_ids: int

    def fill(self) -> None:
        """Copy the rows."""
        self.target.ids[:] = self.rows.ids
        self.target.values[:] = self.rows.values
        np.add(self.rows.ends, self.n_ids, out=self.target.ends)


class _RowBuffer:
    """Buffers for the rows of `n_bytes` of text. Pages that are not written to take no memory."""

    def __init__(self, n_bytes: int, least_fields: int) -> None:
        n_rows = most_rows(n_bytes, least_fields)
        self._ids = np.empty(n_bytes, "u1")
        self._ends = np.empty(n_rows + 1, "i8")
        self._values = np.empty(n_rows)
        self._ends[0] = 0
        self._n_ids = self._n_rows = 0
        self.n_free = n_bytes

    def reserve(self, n_text: int, rows: Documents) -> _Slot:
        """Reserve a slot for the rows of a text."""
        first_row = self._n_rows
        first_id = self._n_ids
        self._n_rows += len(rows.values)
        self._n_ids += len(rows.ids)
        self.n_free -= n_text
        n_rows = self._n_rows
        n_ids = self._n_ids
        target = Documents(
            self._ids[first_id:n_ids], self._ends[first_row + 1 : n_rows + 1], self._values[first_row:n_rows]
        )
        return _Slot(rows, target, first_id)

    def rows(self) -> tuple[IdColumn, Array]:
        """Return all rows."""
        return IdColumn.of_bytes(self._ids[: self._n_ids], self._ends[: self._n_rows + 1]), self._values[: self._n_rows]


class BlockOrder:
    """
    The rows of all blocks, in few large buffers, usually one.

    Concatenating small arrays of each block at the end would need 2× the memory and 4× the time.
    """

    def __init__(self, least_fields: int, n_bytes: int | None) -> None:
        self._least_fields = least_fields
        self._n_bytes = n_bytes
        self._buffers: list[_RowBuffer] = []
        self._waiting: dict[int, tuple[int, Documents]] = {}  # by block, until the blocks before it are added
        self._next = 0
        self._lock = threading.Lock()

    def add(self, block: int, n_text: int, rows: Documents) -> None:
        """Copy the rows of a block of `n_text` bytes to their place. The caller may overwrite them afterwards."""
        if block != self._next:  # if it is the next block now, no other thread changes that
            rows = rows.copy_arrays()
        places = []
        with self._lock:
            self._waiting[block] = n_text, rows
            while self._next in self._waiting:
                n_text, rows = self._waiting.pop(self._next)
                places.append(self._find_buffer(n_text).reserve(n_text, rows))
                self._next += 1
        for place in places:
            place.fill()

    def collect(self) -> tuple[IdColumn, Array]:
        """Return all rows."""
        ids, values = zip(*(buffer.rows() for buffer in self._buffers), strict=True)
        return (ids[0], values[0]) if len(ids) == 1 else (concatenate_columns(ids), np.concatenate(values))

    def _find_buffer(self, n_text: int) -> _RowBuffer:
        """Return the last buffer, or a new one if the text does not fit."""
        if not self._buffers or self._buffers[-1].n_free < n_text:
            expected = BUFFER_BYTES if self._buffers or self._n_bytes is None else self._n_bytes
            self._buffers.append(_RowBuffer(max(expected, n_text), self._least_fields))
        return self._buffers[-1]


def most_rows(n_bytes: int, least_fields: int) -> int:
    """Return the most lines that a text may have: each field takes a byte, and each except the last a separator."""
    return (n_bytes + 1) // (2 * least_fields)
