"""
Dicts of dicts into arrays, and the label of each document of one dict looked up in another.

Python passes plain tuples, as a NamedTuple takes 0.6 µs longer. Kernels turn them into NamedTuples.

These kernels hold the interpreter's lock, so that they read all rows as they are at one moment. See python_objects.py
for the functions of Python's C API that they call.

A kernel reads a row only if its keys are exactly texts and its values are numbers of the types in `kinds`. It marks
any other row as open, and Python code reads that row. A row with more or fewer items than `offsets` gives it is open
too: another thread changed it after its size was taken.

rows         (n_queries,)      int64, addresses of dicts
kinds        (5,)              int64, addresses of types: str, float, numpy.float64, int, bool
offsets      (n_queries + 1,)  int64, row q fills entries offsets[q] up to offsets[q + 1] of the output
numbers      (n_queries,)      int64, the number of each row's judgments
judgments    a tuple, the fields of `Judgments`:
  rows       (n_judged,)       int64, addresses of dicts
  keys       (n_relevant,)     int64, addresses of the documents with a label other than 0
  labels     (n_relevant,)     float64, their labels
  offsets    (n_judged + 1,)   int64, row j of the judgments owns keys offsets[j] up to offsets[j + 1]
held_keys    address of a list, which keeps the keys of `judgments` alive
scratch      two (longest,)    int64 arrays, overwritten: the keys and the values of a row
out          a tuple, the fields of `Items`, `Labels` or `LabelledRows`:
out.values, out.scores  (n_documents,)  float64
out.ends     (n_documents,)    int64, the end of each key among the bytes of all keys
out.data     (n_bytes,)        uint8, the keys in UTF-8, as far as they fit
out.labels   (n_documents,)    uint8 or float64, 0 for a document without a judgment
out.judged   (n_documents,)    bool, True for a document with a judgment
out.is_open  (n_queries,)      bool
out.summary  (4,)              float64: lowest value, highest value, number of fractions, number of open rows
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.python_objects import (
    copy_bytes,
    dict_get,
    dict_next,
    exact_type,
    list_append,
    to_float64,
    to_int64,
    to_utf8,
)
from fastndcg.kernels.jit import inline, kernel

TEXT, FLOAT, FLOAT64, INT, BOOL = range(5)
LOWEST, HIGHEST, N_FRACTIONS, N_OPEN = range(4)
MAX_EXACT = 2**53  # float64 lacks whole numbers above it
N_COMPARED = 80  # documents of a row that are compared in the time of one look-up in a dict

Array = np.ndarray


class Judgments(NamedTuple):
    """Dicts of judgments by address, and their documents with a label other than 0."""

    rows: Array
    keys: Array
    labels: Array
    offsets: Array


class Items(NamedTuple):
    """The output of `read_items`."""

    values: Array
    ends: Array
    data: Array
    summary: Array


class Labels(NamedTuple):
    """The output of `read_judgments`."""

    values: Array
    relevant_keys: Array
    relevant_labels: Array
    relevant_offsets: Array
    summary: Array


class LabelledRows(NamedTuple):
    """The output of `read_rows`."""

    scores: Array
    labels: Array
    judged: Array
    is_open: Array


@kernel(holds_gil=True)
def read_items(rows, kinds, offsets, out):
    """Read the values and keys of dicts, and return the number of bytes of the keys."""
    out = Items(*out)
    lowest = np.inf
    highest = -np.inf
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
            if end + size <= out.data.shape[0]:
                copy_bytes(start, size, out.data, end)
            end += size
            out.ends[d] = end
            out.values[d] = number
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += has_next != 0 or d < offsets[q + 1]
    out.summary[LOWEST] = lowest
    out.summary[HIGHEST] = highest
    out.summary[N_FRACTIONS] = n_fractions
    out.summary[N_OPEN] = n_open
    return end


@kernel(holds_gil=True)
def read_judgments(rows, kinds, offsets, held_keys, out):
    """Read the labels of dicts. List the documents with a label other than 0, and hold their keys."""
    out = Labels(*out)
    lowest = np.inf
    highest = -np.inf
    n_fractions = 0
    n_open = 0
    n_relevant = 0
    out.relevant_offsets[0] = 0
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
            out.values[d] = number
            if number != 0.0:
                if not list_append(held_keys, key):
                    break
                out.relevant_keys[n_relevant] = key
                out.relevant_labels[n_relevant] = number
                n_relevant += 1
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += has_next != 0 or d < offsets[q + 1]
        out.relevant_offsets[q + 1] = n_relevant
    out.summary[LOWEST] = lowest
    out.summary[HIGHEST] = highest
    out.summary[N_FRACTIONS] = n_fractions
    out.summary[N_OPEN] = n_open


@kernel(holds_gil=True)
def read_rows(rows, numbers, judgments, kinds, offsets, look_up_each, scratch, out):
    """
    Read the scores of dicts, and look up the label of each document in the judgments.

    Without `look_up_each`, only documents with a label other than 0 are looked up where they are few. All others get
    the label 0, and `out.judged` stays as it is.
    """
    keys, values = scratch
    judgments = Judgments(*judgments)
    out = LabelledRows(*out)
    for q in range(rows.shape[0]):
        d = offsets[q]
        n = offsets[q + 1] - d
        out.is_open[q] = not read_scores(rows[q], kinds, n, d, keys, values, out.scores)
        if out.is_open[q]:
            continue
        judgment = numbers[q]
        n_relevant = judgments.offsets[judgment + 1] - judgments.offsets[judgment]
        is_faster = not look_up_each and n_relevant * (N_COMPARED + n) < N_COMPARED * n
        if not is_faster or not find_relevant(rows[q], judgment, judgments, n, values, d, out.labels):
            look_up_labels(judgments.rows[judgment], keys, n, kinds, d, out.labels, out.judged)


@inline
def look_up_labels(row, keys, n, kinds, d, out_labels, out_judged):
    """Write the label of each document of a row, and whether it has a judgment."""
    for i in range(n):
        label = dict_get(row, keys[i])
        out_labels[d + i] = read_number(label, kinds)[0] if label != 0 else 0.0
        out_judged[d + i] = label != 0


@inline
def read_scores(row, kinds, size, d, keys, values, out_scores):
    """Read a dict's scores, keys and values, and return True if it has `size` texts with numbers, and no more."""
    n = 0
    position = np.int64(0)
    while True:
        has_next, position, key, value = dict_next(row, position)
        if has_next == 0 or n == size or exact_type(key) != kinds[TEXT]:
            break
        score, is_number = read_score(value, kinds)
        if not is_number:
            break
        keys[n] = key
        values[n] = value
        out_scores[d + n] = score
        n += 1
    return has_next == 0 and n == size


@inline
def find_relevant(row, judgment, judgments, n, values, d, out_labels):
    """
    Write the labels of a row's relevant documents, 0 for all others, and return False if that is ambiguous.

    A dict returns the value of a key, not its index. The index follows from the value's address, unless two documents
    have the same object as their value.
    """
    for i in range(n):
        out_labels[d + i] = 0
    for r in range(judgments.offsets[judgment], judgments.offsets[judgment + 1]):
        value = dict_get(row, judgments.keys[r])
        n_same = 0
        index = 0
        for i in range(n):
            is_same = values[i] == value
            n_same += is_same
            index += i * is_same
        if n_same > 1:
            return False
        if n_same == 1:
            out_labels[d + index] = judgments.labels[r]
    return True


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


@inline
def read_score(value, kinds):
    """Return a number as the nearest float64, and whether it is a float, or an int that fits int64."""
    kind = exact_type(value)
    if kind == kinds[FLOAT] or kind == kinds[FLOAT64]:
        return to_float64(value), True
    if kind == kinds[INT]:
        number, overflow = to_int64(value)
        return np.float64(number), overflow == 0
    return np.nan, False
