"""
Files of rows whose fields are divided by a comma, a tab, a semicolon or blanks, with or without a header.

Lines of fields between blanks without a header are read by text_lines.py, many times as fast.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, join_names, shorten
from fastndcg.inputs.columns import ColumnNames, find_usual_roles
from fastndcg.inputs.files import File
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.messages import Source
from fastndcg.inputs.scored_frames import FileRequest
from fastndcg.inputs.table import RepeatedRun, Table
from fastndcg.inputs.table_sources import pyarrow
from fastndcg.inputs.text_lines import TEXT, describe_remedy
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

DELIMITERS = ("\t", ",", ";")
BLANKS = " "
ID_ROLES = ("query", "document", "subtopic")
NUMBER_ROLES = ("label", "score", "rank")
UNKNOWN = ("third field", "fourth field")  # told by their numbers
# fields without a header, by their number
QRELS_FIELDS = {3: ("query", "document", "label"), 4: ("query", "iteration", "document", "label")}
RUN_FIELDS = {
    3: ("query", "document", UNKNOWN[0]),
    4: ("query", "document", *UNKNOWN),
    6: ("query", "Q0", "document", "rank", "score", "name"),
}
TREC_ITERATIONS = ("0", "Q0", "q0")
LEAST_FIELDS = 4  # of lines of TREC
DECIMAL = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NAME_THEM = "Name the columns in a first line, such as query,document,rank or query,document,score"


class Dialect(NamedTuple):
    """The delimiter of a file, and the names of its fields if it has no header: none if no names are known."""

    delimiter: str
    names: tuple[str, ...] | None


def find_dialect(line: bytes, kind: type[Table], columns: ColumnNames) -> Dialect | None:
    """
    Return how the fields of a file are divided, as its first line shows, or None for lines of fields between blanks.

    A header comes first: blanks in the names of its columns are no delimiters.
    """
    text = line.decode(errors="replace")
    for delimiter in (*DELIMITERS, BLANKS):
        if delimiter in text and _is_header(_split(text, delimiter), delimiter, columns):
            return Dialect(delimiter, None)
    n_blank = len(text.split())
    fields_by_number = RUN_FIELDS if kind.value_name == "score" else QRELS_FIELDS
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        fields = _split(text, delimiter)
        has_blanks = any(len(field.split()) > 1 for field in fields[:3])
        # lines of TREC and MS MARCO may have tabs between their fields, and commas in their ids
        is_divided = has_blanks if delimiter == "\t" else not has_blanks or n_blank < LEAST_FIELDS
        if len(fields) > 1 and is_divided:
            return Dialect(delimiter, fields_by_number.get(len(fields), ()))
    fields = text.split()
    if n_blank == 3 and kind.value_name == "label":
        return Dialect(BLANKS, QRELS_FIELDS[3])
    is_judgment = n_blank == 4 and fields[1] in TREC_ITERATIONS and WHOLE.fullmatch(fields[3])
    if n_blank == 4 and kind.value_name == "score" and _is_number(fields[2]) and not is_judgment:
        return Dialect(BLANKS, RUN_FIELDS[4])
    return None


def is_delimited(file: File, request: FileRequest) -> bool:
    """Return True for a file of delimited fields."""
    return find_dialect(file.first_line, request.kind, request.columns) is not None


def _split(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, without blanks around them."""
    if delimiter == BLANKS:
        return line.split()
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a field of more than 128 KiB
        return []


def _is_header(fields: list[str], delimiter: str, columns: ColumnNames) -> bool:
    """Return True for names of columns: no field is a number, and two names are usual, or the delimiter is no blank."""
    if len(fields) < 2 or any(map(DECIMAL.fullmatch, fields)):
        return False
    if len(set(find_usual_roles(fields).values())) > 1 or set(fields) & set(columns.by_role.values()):
        return True
    n_blank = sum(len(field.split()) for field in fields)
    return fields[1] not in TREC_ITERATIONS and (delimiter == "\t" or (delimiter != BLANKS and n_blank < LEAST_FIELDS))


def _is_number(field: str) -> bool:
    return DECIMAL.fullmatch(field) is not None


class _Text(NamedTuple):
    """The content of a file from its header on, or from its first row."""

    name: str
    content: bytes
    n_before: int  # lines of comments and blanks before the content
    delimiter: str
    names: tuple[str, ...] | None

    @property
    def first_line(self) -> bytes:
        """The line of the header, or of the first row."""
        return self.content.partition(b"\n")[0]

    def read(self, content: bytes, *, use_threads: bool = True, **options: Any) -> Any:
        """Read content into a table."""
        arrow_csv = optional_import("pyarrow.csv", "reading CSV", "arrow")
        return arrow_csv.read_csv(
            io.BytesIO(content),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter),
            read_options=arrow_csv.ReadOptions(column_names=self.names, use_threads=use_threads),
            convert_options=arrow_csv.ConvertOptions(**options),
        )

    def find_line(self, row: int) -> str:
        """
        Return the line on which a row ends, the first line of the file being 1. Blank lines are no rows.

        If a field is longer than the csv module reads, return the row.
        """
        text = io.StringIO(self.content.decode("utf-8-sig", "replace"), newline="")
        rows = csv.reader(text, delimiter=self.delimiter)
        try:
            next(itertools.islice(filter(None, rows), row + (self.names is None), None))
        except csv.Error:
            return f"row {row}"
        return f"line {self.n_before + rows.line_num}"


def read_delimited(file: File, request: FileRequest) -> Any:
    """Read the columns of a file, and the places of its rows. Ids are texts, so that 007 stays 007."""
    kind, columns = request.kind, request.columns
    dialect = find_dialect(file.first_line, kind, columns) or Dialect(",", None)
    text = _open_text(file, dialect, kind)
    place = f"{file.name}, line {1 + text.n_before}"
    try:
        header = text.read(text.first_line + b"\n")
        names = header.column_names
        plain = [name.strip() for name in names]
        empty = Frame(header.slice(0, 0).rename_columns(plain), columns, place)
        if text.names is None and not (request.is_truth and empty.has_scores):
            empty.list_names(*kind.roles)  # so that an error for a missing column names the first line
        ids = {name for role in ID_ROLES if role in kind.roles for name in empty.candidates[role]}
        texts = {name: pyarrow.large_string() for name, short in zip(names, plain, strict=True) if short in ids}
        table = text.read(text.content, column_types=texts, strings_can_be_null=True, null_values=[""])
        numbers = {name for role in NUMBER_ROLES for name in empty.candidates[role]} | set(UNKNOWN)
        for number, (name, short) in enumerate(zip(names, plain, strict=True)):
            if short in numbers - ids:
                _refuse_texts(table, name, text)
            if short in ids:
                table = table.set_column(number, name, _trim(table.column(number)))
    except (pyarrow.ArrowException, UnicodeDecodeError, LookupError) as error:
        if isinstance(error, MemoryError):
            raise
        where, problem = _find_problem(text, error)
        kinds = "CSV with a header" if text.names is None else f"lines of {', '.join(text.names)}"
        raise InvalidInputError(
            f"{file.name}{where}: must be {kinds}, but is not: {show_name(problem)}. ", *describe_remedy(kind.what)
        ) from None
    if not table.num_rows:
        raise InvalidInputError(f"{file.name} must hold rows of {show_name(', '.join(plain))}, but has a header only")
    table = table.rename_columns(plain)
    source = _make_source(table, text)
    if UNKNOWN[0] in plain:
        table = _tell_numbers(table, source, columns)
    return request.read(Frame(table, columns, file.name), source)


def _open_text(file: File, dialect: Dialect, kind: type[Table]) -> _Text:
    """Read a file, without the lines before its header, and with tabs for blanks that divide fields."""
    content = file.read().removeprefix(codecs.BOM_UTF8)
    start = content.find(file.first_line)
    n_before = content.count(b"\n", 0, start)
    content = content[content.rfind(b"\n", 0, start) + 1 :]
    first_line = content.partition(b"\n")[0]
    place = f"{file.name}, line {1 + n_before}"
    if b"\0" in first_line:
        raise InvalidInputError(f"{place}: must be text, but byte {first_line.index(0)} is NUL. {TEXT}")
    delimiter = dialect.delimiter
    if delimiter == BLANKS:
        delimiter = "\t"
        content = re.sub(rb"[ \t]+", b"\t", content)
        for blank, plain in ((b"\t\r\n", b"\r\n"), (b"\t\n", b"\n"), (b"\n\t", b"\n")):
            content = content.replace(blank, plain)
        content = content.strip(b"\t")
    if dialect.names == ():
        fields = _split(first_line.decode(errors="replace"), delimiter)
        raise InvalidInputError(
            f"{place}: must be a header with the names of the columns, but is no header: {join_names(fields)}. "
            f"Write one above it, such as query,document,{kind.value_name}"
        )
    return _Text(file.name, content, n_before, delimiter, dialect.names)


def _trim(column: Any) -> Any:
    """Return texts without blanks around them. Empty ones are missing."""
    compute = optional_import("pyarrow.compute", "reading CSV", "arrow")
    trimmed = compute.utf8_trim_whitespace(column)
    return compute.if_else(compute.equal(trimmed, ""), None, trimmed)


def _tell_numbers(table: Any, source: Source, columns: ColumnNames) -> Any:
    """
    Name the numbers of a run without a header: ranks are 1, 2, 3 and so on in each query, and fractions are scores.

    Of two numbers the one that is a rank gives way to the other.
    """
    names = table.column_names
    third, *fourth = [place for place, name in enumerate(names) if name in UNKNOWN]

    def name_column(place: int, role: str) -> Any:
        return table.rename_columns([role if other == place else name for other, name in enumerate(names)])

    if not fourth:
        values = Frame(name_column(third, "score"), None, source.name).read_numbers("score")
        with np.errstate(invalid="ignore"):
            if (values % 1 != 0).any():
                return name_column(third, "score")
    problems = []
    for rank, score in ((third, fourth[0]), (fourth[0], third)) if fourth else ((third, None),):
        try:
            RepeatedRun.of_frame(Frame(name_column(rank, "rank"), columns, source.name), None, source)
        except InvalidInputError as error:
            problems.append(error)
        else:
            return name_column(rank, "rank") if score is None else name_column(score, "score")
    raise problems[0].reword(after=f". {NAME_THEM}")


def _make_source(table: Any, text: _Text) -> Source:
    """Return the source of rows: lines, or rows if some lines are blank or a field spans several lines."""
    n_lines = text.content.count(b"\n") + (not text.content.endswith(b"\n"))
    n_header = int(text.names is None)
    names = tuple(table.column_names) if n_header else ()
    if n_lines != table.num_rows + n_header:
        return Source(text.name, "row", columns=names)
    return Source(text.name, "line", n_before=text.n_before + n_header, columns=names)


def _refuse_texts(table: Any, column: str, text: _Text) -> None:
    """Raise for a value that is no decimal number, such as 0x10, which Arrow accepts."""
    types = pyarrow.types
    kind = table.schema.field(column).type
    if types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind):
        return
    if types.is_integer(kind) and not re.search(rb"0[xX]", text.content):
        return
    texts = text.read(text.content, column_types={column: pyarrow.large_string()}, include_columns=[column])
    for row, value in enumerate(texts[column].to_pylist()):
        if value and not DECIMAL.fullmatch(value):
            raise InvalidInputError(
                f"{text.name}, {text.find_line(row)}: {shorten(column.strip())} must be a decimal number, but is "
                f"{shorten(value)}. Write it as one"
            )


def _find_problem(text: _Text, error: Exception) -> tuple[str, str]:
    """Return the place and the problem of invalid CSV. A reader on one thread knows the row."""
    try:
        text.read(text.content, use_threads=False)
    except ValueError as again:
        parsed = re.search(r"Row #(\d+): (.*)", str(again), re.DOTALL)
        if parsed is not None:  # rows of data are counted from 0, as in frames
            return f", row {int(parsed[1]) - 1 - (text.names is None)}", parsed[2]
    try:
        text.content.decode()
    except UnicodeDecodeError as undecoded:  # Arrow names the column alone
        n_lines = text.n_before + 1 + text.content.count(b"\n", 0, undecoded.start)
        return f", line {n_lines}", str(error)
    return f", line {text.n_before + 1}", str(error)
