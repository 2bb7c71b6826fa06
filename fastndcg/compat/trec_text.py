"""
Frames and files as dicts of dicts, for the ranx and pytrec_eval drop-ins.

Lines of TREC text are parsed here and not by `fastndcg.inputs.text`, because the rules differ. The libraries take any
iterable of texts and split lines at Unicode white space. They take every number that `int` and `float` take, and raise
their own exceptions. The reader of `fastndcg.inputs.text` parses blocks of bytes, splits them at ASCII white space, and
returns columns in place of dicts.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.runtime.optional_packages import optional_import

Rows = dict[str, dict[str, Any]]


class KindError(InvalidInputError, AssertionError):
    """Input is of the wrong kind, or has a document twice."""


class StructureError(InvalidTypeError, AttributeError):
    """Input is no dict, or a line has the wrong fields."""


class FileError(InvalidInputError, OSError, EOFError, RuntimeError):
    """A compressed file is damaged."""


class FrameError(StructureError, AssertionError, KeyError):
    """Input is no data frame, or a column is missing."""

    __str__ = Exception.__str__  # KeyError's own puts the message in quotes


def read_frame(frame: Any, columns: tuple[str, str, str], kind: Callable[[Any], Any]) -> Rows:
    """
    Return the rows of a pandas DataFrame as a dict of dicts.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each document of each query.
    columns : tuple of str
        The names of the columns of queries, documents and numbers.
    kind : {int, float}
        The type of the numbers: int for labels, float for scores.
    """
    if not hasattr(frame, "columns"):
        raise FrameError(f"`df` must be a pandas DataFrame, not {type(frame).__name__}. Pass pandas.DataFrame(…).")
    for column in columns:
        if column not in frame.columns:
            names = ", ".join(map(repr, frame.columns))
            raise FrameError(f"`df` must have the column {shorten(column)}, but has {names}. Name the column to read.")
    _check_types(frame, columns, kind)
    rows: Rows = {}
    for query, document, number in zip(*(frame[column].tolist() for column in columns), strict=True):
        add_document(rows.setdefault(query, {}), query, document, number)
    return rows


def _check_types(frame: Any, columns: tuple[str, str, str], kind: Callable[[Any], Any]) -> None:
    numbers = frame[columns[2]]
    if numbers.dtype.kind not in ("iu" if kind is int else "f"):
        name = kind.__name__
        raise KindError(
            f"DataFrame scores column dtype must be `{name}`, but is {numbers.dtype}. Convert it by astype({name})."
        )
    for column, content in zip(columns, ("Query", "Document"), strict=False):
        wrong_id = next((value for value in frame[column].unique().tolist() if not isinstance(value, str)), None)
        if wrong_id is not None:
            raise KindError(
                f"DataFrame {content} IDs column must hold strings, but {shorten(column)} holds {shorten(wrong_id)}. "
                "Convert it by astype(str)."
            )


def read_parquet(path: Any, options: dict[str, Any]) -> Any:
    """Return a Parquet file as a pandas DataFrame."""
    return optional_import("pandas", "reading Parquet", "pandas").read_parquet(path, **options)


def make_frame(rows: Rows) -> Any:
    """Return a dict of dicts as a pandas DataFrame with the columns q_id, doc_id and score."""
    pandas = optional_import("pandas", "a pandas frame", "pandas")
    flat = [(query, document, number) for query, row in rows.items() for document, number in row.items()]
    return pandas.DataFrame(flat, columns=["q_id", "doc_id", "score"])


def read_file(path: Any, kind: str, number: Callable[[Any], Any]) -> tuple[Rows, str]:
    """
    Read a file of judgments or of a run.

    Parameters
    ----------
    path : str or path
        The file.
    kind : {'json', 'trec', 'gz'}
        The format. 'gz' is TREC's format, compressed.
    number : {int, float}
        The type of the numbers: int for labels, float for scores.

    Returns
    -------
    rows : dict of dict
        The labels or scores.
    name : str
        The name in the last column of a run, "" without one.
    """
    content = Path(path).read_bytes()
    if kind == "gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise FileError(f"{path} must be a complete gz file, but is not: {error}. Write it again.") from None
    if kind == "json":
        return parse_json(content, path), ""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise StructureError(f"{path} must be UTF-8 text, but is not: {error}. Convert the file.") from None
    return read_lines(text.splitlines(), number)


def parse_json(content: bytes, path: Any) -> Any:
    """Parse JSON, and raise StructureError with the path if the text is not valid."""
    try:
        return json.loads(content)
    except ValueError as error:
        raise StructureError(f"{path} must hold JSON, but does not: {error}. Correct the file.") from None


def read_lines(lines: Iterable[str], number: Callable[[Any], Any]) -> tuple[Rows, str]:
    """
    Parse lines of TREC text: judgments if `number` is int, a run if it is float.

    Returns
    -------
    rows : dict of dict
        The labels or scores.
    name : str
        The name in the last column of a run, "" without one.
    """
    rows: Rows = {}
    name = ""
    if not isinstance(lines, Iterable):
        raise StructureError(
            f"lines must come from a file or a list, not {type(lines).__name__}. Pass an open file or a list of lines."
        )
    for line_number, line in enumerate(lines, 1):
        try:
            if number is int:
                query, _, document, text = line.split()
            else:
                query, _, document, _, text, tag = line.split()
                name = name or tag
            value = number(text)
        except (AttributeError, ValueError):
            form = "query 0 document label" if number is int else "query Q0 document rank score name"
            raise StructureError(
                f"line {line_number} must be '{form}', but is {shorten(line)}. Correct or remove the line."
            ) from None
        add_document(rows.setdefault(query, {}), query, document, value)
    return rows, name


def add_document(row: dict[str, Any], query: str, document: str, value: Any) -> None:
    """Add a document to the row of its query. Raise KindError if the row already has it."""
    if document in row:
        raise KindError(
            f"a document must occur once in a query, but {shorten(document)} of {shorten(query)} is repeated. "
            "Remove one of the rows."
        )
    row[document] = value
