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
exact_powers  (23,)     float64, 10 to the power 0 … 22
powers        (696, 2)  uint64, the highest 128 bits of 10 to the power -348 … 347: the high half, the low half

Decimal numbers are correctly rounded to float64. Their digits must fit 64 bits. The result is exact if they fit 53 bits
and the power of ten is exact (Clinger, 1990). Otherwise it is a product with 128 bits of the power (Lemire, Number
parsing at a gigabyte per second, 2021, doi:10.1002/spe.2984). Hard numbers go to Python's float(): halfway cases, more
digits, infinity, NaN, other texts. Behind a number are eight bytes or more, and no digit comes next.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.simd import (
    WINDOW,
    bits_to_float,
    count_leading_zeros,
    load_word,
    lowest_bit,
    mask_separators,
    multiply_wide,
    store_word,
)

PADDING = 2 * WINDOW
N_ROWS, N_RUNS, N_HARD, N_LINES, BAD_BEGIN, BAD_END, N_COUNTS = range(7)
LINE_FEED = 10
RETURN = 13
BLANK = 32
TAB = 9  # to 13, with the line ends among them
COMMENT = 35  # the first byte of a line that is none: #
LOWEST_POWER = -348
N_POWERS = 696
PLUS = 43
MINUS = 45
POINT = 46
NINE = 57
SMALL_E = 101
LARGE_E = 69
DIGIT_0 = 48
ZERO = np.uint64(0)
ONE = np.uint64(1)
EIGHT = np.uint64(8)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
NINE_BITS = np.uint64(0x1FF)
FRACTION = np.uint64((1 << 52) - 1)
DIGITS = np.uint64(0x3030303030303030)  # in each byte: the digit 0,
TO_TOP = np.uint64(0x7676767676767676)  # what lifts more than 9 to the top bit,
TOPS = np.uint64(0x8080808080808080)  # and that bit


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
        while marks == ZERO:
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
    return same and (size == 0 or differing << np.uint64(8 * (8 - size)) == ZERO)


@inline
def append(text, start, stop, n, out):
    """Append a piece of a text to the first n bytes of `out`, 8 at a time, and return the new number of bytes."""
    for i in range(start, stop, 8):
        store_word(out, n + i - start, load_word(text, i))
    return n + stop - start


@helper
def parse_number(text, start, stop, exact_powers, powers):
    """Return the value of text[start:stop], and whether it was parsed."""
    negative = text[start] == MINUS
    first = start + 1 if negative or text[start] == PLUS else start
    digits, place, is_parsed = parse_digits(text, first, ZERO, exact_powers)
    n_digits = place - first
    power = 0
    if is_parsed and text[place] == POINT:
        first = place + 1
        digits, place, is_parsed = parse_digits(text, first, digits, exact_powers)
        power = first - place
        n_digits -= power
    if is_parsed and place < stop:
        exponent, is_parsed = parse_exponent(text, place, stop)
        power += exponent
    value = 0.0
    row = power - LOWEST_POWER
    if n_digits == 0 or not is_parsed or not 0 <= row < N_POWERS:
        is_parsed = False
    elif digits >> np.uint64(53) == ZERO and -22 <= power <= 22:
        value = np.float64(digits)
        value = value * exact_powers[power] if power >= 0 else value / exact_powers[-power]
    else:
        value, is_parsed = product(digits, power, powers[row, 0], powers[row, 1])
    return -value if negative else value, is_parsed


@helper
def parse_digits(text, place, digits, exact_powers):
    """Append the digits from `place` on, 8 at a time, and return the number, the end, and whether it fits 64 bits."""
    while True:
        each = load_word(text, place) ^ DIGITS
        non_digits = ((each & ~TOPS) + TO_TOP | each) & TOPS
        n_new = 8 if non_digits == 0 else lowest_bit(non_digits) >> 3
        if n_new == 0:
            return digits, place, True
        new = eight_digits(each << np.uint64(64 - 8 * n_new))
        high, digits = multiply_wide(digits, np.uint64(exact_powers[n_new]))
        if high != 0 or digits > ALL_BITS - new:
            return digits, place, False
        digits += new
        place += n_new
        if n_new < 8:
            return digits, place, True


@helper
def eight_digits(each):
    """Return the number of 8 digits, one per byte, the first lowest: add pairs, then groups of 4, then all."""
    pairs = (each << ONE) + (each << np.uint64(3)) + (each >> EIGHT)
    lower = multiply_wide(pairs & np.uint64(0x000000FF000000FF), np.uint64(0x000F424000000064))[1]
    upper = multiply_wide(pairs >> np.uint64(16) & np.uint64(0x000000FF000000FF), np.uint64(0x0000271000000001))[1]
    return add(lower, upper)[0] >> np.uint64(32)


@helper
def parse_exponent(text, place, stop):
    """Return the exponent in text[place:stop], and whether it is one of at most 5 digits."""
    is_parsed = text[place] == SMALL_E or text[place] == LARGE_E
    negative = text[place + 1] == MINUS
    place += 2 if negative or text[place + 1] == PLUS else 1
    is_parsed = is_parsed and place < stop <= place + 5
    exponent = 0
    for i in range(place, stop if is_parsed else place):
        is_parsed = is_parsed and DIGIT_0 <= text[i] <= NINE
        exponent = 10 * exponent + int(text[i]) - DIGIT_0
    return -exponent if negative else exponent, is_parsed


@helper
def product(digits, power, high_power, low_power):
    """Return the float64 nearest to digits times ten to a power, and whether it is known."""
    if digits == ZERO:
        return 0.0, True
    zeros = count_leading_zeros(digits)
    digits <<= zeros
    high, low = multiply_wide(digits, high_power)
    if high & NINE_BITS == NINE_BITS and low > ALL_BITS - digits:  # the 64 bits left out may carry
        more_high, more_low = multiply_wide(digits, low_power)
        low, carry = add(low, more_high)
        high += carry
        if high & NINE_BITS == NINE_BITS and low == ALL_BITS and more_low > ALL_BITS - digits:
            return 0.0, False
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    if low == ZERO and high & NINE_BITS == ZERO and mantissa & np.uint64(3) == ONE:  # halfway, or nearly so
        return 0.0, False
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    exponent = (217706 * power >> 16) + 63 - np.int64(zeros) + np.int64(top) + np.int64(mantissa >> np.uint64(53))
    if not -1022 <= exponent <= 1023:  # beyond float64, or among its subnormal numbers
        return 0.0, False
    mantissa >>= mantissa >> np.uint64(53)
    return bits_to_float(np.uint64(exponent + 1023) << np.uint64(52) | mantissa & FRACTION), True


@helper
def add(left, right):
    """Return the sum of two 64-bit numbers, and its carry."""
    if left > ALL_BITS - right:
        return left - (ALL_BITS - right) - ONE, ONE
    return left + right, ZERO
