"""
Make the union of several runs, query by query.

The rows of all runs are in one concatenation. Run r has the rows from starts[r, q] on for query q, sizes[r, q] of them.
A document of a query has the number of its first appearance, run after run.

ids          ids of the rows' documents: see inputs/id_hashing.py
starts       (n_runs, n_queries) int64
sizes        (n_runs, n_queries) int64
bounds       (n_queries + 1,) int64, the number of rows before each query, over all runs
offsets      (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1] of the union
scores       (n_rows,) float64
out_numbers  (n_rows,) int32, the number of each row's document in its query
out_rows     (n_rows,) int64, from bounds[q] on: the row in which each document of query q appears first
out_counts   (n_queries,) int64, how many documents each query has
"""

import math

import numpy as np

from fastndcg.kernels.inputs.hash_index import (
    MAX_ENTRY,
    count_slots,
    first_slot,
    get_number,
    is_alive,
    make_entry,
    make_mask,
    next_slot,
)
from fastndcg.kernels.inputs.id_hashing import hash_id, is_equal
from fastndcg.kernels.jit import kernel


@kernel(allocates=True)
def number_documents(ids, starts, sizes, bounds, first, stop, out_numbers, out_rows, out_counts):
    """Number the documents of the queries `first` up to `stop`. No run has a document twice in a query."""
    n_runs = starts.shape[0]
    longest = 0
    for q in range(first, stop):
        longest = max(longest, bounds[q + 1] - bounds[q])
    slots = np.zeros(count_slots(longest), np.uint32)
    n_indexed = 0
    for q in range(first, stop):
        if n_indexed + bounds[q + 1] - bounds[q] > MAX_ENTRY:
            slots[:] = 0
            n_indexed = 0
        base = np.uint32(n_indexed)
        mask = make_mask(count_slots(bounds[q + 1] - bounds[q]))
        n_documents = 0
        for r in range(n_runs):
            n_before = n_documents
            for row in range(starts[r, q], starts[r, q] + sizes[r, q]):
                slot = first_slot(hash_id(ids, row), mask)
                number = -1
                while is_alive(slots[slot], base):
                    candidate = get_number(slots[slot], base)
                    if candidate < n_before and is_equal(ids, row, ids, out_rows[bounds[q] + candidate]):
                        number = candidate
                        break
                    slot = next_slot(slot, mask)
                if number < 0:
                    number = n_documents
                    slots[slot] = make_entry(number, base)
                    out_rows[bounds[q] + number] = row
                    n_documents += 1
                out_numbers[row] = np.int32(number)
        out_counts[q] = n_documents
        n_indexed += n_documents


@kernel
def gather_rows(rows, bounds, offsets, first, stop, out):
    """Write the rows of the documents of the queries `first` up to `stop`, one query after the other."""
    for q in range(first, stop):
        for d in range(offsets[q + 1] - offsets[q]):
            out[offsets[q] + d] = rows[bounds[q] + d]


@kernel
def spread(scores, numbers, starts, sizes, offsets, first, stop, out):
    """Write the score that each run has for each document of the union, and NaN where it has none."""
    for q in range(first, stop):
        for r in range(starts.shape[0]):
            if sizes[r, q] != offsets[q + 1] - offsets[q]:
                out[r, offsets[q] : offsets[q + 1]] = math.nan
            for row in range(starts[r, q], starts[r, q] + sizes[r, q]):
                out[r, offsets[q] + numbers[row]] = scores[row]
