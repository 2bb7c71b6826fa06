"""JSON and JSON Lines files of judgments and runs: dicts by query, or records."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.files import LINE, File
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.records import Records, is_flat_record, is_record
from fastndcg.inputs.scored_frames import read_dict, read_table
from fastndcg.inputs.source import Source
from fastndcg.inputs.text_lines import describe_remedy

Kind = TypeVar("Kind", bound=Table)


class ParsedValues(NamedTuple):
    """The JSON values of a file, and the number of the line in which each begins."""

    values: list[Any]
    lines: list[int]


def read_json(
    file: File,
    kind: type[Kind],
    columns: Any,
    threads: int | None,
    *,
    are_lines: bool | None = None,
    may_have_scores: bool = False,
) -> Kind | Records:
    """
    Read {query: {document: value}}, {query: ids} or records: one value, or one on each line.

    With `may_have_scores`, records with scores are returned as they are. By default, several lines of which the first
    is a value by itself are JSON Lines.
    """
    content = file.read().removeprefix(codecs.BOM_UTF8)
    lines = _number_lines(content)
    parsed = ParsedValues([], [])
    if are_lines is None:
        first = next(lines, None)
        second = next(lines, None)
        are_lines = first is None or second is None or _is_json(first[1])
        lines = _number_lines(content)
    for number, line in lines if are_lines else ((1, content),):
        parsed.lines.append(number)
        parsed.values.append(_parse_value(line, file.name, number, kind.what))
    return _convert(kind, parsed, file.name, columns, threads, may_have_scores)


def _is_json(line: bytes) -> bool:
    """Return True if a line is valid JSON by itself."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _number_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, and its number. Blank lines take no step: 0.3 s for 100 MB of them."""
    number = 1
    end = 0
    for line in LINE.finditer(content):
        number += content.count(b"\n", end, line.start())
        end = line.end()
        yield number, line.group()


def _parse_value(content: bytes, name: str, line: int, what: str) -> Any:
    """Parse the value that begins in a line of a file."""
    try:
        return json.loads(content, object_pairs_hook=_refuse_repeated_keys)
    except json.JSONDecodeError as error:
        raise _make_json_error(name, line + error.lineno - 1, error.msg, what) from None
    except UnicodeDecodeError as error:
        raise _make_json_error(name, line + content.count(b"\n", 0, error.start), str(error), what) from None
    except RecursionError as error:
        raise _make_json_error(name, line, str(error), what) from None
    except _RepeatedKey as error:  # of which only the object's end is known
        raise InvalidInputError(f"{name}, line {line}: {error}. Keep one of them") from None
    except ValueError:
        problem = f"a whole number has more than {sys.get_int_max_str_digits()} digits"
        raise InvalidInputError(f"{name}, line {line}: must hold numbers, but {problem}. Write fewer") from None


def _make_json_error(name: str, line: int, problem: str, what: str) -> InvalidInputError:
    return InvalidInputError(f"{name}, line {line}: must be JSON, but is not: {problem}. ", *describe_remedy(what))


class _RepeatedKey(ValueError):
    """A key occurs twice in an object."""


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _RepeatedKey(f"an object must have each key once, but {shorten(twice)} stands twice")
    return parsed


def _convert(
    kind: type[Kind], parsed: ParsedValues, name: str, columns: Any, threads: int | None, may_have_scores: bool
) -> Kind | Records:
    """Convert the values of a file to a table: of records, or of objects by query."""
    values, lines = parsed
    first = values[0] if values else {}
    records = None
    if len(values) == 1 and isinstance(first, list) and first and _is_record(first[0]):
        records = Records(first, columns, Source(name, "record"), kind.value_name)
    elif _is_record(first) and (isinstance(first, list) or is_flat_record(first, columns)):
        records = Records(values, columns, Source(name, "line", np.asarray(lines)), kind.value_name)
    if records is not None:
        if may_have_scores and (records.has_scores or records.find_id_lists() is not None):
            return records
        records.list_names(*kind.roles)  # raises for each field that is named and absent
        return read_table(kind, records, threads, records.source)
    rows = _join_objects(values, lines, name, kind.what)
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


def _join_objects(values: list[Any], lines: Sequence[int], name: str, what: str) -> dict[str, Any]:
    """Join the objects of all lines. Raise for a query that two lines have."""
    rows: dict[str, Any] = {}
    for value, line in zip(values, lines, strict=True):
        if not isinstance(value, dict):
            problem = f"must be an object {{query: {{document: value}}}}, but is {shorten(value)}"
            raise InvalidTypeError(f"{name}, line {line}: {problem}. ", *describe_remedy(what))
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
