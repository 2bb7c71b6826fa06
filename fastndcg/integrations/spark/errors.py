"""
Errors of the data: a task sends them to the driver as a row, as Spark would retry a task that fails.

The driver raises the error with the same class and message.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fastndcg import errors
from fastndcg.errors import FastndcgError, shorten
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
        yield _make_batch(Part(error=type(error).__name__, message=str(error)))


@contextlib.contextmanager
def name_arguments() -> Iterator[None]:
    """Let the remedies of errors name arguments of `spark.evaluate`."""
    try:
        yield
    except FastndcgError as error:
        raise type(error)(_translate(str(error))) from None


@contextlib.contextmanager
def name_system(name: str | None) -> Iterator[None]:
    """Let errors begin with the name of a system, unless it is None."""
    try:
        yield
    except FastndcgError as error:
        if name is None:
            raise
        raise type(error)(f"system {shorten(name)}: {error}") from None


@contextlib.contextmanager
def name_rows(queries: Any) -> Iterator[None]:
    """Let errors name the query of a row in place of its number among the rows of a task."""
    try:
        yield
    except FastndcgError as error:
        message = str(error)
        if queries is not None:
            message = re.sub(r"\brow (\d+)", lambda row: _name_row(queries, int(row[1])), message)
        raise type(error)(message) from None


def _name_row(queries: Any, row: int) -> str:
    return f"the row of query {shorten(queries[row].as_py())}"


def _translate(message: str) -> str:
    """
    Return a message with arguments of `spark.evaluate` in place of those of `fn.evaluate`.

    Numbers of rows are left out, as they count the rows of one task.

    >>> _translate("Give columns={'label': NAME}"), _translate("document 3 is in rows 0 and 20")
    ('Give label=NAME', 'document 3 is in two rows')
    """
    message = re.sub(r"columns=\{'(\w+)': NAME\}", r"\1=NAME", message)
    message = re.sub(r"(the run|the qrels), row \d+:", r"\1:", message)
    return re.sub(r"\brows \d+ and \d+", "two rows", message)


def raise_errors(rows: Sequence[Any]) -> None:
    """Raise the error among the rows of all tasks. Of several errors, the first in the order of texts is raised."""
    errors_by_text = sorted((row["error"], row["message"]) for row in rows if row["error"] is not None)
    if errors_by_text:
        name, message = errors_by_text[0]
        raise getattr(errors, name, FastndcgError)(_translate(message))


def _make_batch(part: Part) -> Any:
    pyarrow = optional_import("pyarrow", "Spark", "spark")
    kinds = [pyarrow.binary(), pyarrow.binary(), pyarrow.string(), pyarrow.string()]
    arrays = [pyarrow.array([value], kind) for value, kind in zip(part, kinds, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(Part._fields))
