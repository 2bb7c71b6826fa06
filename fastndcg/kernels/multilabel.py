"""
Rows of labels that stand side by side: a score for every label, and which of them are right.

scores    (n_rows, n_labels)  float32 or float64
relevant  (n_rows, n_labels)  uint8, 1 where a label is right
columns   (n_rows,)           int64, the right label's column
best      (n_labels,)         float64, overwritten
order, spare                  (n_labels,)      int32, overwritten
counts    (n_labels + 1,)     int64, overwritten
out       (n_rows,)           float64
"""

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.sorting import sort_descending


@kernel
def label_ranking_precision(scores, relevant, best, order, spare, counts, out):
    """Mean over the right labels of the share of right ones among those that score at least as high."""
    n_labels = scores.shape[1]
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(n_labels):
            if relevant[q, c] != 0:
                best[n_relevant] = scores[q, c]
                order[n_relevant] = n_relevant
                n_relevant += 1
        if n_relevant == 0 or n_relevant == n_labels:
            out[q] = 1.0
            continue
        sort_descending(best, n_relevant, spare, order)
        for i in range(n_relevant + 1):
            counts[i] = 0
        for c in range(n_labels):
            counts[n_higher(best, order, n_relevant, scores[q, c])] += 1
        total = 0.0
        n_documents = 0
        first = 0
        while first < n_relevant:
            stop = first + 1
            while stop < n_relevant and best[order[stop]] == best[order[first]]:
                stop += 1
            n_documents += counts[first]
            total += (stop - first) * (stop / n_documents)
            first = stop
        out[q] = total / n_relevant


@part
def n_higher(best, order, n, score):
    """How many of n falling scores are above a score."""
    low = 0
    size = n
    while size > 0:
        half = size // 2
        if best[order[low + half]] > score:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@kernel
def n_before(scores, columns, out):
    """How many labels rank before the right one: those that score higher, or the same and stand further right."""
    for q in range(out.shape[0]):
        score = scores[q, columns[q]]
        before = 0
        for c in range(columns[q] + 1):
            before += scores[q, c] > score
        for c in range(columns[q] + 1, scores.shape[1]):
            before += scores[q, c] >= score
        out[q] = before
