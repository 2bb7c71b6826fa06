"""A small table: rows with names, printed, in a notebook, as a frame."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from fastndcg.errors import optional_import

Row = TypeVar("Row", bound=tuple[Any, ...])


class Column(NamedTuple):
    """A column as people see it: its heading, and a row's cell."""

    heading: str
    cell: Callable[[Any], str]
    left: bool = False


class Table(Sequence[Row], Generic[Row]):
    """
    Rows, each a named tuple, with the way in which people see them.

    Indexing and iterating give the rows with all their fields; printing shows the columns that matter.
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[Column], notes: Sequence[str] = ()) -> None:
        self._rows = tuple(rows)
        self.columns = tuple(columns)
        self.notes = tuple(notes)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Give a row, or several."""
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def cells(self) -> list[list[str]]:
        """The headings, and below them each row's cells."""
        return [
            [column.heading for column in self.columns],
            *([column.cell(row) for column in self.columns] for row in self._rows),
        ]

    def to_pandas(self) -> Any:
        """Every field of every row as a pandas DataFrame."""
        pandas = optional_import("pandas", "a pandas frame", "pandas")
        fields = getattr(type(self._rows[0]), "_fields", None) if self._rows else None
        return pandas.DataFrame([tuple(row) for row in self._rows], columns=fields)

    def __str__(self) -> str:
        return "\n".join([*aligned(self.cells(), [column.left for column in self.columns]), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *body = self.cells()
        sides = ["left" if column.left else "right" for column in self.columns]
        cells = _html_row("th", head, sides)
        rows = "".join(_html_row("td", row, sides) for row in body)
        notes = "<br>".join(map(html.escape, self.notes))
        return (
            f"<table><thead>{cells}</thead><tbody>{rows}</tbody><tfoot><tr>"
            f"<td colspan='{len(head)}' style='text-align:left'>{notes}</td></tr></tfoot></table>"
        )


def _html_row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    marked = (
        f"<{tag} style='text-align:{side}'>{html.escape(cell)}</{tag}>" for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(marked)}</tr>"


def aligned(cells: Sequence[Sequence[str]], left: Sequence[bool]) -> Iterator[str]:
    """Lines of columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            cell.ljust(width) if flush else cell.rjust(width)
            for cell, width, flush in zip(row, widths, left, strict=True)
        )
        yield "  ".join(padded).rstrip()


def number(value: float, signed: bool = False) -> str:
    """Four decimals, or 'n/a'."""
    if math.isnan(value):
        return "n/a"
    return f"{value:+.4f}" if signed else f"{value:.4f}"


def p_value(value: float) -> str:
    """
    A p-value with as many digits as say something.

    >>> p_value(0.0321), p_value(0.00004)
    ('0.0321', '4e-05')
    """
    if math.isnan(value):
        return "n/a"
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else f"{value:.0e}"


def bounds(low: float, high: float, signed: bool = False, otherwise: str = "") -> str:
    """Both bounds of an interval; where there are none, what is said otherwise, or 'n/a'."""
    return (otherwise or "n/a") if math.isnan(low) else f"[{number(low, signed)}, {number(high, signed)}]"
