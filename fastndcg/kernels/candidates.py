"""
The documents that can matter to a metric: those whose label is not 0. The one kernel that reads the user's labels.

labels         (n_documents,)      any dtype of labels
offsets        (n_all_queries + 1,) int64; this call works on n_queries of them, from query `first`
floor          negative labels below it are kept: 0.0 keeps them all, -inf none
out_documents  (n_documents,)      int32, place of a candidate in its query
out_labels     (n_documents,)      float64
out_offsets    (n_queries + 1,)    int64, query q owns candidates out_offsets[q] up to out_offsets[q + 1]
out_extremes   (3,)                float64: lowest label, highest label, how many are NaN
"""

from fastndcg.kernels.jit import kernel


@kernel
def collect(labels, offsets, first, floor, out_documents, out_labels, out_offsets, out_extremes):
    """Documents with a label above 0 (or below `floor`) of each query, in the order given."""
    lowest = 0.0
    highest = 0.0
    n_nan = 0
    n_found = 0
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        start = offsets[first + q]
        for d in range(start, offsets[first + q + 1]):
            if labels[d] != 0:
                label = float(labels[d])
                lowest = min(lowest, label)
                highest = max(highest, label)
                n_nan += label != label
                if label > 0.0 or label < floor:
                    out_documents[n_found] = d - start
                    out_labels[n_found] = label
                    n_found += 1
        out_offsets[q + 1] = n_found
    out_extremes[0] = lowest
    out_extremes[1] = highest
    out_extremes[2] = n_nan


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """How many candidates of each query have a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant
