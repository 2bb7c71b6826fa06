"""`TableSource`: rows that are read table by table, so that they need not fit into memory."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from fastndcg.errors import InvalidInputError
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

DIGITS = 14  # of a number of bytes of 10 TB or more, which only damaged data request

Passes = Literal["any", "costly", "one"]


class TableSource(NamedTuple):
    """
    Rows that are read table by table.

    Attributes
    ----------
    names : tuple of str
        The names of all columns.
    read : callable
        A function of the names of the columns to read and of a number of rows. It returns an iterator of pyarrow
        tables, in the order of the rows. A table may have more rows than that number where the library cuts them.
    passes : {'any', 'costly', 'one'}
        How often `read` may be called: any number of times, as seldom as possible, or once.
    schema : pyarrow.Schema, optional
        The types of the columns. None if only tables have them.
    count_rows : callable, optional
        A function that returns the number of rows without reading them.
    is_streamed : bool
        False for rows that are in memory once they are read.
    """

    names: tuple[str, ...]
    read: Callable[[Sequence[str], int], Iterator[Any]]
    passes: Passes
    schema: Any = None
    count_rows: Callable[[], int] | None = None
    is_streamed: bool = True

    def make_empty_table(self, columns: Sequence[str]) -> Any:
        """Return some columns without rows: of their types, or of nulls where these are not known."""
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        if self.schema is None:
            return pyarrow.table({name: pyarrow.array([], pyarrow.null()) for name in dict.fromkeys(columns)})
        places = [place for place, name in enumerate(self.names) if name in columns]
        return pyarrow.schema([self.schema.field(place) for place in places]).empty_table()

    def read_whole(self, columns: Sequence[str], most: int) -> Any:
        """Read all rows of some columns into one table."""
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        tables = list(self.read(columns, most)) if columns else []
        filled_tables = [table for table in tables if table.num_rows]
        if filled_tables:
            return pyarrow.concat_tables(filled_tables)
        return tables[0] if tables else self.make_empty_table(columns)


def is_system_error(error: BaseException) -> bool:
    """Return True for an error of the system, such as too little memory, and False for one of the data."""
    if isinstance(error, MemoryError):
        return re.search(f"size [0-9]{{{DIGITS},}}", str(error)) is None
    return isinstance(error, OSError) and error.errno is not None


@contextlib.contextmanager
def convert_read_errors(name: str) -> Iterator[None]:
    """Replace pyarrow's errors for tables that cannot be read by InvalidInputError, and keep the system's errors."""
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    try:
        yield
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if is_system_error(error):
            raise
        reason = show_name(" ".join(str(error).split()).rstrip("."))
        raise InvalidInputError(f"`{name}` must hold whole Arrow data, but does not: {reason}. Write it anew") from None
