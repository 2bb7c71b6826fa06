"""
Lines of text as rows of (query, document, value).

Fields between blanks without a header are read by kernels, in blocks that threads parse and that are put back in order.
Fields that a comma, a tab or a semicolon divides, and those under a header, are columns that pyarrow reads.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import itertools
import os
import re
import threading
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Row, Words, join_names, reworded, shorten
from fastndcg.inputs.files import Block, Blocks, File
from fastndcg.inputs.frames import ColumnNames, Frame, find_usual_roles
from fastndcg.inputs.ids import IdColumn, concatenate_columns, group_runs
from fastndcg.inputs.messages import Options, Source
from fastndcg.inputs.streams import read_frame
from fastndcg.inputs.table import RepeatedRun, Table, TableRows
from fastndcg.inputs.table_sources import pyarrow
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import LineOutput
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all

NO_LIMIT = 1 << 62
BUFFER_BYTES = 1 << 26  # bytes of text whose rows share a buffer if the size of the file is unknown
MAX_SHOWN = 80  # characters of a bad line
TEXT = "Give text, plain or packed by gzip, bzip2 or zstd"


def describe_remedy(what: str) -> tuple[Any, ...]:
    """Return what to do about a line that cannot be read, in a file of "qrels" or of a "run", as parts of a message."""
    format = Words(f"fn.{what.capitalize()}(path, format=NAME)", f"--{what}-format NAME")
    return "Correct the line, or say what the file is: ", format


class Layout(NamedTuple):
    """The fields of a line: which are the query, the document (first to last) and the value, and how many there are."""

    names: str  # for error messages
    fields: tuple[int, int, int, int]
    least: int
    most: int
    value_name: str
    remedy: tuple[Any, ...] = ("Correct the line",)
    hints: Mapping[int, str] = MappingProxyType({})  # remedies for other numbers of fields


class Piece(NamedTuple):
    """The queries and line numbers of one block. `firsts` are the first rows of runs with the same query."""

    queries: IdColumn
    firsts: Array
    n_rows: int
    lines: Array | None  # None if no line is blank or a comment
    n_lines: int


class Failure(NamedTuple):
    """A problem in a line of a block, counted from 0, or an exception."""

    problem: str | BaseException
    line: int = 0
    remedy: str = ""


def read_rows(file: File, layout: Layout, threads: int | None = None) -> tuple[TableRows, Source]:
    """Read a file's lines, and group them by query."""
    blocks = Blocks(file, load_kernels("inputs.text_lines").PADDING)
    order = BlockOrder(layout.least, file.size)
    pieces: dict[int, Piece] = {}
    failures: dict[int, Failure] = {}

    def make_worker() -> Callable[[Block], None]:
        reader = _Reader(layout)

        def work(block: Block) -> None:
            result = reader.read(block)
            blocks.spare.append(block.text)
            if isinstance(result, Failure):
                failures[block.number] = result
                return
            pieces[block.number], rows = result
            order.add(block.number, block.size, rows)

        return work

    def until_failure() -> Any:
        number = 0
        try:
            for block in blocks:
                if failures:
                    return
                number = block.number + 1
                yield block
        except BaseException as error:  # raised below, unless an earlier block has failed
            failures[number] = Failure(error)

    with track(until_failure(), f"reading {os.path.basename(file.name)}", file.n_readers) as tracked_blocks:
        run_all(tracked_blocks, make_worker, min(file.n_readers, check_threads(threads)) if file.n_readers > 1 else 1)
    if failures:
        _refuse(file.name, layout, min(failures.items()), pieces)
    documents, values = order.collect()
    if not len(values):
        raise InvalidInputError(f"{file.name} must hold lines of {layout.names}, but is empty")
    return _combine_rows([*dict(sorted(pieces.items())).values()], file.name, documents, values)


def _refuse(name: str, layout: Layout, first: tuple[int, Failure], pieces: dict[int, Piece]) -> None:
    number, failure = first
    if isinstance(failure.problem, BaseException):
        raise failure.problem
    line = 1 + failure.line + sum(pieces[before].n_lines for before in range(number))
    remedy = (failure.remedy,) if failure.remedy else layout.remedy
    raise InvalidInputError(f"{name}, line {line}: {failure.problem}. ", *remedy)


def _combine_rows(pieces: list[Piece], name: str, documents: IdColumn, values: Array) -> tuple[TableRows, Source]:
    """Combine the rows of all blocks."""
    n_rows = len(values)
    if len(pieces) == 1:
        queries, starts, _, lines, _ = pieces[0]
        groups = group_runs(queries, np.arange(len(starts)), starts, n_rows)
        if len(groups.firsts) < len(starts):
            queries = queries.take(groups.firsts)
        return TableRows(queries, groups, documents, values), Source(name, "line", None if lines is None else lines + 1)
    first_rows = np.cumsum([0, *(piece.n_rows for piece in pieces)])
    starts = np.concatenate([piece.firsts + first for piece, first in zip(pieces, first_rows, strict=False)])
    queries = concatenate_columns([piece.queries for piece in pieces])
    lines = None
    if any(piece.lines is not None for piece in pieces):
        first_lines = np.cumsum([1, *(piece.n_lines for piece in pieces)]).tolist()
        lines = np.concatenate([
            first + (np.arange(piece.n_rows) if piece.lines is None else piece.lines)
            for first, piece in zip(first_lines, pieces, strict=False)
        ])  # fmt: skip
    groups = group_runs(queries, np.arange(len(starts)), starts, n_rows)
    return TableRows(queries.take(groups.firsts), groups, documents, values), Source(name, "line", lines)


class _Reader:
    """Reads blocks into reused buffers."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._out: Any = None

    def read(self, block: Block) -> tuple[Piece, Documents] | Failure:
        """Read the rows of a block, valid until the next call, or return its problem."""
        kernels = load_kernels("inputs.text_lines")
        is_plain = block.text.isascii() and 0 not in block.text
        failure = None if is_plain else _find_text_problem(block)
        if failure is not None:
            return failure
        if self._out is None or len(self._out.documents) < len(block.text):
            self._out = _allocate_output(len(block.text), self._layout.least)
        out = self._out
        layout = self._layout
        text = read_only(np.frombuffer(block.text, "u1"))
        kernels.read_lines(text, block.size, layout.fields, layout.least, layout.most, *make_power_tables(), out)
        n_rows, n_runs, n_hard, n_lines, bad, bad_end = out.counts.tolist()
        failure = self._parse_hard(out.hard[:n_hard], block.text) if n_hard else None
        if failure is None and bad >= 0:
            line = block.text[bad:bad_end]
            fields = line.split()
            excerpt = b" ".join(fields).decode()[:MAX_SHOWN]
            failure = Failure(
                f"must have {layout.least} fields ({layout.names}), but has {len(fields)}: {shorten(excerpt)}",
                n_lines,
                layout.hints.get(len(fields), ""),
            )
        if failure is not None:
            return failure
        n_bytes = int(out.query_ends[n_runs])
        queries = IdColumn.of_bytes(out.queries[:n_bytes].copy(), out.query_ends[: n_runs + 1].copy())
        lines = out.lines[:n_rows].copy() if n_lines != n_rows else None
        ends = out.ends[1 : n_rows + 1]
        rows = Documents(out.documents[: out.ends[n_rows]], ends, out.values[:n_rows])
        return Piece(queries, out.firsts[:n_runs].copy(), n_rows, lines, n_lines), rows

    def _parse_hard(self, hard: Array, text: bytearray) -> Failure | None:
        """Parse the numbers that the kernel left to Python."""
        for row, start, stop in hard.tolist():
            number = text[start:stop]
            try:
                if b"_" in number:  # float() accepts 1_000
                    raise ValueError
                self._out.values[row] = float(number)
            except ValueError:
                excerpt = number.decode()[:MAX_SHOWN]
                line = int(self._out.lines[row])
                return Failure(f"{self._layout.value_name} must be a number, but is {shorten(excerpt)}", line)
        return None


def _find_text_problem(block: Block) -> Failure | None:
    """Return the problem of a block that is no text, None for text."""
    try:
        block.text.decode()
    except UnicodeDecodeError as error:
        place = f"byte {block.start + error.start}"
        return Failure(f"must be UTF-8 text, but {place} is not: {error.reason}", _find_line(block, error.start), TEXT)
    nul = block.text.find(0)
    return (
        None if nul < 0 else Failure(f"must be text, but byte {block.start + nul} is NUL", _find_line(block, nul), TEXT)
    )


def _find_line(block: Block, place: int) -> int:
    """Return the number of the line of a block that holds a byte."""
    return len((block.text[:place] + b"x").splitlines()) - 1


def _allocate_output(n_bytes: int, least_fields: int) -> LineOutput:
    n_rows = most_rows(n_bytes, least_fields)
    return LineOutput(
        np.empty(n_bytes, "u1"), np.empty(n_rows + 1, "i8"), np.empty(n_rows, "i8"), np.empty(n_bytes, "u1"),
        np.empty(n_rows + 1, "i8"), np.empty(n_rows), np.empty(n_rows, "i4"), np.empty((n_rows, 3), "i8"),
        np.empty(load_kernels("inputs.text_lines").N_COUNTS, "i8"),
    )  # fmt: skip


@functools.cache
def make_power_tables() -> tuple[Array, Array]:
    """Compute the tables of powers of ten for kernels/inputs/text_lines.py."""
    parse_float = load_kernels("inputs.text_lines")

    halves = np.empty((parse_float.N_POWERS, 2), "u8")
    for row, power in enumerate(range(parse_float.LOWEST_POWER, parse_float.LOWEST_POWER + parse_float.N_POWERS)):
        top = 10**power << 128 if power >= 0 else (1 << 2048) // 10**-power
        bits = top >> (top.bit_length() - 128)
        halves[row] = bits >> 64, bits & (2**64 - 1)
    return read_only(np.array([10.0**power for power in range(23)])), read_only(halves)


class Documents(NamedTuple):
    """Ids of documents, one after the other, and values. `ends` (n_rows,) says where each id ends."""

    ids: Array
    ends: Array
    values: Array

    def copy_arrays(self) -> Documents:
        """Return copies of the arrays."""
        return Documents(*(array.copy() for array in self))


class _RowBuffer:
    """Buffers for the rows of `n_bytes` of text. Pages that are not written to take no memory."""

    def __init__(self, n_bytes: int, least_fields: int) -> None:
        n_rows = most_rows(n_bytes, least_fields)
        self._ids = np.empty(n_bytes, "u1")
        self._ends = np.empty(n_rows + 1, "i8")
        self._values = np.empty(n_rows)
        self._ends[0] = 0
        self._n_ids = self._n_rows = 0
        self.n_free = n_bytes

    def reserve(self, n_text: int, rows: Documents) -> tuple[Documents, Documents, int]:
        """Return the rows of a text, the part of the buffer that they go to, and how many bytes of ids come before."""
        first_row = self._n_rows
        first_id = self._n_ids
        self._n_rows += len(rows.values)
        self._n_ids += len(rows.ids)
        self.n_free -= n_text
        n_rows = self._n_rows
        n_ids = self._n_ids
        target = Documents(
            self._ids[first_id:n_ids], self._ends[first_row + 1 : n_rows + 1], self._values[first_row:n_rows]
        )
        return rows, target, first_id

    def rows(self) -> tuple[IdColumn, Array]:
        """Return all rows."""
        return IdColumn.of_bytes(self._ids[: self._n_ids], self._ends[: self._n_rows + 1]), self._values[: self._n_rows]


class BlockOrder:
    """
    The rows of all blocks, in few large buffers, usually one.

    Concatenating small arrays of each block at the end would need 2× the memory and 4× the time.
    """

    def __init__(self, least_fields: int, n_bytes: int | None) -> None:
        self._least_fields = least_fields
        self._n_bytes = n_bytes
        self._buffers: list[_RowBuffer] = []
        self._waiting: dict[int, tuple[int, Documents]] = {}  # by block, until the blocks before it are added
        self._next = 0
        self._lock = threading.Lock()

    def add(self, block: int, n_text: int, rows: Documents) -> None:
        """Copy the rows of a block of `n_text` bytes to their place. The caller may overwrite them afterwards."""
        if block != self._next:  # if it is the next block now, no other thread changes that
            rows = rows.copy_arrays()
        places = []
        with self._lock:
            self._waiting[block] = n_text, rows
            while self._next in self._waiting:
                n_text, rows = self._waiting.pop(self._next)
                if not self._buffers or self._buffers[-1].n_free < n_text:
                    expected = BUFFER_BYTES if self._buffers or self._n_bytes is None else self._n_bytes
                    self._buffers.append(_RowBuffer(max(expected, n_text), self._least_fields))
                places.append(self._buffers[-1].reserve(n_text, rows))
                self._next += 1
        for own, target, n_ids in places:
            target.ids[:] = own.ids
            target.values[:] = own.values
            np.add(own.ends, n_ids, out=target.ends)

    def collect(self) -> tuple[IdColumn, Array]:
        """Return all rows."""
        if len(self._buffers) == 1:
            return self._buffers[0].rows()
        ids, values = zip(*(buffer.rows() for buffer in self._buffers), strict=True)
        return concatenate_columns(ids), np.concatenate(values)


def most_rows(n_bytes: int, least_fields: int) -> int:
    """Return the most lines that a text may have: each field takes a byte, and each except the last a separator."""
    return (n_bytes + 1) // (2 * least_fields)


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


def find_dialect(file: File, kind: type[Table], options: Options) -> Dialect | None:
    """
    Return how the fields of a file are divided, as its first line shows, or None for lines of fields between blanks.

    A header comes first: blanks in the names of its columns are no delimiters.
    """
    text = file.first_line.decode(errors="replace")
    columns = options.name_columns(kind.side)
    is_run = kind.value_name == "score"
    for delimiter in (*DELIMITERS, BLANKS):
        if delimiter in text and _is_header(split_fields(text, delimiter), delimiter, columns):
            return Dialect(delimiter, None)
    n_blank = len(text.split())
    fields_by_number = RUN_FIELDS if is_run else QRELS_FIELDS
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        fields = split_fields(text, delimiter)
        has_blanks = any(len(field.split()) > 1 for field in fields[:3])
        # lines of TREC and MS MARCO may have tabs between their fields, and commas in their ids
        is_divided = has_blanks if delimiter == "\t" else not has_blanks or n_blank < LEAST_FIELDS
        if len(fields) > 1 and is_divided:
            return Dialect(delimiter, fields_by_number.get(len(fields), ()))
    fields = text.split()
    if n_blank == 3 and not is_run:
        return Dialect(BLANKS, QRELS_FIELDS[3])
    is_judgment = n_blank == 4 and fields[1] in TREC_ITERATIONS and WHOLE.fullmatch(fields[3])
    if n_blank == 4 and is_run and DECIMAL.fullmatch(fields[2]) is not None and not is_judgment:
        return Dialect(BLANKS, RUN_FIELDS[4])
    return None


def split_fields(line: str, delimiter: str) -> list[str]:
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


def read_delimited(file: File, kind: type[Table], options: Options) -> Any:
    """Read the columns of a file, and the places of its rows. Ids are texts, so that 007 stays 007."""
    columns = options.name_columns(kind.side)
    dialect = find_dialect(file, kind, options) or Dialect(",", None)
    text = _open_text(file, dialect, kind)
    place = f"{file.name}, line {1 + text.n_before}"
    try:
        header = text.read(text.first_line + b"\n")
        names = header.column_names
        plain = [name.strip() for name in names]
        empty = Frame(header.slice(0, 0).rename_columns(plain), columns, place)
        if text.names is None and not (options.takes_scores(kind.side) and empty.has_scores):
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

    def name_line(part: Any) -> Any:
        if not isinstance(part, Row) or part.unit != "row":
            return part
        return " and ".join(text.find_line(row) for row in (part.number, part.other) if row is not None)

    with reworded(name_line):
        if UNKNOWN[0] in plain:
            table = _tell_numbers(table, source, columns)
        return read_frame(Frame(table, columns, file.name), kind, options, source)


def read_headed(file: File, list_texts: Callable[[list[str]], Collection[str]]) -> Any:
    """Read columns below a header. Those that `list_texts` returns of their names hold texts, so that 007 stays 007."""
    header = file.first_line.decode(errors="replace")
    delimiter = next((delimiter for delimiter in DELIMITERS if delimiter in header), ",")
    text = _open_text(file, Dialect(delimiter, None), Table)
    names = text.read(text.first_line + b"\n").column_names
    texts = dict.fromkeys(list_texts(names), pyarrow.large_string())
    table = text.read(text.content, column_types=texts)
    for number, name in enumerate(names):
        if name in texts:
            table = table.set_column(number, name, _trim(table.column(number)))
    return table.rename_columns([name.strip() for name in names])


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
        fields = split_fields(first_line.decode(errors="replace"), delimiter)
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
