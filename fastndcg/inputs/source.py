"""Places of rows in their source, for error messages."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastndcg.errors import Place, Row
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
    remedy : tuple
        What to do about a document that occurs twice: parts of a message.
    lists : (n_lists + 1,) int array, optional
        Offsets, if each row of a frame is a list of documents.
    columns : tuple of str
        The columns of a frame.
    notes : tuple of str
        How rows were read where they could be read otherwise.
    """

    name: str
    unit: str = ""
    numbers: Array | None = None
    n_before: int = 0
    remedy: tuple[Any, ...] = ("Keep one of them",)
    lists: Array | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> Place:
        """Return the place of a row, as an error message names it."""
        return Place(self.name, self.unit, self.number(row))

    def number(self, row: int) -> int:
        """Return the number of a row or of its line."""
        return int(self.numbers[row]) if self.numbers is not None else row + self.n_before + (self.unit == "line")

    def pair(self, *documents: int) -> tuple[str, Row]:
        """Return the parts of a message that name two documents: by rows, or by places in the list of a row."""
        if self.lists is None:
            first, second = sorted(map(self.number, documents))
            return "", Row(first, second, self.unit or "row")
        row = find_list(documents[0], self.lists)
        first, second = sorted(place - int(self.lists[row]) for place in documents)
        return f"places {first} and {second} of ", Row(self.number(row))
