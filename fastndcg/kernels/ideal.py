"""
The best order of each query: candidates by falling label, as hits without ties.

labels, label_offsets   the candidates of the documents, or of the pool
sizes        (n_queries,)       int64, how many documents (or pool entries) a query has in all
depth        how many ranks any metric looks at
out_labels   (n_candidates,)    float64, labels above 0, then those below 0
out_above    (n_candidates,)    int32, their ranks less one: labels below 0 stand after all the zeros
out_offsets  (n_queries + 1,)   int64
"""

import numpy as np

from fastndcg.kernels.count import first_lanes
from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.sorting import sort_descending
from fastndcg.kernels.vectors import LANES, compare


@kernel
def best_order(labels, label_offsets, sizes, depth, out_labels, out_above, out_offsets):
    """The ideal hits of each query, down to `depth`."""
    most = 0
    for q in range(sizes.shape[0]):
        most = max(most, label_offsets[q + 1] - label_offsets[q])
    order = np.empty(most, np.int32)
    spare = np.empty(most, np.int32)
    n_hits = 0
    out_offsets[0] = 0
    for q in range(sizes.shape[0]):
        c = label_offsets[q]
        m = label_offsets[q + 1] - c
        falling = is_falling(labels, c, m)
        if not falling:
            for i in range(m):
                order[i] = c + i
            sort_descending(labels, m, spare, order)
        for i in range(m):
            label = labels[c + i] if falling else labels[order[i]]
            above = i if label > 0.0 else sizes[q] - m + i
            if above >= depth:
                break
            out_labels[n_hits] = label
            out_above[n_hits] = above
            n_hits += 1
        out_offsets[q + 1] = n_hits


@part
def is_falling(labels, c, m):
    """Whether the m labels from `c` on are in order as they are; most often because they are all the same."""
    if m >= LANES:
        every = first_lanes(LANES)
        _, alike = compare(labels, c + m - LANES, labels[c])
        for i in range(c, c + m - LANES, LANES):
            _, same = compare(labels, i, labels[c])
            alike &= same
        if alike == every:
            return True
    falling = True
    for i in range(c + 1, c + m):
        falling &= labels[i] <= labels[i - 1]
    return falling
