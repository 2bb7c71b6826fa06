"""
Compute multilabel and multiclass ranking metrics of rows: one score for each label.

scores    (n_rows, n_labels)  float32 or float64
relevant  (n_rows, n_labels)  uint8, 1 for each true label
columns   (n_rows,)           int64, column of the true label
best      (n_labels,)         float64, buffer
order, spare                  (n_labels,)      int32, buffers
counts    (n_labels + 1,)     int64, buffer
out       (n_rows,)           float64
"""

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sorting import sort_descending


@kernel
def label_ranking_precision(scores, relevant, best, order, spare, counts, out):
    """
    Compute label ranking average precision.

    It is the mean over the true labels of the share of true labels among the labels with the same score or more.
    """
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
            counts[count_higher(best, order, n_relevant, scores[q, c])] += 1
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


@inline
def count_higher(best, order, n, score):
    """Return the number of n falling scores above a score, by binary search."""
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
    """
    Count the labels that rank before the true one.

    These have a higher score, or the same score and a column further right.
    """
    for q in range(out.shape[0]):
        column = min(columns[q], scores.shape[1] - 1)  # labels may change after their columns were looked up
        score = scores[q, column]
        n = 0
        for c in range(column + 1):
            n += scores[q, c] > score
        for c in range(column + 1, scores.shape[1]):
            n += scores[q, c] >= score
        out[q] = n
