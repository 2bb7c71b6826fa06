"""Tables of statistics: named rows that print as text and HTML, and convert to frames and other texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from fastndcg.exports import Printable, PrintedTable

Row = TypeVar("Row", bound=tuple[Any, ...])


class Column(NamedTuple):
    """A printed column: its heading, the function from a row to the text of its cell, and its alignment."""

    heading: str
    cell: Callable[[Any], str]
    left: bool = False


class Table(Sequence[Row], Printable, Generic[Row]):
    """
    A sequence of named tuples with the columns and notes that are printed.

    Indexing and iteration return rows with all their fields, and so do frames, JSON and CSV. Printing, Markdown and
    LaTeX show the columns only.

    Examples
    --------
    >>> result = fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr")
    >>> frame = result.by(["long", "long", "short", "short"]).to_pandas()
    >>> frame["mean"].tolist()
    [0.75, 0.75]
    """

    _printed: tuple[Column, ...] = ()
    _cells: list[list[str]] | None = None  # of a copy

    def __init__(self, rows: Sequence[Row], columns: Sequence[Column], notes: Sequence[str] = ()) -> None:
        self.rows = tuple(rows)
        self._printed = tuple(columns)
        self.notes = tuple(notes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with printed cells in place of the functions that make them, which have no pickle."""
        columns = [column._replace(cell=str) for column in self._printed]
        return self.__dict__ | {"_printed": tuple(columns), "_cells": self.cells() if columns else None}

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Return one row, or the rows of a slice."""
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def cells(self) -> list[list[str]]:
        """
        Return the printed cells.

        Returns
        -------
        list of list of str
            First the headings, then one list per row.
        """
        return self._cells or [
            [column.heading for column in self._print_columns()],
            *([column.cell(row) for column in self._print_columns()] for row in self.rows),
        ]

    def _print_columns(self) -> Sequence[Column]:
        """Return the printed columns."""
        return self._printed

    def _export_columns(self) -> dict[str, list[Any]]:
        fields = getattr(type(self.rows[0]), "_fields", ()) if self.rows else ()
        return {name: [getattr(row, name) for row in self.rows] for name in fields}

    def _print_table(self) -> PrintedTable:
        return PrintedTable(self.cells(), [column.left for column in self._print_columns()], self.notes)


def format_number(value: float, signed: bool = False) -> str:
    """Return a number with four decimals, or 'n/a' for NaN."""
    if math.isnan(value):
        return "n/a"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def format_p_value(value: float) -> str:
    """
    Return a p-value with four decimals, in scientific notation below 0.00005, or 'n/a' for NaN.

    >>> format_p_value(0.0321), format_p_value(0.00004)
    ('0.0321', '4e-05')
    """
    if math.isnan(value):
        return "n/a"
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else f"{value:.0e}"


def format_interval(low: float, high: float, signed: bool = False, otherwise: str = "") -> str:
    """Return the two bounds of an interval. For NaN, return the text `otherwise`, or 'n/a' if it is empty."""
    if math.isnan(low):
        return otherwise or "n/a"
    return f"[{format_number(low, signed)}, {format_number(high, signed)}]"
