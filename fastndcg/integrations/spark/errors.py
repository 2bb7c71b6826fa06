"""
Errors of the data: a task sends them to the driver as a row, as Spark would retry a task that fails.

The driver raises the error with the same class and message. Messages have neither arguments that only `fn.evaluate` has
nor numbers of rows, which count the rows of one task.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fastndcg import errors
from fastndcg.errors import Column, FastndcgError, Place, Row, shorten
from fastndcg.runtime.optional_packages import optional_import

SCHEMA = "part binary, largest binary, error string, message string"


class Part(NamedTuple):
    """A row of a task: sums and largest values as bytes, or the name of an error and its message."""

    part: bytes | None = None
    largest: bytes | None = None
    error: str | None = None
    message: str | None = None


def send_parts(make_parts: Callable[[], Iterator[Part]]) -> Iterator[Any]:
    """Yield the parts of a task as Arrow batches, or the error that making them raised."""
    try:
        for part in make_parts():
            yield _make_batch(part)
    except FastndcgError as error:
        yield _make_batch(Part(error=type(error).__name__, message=str(error.reword(say))))


@contextlib.contextmanager
def name_arguments() -> Iterator[None]:
    """Let the remedies of errors name arguments of `spark.evaluate`."""
    try:
        yield
    except FastndcgError as error:
        raise error.reword(say) from None


@contextlib.contextmanager
def name_system(name: str | None) -> Iterator[None]:
    """Let errors begin with the name of a system, unless it is None."""
    try:
        yield
    except FastndcgError as error:
        if name is None:
            raise
        raise error.reword(before=f"system {shorten(name)}: ") from None


@contextlib.contextmanager
def name_rows(queries: Any) -> Iterator[None]:
    """Let errors name the query of a row in place of its number among the rows of a task."""
    try:
        yield
    except FastndcgError as error:
        raise error.reword(lambda part: say(part, queries)) from None


def say(part: Any, queries: Any = None) -> Any:
    """
    Return a part of a message in the words of Spark. `queries` are those of the rows, None if rows are documents.

    >>> print(say(Column("label")), say(Place("the run", "row", 5)), say(Row(0, 20)), sep=", ")
    label=NAME, the run, two rows
    """
    match part:
        case Column(role):
            return f"{role}=NAME"
        case Place(name):
            return name
        case Row(number, None) if queries is not None:
            return f"the row of query {shorten(queries[number].as_py())}"
        case Row(_, other):
            return "a row" if other is None else "two rows"
    return part


def raise_errors(rows: Sequence[Any]) -> None:
    """Raise the error among the rows of all tasks. Of several errors, the first in the order of texts is raised."""
    errors_by_text = sorted((row["error"], row["message"]) for row in rows if row["error"] is not None)
    if errors_by_text:
        name, message = errors_by_text[0]
        raise getattr(errors, name, FastndcgError)(message)


def _make_batch(part: Part) -> Any:
    pyarrow = optional_import("pyarrow", "Spark", "spark")
    kinds = [pyarrow.binary(), pyarrow.binary(), pyarrow.string(), pyarrow.string()]
    arrays = [pyarrow.array([value], kind) for value, kind in zip(part, kinds, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(Part._fields))
