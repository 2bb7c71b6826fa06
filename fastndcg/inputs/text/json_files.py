"""
JSON and JSON Lines files of judgments and runs: dicts by query, or records.

orjson reads them where it is installed, several times as fast as the standard library. The standard library reads what
orjson refuses, so that values and errors are the same without orjson.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, shorten
from fastndcg.inputs.diversity_qrels import read_dict, read_table
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.records import Records, is_flat_record, is_record
from fastndcg.inputs.source import Source
from fastndcg.inputs.text.blocks import FilePath, describe_path, read_unpacked
from fastndcg.inputs.text.reader import REMEDY
from fastndcg.runtime.optional_packages import optional_import

Kind = TypeVar("Kind", bound=Table)

LONG_LINE = 1 << 16  # bytes: longer lines may be whole files, which would be parsed twice
FLAT = frozenset({str, int, float, bool, type(None)})


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
    """Read a file by orjson if it is installed and its values are exact, else by the standard library."""
    content = read_unpacked(path)
    with contextlib.suppress(ValueError):  # of orjson, or InvalidInputError, which the standard library raises, too
        parsed = _parse_quickly(content, are_lines)
        if parsed is not None:
            table = _convert(kind, parsed, path, columns, threads)
            if not _may_be_rounded(table.values):
                return table
    return _convert(kind, _parse_exactly(content, describe_path(path), are_lines), path, columns, threads)


def _parse_quickly(content: bytes, are_lines: bool) -> ParsedValues | None:
    """Parse a file by orjson. Return None without orjson, and where an object may have a key twice."""
    try:
        orjson = optional_import("orjson", "reading JSON quickly", "json")
    except MissingPackageError:
        return None
    if not are_lines:
        parsed = ParsedValues([orjson.loads(content)], (1,))
    else:
        try:
            values = list(map(orjson.loads, io.BytesIO(content)))
            parsed = ParsedValues(values, range(1, 1 + len(values)))
        except ValueError:  # maybe of a blank line
            numbered = [(number, line) for number, line in enumerate(io.BytesIO(content), 1) if line.strip()]
            parsed = ParsedValues([orjson.loads(line) for _, line in numbered], [number for number, _ in numbered])
    return None if _may_repeat_keys(content, parsed.values) else parsed


def _may_repeat_keys(content: bytes, values: list[Any]) -> bool:
    """
    Return False if no object has a key twice, of which orjson keeps the last.

    Each key stands before a colon, and a quotation mark or white space stands before the colon. So no key is lost if
    the number of keys of the objects equals the number of such colons, or of all colons.
    """
    objects = values[0] if len(values) == 1 and type(values[0]) is list else values
    n_keys = _count_own_keys(objects)
    n_colons = content.count(b":")
    if n_keys and n_keys < n_colons:  # objects by query
        n_keys += _count_own_keys(list(chain.from_iterable(map(dict.values, objects))))
    if n_keys == n_colons:
        return False
    data = np.frombuffer(content, "u1")
    before = data[np.flatnonzero(data == ord(":")) - 1]
    return _count_keys(values) != np.count_nonzero((before == ord('"')) | (before <= ord(" ")))


def _count_own_keys(values: list[Any]) -> int:
    """Return the number of keys of objects, without objects inside them, and 0 if a value is no object."""
    return sum(map(len, values)) if set(map(type, values)) == {dict} else 0


def _count_keys(values: Iterable[Any]) -> int:
    """Return the number of keys of all objects among values, at any depth."""
    n_keys = 0
    for value in values:
        if type(value) is dict:
            n_keys += len(value)
            if not FLAT.issuperset(map(type, value.values())):
                n_keys += _count_keys(value.values())
        elif type(value) is list and not FLAT.issuperset(map(type, value)):
            n_keys += _count_keys(value)
    return n_keys


def _may_be_rounded(values: Any) -> bool:
    """Return True if a number may have been a whole number beyond 64 bits, which orjson rounds."""
    return bool(values.dtype.kind == "f" and (np.abs(values) >= 2**63).any())


def _parse_exactly(content: bytes, name: str, are_lines: bool) -> ParsedValues:
    """Parse a file by the standard library. Raise for invalid JSON, and name its line."""
    if not are_lines:
        return ParsedValues([_parse_value(content, name)], (1,))
    numbered = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    return ParsedValues(
        [_parse_value(line, name, number) for number, line in numbered], [number for number, _ in numbered]
    )


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
        numbers = None if isinstance(lines, range) else np.asarray(lines)
        return _convert_records(kind, values, Source(name, "line", numbers), columns, threads)
    rows = _join_objects(values, lines, name)
    if not rows:
        raise InvalidInputError(f"{name} must hold {{query: {{document: value}}}} or records, but is empty")
    try:
        table = read_dict(kind, rows)
    except InvalidInputError as error:
        raise type(error)(f"{name}: {error}") from None
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
