"""
Lines of text: fields between blanks, of which a query, a document and a value are kept.

text          uint8, n bytes of whole lines, and PADDING line feeds behind them
fields        which fields, from 0, are query, first and last of document, and value; one beyond all is empty
least, most   how many fields a line must have
out           the lines that are not blank:
  queries     uint8, ids of queries, one after the other: one for each run of rows that have the same
  query_ends  (n_runs + 1,) int64, where they end in `queries`, from entry 1 on
  firsts      (n_runs,) int64, the first row of each run
  documents   uint8, ids of documents, one after the other
  ends        (n_rows + 1,) int64, where they end in `documents`, from entry 1 on
  values      (n_rows,) float64
  lines       (n_rows,) int32, from 0
  hard        (n_hard, 3) int64: numbers left to Python: the row, where in the text they begin and end
  counts      int64: rows, runs, hard numbers, lines, where a bad line begins (-1: nowhere) and ends
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.numerals import parse_number
from fastndcg.kernels.vectors import lowest_bit
from fastndcg.kernels.words import WINDOW, load_word, separators, store_word

PADDING = 2 * WINDOW
N_COUNTS = 6
LINE_FEED, RETURN = 10, 13
NONE, ONE = np.uint64(0), np.uint64(1)


@kernel
def read_lines(text, n, fields, least, most, exact_powers, powers, out):
    """Read every line, up to one that has too few or too many fields."""
    n_rows, n_runs, n_hard, n_lines, n_query_bytes, n_bytes = 0, 0, 0, 0, 0, 0
    place, last, last_end, query, query_end, document, document_end, value, value_end = 0, 0, 0, 0, 0, 0, 0, 0, 0
    out.counts[4], out.ends[0], out.query_ends[0] = -1, 0, 0
    window, marks = 0, separators(text, 0)  # where fields and lines end, what was passed aside
    while place < n:
        begin, stop, n_fields = place, place, 0
        while True:
            while marks == NONE:
                window += WINDOW
                marks = separators(text, window)
            start, stop = place, window + lowest_bit(marks)
            marks &= marks - ONE
            place = stop + 1
            if stop > start:
                if n_fields == fields[0]:
                    query, query_end = start, stop
                elif fields[1] <= n_fields <= fields[2]:
                    document, document_end = start if n_fields == fields[1] else document, stop
                elif n_fields == fields[3]:
                    value, value_end = start, stop
                n_fields += 1
            if text[stop] == LINE_FEED or (text[stop] == RETURN and text[place] != LINE_FEED):
                break
        if n_fields > 0:
            if not least <= n_fields <= most:
                out.counts[4], out.counts[5] = begin, stop
                break
            if n_runs == 0 or not are_same(text, last, last_end, query, query_end):
                out.firsts[n_runs] = n_rows
                n_query_bytes = append(text, query, query_end, n_query_bytes, out.queries)
                n_runs += 1
                out.query_ends[n_runs], last, last_end = n_query_bytes, query, query_end
            n_bytes = append(text, document, document_end, n_bytes, out.documents)
            out.values[n_rows], known = parse_number(text, value, value_end, exact_powers, powers)
            out.hard[n_hard, 0], out.hard[n_hard, 1], out.hard[n_hard, 2] = n_rows, value, value_end
            out.lines[n_rows], n_hard = n_lines, n_hard + (not known)
            n_rows += 1
            out.ends[n_rows] = n_bytes
        n_lines += 1
    out.counts[0], out.counts[1], out.counts[2], out.counts[3] = n_rows, n_runs, n_hard, n_lines


@part
def are_same(text, start, stop, other, other_stop):
    """Whether two pieces of a text are equal."""
    size = stop - start
    same = size == other_stop - other
    while same and size > 8:
        size -= 8
        same = load_word(text, start + size) == load_word(text, other + size)
    differing = load_word(text, start) ^ load_word(text, other)
    return same and (size == 0 or differing << np.uint64(8 * (8 - size)) == NONE)


@part
def append(text, start, stop, n, out):
    """Copy a piece of a text behind the first n bytes of `out`, by whole words; says how many bytes there are then."""
    for i in range(start, stop, 8):
        store_word(out, n + i - start, load_word(text, i))
    return n + stop - start
