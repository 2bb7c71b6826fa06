"""Frames and files as dicts of dicts, for drop-ins that read them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fastndcg.errors import InvalidInputError, optional_import

Rows = dict[str, dict[str, Any]]

ENDINGS = {"txt": "trec", "parq": "parquet"}


class KindError(InvalidInputError, AssertionError):
    """What is read is not of the kind that it must be, or holds a document twice."""


def from_frame(frame: Any, columns: tuple[str, str, str], kind: Callable[[Any], Any]) -> Rows:
    """Rows of a frame: query, document, number."""
    for column in columns:
        if column not in frame.columns:
            raise KeyError(column)
    wanted = "iu" if kind is int else "f"
    if frame[columns[2]].dtype.kind not in wanted:
        raise KindError(f"DataFrame scores column dtype must be `{kind.__name__}`, but is {frame[columns[2]].dtype}")
    for column, what in zip(columns, ("Query", "Document"), strict=False):
        odd = next((one for one in frame[column].unique().tolist() if not isinstance(one, str)), None)
        if odd is not None:
            raise KindError(f"DataFrame {what} IDs column must hold strings, but {column!r} holds {odd!r}")
    rows: Rows = {}
    for query, document, number in zip(*(frame[column].tolist() for column in columns), strict=True):
        enter(rows.setdefault(query, {}), query, document, number)
    return rows


def read_parquet(path: Any, options: dict[str, Any]) -> Any:
    """A Parquet file as a pandas DataFrame."""
    return optional_import("pandas", "reading Parquet", "pandas").read_parquet(path, **options)


def to_frame(rows: Rows) -> Any:
    """As a pandas DataFrame with the columns q_id, doc_id and score."""
    pandas = optional_import("pandas", "a pandas frame", "pandas")
    flat = [(query, document, number) for query, row in rows.items() for document, number in row.items()]
    return pandas.DataFrame(flat, columns=["q_id", "doc_id", "score"])


def read_file(path: Any, kind: str | None, known: tuple[str, ...], number: Callable[[Any], Any]) -> tuple[Rows, str]:
    """A file's rows, and the name that a run's lines give the system; "" without one."""
    ending = os.path.splitext(os.fspath(path))[1][1:]
    kind = kind or ENDINGS.get(ending, ending)
    if kind not in known or kind == "parquet":
        files = ", ".join(repr(one) for one in known if one != "parquet")
        raise KindError(f"`kind` must be one of {files}, but is {kind!r} for {path}; from_parquet reads Parquet")
    content = Path(path).read_bytes()
    if kind == "gz":
        content = gzip.decompress(content)
    elif kind == "lz4":
        content = optional_import("lz4.frame", "reading LZ4", "lz4").decompress(content)
    if kind in ("json", "lz4"):
        return json.loads(content), ""
    return read_lines(content.decode().splitlines(), number)


def read_lines(lines: Iterable[str], number: Callable[[Any], Any]) -> tuple[Rows, str]:
    """Lines in TREC's format: of judgments for whole numbers, else of a run."""
    rows: Rows = {}
    name = ""
    for line in lines:
        if number is int:
            query, _, document, value = line.split()
        else:
            query, _, document, _, value, tag = line.split()
            name = name or tag
        enter(rows.setdefault(query, {}), query, document, number(value))
    return rows, name


def enter(row: dict[str, Any], query: str, document: str, value: Any) -> None:
    """Put a document into a query's row, once."""
    if document in row:
        raise KindError(f"a document must stand once in a query, but {document!r} of {query!r} is repeated")
    row[document] = value
