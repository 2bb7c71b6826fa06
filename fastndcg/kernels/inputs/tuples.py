"""
A list of tuples (query, document, score) into arrays, the documents of each query one after the other.

See dicts.py for `judgments`, `kinds` and the output. The rows of a query must be adjacent, and no document may occur
twice in a query. Each row must be a tuple of two texts and a number. At the first row that breaks a rule, the kernel
stops, and Python reads the list.

rows           address of a list
row_type       address of the type that all tuples must have
query_numbers  address of a dict from each judged query to its number among the judgments
scratch        a tuple, the fields of `Scratch`, overwritten:
  keys, hashes (n_rows,)  int64, the documents of a query, and their hashes
  slots        (count_slots(n_rows),)  uint32, all 0, see hash_index.py
out            a tuple, the fields of `LabelledTuples`:
out.starts, out.numbers  (n_rows,)      int64: the first row of each judged query, and its number
out.offsets              (n_rows + 1,)  int64
out.counts               (2,)           int64: number of judged queries, number of rows read
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.dicts import TEXT, Array, Judgments, look_up_labels, read_score
from fastndcg.kernels.inputs.hash_index import (
    count_slots,
    first_slot,
    get_number,
    is_alive,
    make_entry,
    make_mask,
    next_slot,
)
from fastndcg.kernels.inputs.python_objects import (
    dict_get,
    exact_type,
    hash_text,
    list_item,
    list_size,
    texts_equal,
    to_int64,
    tuple_item,
    tuple_size,
)
from fastndcg.kernels.jit import inline, kernel

QUERY, DOCUMENT, SCORE = range(3)
N_QUERIES, N_ROWS = range(2)


class Scratch(NamedTuple):
    """Buffers of `read_tuples`."""

    keys: Array
    hashes: Array
    slots: Array


class LabelledTuples(NamedTuple):
    """The output of `read_tuples`."""

    starts: Array
    numbers: Array
    offsets: Array
    scores: Array
    labels: Array
    judged: Array
    counts: Array


@kernel(holds_gil=True)
def read_tuples(rows, row_type, query_numbers, judgments, kinds, look_up_each, scratch, out):
    """Read scores and labels of the judged queries, up to the first row that Python must read."""
    judgments = Judgments(*judgments)
    scratch = Scratch(*scratch)
    out = LabelledTuples(*out)
    n_rows = min(scratch.keys.shape[0], list_size(rows))  # the list may have shrunk before this kernel took the lock
    q = 0
    row = 0
    d = 0
    out.offsets[0] = 0
    while row < n_rows and is_row(list_item(rows, row), row_type, kinds):
        n = read_query(rows, row, n_rows, row_type, kinds, d, scratch.keys, out.scores)
        number = dict_get(query_numbers, tuple_item(list_item(rows, row), QUERY))
        if number != 0:
            base = np.uint32(d)
            if not index_texts(scratch, n, base):
                break
            judgment = to_int64(number)[0]
            if look_up_each:
                look_up_labels(judgments.rows[judgment], scratch.keys, n, kinds, d, out.labels, out.judged)
            else:
                label_relevant(judgment, judgments, scratch, n, base, d, out.labels)
            out.starts[q] = row
            out.numbers[q] = judgment
            q += 1
            d += n
            out.offsets[q] = d
        row += n
    out.counts[N_QUERIES] = q
    out.counts[N_ROWS] = row


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
def index_texts(scratch, n, base):
    """Index a query's documents by their hashes, and return False if two documents have the same hash."""
    mask = make_mask(count_slots(n))
    for i in range(n):
        hashed = hash_text(scratch.keys[i])
        scratch.hashes[i] = hashed
        slot = first_slot(np.uint64(hashed), mask)
        while is_alive(scratch.slots[slot], base):
            if scratch.hashes[get_number(scratch.slots[slot], base)] == hashed:
                return False
            slot = next_slot(slot, mask)
        scratch.slots[slot] = make_entry(i, base)
    return True


@inline
def label_relevant(judgment, judgments, scratch, n, base, d, out_labels):
    """Write the labels of a query's relevant documents, 0 for all others."""
    for i in range(n):
        out_labels[d + i] = 0
    mask = make_mask(count_slots(n))
    for r in range(judgments.offsets[judgment], judgments.offsets[judgment + 1]):
        key = judgments.keys[r]
        hashed = hash_text(key)
        slot = first_slot(np.uint64(hashed), mask)
        while is_alive(scratch.slots[slot], base):
            i = get_number(scratch.slots[slot], base)
            if scratch.hashes[i] == hashed and (scratch.keys[i] == key or texts_equal(scratch.keys[i], key)):
                out_labels[d + i] = judgments.labels[r]
                break
            slot = next_slot(slot, mask)
