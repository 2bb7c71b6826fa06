"""
Interpolated precision: between two relevant documents P@r only falls, so the highest is at one of them.

Every hit has a rank of its own: tied scores of different labels come here in an order.

hit_above            (n_hits,)         int32
hit_labels           (n_hits,)         float64
hit_offsets          (n_queries + 1,)  int64
n_relevant           (n_queries,)      float64, retrieved or not
recall_rounding      what is added to recall · R before its fraction is cut off
recalls              (n_recalls,)      float64
out                  (n_queries,)      float64
"""

import math

from fastndcg.kernels.jit import kernel, part


@part
def count_relevant(hit_labels, start, stop, rel):
    """How many hits of one query are relevant."""
    n_found = 0
    for h in range(start, stop):
        n_found += hit_labels[h] >= rel
    return n_found


@part
def highest(hit_above, hit_labels, start, stop, rel, n_found, n_needed):
    """The highest precision from the rank on where so many relevant documents are found, 0 if they are not."""
    best = 0.0
    n_left = n_found
    for h in range(stop - 1, start - 1, -1):
        if n_left < n_needed:
            break
        if hit_labels[h] >= rel:
            best = max(best, n_left / (hit_above[h] + 1))
            n_left -= 1
    return best


@kernel
def precision_at_recall(hit_above, hit_labels, hit_offsets, rel, n_relevant, recall, recall_rounding, out):
    """Highest precision at the recall or beyond it."""
    for q in range(out.shape[0]):
        start = hit_offsets[q]
        stop = hit_offsets[q + 1]
        n_found = count_relevant(hit_labels, start, stop, rel)
        n_needed = max(math.floor(recall * n_relevant[q] + recall_rounding), 1.0)
        found = highest(hit_above, hit_labels, start, stop, rel, n_found, n_needed)
        out[q] = found if n_relevant[q] > 0 else math.nan


@kernel
def average_over_recalls(hit_above, hit_labels, hit_offsets, rel, n_relevant, recalls, recall_rounding, out):
    """Mean of the same over several recalls."""
    for q in range(out.shape[0]):
        start = hit_offsets[q]
        stop = hit_offsets[q + 1]
        n_found = count_relevant(hit_labels, start, stop, rel)
        total = 0.0
        for i in range(recalls.shape[0]):
            n_needed = max(math.floor(recalls[i] * n_relevant[q] + recall_rounding), 1.0)
            total += highest(hit_above, hit_labels, start, stop, rel, n_found, n_needed)
        out[q] = total / recalls.shape[0] if n_relevant[q] > 0 else math.nan
