"""
Interpolated precision: between two relevant documents P@r only falls, so the highest is at one of them.

Every hit has a rank of its own: tied scores of different labels come here in an order; highest.py has their mean. The
n-th relevant hit of a query lies n − 1 places behind its first one, and one loop goes back over all of them: see
gain.py.

hit_queries, hit_above   (n_hits,)            int32
hit_labels           (n_hits,)                float64
relevant_queries, relevant_above, relevant_offsets   hits that are relevant, with hit offsets of their own
n_relevant           (n_queries,)             float64, retrieved or not
recalls              (n_recalls,)             float64, each asks for its share of n_relevant, and 1 at the least
recall_rounding      what is added to that share before its fraction is cut off
n_asking             ((FEW + 1) * WIDE,)      float64, how many recalls ask for n of R documents, at R · WIDE + n
interpolated         (n_queries,)             float64, highest precision at a recall or beyond it
tied                 queries where scores tie (int32), and a row for each recall with a column for each of them
out_highest          (n_hits + 1,)            float64, the highest precision from each hit on, then 0
out                  (n_queries,), or a row for each recall   float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part, unit
from fastndcg.kernels.vectors import WIDE, lesser

FEW = 32  # relevant documents, for which it is known how many recalls ask for each number


@kernel
def keep_relevant(hit_queries, hit_above, hit_labels, rel, out_queries, out_above, out_offsets):
    """The hits that are relevant."""
    n = 0
    out_offsets[:] = 0
    for h in range(hit_above.shape[0]):
        out_queries[n] = hit_queries[h]
        out_above[n] = hit_above[h]
        is_relevant = hit_labels[h] >= rel
        out_offsets[hit_queries[h] + 1] += is_relevant
        n += is_relevant
    for q in range(out_offsets.shape[0] - 1):
        out_offsets[q + 1] += out_offsets[q]


@part
def n_asked(recall, n_relevant, recall_rounding):
    """How many relevant documents a recall asks for."""
    return max(np.floor(recall * n_relevant + recall_rounding), 1.0)


@kernel
def interpolate(
    relevant_queries, relevant_above, relevant_offsets, n_relevant, recalls, recall_rounding, out_highest, out
):  # fmt: skip
    """Highest precision at each recall or beyond it, 0 where so many relevant documents are not found."""
    n_hits = relevant_above.shape[0]
    out_highest[n_hits] = 0.0
    best = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(n_hits - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        n = h - relevant_offsets[query] + 1
        best = max(best if query == last_query else 0.0, n / (relevant_above[h] + 1))
        last_query = query
        out_highest[h] = best
    for i in range(recalls.shape[0]):
        for q in range(out.shape[1]):
            place = relevant_offsets[q] + np.int64(n_asked(recalls[i], n_relevant[q], recall_rounding)) - 1
            out[i, q] = out_highest[np.uint64(place if place < relevant_offsets[q + 1] else n_hits)]


@kernel
def precision_at_recall(interpolated, n_relevant, out):
    """Highest precision at the recall or beyond it."""
    for q in range(out.shape[0]):
        out[q] = interpolated[q] if n_relevant[q] > 0 else math.nan


@kernel
def average_over_recalls(
    relevant_queries, relevant_above, relevant_offsets, n_relevant, recalls, recall_rounding, n_asking, tied, out
):  # fmt: skip
    """Mean of the same over several recalls: at each relevant document it is added up for those that ask for it."""
    best = total = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(relevant_above.shape[0] - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        n = h - relevant_offsets[query] + 1
        precision = n / (float(relevant_above[h]) + 1.0)
        best = best if query == last_query else 0.0
        best = precision if precision > best else best
        total = total if query == last_query else 0.0
        last_query = query
        n_recalls = 0.0
        n_all = np.int64(n_relevant[query])
        if n_all <= FEW:
            n_recalls = n_asking[np.uint64(n_all * WIDE + lesser(n, WIDE - 1))]
        else:
            for i in range(recalls.shape[0]):
                n_recalls += n_asked(recalls[i], n_relevant[query], recall_rounding) == n
        total += best * n_recalls
        out[query] = total
    for q in range(out.shape[0]):
        total = out[q] if relevant_offsets[q] < relevant_offsets[q + 1] else 0.0
        out[q] = total / recalls.shape[0] if n_relevant[q] > 0 else math.nan
    average_tied(n_relevant, tied[0], tied[1], out)


@unit
def average_tied(n_relevant, queries, interpolated, out):
    """The mean for queries where scores tie, in a function of its own: a kernel's loop keeps its registers."""
    for i in range(queries.shape[0]):
        q = queries[i]
        total = 0.0
        for row in range(interpolated.shape[0]):
            total += interpolated[row, i]
        out[q] = total / interpolated.shape[0] if n_relevant[q] > 0 else math.nan
