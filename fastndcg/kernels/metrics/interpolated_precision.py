"""
Compute interpolated precision at a recall, and its mean over several recalls (IPrec and IAP).

Interpolated precision at a recall is the highest P@r over the ranks r with that recall or more. Precision only falls
between two relevant documents, so that the maximum is at a relevant document.

Ties: the metrics have no expectation over orders. The engine has put the hits in an order.

relevant_queries, relevant_above, relevant_offsets   hits that are relevant, as hit_queries, hit_above and hit_offsets
recalls           (n_recalls,)   float64, shares of the relevant documents
n_recalls_needing ((FEW + 1) * WIDE,) float64: n_recalls_needing[R * WIDE + n] recalls need n of R relevant documents
recall_rounding   number that is added to recall · R before rounding down to the number of relevant documents needed
interpolated      (n_queries,)   float64, interpolated precision at one recall
out_highest       (n_hits + 1,)  float64, highest precision from each relevant hit on, then 0
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import NO_QUERY
from fastndcg.kernels.simd import WIDE, min_int64

FEW = 32  # relevant documents for which `n_recalls_needing` has entries: without it, IAP takes 3 times as long


@kernel
def keep_relevant(hit_queries, hit_above, hit_labels, rel, out_queries, out_above, out_offsets):
    """Write the relevant hits."""
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


@inline
def count_needed(recall, n_relevant, recall_rounding):
    """Return the number of relevant documents that a recall needs, 1 or more."""
    return max(np.floor(recall * n_relevant + recall_rounding), 1.0)


@kernel
def find_highest(relevant_queries, relevant_above, relevant_offsets, out_highest):
    """Write the highest precision from each relevant hit of a query on, and 0 behind the last hit."""
    n_hits = relevant_above.shape[0]
    out_highest[n_hits] = 0.0
    highest_precision = 0.0
    last_query = NO_QUERY
    for h in range(n_hits - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        precision = (h - relevant_offsets[query] + 1) / (relevant_above[h] + 1)
        highest_precision = max(highest_precision if query == last_query else 0.0, precision)
        last_query = query
        out_highest[h] = highest_precision


@kernel
def look_up(highest, relevant_offsets, n_relevant, recall, recall_rounding, out):
    """Write the interpolated precision at a recall, 0 where the ranking does not have that recall."""
    for q in range(out.shape[0]):
        n_needed = np.int64(count_needed(recall, n_relevant[q], recall_rounding))
        place = relevant_offsets[q] + n_needed - 1
        out[q] = highest[np.uint64(place if place < relevant_offsets[q + 1] else highest.shape[0] - 1)]


@kernel
def interpolate(interpolated, n_relevant, out):
    """Write the interpolated precision at one recall."""
    for q in range(out.shape[0]):
        out[q] = interpolated[q] if n_relevant[q] > 0 else math.nan


@kernel
def average_over_recalls(
    relevant_queries, relevant_above, relevant_offsets, n_relevant, recalls, recall_rounding, n_recalls_needing, out
):  # fmt: skip
    """Compute the mean interpolated precision: each relevant document adds it for the recalls that need its number."""
    highest_precision = 0.0
    total = 0.0
    last_query = NO_QUERY
    for h in range(relevant_above.shape[0] - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        n = h - relevant_offsets[query] + 1
        precision = n / (float(relevant_above[h]) + 1.0)
        highest_precision = highest_precision if query == last_query else 0.0
        highest_precision = precision if precision > highest_precision else highest_precision
        total = total if query == last_query else 0.0
        last_query = query
        n_recalls = 0.0
        n_all = np.int64(n_relevant[query])
        if n_all <= FEW:
            n_recalls = n_recalls_needing[np.uint64(n_all * WIDE + min_int64(n, WIDE - 1))]
        else:
            for i in range(recalls.shape[0]):
                n_recalls += count_needed(recalls[i], n_relevant[query], recall_rounding) == n
        total += highest_precision * n_recalls
        out[query] = total
    for q in range(out.shape[0]):
        total = out[q] if relevant_offsets[q] < relevant_offsets[q + 1] else 0.0
        out[q] = total / recalls.shape[0] if n_relevant[q] > 0 else math.nan
