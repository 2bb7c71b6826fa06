"""
The documents that can matter to a metric: those whose label is not 0. The one kernel that reads the user's labels.

labels         (n_documents,)      any dtype of labels
offsets        (n_all_queries + 1,) int64; this call works on n_queries of them, from query `first`
floor          negative labels below it are kept: 0.0 keeps them all, -inf none
out_documents  (n_documents,)      int32, place of a candidate in its query
out_labels     (n_documents,)      float64
out_offsets    (n_queries + 1,)    int64, query q owns candidates out_offsets[q] up to out_offsets[q + 1]
out_marks      (n_blocks,)         uint64, bit i of entry b is set if document 64 b + i of the call is a candidate
out_before     (n_blocks,)         int64, how many candidates stand before block b
out_extremes   (4,)                float64: lowest label, highest label, how many are NaN, lowest of a candidate or inf
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.vectors import WIDE, lowest_bit, nonzero


@kernel
def collect(
    labels, offsets, first, floor, out_documents, out_labels, out_offsets, out_marks, out_before, out_extremes
):  # fmt: skip
    """Documents with a label above 0 (or below `floor`) of each query, in the order given."""
    n_queries = out_offsets.shape[0] - 1
    stop = offsets[first + n_queries]
    lowest = 0.0
    highest = 0.0
    least = np.inf
    n_nan = 0
    n_found = 0
    q = -1
    query_start = query_stop = block = offsets[first]
    for b in range(out_marks.shape[0]):  # across queries: most labels are 0, and sixty-four cost as much as one
        marked = mark(labels, block, stop)
        out_marks[b] = marked
        out_before[b] = n_found
        while marked != 0:
            d = block + lowest_bit(marked)
            marked &= marked - np.uint64(1)
            while d >= query_stop:
                q += 1
                out_offsets[q] = n_found
                query_start = query_stop
                query_stop = offsets[first + q + 1]
            label = float(labels[d])
            lowest = min(lowest, label)
            highest = max(highest, label)
            n_nan += label != label
            out_documents[n_found] = d - query_start
            out_labels[n_found] = label
            if label > 0.0 or label < floor:
                least = min(least, label)
                n_found += 1
            else:
                out_marks[b] ^= np.uint64(1) << np.uint64(d - block)
        block += WIDE
    for rest in range(q + 1, n_queries + 1):
        out_offsets[rest] = n_found
    out_extremes[0] = lowest
    out_extremes[1] = highest
    out_extremes[2] = n_nan
    out_extremes[3] = least


@part
def mark(labels, block, stop):
    """A mask of the labels that are not 0, of the sixty-four from `block` on or as many as there are up to `stop`."""
    if block + WIDE <= stop:
        return nonzero(labels, block)
    marked = np.uint64(0)
    for d in range(block, stop):
        if labels[d] != 0:
            marked |= np.uint64(1) << np.uint64(d - block)
    return marked


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """How many candidates of each query have a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant
