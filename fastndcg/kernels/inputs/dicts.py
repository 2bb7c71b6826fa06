"""
Dicts of dicts into arrays.

Groups of arrays are plain tuples: a NamedTuple takes 0.6 µs longer.

The kernel holds the interpreter's lock, so that it reads all rows as they are at one moment. See python_objects.py for
the functions of Python's C API that it calls.

The kernel reads a row only if its keys are exactly texts and its values are numbers of the types in `kinds`. It counts
any other row as open, and Python code reads that row. A row with more or fewer items than `offsets` gives it is open
too: another thread changed it after its size was taken.

rows         (n_queries,)      int64, addresses of dicts
kinds        (5,)              int64, addresses of types: str, float, numpy.float64, int, bool
offsets      (n_queries + 1,)  int64, row q fills entries offsets[q] up to offsets[q + 1] of the output
out          a tuple of arrays:
  values     (n_documents,)    float64
  ends       (n_documents,)    int64, the end of each key among the bytes of all keys
  data       (n_bytes,)        uint8, the keys in UTF-8, as far as they fit
  summary    (2,)              float64: number of fractions, number of open rows
"""

import numpy as np

from fastndcg.kernels.inputs.python_objects import (
    copy_bytes,
    dict_next,
    exact_type,
    to_float64,
    to_int64,
    to_utf8,
)
from fastndcg.kernels.jit import inline, kernel

TEXT, FLOAT, FLOAT64, INT, BOOL = range(5)
N_FRACTIONS, N_OPEN = range(2)
MAX_EXACT = 2**53  # float64 lacks whole numbers above it


@kernel(holds_gil=True)
def read_items(rows, kinds, offsets, out):
    """Read the values and keys of dicts, and return the number of bytes of the keys."""
    out_values, out_ends, out_data, out_summary = out
    n_fractions = 0
    n_open = 0
    end = 0
    for q in range(rows.shape[0]):
        d = offsets[q]
        position = np.int64(0)
        while True:
            has_next, position, key, value = dict_next(rows[q], position)
            if has_next == 0 or d == offsets[q + 1] or exact_type(key) != kinds[TEXT]:
                break
            number, is_exact, is_whole = read_number(value, kinds)
            if not is_exact:
                break
            start, size = to_utf8(key)
            if start == 0:
                break
            if end + size <= out_data.shape[0]:
                copy_bytes(start, size, out_data, end)
            end += size
            out_ends[d] = end
            out_values[d] = number
            n_fractions += not is_whole
            d += 1
        n_open += has_next != 0 or d < offsets[q + 1]
    out_summary[N_FRACTIONS] = n_fractions
    out_summary[N_OPEN] = n_open
    return end


@inline
def read_number(value, kinds):
    """Return a number as float64, whether float64 has it exactly, and whether it is an int. NaN for other objects."""
    kind = exact_type(value)
    if kind == kinds[FLOAT] or kind == kinds[FLOAT64]:
        return to_float64(value), True, False
    if kind == kinds[INT] or kind == kinds[BOOL]:
        number, overflow = to_int64(value)
        return np.float64(number), overflow == 0 and -MAX_EXACT <= number <= MAX_EXACT, True
    return np.nan, False, False
