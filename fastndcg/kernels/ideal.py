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

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.sorting import sort_descending


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
        falling = True
        for i in range(m):
            order[i] = c + i
            falling &= i == 0 or labels[c + i] <= labels[c + i - 1]
        if not falling:
            sort_descending(labels, m, spare, order)
        for i in range(m):
            label = labels[order[i]]
            above = i if label > 0.0 else sizes[q] - m + i
            if above >= depth:
                break
            out_labels[n_hits] = label
            out_above[n_hits] = above
            n_hits += 1
        out_offsets[q + 1] = n_hits
