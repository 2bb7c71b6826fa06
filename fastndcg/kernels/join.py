"""
Judgments meet a run, query by query: a small hash table of the judged documents, and one look for each retrieved one.

judged, retrieved            ids of documents, see ids.py
judged_offsets, ..._offsets  (… + 1,) int64, which rows of them each query of its side owns
pairs                        (n_queries, 2) int64: the query's number among the judged and among the retrieved, or -1
offsets                      (n_queries + 1,) int64, which documents of `out_…` each query owns
"""

import numpy as np

from fastndcg.kernels.ids import (
    FREE,
    are_equal,
    entry_of,
    first_slot,
    has_hash,
    hash_of,
    n_slots,
    next_slot,
    number_in,
)
from fastndcg.kernels.jit import kernel


@kernel
def match(
    judged, judged_offsets, judged_labels, retrieved, retrieved_offsets, pairs, offsets, first, stop,
    out_labels, out_judged,
):  # fmt: skip
    """The label of each retrieved document of queries `first` up to `stop`, 0 where it has none, and whether it has."""
    longest = 0
    for q in range(first, stop):
        if pairs[q, 0] >= 0:
            longest = max(longest, judged_offsets[pairs[q, 0] + 1] - judged_offsets[pairs[q, 0]])
    slots = np.zeros(n_slots(longest), np.uint64)
    for q in range(first, stop):
        begin, end = 0, 0
        if pairs[q, 0] >= 0 and offsets[q + 1] > offsets[q]:
            begin, end = judged_offsets[pairs[q, 0]], judged_offsets[pairs[q, 0] + 1]
        few = slots[: n_slots(end - begin)]
        few[:] = FREE
        for i in range(begin, end):
            hashed = hash_of(judged, i)
            slot = first_slot(hashed, few.shape[0])
            while few[slot] != FREE:
                slot = next_slot(slot, few.shape[0])
            few[slot] = entry_of(hashed, i - begin)
        shift = retrieved_offsets[pairs[q, 1]] - offsets[q]
        for d in range(offsets[q], offsets[q + 1]):
            hashed = hash_of(retrieved, d + shift)
            slot = first_slot(hashed, few.shape[0])
            while few[slot] != FREE and not (
                has_hash(few[slot], hashed) and are_equal(retrieved, d + shift, judged, begin + number_in(few[slot]))
            ):
                slot = next_slot(slot, few.shape[0])
            out_judged[d] = few[slot] != FREE
            out_labels[d] = judged_labels[begin + number_in(few[slot])] if few[slot] != FREE else 0


@kernel
def copy_segments(values, starts, offsets, out):
    """Segment q of `out`, from offsets[q] to offsets[q + 1], is that of `values` which begins at starts[q]."""
    for q in range(starts.shape[0]):
        for d in range(offsets[q + 1] - offsets[q]):
            out[offsets[q] + d] = values[starts[q] + d]
