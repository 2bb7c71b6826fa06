"""
Split lines of text into fields at blanks, and copy the query, the document and the value of each line.

text          uint8, n bytes of whole lines, and PADDING line feeds behind them
fields        0-based numbers of the fields that are the query, the first and last of the document, and the value;
              a number beyond all fields means an empty text
least, most   how many fields a line must have
out           a NamedTuple, one row for each line that is neither blank nor a comment, whose first field begins with #:
  queries     uint8, ids of queries, one after the other: one for each run of rows with the same query
  query_ends  (n_runs + 1,) int64, their ends in `queries`, from entry 1 on
  firsts      (n_runs,) int64, the first row of each run
  documents   uint8, ids of documents, one after the other
  ends        (n_rows + 1,) int64, their ends in `documents`, from entry 1 on
  values      (n_rows,) float64
  lines       (n_rows,) int32, line numbers from 0
  hard        (n_hard, 3) int64, numbers that Python must parse: the row, and the indices of begin and end in the text
  counts      (N_COUNTS,) int64: rows, runs, hard numbers, lines, begin of a bad line (-1: none) and its end
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.bytes import WINDOW, load_word, mask_separators, store_word
from fastndcg.kernels.inputs.parse_float import parse_number
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.simd import lowest_bit

PADDING = 2 * WINDOW
N_ROWS, N_RUNS, N_HARD, N_LINES, BAD_BEGIN, BAD_END, N_COUNTS = range(7)
LINE_FEED = 10
RETURN = 13
BLANK = 32
TAB = 9  # to 13, with the line ends among them
COMMENT = 35  # the first byte of a line that is none: #
NO_BITS = np.uint64(0)
ONE = np.uint64(1)


class Cursor(NamedTuple):
    """The next byte, and the bits of the blanks and line ends in the current window that were not passed yet."""

    place: int
    window: int
    marks: np.uint64


class Line(NamedTuple):
    """The bounds of the fields of a line, its end, and its number of fields."""

    query: int
    query_end: int
    document: int
    document_end: int
    value: int
    value_end: int
    stop: int
    n_fields: int


@kernel
def read_lines(text, n, fields, least, most, exact_powers, powers, out):
    """Read all lines, up to the first that has too few or too many fields."""
    n_rows = 0
    n_runs = 0
    n_hard = 0
    n_lines = 0
    n_query_bytes = 0
    n_bytes = 0
    last_query = 0
    last_query_end = 0
    out.counts[BAD_BEGIN] = -1
    out.ends[0] = 0
    out.query_ends[0] = 0
    cursor = Cursor(0, 0, mask_separators(text, 0))
    while cursor.place < n:
        begin = cursor.place
        line, cursor = split_line(text, fields, cursor)
        while text[begin] == BLANK or (TAB <= text[begin] < RETURN and text[begin] != LINE_FEED):
            begin += 1
        if line.n_fields > 0 and text[begin] != COMMENT:
            if not least <= line.n_fields <= most:
                out.counts[BAD_BEGIN] = begin
                out.counts[BAD_END] = line.stop
                break
            if n_runs == 0 or not is_same(text, last_query, last_query_end, line.query, line.query_end):
                out.firsts[n_runs] = n_rows
                n_query_bytes = append(text, line.query, line.query_end, n_query_bytes, out.queries)
                n_runs += 1
                out.query_ends[n_runs] = n_query_bytes
                last_query = line.query
                last_query_end = line.query_end
            n_bytes = append(text, line.document, line.document_end, n_bytes, out.documents)
            n_hard += write_value(text, line, n_rows, n_hard, exact_powers, powers, out)
            out.lines[n_rows] = n_lines
            n_rows += 1
            out.ends[n_rows] = n_bytes
        n_lines += 1
    out.counts[N_ROWS] = n_rows
    out.counts[N_RUNS] = n_runs
    out.counts[N_HARD] = n_hard
    out.counts[N_LINES] = n_lines


@inline
def split_line(text, fields, cursor):
    """Find the fields of a line, and return it, and the cursor behind it."""
    place = cursor.place
    window = cursor.window
    marks = cursor.marks
    query = 0
    query_end = 0
    document = 0
    document_end = 0
    value = 0
    value_end = 0
    n_fields = 0
    while True:
        while marks == NO_BITS:
            window += WINDOW
            marks = mask_separators(text, window)
        start = place
        stop = window + lowest_bit(marks)
        marks &= marks - ONE
        place = stop + 1
        if stop > start:
            if n_fields == fields[0]:
                query = start
                query_end = stop
            elif fields[1] <= n_fields <= fields[2]:
                document = start if n_fields == fields[1] else document
                document_end = stop
            elif n_fields == fields[3]:
                value = start
                value_end = stop
            n_fields += 1
        if text[stop] == LINE_FEED or (text[stop] == RETURN and text[place] != LINE_FEED):
            break
    line = Line(query, query_end, document, document_end, value, value_end, stop, n_fields)
    return line, Cursor(place, window, marks)


@inline
def write_value(text, line, row, n_hard, exact_powers, powers, out):
    """Write the number of a row, and return True if Python must parse it."""
    number, is_parsed = parse_number(text, line.value, line.value_end, exact_powers, powers)
    out.values[row] = number
    out.hard[n_hard, 0] = row
    out.hard[n_hard, 1] = line.value
    out.hard[n_hard, 2] = line.value_end
    return not is_parsed


@inline
def is_same(text, start, stop, other, other_stop):
    """Return True if two pieces of a text are equal."""
    size = stop - start
    same = size == other_stop - other
    while same and size > 8:
        size -= 8
        same = load_word(text, start + size) == load_word(text, other + size)
    differing = load_word(text, start) ^ load_word(text, other)
    return same and (size == 0 or differing << np.uint64(8 * (8 - size)) == NO_BITS)


@inline
def append(text, start, stop, n, out):
    """Append a piece of a text to the first n bytes of `out`, 8 at a time, and return the new number of bytes."""
    for i in range(start, stop, 8):
        store_word(out, n + i - start, load_word(text, i))
    return n + stop - start
