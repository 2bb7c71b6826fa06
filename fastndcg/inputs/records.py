"""JSON and CSV files of judgments and runs."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.inputs.blocks import FilePath, name_of, unpacked
from fastndcg.inputs.diversity import table_of
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.lines import REMEDY
from fastndcg.inputs.tables import Source, Table

Kind = TypeVar("Kind", bound=Table)

DECIMAL = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE)


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
        for query, row in _object(line, name_of(path), number).items():
            if query in rows:
                raise InvalidInputError(
                    f"{name_of(path)}, line {number}: a query must stand in one line, but query {query!r} came before; "
                    "bring its documents together"
                )
            rows[query] = row
    return _from_dict(kind, rows, path)


def read_csv(kind: type[Kind], path: FilePath, columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """A header, and a row for each document; ids are texts, so that 007 stays what it is."""
    arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    pyarrow = optional_import("pyarrow", "reading CSV", "arrow")
    content, name = unpacked(path), name_of(path)
    try:
        header = arrow_csv.read_csv(io.BytesIO(content.partition(b"\n")[0] + b"\n"))
        names = header.column_names
        first = Frame(header.slice(0, 0), columns, f"{name}, line 1")
        first.names_of(*kind.roles)  # so that what is missing is said of the first line
        ids = [role for role in kind.roles if role != kind.value_name]
        texts = {name: pyarrow.large_string() for role in ids for name in first.candidates(role)}
        options = arrow_csv.ConvertOptions(column_types=texts, strings_can_be_null=True, null_values=[""])
        table = arrow_csv.read_csv(io.BytesIO(content), convert_options=options)
        if not table.num_rows:
            raise InvalidInputError(f"{name} must hold rows of {', '.join(names)}, but has a header only")
        for column in first.names_of(kind.value_name):
            _refuse_texts(table, column, content, name)
    except (pyarrow.ArrowInvalid, UnicodeDecodeError) as error:
        place, problem = _row_of(content, error)
        raise InvalidInputError(f"{name}{place}: must be CSV with a header, but is not: {problem}; {REMEDY}") from None
    return table_of(kind, Frame(table, columns, name), threads, _source(table, content, name))


def _source(table: Any, content: bytes, name: str) -> Source:
    """Where rows come from: the lines below the header, unless some are blank, or a field goes over lines."""
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    names = tuple(table.column_names)
    is_plain = n_lines == table.num_rows + 1
    return Source(name, "line", n_before=1, columns=names) if is_plain else Source(name, "row", columns=names)


def _refuse_texts(table: Any, column: str, content: bytes, name: str) -> None:
    """Refuse a value that is no decimal number, among them 0x10, which Arrow takes for one."""
    pyarrow = optional_import("pyarrow", "reading CSV", "arrow")
    arrow_csv, types = optional_import("pyarrow.csv", "reading CSV", "arrow"), pyarrow.types
    kind = table.schema.field(column).type
    if types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind):
        return
    if types.is_integer(kind) and not re.search(rb"0[xX]", content):
        return
    options = arrow_csv.ConvertOptions(column_types={column: pyarrow.large_string()}, include_columns=[column])
    values = arrow_csv.read_csv(io.BytesIO(content), convert_options=options)[column].to_pylist()
    for row, value in enumerate(values):
        if value and not DECIMAL.fullmatch(value):
            raise InvalidInputError(
                f"{name}, line {_line_of(content, row)}: {column!r} must be a decimal number, but is {value!r}; write "
                "it as one"
            )


def _line_of(content: bytes, row: int) -> int:
    """The line of a text on which a row ends, its first being 1; blank lines are no rows, and the header is row -1."""
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline=""))
    next(itertools.islice(filter(None, rows), row + 1, None))
    return rows.line_num


def _row_of(content: bytes, error: Exception) -> tuple[str, str]:
    """The place of what is wrong with CSV, which a reader on one thread knows, and what that is."""
    arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    try:
        arrow_csv.read_csv(io.BytesIO(content), read_options=arrow_csv.ReadOptions(use_threads=False))
    except ValueError as again:
        found = re.search(r"Row #(\d+): (.*)", str(again), re.DOTALL)
        if found is not None:
            return f", row {int(found[1]) - 2}", found[2]  # rows of data are counted from 0, as in frames
    return ", line 1", str(error)


def is_json(line: bytes) -> bool:
    """Whether a line is JSON on its own."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _object(content: bytes, name: str, line: int = 1) -> dict[str, Any]:
    """The object that begins in a line of a file."""
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _no_json(name, line + error.lineno - 1, error.msg) from None
    except UnicodeDecodeError as error:
        raise _no_json(name, line + content.count(b"\n", 0, error.start), str(error)) from None
    except RecursionError as error:
        raise _no_json(name, line, str(error)) from None
    except ValueError as error:  # of what stands twice, only the object's end is known
        raise InvalidInputError(f"{name}, line {line}: {error}; keep one of them") from None
    if not isinstance(found, dict):
        raise InvalidTypeError(
            f"{name}, line {line}: must be an object {{query: {{document: value}}}}, but is {found!r:.80}; {REMEDY}"
        )
    return found


def _no_json(name: str, line: int, problem: str) -> InvalidInputError:
    return InvalidInputError(f"{name}, line {line}: must be JSON, but is not: {problem}; {REMEDY}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object must have each key once, but {twice!r} stands twice")
    return found


def _from_dict(kind: type[Kind], rows: dict[str, Any], path: FilePath) -> Kind:
    if not rows:
        raise InvalidInputError(f"{name_of(path)} must hold {{query: {{document: value}}}}, but is empty")
    try:
        table = kind.from_dict(rows)
    except InvalidInputError as error:
        raise type(error)(f"{name_of(path)}: {error}") from None
    table.source = Source(name_of(path))
    return table
