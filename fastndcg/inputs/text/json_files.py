"""JSON and JSON Lines files of judgments and runs: dicts by query, or records."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.records import Records, is_flat_record, is_record
from fastndcg.inputs.scored_frames import read_dict, read_table
from fastndcg.inputs.source import Source
from fastndcg.inputs.text.blocks import FilePath, describe_path, read_unpacked
from fastndcg.inputs.text.reader import REMEDY

Kind = TypeVar("Kind", bound=Table)

LONG_LINE = 1 << 16  # bytes: longer lines may be whole files, which would be parsed twice
LINE = re.compile(rb"\S[^\n]*")


class ParsedValues(NamedTuple):
    """The JSON values of a file, and the number of the line in which each begins."""

    values: list[Any]
    lines: Sequence[int]


def read_json(kind: type[Kind], path: FilePath, columns: Any, threads: int | None) -> Kind:
    """Read one object, {query: {document: value}} or {query: ids}, or one list of records."""
    return _read_values(kind, path, columns, threads, are_lines=False)


def read_json_lines(kind: type[Kind], path: FilePath, columns: Any, threads: int | None) -> Kind:
    """Read one object per line. Each query is in one line only, or each line is a record."""
    return _read_values(kind, path, columns, threads, are_lines=True)


def is_json(line: bytes) -> bool:
    """Return True if a line is valid JSON by itself. Of long lines only the brackets are counted."""
    if len(line) > LONG_LINE:
        is_balanced = line.count(b"{") == line.count(b"}") and line.count(b"[") == line.count(b"]")
        return is_balanced and line.rstrip().endswith((b"}", b"]"))
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _read_values(kind: type[Kind], path: FilePath, columns: Any, threads: int | None, *, are_lines: bool) -> Kind:
    content = read_unpacked(path)
    name = describe_path(path)
    if not are_lines:
        return _convert(kind, ParsedValues([_parse_value(content, name)], (1,)), path, columns, threads)
    numbers, values = [], []
    for number, line in _number_lines(content):
        numbers.append(number)
        values.append(_parse_value(line, name, number))
    return _convert(kind, ParsedValues(values, numbers), path, columns, threads)


def _number_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, and its number. Blank lines take no step: 0.3 s for 100 MB of them."""
    number = 1
    end = 0
    for line in LINE.finditer(content):
        number += content.count(b"\n", end, line.start())
        end = line.end()
        yield number, line.group()


def _parse_value(content: bytes, name: str, line: int = 1) -> Any:
    """Parse the value that begins in a line of a file."""
    try:
        return json.loads(content, object_pairs_hook=_refuse_repeated_keys)
    except json.JSONDecodeError as error:
        raise _make_json_error(name, line + error.lineno - 1, error.msg) from None
    except UnicodeDecodeError as error:
        raise _make_json_error(name, line + content.count(b"\n", 0, error.start), str(error)) from None
    except RecursionError as error:
        raise _make_json_error(name, line, str(error)) from None
    except _RepeatedKey as error:  # of which only the object's end is known
        raise InvalidInputError(f"{name}, line {line}: {error}. Keep one of them") from None
    except ValueError:
        problem = f"a whole number has more than {sys.get_int_max_str_digits()} digits"
        raise InvalidInputError(f"{name}, line {line}: must hold numbers, but {problem}. Write fewer") from None


def _make_json_error(name: str, line: int, problem: str) -> InvalidInputError:
    return InvalidInputError(f"{name}, line {line}: must be JSON, but is not: {problem}. {REMEDY}")


class _RepeatedKey(ValueError):
    """A key occurs twice in an object."""


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _RepeatedKey(f"an object must have each key once, but {shorten(twice)} stands twice")
    return parsed


def _convert(kind: type[Kind], parsed: ParsedValues, path: FilePath, columns: Any, threads: int | None) -> Kind:
    """Convert the values of a file to a table: of records, or of objects by query."""
    values, lines = parsed
    name = describe_path(path)
    first = values[0] if values else {}
    if len(values) == 1 and isinstance(first, list) and first and _is_record(first[0]):
        return _convert_records(kind, first, Source(name, "record"), columns, threads)
    if _is_record(first) and (isinstance(first, list) or is_flat_record(first, columns)):
        return _convert_records(kind, values, Source(name, "line", np.asarray(lines)), columns, threads)
    rows = _join_objects(values, lines, name)
    if not rows:
        raise InvalidInputError(f"{name} must hold {{query: {{document: value}}}} or records, but is empty")
    try:
        table = read_dict(kind, rows)
    except InvalidInputError as error:
        raise error.reword(before=f"{name}: ") from None
    return table.placed_in(Source(name))


def _is_record(value: Any) -> bool:
    """Return True for an object, and for a list of texts and numbers."""
    has_number = isinstance(value, dict) or (
        isinstance(value, list) and any(type(field) in (int, float) for field in value)
    )
    return has_number and is_record(value)


def _convert_records(kind: type[Kind], rows: list[Any], source: Source, columns: Any, threads: int | None) -> Kind:
    """Convert records to a table."""
    records = Records(rows, columns, source, kind.value_name)
    records.list_names(*kind.roles)  # raises for each field that is named and absent
    return read_table(kind, records, threads, records.source)


def _join_objects(values: list[Any], lines: Sequence[int], name: str) -> dict[str, Any]:
    """Join the objects of all lines. Raise for a query that two lines have."""
    rows: dict[str, Any] = {}
    for value, line in zip(values, lines, strict=True):
        if not isinstance(value, dict):
            raise InvalidTypeError(
                f"{name}, line {line}: must be an object {{query: {{document: value}}}}, but is {shorten(value)}. "
                f"{REMEDY}"
            )
        n_before = len(rows)
        rows.update(value)
        if len(rows) < n_before + len(value):
            earlier = {query for other in values[: list(lines).index(line)] for query in other}
            query = next(query for query in value if query in earlier)
            raise InvalidInputError(
                f"{name}, line {line}: a query must be in one line, but query {shorten(query)} came before. Bring its "
                "documents together"
            )
    return rows
