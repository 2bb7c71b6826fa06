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
out_extremes   (4,)                float64: lowest label, highest label, how many are NaN, the label that all candidates
                                   have, NaN if they differ
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.vectors import WIDE, fetch_ahead, lowest_bit, nonzero, positive


@kernel
def collect(
    labels, offsets, first, floor, out_documents, out_labels, out_offsets, out_marks, out_before, out_extremes
):  # fmt: skip
    """Documents with a label above 0 (or below `floor`) of each query, in the order given."""
    n_queries = out_offsets.shape[0] - 1
    stop = offsets[first + n_queries]
    lowest, least, most = 0.0, np.inf, -np.inf  # the last two of the candidates
    n_nan = n_found = 0
    q = -1
    query_start = query_stop = block = offsets[first]
    for b in range(out_marks.shape[0]):  # across queries: most labels are 0, and sixty-four cost as much as one
        fetch_ahead(labels, block)
        marked, others = mark(labels, block, stop)
        while others != 0:
            label = float(labels[block + lowest_bit(others)])
            lowest = min(lowest, label)
            n_nan += label != label
            if label < floor:
                marked |= np.uint64(1) << np.uint64(lowest_bit(others))
            others &= others - np.uint64(1)
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
            label = float(labels[np.uint64(d)])
            if label > most:  # `max` asks for NaN, too, which takes twice as long as all else here
                most = label
            if label < least:
                least = label
            out_documents[np.uint64(n_found)] = d - query_start
            out_labels[np.uint64(n_found)] = label
            n_found += 1
        block += WIDE
    out_offsets[q + 1 :] = n_found
    out_extremes[0] = lowest
    out_extremes[1] = max(most, 0.0)
    out_extremes[2] = n_nan
    out_extremes[3] = least if least == most else np.nan


@part
def mark(labels, block, stop):
    """Masks of labels above 0, and of others that are not 0, among the sixty-four from `block` on; fewer at `stop`."""
    if block + WIDE <= stop:
        above = positive(labels, block)
        return above, nonzero(labels, block) & ~above
    above = np.uint64(0)
    others = np.uint64(0)
    for d in range(block, stop):
        bit = np.uint64(1) << np.uint64(d - block)
        if labels[d] > 0:
            above |= bit
        elif labels[d] != 0:
            others |= bit
    return above, others


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """How many candidates of each query have a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant
