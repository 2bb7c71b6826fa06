"""Places of rows in their source, for error messages."""

from __future__ import annotations

from typing import NamedTuple

from fastndcg.inputs.ragged import find_list
from fastndcg.rankings.validation import Array


class Source(NamedTuple):
    """
    The source of rows: a file with lines, a frame with rows, or only a name.

    Attributes
    ----------
    name : str
    unit : {'', 'line', 'row'}
        What `number` counts: lines from 1, rows from 0. Empty if errors name the source only.
    numbers : (n_rows,) int array, optional
        The number of each row.
    n_before : int
        How many lines or rows come before the first row.
    remedy : str
        What to do about a document that occurs twice.
    lists : (n_lists + 1,) int array, optional
        Offsets, if each row of a frame is a list of documents.
    columns : tuple of str
        The columns of a frame.
    """

    name: str
    unit: str = ""
    numbers: Array | None = None
    n_before: int = 0
    remedy: str = "Keep one of them"
    lists: Array | None = None
    columns: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Return the place of a row, as an error message names it."""
        return f"{self.name}, {self.unit} {self.number(row)}" if self.unit else self.name

    def number(self, row: int) -> int:
        """Return the number of a row or of its line."""
        return int(self.numbers[row]) if self.numbers is not None else row + self.n_before + (self.unit == "line")

    def pair(self, *documents: int) -> str:
        """Return the places of two documents: rows, or places in the list of a row."""
        if self.lists is None:
            first, second = sorted(map(self.number, documents))
            return f"{self.unit or 'row'}s {first} and {second}"
        row = find_list(documents[0], self.lists)
        first, second = sorted(place - int(self.lists[row]) for place in documents)
        return f"places {first} and {second} of row {self.number(row)}"
