"""
Dicts of dicts and lists of tuples into arrays, and the label of each of their documents looked up in another dict.

Groups of arrays are plain tuples: a NamedTuple takes 0.6 µs longer.

These kernels hold the interpreter's lock, so that they read all rows as they are at one moment. See python_objects.py
for the functions of Python's C API that they call.

A kernel reads a row only if its keys are exactly texts and its values are numbers of the types in `kinds`. It marks
any other row as open, and Python code reads that row. A row with more or fewer items than `offsets` gives it is open
too: another thread changed it after its size was taken.

rows         (n_queries,)      int64, addresses of dicts
kinds        (5,)              int64, addresses of types: str, float, numpy.float64, int, bool
offsets      (n_queries + 1,)  int64, row q fills entries offsets[q] up to offsets[q + 1] of the output
numbers      (n_queries,)      int64, the number of each row's judgments
judgments    a tuple:
  rows       (n_judged,)       int64, addresses of dicts
  keys       (n_relevant,)     int64, addresses of the documents with a label other than 0
  labels     (n_relevant,)     float64, their labels
  offsets    (n_judged + 1,)   int64, row j of the judgments owns keys offsets[j] up to offsets[j + 1]
held_keys    address of a list, which keeps the keys of `judgments` alive
scratch      two (longest,)    int64 arrays, overwritten: the keys and the values of a row
out          a tuple of arrays:
  values, scores  (n_documents,)  float64
  ends       (n_documents,)    int64, the end of each key among the bytes of all keys
  data       (n_bytes,)        uint8, the keys in UTF-8, as far as they fit
  relevant_keys, relevant_labels, relevant_offsets  keys, labels and offsets of `judgments`
  labels     (n_documents,)    uint8 or float64, 0 for a document without a judgment
  judged     (n_documents,)    bool, True for a document with a judgment
  is_open    (n_queries,)      bool
  summary    (4,)              float64: lowest value, highest value, number of fractions, number of open rows
"""

import numpy as np

from fastndcg.kernels.inputs.ids import (
    count_slots,
    first_slot,
    get_number,
    is_alive,
    make_entry,
    make_mask,
    next_slot,
)
from fastndcg.kernels.inputs.python_objects import (
    copy_bytes,
    dict_get,
    dict_next,
    exact_type,
    hash_text,
    list_append,
    list_item,
    list_size,
    texts_equal,
    to_float64,
    to_int64,
    to_utf8,
    tuple_item,
    tuple_size,
)
from fastndcg.kernels.jit import inline, kernel

TEXT, FLOAT, FLOAT64, INT, BOOL = range(5)
LOWEST, HIGHEST, N_FRACTIONS, N_OPEN = range(4)
MAX_EXACT = 2**53  # float64 lacks whole numbers above it
N_COMPARED = 80  # documents of a row that are compared in the time of one look-up in a dict
QUERY, DOCUMENT, SCORE = range(3)
N_QUERIES, N_ROWS = range(2)


@kernel(holds_gil=True)
def read_items(rows, kinds, offsets, out):
    """Read the values and keys of dicts, and return the number of bytes of the keys."""
    out_values, out_ends, out_data, out_summary = out
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
            if end + size <= out_data.shape[0]:
                copy_bytes(start, size, out_data, end)
            end += size
            out_ends[d] = end
            out_values[d] = number
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += has_next != 0 or d < offsets[q + 1]
    out_summary[LOWEST] = lowest
    out_summary[HIGHEST] = highest
    out_summary[N_FRACTIONS] = n_fractions
    out_summary[N_OPEN] = n_open
    return end


@kernel(holds_gil=True)
def read_judgments(rows, kinds, offsets, held_keys, out):
    """Read the labels of dicts. List the documents with a label other than 0, and hold their keys."""
    out_values, out_keys, out_labels, out_offsets, out_summary = out
    lowest = np.inf
    highest = -np.inf
    n_fractions = 0
    n_open = 0
    n_relevant = 0
    out_offsets[0] = 0
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
            out_values[d] = number
            if number != 0.0:
                if not list_append(held_keys, key):
                    break
                out_keys[n_relevant] = key
                out_labels[n_relevant] = number
                n_relevant += 1
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += has_next != 0 or d < offsets[q + 1]
        out_offsets[q + 1] = n_relevant
    out_summary[LOWEST] = lowest
    out_summary[HIGHEST] = highest
    out_summary[N_FRACTIONS] = n_fractions
    out_summary[N_OPEN] = n_open


@kernel(holds_gil=True)
def read_rows(rows, numbers, judgments, kinds, offsets, look_up_each, scratch, out):
    """
    Read the scores of dicts, and look up the label of each document in the judgments.

    Without `look_up_each`, only documents with a label other than 0 are looked up where they are few. All others get
    the label 0, and `judged` stays as it is.
    """
    keys, values = scratch
    judged_rows, _, _, relevant_offsets = judgments
    out_scores, out_labels, out_judged, out_is_open = out
    for q in range(rows.shape[0]):
        d = offsets[q]
        n = offsets[q + 1] - d
        out_is_open[q] = not read_scores(rows[q], kinds, n, d, keys, values, out_scores)
        if out_is_open[q]:
            continue
        judgment = numbers[q]
        n_relevant = relevant_offsets[judgment + 1] - relevant_offsets[judgment]
        is_faster = not look_up_each and n_relevant * (N_COMPARED + n) < N_COMPARED * n
        if not is_faster or not find_relevant(rows[q], judgment, judgments, n, values, d, out_labels):
            look_up_labels(judged_rows[judgment], keys, n, kinds, d, out_labels, out_judged)


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
    _, relevant_keys, relevant_labels, relevant_offsets = judgments
    out_labels[d : d + n] = 0
    for r in range(relevant_offsets[judgment], relevant_offsets[judgment + 1]):
        value = dict_get(row, relevant_keys[r])
        n_same = 0
        index = 0
        for i in range(n):
            is_same = values[i] == value
            n_same += is_same
            index += i * is_same
        if n_same > 1:
            return False
        if n_same == 1:
            out_labels[d + index] = relevant_labels[r]
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


@kernel(holds_gil=True)
def read_tuples(rows, row_type, query_numbers, judgments, kinds, look_up_each, scratch, out):
    """
    Read the scores and labels of the judged queries of a list of tuples (query, document, score).

    The rows of a query must be adjacent, and no document may occur twice in a query. Each row must be a tuple of two
    texts and a number. At the first row that breaks a rule, the kernel stops, and Python reads the list.

    rows           address of a list
    row_type       address of the type that all tuples must have
    query_numbers  address of a dict from each judged query to its number among the judgments
    scratch        a tuple: keys and hashes of the documents of a query, (n_rows,) int64, overwritten, and the
                   (count_slots(n_rows),) slots of a hash index
    out            a tuple:
      starts, numbers  (n_rows,)      int64: the first row of each judged query, and its number
      offsets          (n_rows + 1,)  int64
      scores, labels and judged of all documents, query after query
      counts           (2,)           int64: number of judged queries, number of rows read
    """
    keys, hashes, slots = scratch
    out_starts, out_numbers, out_offsets, out_scores, out_labels, out_judged, out_counts = out
    n_rows = min(keys.shape[0], list_size(rows))  # the list may have shrunk before this kernel took the lock
    q = 0
    row = 0
    d = 0
    out_offsets[0] = 0
    while row < n_rows and is_row(list_item(rows, row), row_type, kinds):
        n = read_query(rows, row, n_rows, row_type, kinds, d, keys, out_scores)
        number = dict_get(query_numbers, tuple_item(list_item(rows, row), QUERY))
        if number != 0:
            base = np.uint32(d)
            if not index_texts(keys, hashes, slots, n, base):
                break
            judgment = to_int64(number)[0]
            if look_up_each:
                look_up_labels(judgments[0][judgment], keys, n, kinds, d, out_labels, out_judged)
            else:
                label_relevant(judgment, judgments, scratch, n, base, d, out_labels)
            out_starts[q] = row
            out_numbers[q] = judgment
            q += 1
            d += n
            out_offsets[q] = d
        row += n
    out_counts[N_QUERIES] = q
    out_counts[N_ROWS] = row


@inline
def is_row(row, row_type, kinds):
    """Return True if a row is a tuple of that type, of two texts and a number."""
    if exact_type(row) != row_type or tuple_size(row) < 3:
        return False
    if exact_type(tuple_item(row, QUERY)) != kinds[TEXT] or exact_type(tuple_item(row, DOCUMENT)) != kinds[TEXT]:
        return False
    return read_score(tuple_item(row, SCORE), kinds)[1]


@inline
def read_query(rows, first, n_rows, row_type, kinds, d, keys, out_scores):
    """Read the documents and scores of the query that begins in row `first`, and return their number."""
    query = tuple_item(list_item(rows, first), QUERY)
    n = 0
    while first + n < n_rows:
        row = list_item(rows, first + n)
        if not is_row(row, row_type, kinds):
            break
        other = tuple_item(row, QUERY)
        if other != query and not texts_equal(other, query):
            break
        keys[n] = tuple_item(row, DOCUMENT)
        out_scores[d + n] = read_score(tuple_item(row, SCORE), kinds)[0]
        n += 1
    return n


@inline
def index_texts(keys, hashes, slots, n, base):
    """Index a query's documents by their hashes, and return False if two documents have the same hash."""
    mask = make_mask(count_slots(n))
    for i in range(n):
        hashed = hash_text(keys[i])
        hashes[i] = hashed
        slot = first_slot(np.uint64(hashed), mask)
        while is_alive(slots[slot], base):
            if hashes[get_number(slots[slot], base)] == hashed:
                return False
            slot = next_slot(slot, mask)
        slots[slot] = make_entry(i, base)
    return True


@inline
def label_relevant(judgment, judgments, scratch, n, base, d, out_labels):
    """Write the labels of a query's relevant documents, 0 for all others."""
    keys, hashes, slots = scratch
    _, relevant_keys, relevant_labels, relevant_offsets = judgments
    out_labels[d : d + n] = 0
    mask = make_mask(count_slots(n))
    for r in range(relevant_offsets[judgment], relevant_offsets[judgment + 1]):
        key = relevant_keys[r]
        hashed = hash_text(key)
        slot = first_slot(np.uint64(hashed), mask)
        while is_alive(slots[slot], base):
            i = get_number(slots[slot], base)
            if hashes[i] == hashed and (keys[i] == key or texts_equal(keys[i], key)):
                out_labels[d + i] = relevant_labels[r]
                break
            slot = next_slot(slot, mask)
