"""Files beside judgments and runs: a segment, weight or text of each query, the document of each chunk, ids."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, join_names, shorten
from fastndcg.inputs.duplicates import CHUNKS
from fastndcg.inputs.files import COMMENT, File, FilePath
from fastndcg.inputs.formats import read_columns
from fastndcg.inputs.frames import NAMES, find_usual_names
from fastndcg.inputs.table_sources import ARROW_MAGIC, PARQUET_MAGIC
from fastndcg.inputs.text_lines import BLANKS, DELIMITERS, split_fields
from fastndcg.rankings.validation import Array

COLUMNS = {  # usual names beside those of queries and documents
    "chunk": CHUNKS,
    "segment": ("segment", "segments", "cluster", "clusters", "stratum", "strata"),
    "weight": ("weight", "weights"),
    "text": ("text", "texts", "query_text", "title"),
}
SURE_ENDS = ("id", "ids", "idx", "docno")  # of names that are no words of a list of ids


class SideRow(NamedTuple):
    """A row of a file, with its place for error messages."""

    place: str
    fields: Sequence[Any]


def read_side_file(path: FilePath, roles: tuple[str, ...], separator: str | None = None) -> list[SideRow]:
    """
    Read the fields of some roles, such as ("query", "segment") or ("document",), from a file of any format.

    Columns of Parquet, Arrow, records in JSON and below a header have usual names, or the order of the roles. JSON may
    be {first: second}, or a list. Lines of text without a header have one field, or two between commas, semicolons,
    tabs or blanks, of which the first divides. `separator` is the only blank that divides, None for all.

    Raises
    ------
    InvalidInputError
        If the columns are not clear, or a row has too few fields.
    """
    with File(path) as file:
        if not (file.is_folder or _has_columns(file)):
            return list(_split_lines(file, roles, separator))
        what = " and ".join(roles)
        content = read_columns(file, f"columns of {what}", f"Give a file with {what} of each row", list)
    rows = []
    for number, fields in enumerate(_list_rows(content, roles, file.name)):
        place = f"{file.name}: {'value' if isinstance(content, list) else 'row'} {number}"
        if not all(isinstance(field, str | int | float) for field in fields):
            _refuse(place, roles, fields, "Correct it")
        rows.append(SideRow(place, fields))
    return rows


def read_ids(path: FilePath, role: str, *, are_texts: bool) -> Array | list[str]:
    """Read ids of queries or documents: whole numbers if the ids of the truth are numbers, and all are here."""
    ids = [str(id) for _, (id,) in read_side_file(path, (role,))]
    if not are_texts:
        with contextlib.suppress(ValueError, OverflowError):
            return np.array(ids, "i8")
    return ids


def is_list(path: FilePath) -> bool:
    """Return True for a file of one field a row: lines without blanks and delimiters, a column, or values in JSON."""
    with File(path) as file:
        if file.is_folder or not _has_columns(file):
            return not file.is_folder and len(re.split(rb"[\s,;]+", file.first_line)) == 1
        content = read_columns(File(io.BufferedReader(io.BytesIO(file.peek()))), "ids", "Write it anew", list)
    if not isinstance(content, list):
        return bool(content.num_columns == 1)
    rows = [list(value.values()) if isinstance(value, dict) else [value] for value in _unwrap(content)]
    return all(len(row) == 1 and not isinstance(row[0], dict | list) for row in rows)


def _has_columns(file: File) -> bool:
    """Return True for Parquet, Arrow and JSON."""
    return file.head.startswith(PARQUET_MAGIC + ARROW_MAGIC) or file.first_line.startswith((b"{", b"["))


def _unwrap(values: list[Any]) -> list[Any]:
    """Return the items of the only value of JSON if it is a list, or the values of JSON Lines."""
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def _list_rows(content: Any, roles: tuple[str, ...], name: str) -> Iterator[Sequence[Any]]:
    """Yield the fields of a table of Arrow, or of the values of JSON."""
    if not isinstance(content, list):
        names, columns = content.column_names, content.columns
        yield from zip(*(columns[place].to_pylist() for place in _find_columns(names, roles, name)), strict=True)
        return
    if len(content) == 1 and isinstance(content[0], dict) and len(roles) > 1:
        (pairs,) = content
        if not pairs or not all(isinstance(value, list) for value in pairs.values()):
            yield from pairs.items()
        else:
            columns = list(pairs.values())
            yield from zip(*(columns[place] for place in _find_columns(list(pairs), roles, name)), strict=False)
        return
    for value in _unwrap(content):
        fields = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
        places = _find_columns(list(value) if isinstance(value, dict) else [""] * len(fields), roles, name)
        yield [fields[place] for place in places]


def _find_columns(names: list[str], roles: tuple[str, ...], file: str) -> Sequence[int]:
    """Return the places of the columns of the roles: by usual names, else by their order."""
    places = _find_usual(names, roles)
    if places is None and len(names) == len(roles):
        return range(len(roles))
    if places is None:
        raise InvalidInputError(
            f"{file} must have the columns {' and '.join(roles)}, but has {join_names(names)}. Rename them, or leave "
            "out the others"
        )
    return places


def _find_usual(names: list[str], roles: tuple[str, ...]) -> list[int] | None:
    """Return the places of columns with usual names, of the last role also the only one that is left, else None."""
    places: list[int] = []
    for role in roles:
        left = [name for place, name in enumerate(names) if place not in places]
        usual = (
            find_usual_names(role, left) if role in NAMES
            else [name for name in left if name.lower().replace(" ", "_") in COLUMNS[role]]
        )  # fmt: skip
        if len(usual) != 1 and places:
            usual = left
        if len(usual) != 1:
            return None
        places.append(next(place for place, name in enumerate(names) if name == usual[0] and place not in places))
    return places


def _split_lines(file: File, roles: tuple[str, ...], separator: str | None) -> Iterator[SideRow]:
    """Yield the fields of each line of text, without the header."""
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{file.name} must be UTF-8 text, but is not. Convert it") from None
    lines = [(number, line.strip()) for number, line in enumerate(io.StringIO(text, newline=None), start=1)]
    if len(roles) > 1:
        lines = [(number, line) for number, line in lines if line and not line.startswith(COMMENT.decode())]
    first = lines[0][1] if lines else ""
    split, has_header = _find_split(first, roles, separator)
    for number, line in lines[has_header:]:
        place, fields = f"{file.name}: line {number}", split(line)
        if len(fields) != len(roles) or "" in fields:
            divided = f"Separate them by a {'tab' if separator else 'space'}" if len(roles) > 1 else "Remove it"
            _refuse(place, roles, line, divided)
        yield SideRow(place, fields)


def _find_split(first: str, roles: tuple[str, ...], separator: str | None) -> tuple[Callable[[str], list[str]], bool]:
    """Return a function that gives the fields of a line, as the first one shows them, and whether that is a header."""
    for delimiter in (*DELIMITERS, BLANKS):
        names = split_fields(first, delimiter)
        places = (_find_usual(names, roles) if len(names) >= len(roles) else None) or []
        key, value = (names[places[end]].lower() if places else "" for end in (0, -1))
        if key.endswith(SURE_ENDS) or (len(roles) > 1 and value in COLUMNS.get(roles[-1], ())):
            return functools.partial(_pick_fields, delimiter=delimiter, places=places), True
    if len(roles) == 1:
        return lambda line: [line], False
    if "\t" not in first and (marks := [mark for mark in ",;" if mark in first.partition(" ")[0]]):
        return functools.partial(split_fields, delimiter=marks[0]), False
    blank = "\t" if "\t" in first else separator
    return lambda line: [field.strip() for field in line.split(blank, maxsplit=1)], False


def _pick_fields(line: str, delimiter: str, places: list[int]) -> list[str]:
    fields = split_fields(line, delimiter)
    return [fields[place] for place in places if place < len(fields)]


def _refuse(place: str, roles: tuple[str, ...], row: Any, remedy: str) -> NoReturn:
    ids = " and a ".join(f"{role} id" if role in NAMES else role for role in roles)
    raise InvalidInputError(f"{place} must have a {ids}, but is {shorten(row)}. {remedy}")
