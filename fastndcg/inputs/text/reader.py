"""Parse blocks of text into rows, on several threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.group_by_query import group_runs
from fastndcg.inputs.id_column import IdColumn, concatenate_columns
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.source import Source
from fastndcg.inputs.text.block_order import BlockOrder, Documents, most_rows
from fastndcg.inputs.text.blocks import Block, Blocks, Text, describe_path, most_readers, read_length
from fastndcg.kernels.input_arrays import LineOutput
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all

NO_LIMIT = 1 << 62
MAX_SHOWN = 80  # characters of a bad line
REMEDY = "Correct the line, or say with `format` what the file is"  # of readers that take one
TEXT = "Give text, plain or packed by gzip, bzip2 or zstd"


class Layout(NamedTuple):
    """The fields of a line: which are the query, the document (first to last) and the value, and how many there are."""

    names: str  # for error messages
    fields: tuple[int, int, int, int]
    least: int
    most: int
    value_name: str
    has_header: bool = False
    remedy: str = "Correct the line"


class Piece(NamedTuple):
    """The queries and line numbers of one block. `firsts` are the first rows of runs with the same query."""

    queries: IdColumn
    firsts: Array
    n_rows: int
    lines: Array | None  # None if no line is blank
    n_lines: int


class Failure(NamedTuple):
    """A problem in a line of a block, counted from 0, or an exception."""

    problem: str | BaseException
    line: int = 0
    remedy: str = ""


def read_rows(path: Text, layout: Layout, threads: int | None = None) -> tuple[Rows, Source]:
    """Read the lines of a file, or of bytes in memory, and group them by query."""
    kernels = load_kernels("inputs.text_lines")
    blocks = Blocks(path, kernels.PADDING)
    order = BlockOrder(layout.least, read_length(path))
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

    n_readers = most_readers(path)
    with track(until_failure(), f"reading {describe_path(path)}", n_readers) as tracked_blocks:
        run_all(tracked_blocks, make_worker, min(n_readers, check_threads(threads)))
    if failures:
        _refuse(blocks.name, layout, min(failures.items()), pieces)
    if not any(piece.n_rows for piece in pieces.values()):
        raise InvalidInputError(f"{blocks.name} must hold lines of {layout.names}, but is empty")
    return _combine_rows([pieces[number] for number in sorted(pieces)], blocks.name, *order.collect())


def _refuse(name: str, layout: Layout, first: tuple[int, Failure], pieces: dict[int, Piece]) -> None:
    number, failure = first
    if isinstance(failure.problem, BaseException):
        raise failure.problem
    line = 1 + failure.line + sum(pieces[before].n_lines for before in range(number))
    raise InvalidInputError(f"{name}, line {line}: {failure.problem}. {failure.remedy or layout.remedy}")


def _combine_rows(pieces: list[Piece], name: str, documents: IdColumn, values: Array) -> tuple[Rows, Source]:
    """Combine the rows of all blocks."""
    n_rows = len(values)
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
        if failure is None and self._layout.has_header and block.number == 0:
            failure = _take_header(block, self._layout)
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
            excerpt = b" ".join(line.split()).decode()[:MAX_SHOWN]
            failure = Failure(
                f"must have {layout.least} fields ({layout.names}), but has {len(line.split())}: {shorten(excerpt)}",
                n_lines,
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


def _take_header(block: Block, layout: Layout) -> Failure | None:
    """Blank out the header, so that lines keep their numbers, and return a problem if it is no header."""
    lines = block.text.splitlines()
    number = next((number for number, line in enumerate(lines) if line.split()), 0)
    fields = lines[number].decode().split()
    if fields and (len(fields) != layout.least or _is_number(fields[-1])):
        excerpt = " ".join(fields)[:MAX_SHOWN]
        return Failure(f"must be a header with the names of {layout.names}, but is {shorten(excerpt)}", number)
    start = block.text.find(lines[number])
    block.text[start : start + len(lines[number])] = b" " * len(lines[number])
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
