"""Lines of text as rows of (query, document, value), in blocks that threads parse and that are put back in order."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Words, shorten
from fastndcg.inputs.files import Block, Blocks, File
from fastndcg.inputs.ids import IdColumn, concatenate_columns, group_runs
from fastndcg.inputs.messages import Source
from fastndcg.inputs.table import Rows
from fastndcg.kernels.input_arrays import LineOutput
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all

NO_LIMIT = 1 << 62
BUFFER_BYTES = 1 << 26  # bytes of text whose rows share a buffer if the size of the file is unknown
MAX_SHOWN = 80  # characters of a bad line
TEXT = "Give text, plain or packed by gzip, bzip2 or zstd"


def describe_remedy(what: str) -> tuple[Any, ...]:
    """Return what to do about a line that cannot be read, in a file of "qrels" or of a "run", as parts of a message."""
    format = Words(f"fn.read_{what}(path, format=NAME)", f"--{what}-format NAME")
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


def read_rows(file: File, layout: Layout, threads: int | None = None) -> tuple[Rows, Source]:
    """Read a file's lines, and group them by query."""
    kernels = load_kernels("inputs.text_lines")
    blocks = Blocks(file, kernels.PADDING)
    order = BlockOrder(layout.least, file.size)
    pieces: dict[int, Piece] = {}
    failures: dict[int, Failure] = {}

    def make_worker() -> Callable[[Block], None]:
        reader = _Reader(layout)

        def work(block: Block) -> None:
            result = reader.read(block)
            blocks.give_back(block)
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

    with track(until_failure(), f"reading {file.name}", file.n_readers) as tracked_blocks:
        run_all(tracked_blocks, make_worker, min(file.n_readers, check_threads(threads)))
    if failures:
        _refuse(file.name, layout, min(failures.items()), pieces)
    if not any(piece.n_rows for piece in pieces.values()):
        raise InvalidInputError(f"{file.name} must hold lines of {layout.names}, but is empty")
    return _combine_rows([pieces[number] for number in sorted(pieces)], file.name, *order.collect())


def _refuse(name: str, layout: Layout, first: tuple[int, Failure], pieces: dict[int, Piece]) -> None:
    number, failure = first
    if isinstance(failure.problem, BaseException):
        raise failure.problem
    line = 1 + failure.line + sum(pieces[before].n_lines for before in range(number))
    remedy = (failure.remedy,) if failure.remedy else layout.remedy
    raise InvalidInputError(f"{name}, line {line}: {failure.problem}. ", *remedy)


def _combine_rows(pieces: list[Piece], name: str, documents: IdColumn, values: Array) -> tuple[Rows, Source]:
    """Combine the rows of all blocks."""
    n_rows = len(values)
    if len(pieces) == 1:
        queries, starts, _, lines, _ = pieces[0]
        groups = group_runs(queries, np.arange(len(starts)), starts, n_rows)
        numbers = None if lines is None else lines + 1
        return Rows(queries.take(groups.firsts), groups, documents, values), Source(name, "line", numbers)
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
    return Rows(queries.take(groups.firsts), groups, documents, values), Source(name, "line", lines)


class _Reader:
    """Reads blocks into reused buffers."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._out = _allocate_output(0, layout.least)

    def read(self, block: Block) -> tuple[Piece, Documents] | Failure:
        """Read the rows of a block, valid until the next call, or return its problem."""
        kernels = load_kernels("inputs.text_lines")
        failure = _find_text_problem(block)
        if failure is not None:
            return failure
        if len(self._out.documents) < len(block.text):
            self._out = _allocate_output(len(block.text), self._layout.least)
        out = self._out
        layout = self._layout
        text = read_only(np.frombuffer(block.text, "u1"))
        kernels.read_lines(text, block.size, layout.fields, layout.least, layout.most, *make_power_tables(), out)
        n_rows, n_runs, n_hard, n_lines, bad, bad_end = out.counts.tolist()
        failure = self._parse_hard(out.hard[:n_hard], block.text)
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
    if not block.text.isascii():
        try:
            block.text.decode()
        except UnicodeDecodeError as error:
            place = f"byte {block.start + error.start}"
            return Failure(
                f"must be UTF-8 text, but {place} is not: {error.reason}", _find_line(block, error.start), TEXT
            )
    nul = block.text.find(0)
    return (
        None if nul < 0 else Failure(f"must be text, but byte {block.start + nul} is NUL", _find_line(block, nul), TEXT)
    )


def _find_line(block: Block, place: int) -> int:
    """Return the number of the line of a block that holds a byte."""
    return len((block.text[:place] + b"x").splitlines()) - 1


def _allocate_output(n_bytes: int, least_fields: int) -> LineOutput:
    kernels = load_kernels("inputs.text_lines")
    n_rows = most_rows(n_bytes, least_fields)
    return LineOutput(
        np.empty(n_bytes, "u1"), np.empty(n_rows + 1, "i8"), np.empty(n_rows, "i8"), np.empty(n_bytes, "u1"),
        np.empty(n_rows + 1, "i8"), np.empty(n_rows), np.empty(n_rows, "i4"), np.empty((n_rows, 3), "i8"),
        np.empty(kernels.N_COUNTS, "i8"),
    )  # fmt: skip


@functools.cache
def make_power_tables() -> tuple[Array, Array]:
    """Compute the tables of powers of ten for kernels/inputs/parse_float.py."""
    parse_float = load_kernels("inputs.parse_float")

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


class _Slot(NamedTuple):
    """Rows, and the part of a buffer that they go to, behind `n_ids` bytes of ids."""

    rows: Documents
    target: Documents
    n_ids: int

    def fill(self) -> None:
        """Copy the rows."""
        self.target.ids[:] = self.rows.ids
        self.target.values[:] = self.rows.values
        np.add(self.rows.ends, self.n_ids, out=self.target.ends)


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

    def reserve(self, n_text: int, rows: Documents) -> _Slot:
        """Reserve a slot for the rows of a text."""
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
        return _Slot(rows, target, first_id)

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
                places.append(self._find_buffer(n_text).reserve(n_text, rows))
                self._next += 1
        for place in places:
            place.fill()

    def collect(self) -> tuple[IdColumn, Array]:
        """Return all rows."""
        if len(self._buffers) == 1:
            return self._buffers[0].rows()
        ids, values = zip(*(buffer.rows() for buffer in self._buffers), strict=True)
        return concatenate_columns(ids), np.concatenate(values)

    def _find_buffer(self, n_text: int) -> _RowBuffer:
        """Return the last buffer, or a new one if the text does not fit."""
        if not self._buffers or self._buffers[-1].n_free < n_text:
            expected = BUFFER_BYTES if self._buffers or self._n_bytes is None else self._n_bytes
            self._buffers.append(_RowBuffer(max(expected, n_text), self._least_fields))
        return self._buffers[-1]


def most_rows(n_bytes: int, least_fields: int) -> int:
    """Return the most lines that a text may have: each field takes a byte, and each except the last a separator."""
    return (n_bytes + 1) // (2 * least_fields)
