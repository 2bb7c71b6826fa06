"""
Records: a list or an iterator of rows, each a dict, a named tuple, or a tuple (query, document, label or score).

Fields of dicts and named tuples have the usual names of columns, or those that the user gives in `columns`.
"""

from __future__ import annotations

import codecs
import importlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.arrays import find_list
from fastndcg.inputs.diversity import read_dict
from fastndcg.inputs.files import LINE, File
from fastndcg.inputs.frames import ColumnNames, Frame, find_roles, find_usual_roles
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Options, Source, are_means
from fastndcg.inputs.streams import read_frame
from fastndcg.inputs.table import Table
from fastndcg.inputs.text_lines import describe_remedy
from fastndcg.rankings.validation import Array
from fastndcg.runtime import upper_floors

NUMBERS = (int, float, np.integer, np.floating, np.bool_)
LISTS = (list, tuple, Set, np.ndarray)
PLAIN_FIELDS = ("query", "document")  # of tuples, before the label or the score


def is_records(value: Any) -> bool:
    """Return True for an iterator, and for a list or tuple that begins with a record."""
    if isinstance(value, list | tuple):
        return bool(value) and is_record(value[0])
    return is_iterator(value)


def is_record(value: Any) -> bool:
    """Return True for a dict, a named tuple, or a list or tuple of two fields or more with a text."""
    if not isinstance(value, list | tuple):
        return isinstance(value, Mapping)
    if hasattr(value, "_fields"):
        return True
    if len(value) < 2:
        return False
    for field in value:  # noqa: SIM110 - twice as fast as a generator where the value is a list of labels
        if isinstance(field, str):
            return True
    return False


def is_flat_record(value: Mapping[str, Any], given: ColumnNames) -> bool:
    """Return True for a dict with fields of usual names, or without inner dicts and lists. Others are by query."""
    if value and not any(isinstance(field, Mapping | list) for field in value.values()):
        return True
    names = list(value)
    has_ids = all(
        any(isinstance(value.get(name), str | int) for name in given.find(role, names)) for role in PLAIN_FIELDS
    )
    usual = find_usual_roles(names)
    return has_ids or (len(set(usual.values())) > 1 and not any(isinstance(value[name], Mapping) for name in usual))


def is_iterator(value: Any) -> bool:
    """Return True for a value whose items can be taken one by one, and only so."""
    if hasattr(value, "__next__"):
        return True
    has_items = any(hasattr(value, name) for name in ("__len__", "__array__", "__arrow_c_stream__", "__dlpack__"))
    return hasattr(value, "__iter__") and not has_items and not isinstance(value, str | bytes | os.PathLike)


def read_once(value: Any) -> Any:
    """Return the items of an iterator as a list, and other values as they are."""
    return list(value) if is_iterator(value) else value


def read_records(value: Any, columns: ColumnNames, name: str, value_role: str) -> Records:
    """Read the rows of a list or iterator. `value_role` is that of the third field of plain tuples, label or score."""
    if hasattr(value, "read") and hasattr(value, "name"):
        raise InvalidTypeError(f"`{name}` must not be an open file. Give its path: {shorten(value.name)}")
    rows = list(value)
    if not rows:
        raise InvalidInputError(
            f"`{name}` must have records, but is a {type(value).__name__} without any. An iterator gives its records "
            "once: make a new one for each call"
        )
    if not is_record(rows[0]):
        raise InvalidTypeError(
            f"`{name}` must be an iterator of records, but its first item is {shorten(rows[0])}. Give dicts, named "
            f"tuples or (query, document, {value_role}), or a list of other values: list(…)"
        )
    return Records(rows, columns, Source(f"`{name}`", "row"), value_role)


def _is_list(value: Any) -> bool:
    """Return True for a list of values. An array without a dimension is a number."""
    return isinstance(value, LISTS) and getattr(value, "ndim", 1) > 0


class Records(Frame):
    """The fields of records by role, as a frame has columns. Ids keep their types: texts or whole numbers."""

    def __init__(self, rows: list[Any], given: ColumnNames, source: Source, value_role: str) -> None:
        self.name = source.name.strip("`") + ", line 1" * (source.unit == "line")  # of the names of all fields
        self.first_row = 0
        self._rows = rows
        self._n_rows = len(rows)
        self.given = given
        self.source = source
        self._fields = self._list_fields(value_role)
        self._names = list(self._fields)
        self.candidates = find_roles(self.given, tuple(self._names))
        self.source = source._replace(columns=tuple(self._names))

    def _kind(self, name: str) -> str:
        first = self._get(name, self._rows[:1])[0]
        return "list" if _is_list(first) else type(first).__name__

    def _holds_texts(self, name: str) -> bool:
        return any(isinstance(value, str) for values in self._get(name) for value in values)

    @property
    def has_groups(self) -> bool:
        """True if a list of documents holds a list."""
        return any(map(_is_list, chain.from_iterable(filter(_is_list, self.read_groups()))))

    def read_groups(self) -> list[Any]:
        """Read the groups of ids of each record."""
        return self._column("document")[1]

    def _column(self, role: str) -> tuple[str, list[Any]]:
        name = self.column_name(role)
        return name, self._get(name)

    def _get(self, name: str, rows: list[Any] | None = None) -> list[Any]:
        """Return the values of a field in all records, or in some."""
        field = self._fields[name]
        try:
            return list(map(itemgetter(field), self._rows if rows is None else rows))
        except (LookupError, TypeError):
            for row, record in enumerate(self._rows):
                if isinstance(field, int) or field not in record:
                    self._refuse_record(row, f"have the field {name!r}, as others have", record)
            raise

    def _flatten(self, name: str, rows: list[Any]) -> tuple[list[Any], Array]:
        for row, values in enumerate(rows):
            has_no_order = isinstance(values, Set) and self.given.side != "truth"
            if has_no_order or not _is_list(values):
                self._refuse_value(row, name, "be a list in each record", values)
        return list(chain.from_iterable(rows)), np.cumsum([0, *map(len, rows)])

    def _to_ids(self, name: str, values: list[Any], offsets: Array | None = None) -> IdColumn:
        if offsets is not None:
            if all(isinstance(value, float) and value.is_integer() for value in values):
                values = list(map(int, values))
            return IdColumn.of(values, f"lists in field {name!r} of {self.source.name}")
        are_texts = isinstance(values[0], str)
        rule = "be a text in each record, or a whole number in each"
        self._check_kinds(name, values, (str,) if are_texts else (int, np.integer), rule)
        return IdColumn.of_texts(values) if are_texts else IdColumn.of(values, f"field {name!r} of {self.source.name}")

    def _to_numbers(self, name: str, values: list[Any], offsets: Array | None = None) -> Array:
        self._check_kinds(name, values, (*NUMBERS, bool), "be a number", offsets)
        try:
            numbers: Array = np.array(values)
        except OverflowError:
            numbers = np.array(values, object)
        if numbers.dtype == object:
            row = next(row for row, value in enumerate(values) if not -(2**63) <= value < 2**63)
            self._refuse_value(row, name, "fit int64 or float64", values[row], offsets)
        return numbers

    def _check_kinds(
        self, name: str, values: list[Any], known: tuple[type, ...], rule: str, offsets: Array | None = None
    ) -> None:
        """Raise for the first value of another type than the known ones. No whole number is a bool."""
        kinds = set(map(type, values))
        wrong = {kind for kind in kinds if not issubclass(kind, known) or (kind is bool and bool not in known)}
        if wrong:
            row = next(row for row, value in enumerate(values) if type(value) in wrong)
            self._refuse_value(row, name, rule, values[row], offsets)

    def _list_fields(self, value_role: str) -> dict[str, Any]:
        """Return the key or index of each field of the records, by name."""
        rows = self._rows
        first = rows[0]
        kinds = set(map(type, rows))
        if all(issubclass(kind, Mapping) for kind in kinds):
            sizes = set(map(len, rows))
            keys = first if len(sizes) == 1 else dict.fromkeys(key for record in rows for key in record)
            return {name: name for name in keys if isinstance(name, str)}
        if len(kinds) > 1:
            row = next(row for row, record in enumerate(rows) if type(record) is not type(first))
            self._refuse_record(row, f"be a {type(first).__name__}, as the first is", rows[row])
        names = getattr(first, "_fields", None) or (*PLAIN_FIELDS, value_role)[: len(first)]
        if set(map(len, rows)) != {len(names)}:
            row = next(row for row, record in enumerate(rows) if len(record) != len(names))
            self._refuse_record(row, f"be (query, document, {value_role})", rows[row])
        return {name: place for place, name in enumerate(names)}

    def _refuse_value(self, place: int, name: str, rule: str, value: Any, offsets: Array | None = None) -> NoReturn:
        """Raise for the value of a record, or with offsets for the value at a place in all lists."""
        row = place if offsets is None else find_list(place, offsets)
        raise InvalidTypeError(
            f"{self.source.place(row)}: {name} must {rule}, but is {shorten(value)}. Correct it, or leave the "
            "record out"
        )

    def _refuse_record(self, row: int, rule: str, record: Any) -> NoReturn:
        raise InvalidInputError(f"{self.source.place(row)}: a record must {rule}, but is {shorten(record)}. Correct it")


Kind = TypeVar("Kind", bound=Table)


LEAST_LINES = 1 << 20  # bytes that are worth pyarrow's import
BLOCK_BYTES = 1 << 24  # which a line may have


class ParsedValues(NamedTuple):
    """The JSON values of a file, and the number of the line in which each begins."""

    values: list[Any]
    lines: list[int]


def read_json(file: File, kind: type[Table], options: Options, *, are_lines: bool | None = None) -> Any:
    """Read {query: {document: value}}, {query: ids} or records: one value, or one on each line."""
    content = file.read()
    table = (
        None
        if are_lines is False or len(content) < LEAST_LINES
        else _read_flat_lines(content, kind, options, file.name)
    )
    if table is not None:
        return table
    return _convert(kind, options, parse_json(content, file.name, describe_remedy(kind.what), are_lines), file.name)


def _read_flat_lines(content: bytes, kind: type[Table], options: Options, name: str) -> Any:
    """
    Read lines of objects with texts and numbers by pyarrow, in a tenth of the time of Python's parser.

    Return None for lines of other values or with an error, which that parser names.
    """
    columns = options.name_columns(kind.side)
    try:
        first = json.loads(content[: content.find(b"\n")])
        is_flat = isinstance(first, dict) and all(type(value) in (str, int, float) for value in first.values())
        if not is_flat or not is_flat_record(first, columns) or are_means(first):
            return None
        json_reader = importlib.import_module("pyarrow.json")
        table = json_reader.read_json(io.BytesIO(content), json_reader.ReadOptions(block_size=BLOCK_BYTES))
    except (ValueError, RecursionError, ImportError):  # pyarrow's errors are ValueErrors
        return None
    kinds = {column.name: str(column.type) for column in table.schema}
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    has_blanks = table.num_rows != n_lines or any(column.null_count for column in table.columns)
    if has_blanks or not set(kinds.values()) <= {"string", "int64", "double"}:  # it takes texts of dates for dates
        return None
    try:
        frame = Frame(table, columns, name)
        if any(kinds[frame.column_name(role)] == "double" for role in ("query", "document")):
            return None
        if not (options.takes_scores(kind.side) and frame.has_scores):
            frame.list_names(*kind.roles)  # raises for each field that is named and absent
        return read_frame(frame, kind, options, Source(name, "line", np.arange(1, n_lines + 1), columns=tuple(kinds)))
    except FastndcgError:
        return None


def parse_json(content: bytes, name: str, remedy: tuple[Any, ...], are_lines: bool | None = None) -> ParsedValues:
    """
    Parse one value, or one on each line. `remedy` says what to do about a file that is no JSON.

    By default, several lines of which the first is a value by itself are JSON Lines.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    lines = _number_lines(content)
    parsed = ParsedValues([], [])
    if are_lines is None:
        first = next(lines, None)
        second = next(lines, None)
        are_lines = first is None or second is None or _is_json(first[1])
        lines = _number_lines(content)
    for number, line in lines if are_lines else ((1, content),):
        parsed.lines.append(number)
        parsed.values.append(_parse_value(line, name, number, remedy))
    return parsed


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


def _parse_value(content: bytes, name: str, line: int, remedy: tuple[Any, ...]) -> Any:
    """Parse the value that begins in a line of a file."""
    try:
        return DECODER.decode(content.decode(json.detect_encoding(content), "surrogatepass"))
    except json.JSONDecodeError as error:
        line += error.lineno - 1
        problem = error.msg
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        problem = str(error)
    except RecursionError as error:
        problem = str(error)
    except InvalidInputError as error:  # of a repeated key, of which only the object's end is known
        raise error.reword(before=f"{name}, line {line}: ") from None
    except ValueError:
        problem = f"a whole number has more than {sys.get_int_max_str_digits()} digits"
        raise InvalidInputError(f"{name}, line {line}: must hold numbers, but {problem}. Write fewer") from None
    raise InvalidInputError(f"{name}, line {line}: must be JSON, but is not: {problem}. ", *remedy)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInputError(
            f"an object must have each key once, but {shorten(twice)} stands twice. Keep one of them"
        )
    return parsed


DECODER = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)


def _convert(kind: type[Table], options: Options, parsed: ParsedValues, name: str) -> Any:
    """Convert the values of a file to a table: of records, or of objects by query."""
    columns = options.name_columns(kind.side)
    values, lines = parsed
    first = values[0] if values else {}
    table = _read_of_tool(values, kind, options, name)
    if table is not None:
        return table
    records = None
    if len(values) == 1 and isinstance(first, list) and first and _is_record(first[0]):
        records = Records(first, columns, Source(name, "record"), kind.value_name)
    elif _is_record(first) and (isinstance(first, list) or (is_flat_record(first, columns) and not are_means(first))):
        records = Records(values, columns, Source(name, "line", np.asarray(lines)), kind.value_name)
    if records is not None:
        if not (options.takes_scores(kind.side) and (records.has_scores or records.find_id_lists() is not None)):
            records.list_names(*kind.roles)  # raises for each field that is named and absent
        return read_frame(records, kind, options, records.source)
    rows = _join_objects(values, lines, name, kind.what)
    if not rows:
        raise InvalidInputError(f"{name} must hold {{query: {{document: value}}}} or records, but is empty")
    table = _read_of_tool([rows], kind, options, name) if len(values) > 1 else None
    if table is not None:
        return table
    try:
        table = read_dict(kind, rows)
    except InvalidInputError as error:
        raise error.reword(before=f"{name}: ") from None
    return table.placed_in(Source(name))


def _read_of_tool(values: list[Any], kind: type[Table], options: Options, name: str) -> Any:
    """Read values as the objects of tools are read, and return None for others."""
    try:
        table = upper_floors.find("read_of_tool")(values, kind, options) if values else None
    except InvalidInputError as error:
        raise error.reword(before=f"{name}: ") from None
    return table.placed_in(table.source._replace(name=name)) if isinstance(table, Table) else table


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
