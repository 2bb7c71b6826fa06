"""CSV files of judgments and runs."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.hints import refuse_missing_header
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.scored_frames import read_table
from fastndcg.inputs.source import Source
from fastndcg.inputs.text.blocks import FilePath, describe_path, read_unpacked
from fastndcg.inputs.text.reader import REMEDY, TEXT
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

Kind = TypeVar("Kind", bound=Table)

DECIMAL = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE)


def read_csv(kind: type[Kind], path: FilePath, columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """Read a header, and a row for each document. Ids are texts, so that 007 stays 007."""
    arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    pyarrow = optional_import("pyarrow", "reading CSV", "arrow")
    content = read_unpacked(path)
    name = describe_path(path)
    first_line = content.partition(b"\n")[0]
    if b"\0" in first_line:
        raise InvalidInputError(f"{name}, line 1: must be text, but byte {first_line.index(0)} is NUL. {TEXT}")
    try:
        header = arrow_csv.read_csv(io.BytesIO(first_line + b"\n"))
        names = header.column_names
        if not columns:
            refuse_missing_header(names, f"{name}, line 1", kind.value_name)
        first = Frame(header.slice(0, 0), columns, f"{name}, line 1")
        first.list_names(*kind.roles)  # so that an error for a missing column names the first line
        ids = [role for role in kind.roles if role != kind.value_name]
        texts = {name: pyarrow.large_string() for role in ids for name in first.candidates(role)}
        options = arrow_csv.ConvertOptions(column_types=texts, strings_can_be_null=True, null_values=[""])
        table = arrow_csv.read_csv(io.BytesIO(content), convert_options=options)
        if not table.num_rows:
            raise InvalidInputError(f"{name} must hold rows of {show_name(', '.join(names))}, but has a header only")
        for column in first.list_names(kind.value_name):
            _refuse_texts(table, column, content, name)
    except (pyarrow.ArrowException, UnicodeDecodeError, LookupError) as error:
        if isinstance(error, MemoryError):
            raise
        place, problem = _find_problem(content, error)
        raise InvalidInputError(
            f"{name}{place}: must be CSV with a header, but is not: {show_name(problem)}. {REMEDY}"
        ) from None
    return read_table(kind, Frame(table, columns, name), threads, _make_source(table, content, name))


def _make_source(table: Any, content: bytes, name: str) -> Source:
    """Return the source of rows: lines, or rows if some lines are blank or a field spans several lines."""
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    names = tuple(table.column_names)
    is_plain = n_lines == table.num_rows + 1
    return Source(name, "line", n_before=1, columns=names) if is_plain else Source(name, "row", columns=names)


def _refuse_texts(table: Any, column: str, content: bytes, name: str) -> None:
    """Raise for a value that is no decimal number, such as 0x10, which Arrow accepts."""
    pyarrow = optional_import("pyarrow", "reading CSV", "arrow")
    arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    types = pyarrow.types
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
                f"{name}, {_find_line(content, row)}: {shorten(column)} must be a decimal number, but is "
                f"{shorten(value)}. Write it as one"
            )


def _find_line(content: bytes, row: int) -> str:
    """
    Return the line of a text on which a row ends, its first being 1. Blank lines are no rows, the header is row -1.

    If a field is longer than the csv module reads, return the row.
    """
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline=""))
    try:
        next(itertools.islice(filter(None, rows), row + 1, None))
    except csv.Error:
        return f"row {row}"
    return f"line {rows.line_num}"


def _find_problem(content: bytes, error: Exception) -> tuple[str, str]:
    """Return the place and the problem of invalid CSV. A reader on one thread knows the row."""
    arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
    try:
        arrow_csv.read_csv(io.BytesIO(content), read_options=arrow_csv.ReadOptions(use_threads=False))
    except ValueError as again:
        parsed = re.search(r"Row #(\d+): (.*)", str(again), re.DOTALL)
        if parsed is not None:
            return f", row {int(parsed[1]) - 2}", parsed[2]  # rows of data are counted from 0, as in frames
    try:
        content.decode()
    except UnicodeDecodeError as undecoded:  # Arrow names the column alone
        line = 1 + content.count(b"\n", 0, undecoded.start)
        return f", line {line}", str(error)
    return ", line 1", str(error)
