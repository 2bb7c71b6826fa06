"""Lines of text as rows: blocks on threads, read by kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.blocks import Block, Blocks, FilePath, length_of, most_readers
from fastndcg.inputs.columns import Column, joined
from fastndcg.inputs.grouping import group_runs
from fastndcg.inputs.sheets import Documents, Sheets, most_rows
from fastndcg.inputs.tables import Rows, Source
from fastndcg.rankings import Array, read_only
from fastndcg.threads import checked_threads, run_all

NO_LIMIT = 1 << 62
SHOWN = 80  # characters of a bad line
REMEDY = "correct the line, or say with `format` what the file is"  # of readers that take one
TEXT = "give text, plain or packed by gzip, bzip2 or zstd"


class Layout(NamedTuple):
    """Which fields of a line are query, document (from the first to the last of it) and value, and how many it has."""

    names: str  # as messages list them
    fields: tuple[int, int, int, int]
    least: int
    most: int
    value_name: str
    has_header: bool = False
    remedy: str = "correct the line"


class Output(NamedTuple):
    """What the kernel fills: see kernels/lines.py."""

    queries: Array
    query_ends: Array
    firsts: Array
    documents: Array
    ends: Array
    values: Array
    lines: Array
    hard: Array
    counts: Array


class Piece(NamedTuple):
    """What is kept of one block beside its rows; `firsts` are the first rows of runs with the same query."""

    queries: Column
    firsts: Array
    n_rows: int
    lines: Array | None  # where some line is blank
    n_lines: int


class Failure(NamedTuple):
    """What is wrong in a line of a block, counted from 0; or with the file, where there is no line."""

    problem: str | BaseException
    line: int = 0
    remedy: str = ""


def read_rows(path: FilePath, layout: Layout, threads: int | None = None) -> tuple[Rows, Source]:
    """Read a file's lines, and bring those of the same query together."""
    from fastndcg.kernels.lines import PADDING

    blocks = Blocks(path, PADDING)
    sheets = Sheets(layout.least, length_of(path))
    pieces: dict[int, Piece] = {}
    failures: dict[int, Failure] = {}

    def make_worker() -> Callable[[Block], None]:
        reader = _Reader(layout)

        def work(block: Block) -> None:
            done = reader.read(block)
            blocks.give_back(block)
            if isinstance(done, Failure):
                failures[block.number] = done
                return
            pieces[block.number], rows = done
            sheets.add(block.number, block.size, rows)

        return work

    def until_failure() -> Any:
        number = 0
        try:
            for block in blocks:
                if failures:
                    return
                number = block.number + 1
                yield block
        except BaseException as error:  # raised below, unless a block before has failed
            failures[number] = Failure(error)

    run_all(until_failure(), make_worker, min(most_readers(path), checked_threads(threads)))
    if failures:
        _refuse(blocks.name, layout, min(failures.items()), pieces)
    if not any(piece.n_rows for piece in pieces.values()):
        raise InvalidInputError(f"{blocks.name} must hold lines of {layout.names}, but is empty")
    return _rows([pieces[number] for number in sorted(pieces)], blocks.name, *sheets.whole())


def _refuse(name: str, layout: Layout, first: tuple[int, Failure], pieces: dict[int, Piece]) -> None:
    number, failure = first
    if isinstance(failure.problem, BaseException):
        raise failure.problem
    line = 1 + failure.line + sum(pieces[before].n_lines for before in range(number))
    raise InvalidInputError(f"{name}, line {line}: {failure.problem}; {failure.remedy or layout.remedy}")


def _rows(pieces: list[Piece], name: str, documents: Column, values: Array) -> tuple[Rows, Source]:
    """The rows of all blocks."""
    n_rows = len(values)
    first_rows = np.cumsum([0, *(piece.n_rows for piece in pieces)])
    starts = np.concatenate([piece.firsts + first for piece, first in zip(pieces, first_rows, strict=False)])
    queries = joined([piece.queries for piece in pieces])
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
    """Reads blocks, one after the other, into the same memory."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._out = _output(0, layout.least)

    def read(self, block: Block) -> tuple[Piece, Documents] | Failure:
        """The rows of a block, good until the next is read, or what is wrong with it."""
        from fastndcg.kernels import lines as kernels

        failure = _no_text(block)
        if failure is None and self._layout.has_header and block.number == 0:
            failure = _take_header(block, self._layout)
        if failure is not None:
            return failure
        if len(self._out.documents) < len(block.text):
            self._out = _output(len(block.text), self._layout.least)
        out, layout = self._out, self._layout
        text = read_only(np.frombuffer(block.text, "u1"))
        kernels.read_lines(text, block.size, layout.fields, layout.least, layout.most, *powers_of_ten(), out)
        n_rows, n_runs, n_hard, n_lines, bad, bad_end = out.counts.tolist()
        failure = self._parse_hard(out.hard[:n_hard], block.text)
        if failure is None and bad >= 0:
            line = block.text[bad:bad_end]
            shown = b" ".join(line.split()).decode()[:SHOWN]
            failure = Failure(
                f"must have {layout.least} fields ({layout.names}), but has {len(line.split())}: {shown!r}", n_lines
            )
        if failure is not None:
            return failure
        n_bytes = int(out.query_ends[n_runs])
        queries = Column.of_bytes(out.queries[:n_bytes].copy(), out.query_ends[: n_runs + 1].copy())
        lines = out.lines[:n_rows].copy() if n_lines != n_rows else None
        ends = out.ends[1 : n_rows + 1]
        rows = Documents(out.documents[: out.ends[n_rows]], ends, out.values[:n_rows])
        return Piece(queries, out.firsts[:n_runs].copy(), n_rows, lines, n_lines), rows

    def _parse_hard(self, hard: Array, text: bytearray) -> Failure | None:
        """Let Python read the numbers that the kernel left."""
        for row, start, stop in hard.tolist():
            number = text[start:stop]
            try:
                if b"_" in number:  # 1_000 is a number in Python's source only
                    raise ValueError
                self._out.values[row] = float(number)
            except ValueError:
                shown = number.decode()[:SHOWN]
                line = int(self._out.lines[row])
                return Failure(f"{self._layout.value_name} must be a number, but is {shown!r}", line)
        return None


def _no_text(block: Block) -> Failure | None:
    """Why a block is no text; nothing where it is."""
    if not block.text.isascii():
        try:
            block.text.decode()
        except UnicodeDecodeError as error:
            place = f"byte {block.start + error.start}"
            return Failure(
                f"must be UTF-8 text, but {place} is not: {error.reason}", _line_of(block, error.start), TEXT
            )
    nul = block.text.find(0)
    return (
        None if nul < 0 else Failure(f"must be text, but byte {block.start + nul} is NUL", _line_of(block, nul), TEXT)
    )


def _line_of(block: Block, place: int) -> int:
    """Which line of a block a byte stands in."""
    return len((block.text[:place] + b"x").splitlines()) - 1


def _take_header(block: Block, layout: Layout) -> Failure | None:
    """Make the first line that is not blank so, and leave its end: lines keep their numbers; or say why it is none."""
    lines = block.text.splitlines()
    number = next((number for number, line in enumerate(lines) if line.split()), 0)
    fields = lines[number].decode().split()
    if fields and (len(fields) != layout.least or _is_number(fields[-1])):
        shown = " ".join(fields)[:SHOWN]
        return Failure(f"must be a header with the names of {layout.names}, but is {shown!r}", number)
    start = block.text.find(lines[number])
    block.text[start : start + len(lines[number])] = b" " * len(lines[number])
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _output(n_bytes: int, least_fields: int) -> Output:
    from fastndcg.kernels.lines import N_COUNTS

    n_rows = most_rows(n_bytes, least_fields)
    return Output(
        np.empty(n_bytes, "u1"), np.empty(n_rows + 1, "i8"), np.empty(n_rows, "i8"), np.empty(n_bytes, "u1"),
        np.empty(n_rows + 1, "i8"), np.empty(n_rows), np.empty(n_rows, "i4"), np.empty((n_rows, 3), "i8"),
        np.empty(N_COUNTS, "i8"),
    )  # fmt: skip


@functools.cache
def powers_of_ten() -> tuple[Array, Array]:
    """The tables of kernels/numerals.py."""
    from fastndcg.kernels.numerals import LOWEST_POWER, N_POWERS

    halves = np.empty((N_POWERS, 2), "u8")
    for row, power in enumerate(range(LOWEST_POWER, LOWEST_POWER + N_POWERS)):
        top = 10**power << 128 if power >= 0 else (1 << 2048) // 10**-power
        bits = top >> (top.bit_length() - 128)
        halves[row] = bits >> 64, bits & (2**64 - 1)
    return read_only(np.array([10.0**power for power in range(23)])), read_only(halves)
