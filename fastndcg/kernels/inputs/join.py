"""
Join judgments and a run query by query: index the judged documents, and look up each retrieved one.

judged      a NamedTuple of the judgments: ids (see id_hashing.py), offsets, labels
retrieved   a NamedTuple of the run: ids, offsets
pairs       (n_queries, 2) int64: the query's number in the judgments and in the run, or -1
offsets     (n_queries + 1,) int64, which documents of the output each query owns
out.labels  (n_documents,) the dtype of judged.labels, 0 for a document without a judgment
out.judged  (n_documents,) bool
"""

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
def match(judged, retrieved, pairs, offsets, first, stop, out):
    """Look up the label of each retrieved document of the queries `first` up to `stop`."""
    longest = 0
    for q in range(first, stop):
        if pairs[q, 0] >= 0:
            longest = max(longest, judged.offsets[pairs[q, 0] + 1] - judged.offsets[pairs[q, 0]])
    slots = np.zeros(count_slots(2 * longest), np.uint32)
    base = np.uint32(0)
    n_indexed = 0
    for q in range(first, stop):
        begin = 0
        end = 0
        if pairs[q, 0] >= 0 and offsets[q + 1] > offsets[q]:
            begin = judged.offsets[pairs[q, 0]]
            end = judged.offsets[pairs[q, 0] + 1]
        if n_indexed + end - begin > MAX_ENTRY:
            slots[:] = 0
            n_indexed = 0
        base = np.uint32(n_indexed)
        n_indexed += end - begin
        mask = make_mask(count_slots(2 * (end - begin)))
        for i in range(begin, end):
            slot = first_slot(hash_id(judged.ids, i), mask)
            while is_alive(slots[slot], base):
                slot = next_slot(slot, mask)
            slots[slot] = make_entry(i - begin, base)
        shift = retrieved.offsets[pairs[q, 1]] - offsets[q]
        out.labels[offsets[q] : offsets[q + 1]] = 0
        out.judged[offsets[q] : offsets[q + 1]] = False
        for d in range(offsets[q], offsets[q + 1]):
            slot = first_slot(hash_id(retrieved.ids, d + shift), mask)
            while is_alive(slots[slot], base):  # most documents are unjudged; rare work inside the loop halves the time
                row = begin + get_number(slots[slot], base)
                if is_equal(retrieved.ids, d + shift, judged.ids, row):
                    out.labels[d] = judged.labels[row]
                    out.judged[d] = True
                    break
                slot = next_slot(slot, mask)


@kernel
def copy_segments(values, starts, offsets, out):
    """Copy segments: entries offsets[q] up to offsets[q + 1] of `out` are those of `values` from starts[q] on."""
    for q in range(starts.shape[0]):
        for d in range(offsets[q + 1] - offsets[q]):
            out[offsets[q] + d] = values[starts[q] + d]
