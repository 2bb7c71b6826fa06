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
from fastndcg.errors import FastndcgError
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


def _translate(message: str) -> str:
    """
    Return a message with arguments of `spark.evaluate` in place of those of `fn.evaluate`.

    >>> _translate("Give columns={'label': NAME}")
    'Give label=NAME'
    """
    return re.sub(r"columns=\{'(\w+)': NAME\}", r"\1=NAME", message)


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
