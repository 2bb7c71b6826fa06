"""
Judgments meet a run, query by query: a small hash table of the judged documents, and one look for each retrieved one.

judged, retrieved            ids of documents, see ids.py
judged_offsets, ..._offsets  (… + 1,) int64, which rows of them each query of its side owns
pairs                        (n_queries, 2) int64: the query's number among the judged and among the retrieved, or -1
offsets                      (n_queries + 1,) int64, which documents of `out_…` each query owns
"""

import numpy as np

from fastndcg.kernels.ids import ONE, are_equal, hash_of, n_slots
from fastndcg.kernels.jit import allocating_kernel, kernel

MOST_KNOWN = 2**32 - 1  # what a slot can hold


@allocating_kernel
def match(
    judged, judged_offsets, judged_labels, retrieved, retrieved_offsets, pairs, offsets, first, stop,
    out_labels, out_judged,
):  # fmt: skip
    """The label of each retrieved document of queries `first` up to `stop`, 0 where it has none, and whether it has."""
    longest = 0
    for q in range(first, stop):
        if pairs[q, 0] >= 0:
            longest = max(longest, judged_offsets[pairs[q, 0] + 1] - judged_offsets[pairs[q, 0]])
    slots = np.zeros(n_slots(2 * longest), np.uint32)
    n_known = 0  # judged documents of the queries before: what slots hold is beyond it if it belongs to this one
    for q in range(first, stop):
        begin, end = 0, 0
        if pairs[q, 0] >= 0 and offsets[q + 1] > offsets[q]:
            begin, end = judged_offsets[pairs[q, 0]], judged_offsets[pairs[q, 0] + 1]
        if n_known + end - begin > MOST_KNOWN:
            slots[:] = 0
            n_known = 0
        known = np.uint32(n_known)
        n_known += end - begin
        mask = np.uint64(n_slots(2 * (end - begin)) - 1)
        for i in range(begin, end):
            slot = hash_of(judged, i) & mask
            while slots[slot] > known:
                slot = (slot + ONE) & mask
            slots[slot] = known + np.uint32(i - begin + 1)
        shift = retrieved_offsets[pairs[q, 1]] - offsets[q]
        before = begin - np.int64(known) - 1
        out_labels[offsets[q] : offsets[q + 1]], out_judged[offsets[q] : offsets[q + 1]] = 0, False
        for d in range(offsets[q], offsets[q + 1]):
            slot = hash_of(retrieved, d + shift) & mask
            while slots[slot] > known:  # mostly none: what is rare stands inside, which halves the time
                known_as = before + np.int64(slots[slot])
                if are_equal(retrieved, d + shift, judged, known_as):
                    out_labels[d], out_judged[d] = judged_labels[known_as], True
                    break
                slot = (slot + ONE) & mask


@kernel
def copy_segments(values, starts, offsets, out):
    """Segment q of `out`, from offsets[q] to offsets[q + 1], is that of `values` which begins at starts[q]."""
    for q in range(starts.shape[0]):
        for d in range(offsets[q + 1] - offsets[q]):
            out[offsets[q] + d] = values[starts[q] + d]
