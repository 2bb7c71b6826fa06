"""
Dicts of dicts into arrays, by machine code.

It reads rows that are exactly dicts, of exactly Python's texts and numbers; all else is left to Python code.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.columns import Column
from fastndcg.rankings import Array, read_only

HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()  # without it, a dict may change while it is read
NO_KIND = -1  # that no object has: all rows are then read by Python
KINDS = read_only(
    np.array([id(kind) if HAS_LOCK else NO_KIND for kind in (dict, str, float, np.float64, int, bool)], "i8")
)
N_SMALL = 256  # of the whole numbers that Python makes once, those that bytes hold
BYTES = 32  # of an id, or less, mostly; memory that is not written to costs nothing

Row = Mapping[Any, Any]


def _small_numbers() -> Array:
    """Where Python's small whole numbers are, for kernels: they lie side by side, or kernels know of none."""
    places = list(map(id, range(N_SMALL)))
    step = places[1] - places[0]
    bits = step.bit_length() - 1
    are_known = HAS_LOCK and step == 1 << max(bits, 0) and places == list(range(places[0], places[-1] + 1, step))
    return read_only(np.array([places[0], bits] if are_known else [NO_KIND, 0], "i8"))


SMALL_NUMBERS = _small_numbers()


class Numbers(NamedTuple):
    """The values of rows as float64, which holds all of them exactly, and what is known of them."""

    floats: Array
    lowest: float
    highest: float
    are_whole: bool

    def values(self) -> Array:
        """The values as NumPy would read them: whole numbers if all are."""
        return self.floats.astype("i8") if self.are_whole else self.floats


def addresses(rows: Collection[Row]) -> Array:
    """Where dicts are, for kernels; they must stay there meanwhile."""
    return read_only(np.fromiter(map(id, rows), "i8", len(rows)))


def offsets_of(rows: Collection[Row]) -> Array:
    """Where the items of each dict begin and end, one behind the other."""
    return read_only(np.concatenate([[0], np.cumsum(np.fromiter(map(len, rows), "i8", len(rows)))]))


def read_items(rows: Collection[Row], offsets: Array) -> tuple[Numbers, Column] | None:
    """The values of such dicts, and their keys; None where Python has to read them."""
    ends = np.empty(int(offsets[-1]), "i8")
    data = np.empty(BYTES * len(ends), "u1")
    while True:  # twice at the most, unless texts grow meanwhile
        numbers, n_bytes = _read(rows, offsets, ends, data)
        if numbers is None:
            return None
        if n_bytes <= len(data):
            return numbers, Column.of_bytes(data[:n_bytes], np.concatenate([[0], ends]))
        data = np.empty(n_bytes, "u1")


def _read(rows: Collection[Row], offsets: Array, ends: Array, data: Array) -> tuple[Numbers | None, int]:
    from fastndcg.kernels import dicts as kernels

    values, about = np.empty(int(offsets[-1])), np.empty(4)
    n_bytes = kernels.read_items(addresses(rows), KINDS, SMALL_NUMBERS, offsets, values, ends, data, about)
    lowest, highest, n_fractions, n_open = about.tolist()
    return None if n_open else Numbers(values, lowest, highest, not n_fractions), n_bytes
