"""JSON and CSV files of judgments and runs."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.inputs.blocks import FilePath, name_of, unpacked
from fastndcg.inputs.frames import Frame, usual_names
from fastndcg.inputs.tables import Table

Kind = TypeVar("Kind", bound=Table)


def read_json(kind: type[Kind], path: FilePath, columns: Any, threads: int | None) -> Kind:
    """One object: {query: {document: value}}."""
    del columns, threads
    return _from_dict(kind, _object(unpacked(path), name_of(path)), path)


def read_json_lines(kind: type[Kind], path: FilePath, columns: Any, threads: int | None) -> Kind:
    """One object a line, each with queries of its own."""
    del columns, threads
    rows: dict[str, Any] = {}
    for number, line in enumerate(unpacked(path).split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{name_of(path)}, line {number}"
        for query, row in _object(line, place).items():
            if query in rows:
                raise InvalidInputError(f"{place}: a query must stand in one line, but query {query!r} came before")
            rows[query] = row
    return _from_dict(kind, rows, path)


def read_csv(kind: type[Kind], path: FilePath, columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """A header, and a row for each document; ids are texts, so that 007 stays what it is."""
    csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    pyarrow = optional_import("pyarrow", "reading CSV", "arrow")
    content = unpacked(path)
    try:
        names = csv.read_csv(io.BytesIO(content.partition(b"\n")[0] + b"\n")).column_names if content.strip() else []
        texts = {name: pyarrow.large_string() for role in ("query", "document") for name in usual_names(role, names)}
        texts |= {(columns or {}).get(role, ""): pyarrow.large_string() for role in ("query", "document")}
        options = csv.ConvertOptions(column_types=texts, strings_can_be_null=False, null_values=[""])
        table = csv.read_csv(io.BytesIO(content), convert_options=options)
    except (pyarrow.ArrowInvalid, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{name_of(path)} must be CSV with a header, but is not: {error}") from None
    return kind.of_frame(Frame(table, columns, name_of(path)), threads)


def is_json(line: bytes) -> bool:
    """Whether a line is JSON on its own."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _object(content: bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{place} must be JSON, but is not: {error}") from None
    if not isinstance(found, dict):
        raise InvalidTypeError(f"{place} must be an object {{query: {{document: value}}}}, but is {found!r:.80}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} stands twice in an object")
    return found


def _from_dict(kind: type[Kind], rows: dict[str, Any], path: FilePath) -> Kind:
    if not rows:
        raise InvalidInputError(f"{name_of(path)} must hold {{query: {{document: value}}}}, but is empty")
    try:
        return kind.from_dict(rows)
    except InvalidInputError as error:
        raise type(error)(f"{name_of(path)}: {error}") from None
