"""
Metrics that look at which documents were judged: bpref, infAP, the shares of judged and unjudged ones, RBP's residual.

Hits are in rank order. `judged_hit_…` are the same hits where unjudged documents are left out of the ranking,
`pooled_hit_…` where those are that were not to be judged, and `unjudged_hit_…` are the documents without a judgment.

hit_labels, judged_hit_labels   (n_hits,)         float64
…hit_queries, …hit_above, …hit_ties   (n_hits,)   int32
…hit_offsets                    (n_queries + 1,)  int64
sizes                           (n_queries,)      int64, how many documents are ranked
n_relevant, n_judged            (n_queries,)      float64, retrieved or not
n_found, n_unjudged             (n_queries,)      float64, expected numbers in the first k ranks
unjudged_reached                (n_queries,)      float64, DCG of the documents without a judgment
n_looked_at                     (n_queries,)      float64, k or the number retrieved
out                             (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.precision import group_of
from fastndcg.kernels.stopping import end_of_group

EPSILON = 0.00001  # infAP's, that of trec_eval


@kernel
def binary_preference(
    judged_hit_queries, judged_hit_above, judged_hit_ties, judged_hit_labels, rel, n_relevant, n_judged, out
):  # fmt: skip
    """
    Share of the judged documents that are not relevant, up to R of them, that each relevant one stands above.

    Of the n such documents of a tie group, as likely 0 as 1, … or n stand above a relevant one: the mean is that of
    n + 1 whole numbers, kept as their sum.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(judged_hit_above.shape[0]):
        query = np.uint32(judged_hit_queries[h])
        n_before *= query == last_query
        last_query = query
        above = judged_hit_above[h] - n_before
        most = min(n_judged[query] - n_relevant[query], n_relevant[query])
        share = 0.0
        if judged_hit_ties[h] == 1:
            relevant = judged_hit_labels[h] >= rel
            preferred = (most - min(float(above), n_relevant[query])) / most if above > 0 and most > 0.0 else 1.0
            share = preferred if relevant else 0.0
            n_before += relevant
        elif h >= end:
            end, n_inside = group_of(judged_hit_queries, judged_hit_above, judged_hit_labels, h, rel)
            n_others = judged_hit_ties[h] - n_inside
            n_below = max(min(n_others, int(n_relevant[query]) - above), -1)  # this and all below R count as they are
            lost = (n_below + 1) * (above + n_below * 0.5) + (n_others - n_below) * n_relevant[query]
            whole = (n_others + 1) * most
            share = n_inside * ((whole - lost) / whole if above + n_others > 0 and n_inside > 0 else 1.0)
            n_before += n_inside
        out[query] += share
    for q in range(out.shape[0]):
        out[q] = out[q] / n_relevant[q] if n_relevant[q] > 0 else math.nan


@kernel
def inferred_average_precision(
    hit_queries, hit_above, hit_labels, pooled_hit_above, judged_hit_above, rel, n_relevant, out
):  # fmt: skip
    """AP where each precision is estimated from the judged documents above, those outside the pool counting 0."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before *= query == last_query
        last_query = query
        relevant = hit_labels[h] >= rel
        share = (n_before + EPSILON) / (judged_hit_above[h] + 2.0 * EPSILON)
        out[query] += (1.0 + pooled_hit_above[h] * share) / (hit_above[h] + 1) if relevant else 0.0
        n_before += relevant
    for q in range(out.shape[0]):
        out[q] = out[q] / n_relevant[q] if n_relevant[q] > 0 else math.nan


@kernel
def n_nonrelevant_judged(sizes, n_found, n_unjudged, out):
    """Documents that are neither relevant nor without a judgment."""
    for q in range(out.shape[0]):
        out[q] = sizes[q] - n_found[q] - n_unjudged[q]


@kernel
def share_judged(
    unjudged_hit_queries, unjudged_hit_above, unjudged_hit_ties, unjudged_hit_offsets, sizes, k, out
):  # fmt: skip
    """Expected share of the first k ranks that was judged; counted, for the difference to 1 would lose its digits."""
    for q in range(out.shape[0]):
        out[q] = min(sizes[q], k)
    end = 0
    for h in range(unjudged_hit_above.shape[0]):
        query = np.uint32(unjudged_hit_queries[h])
        n_ranks = min(sizes[query], k)
        above = unjudged_hit_above[h]
        ties = unjudged_hit_ties[h]
        if ties == 1:
            out[query] -= 1.0 if above < n_ranks else 0.0
        elif h >= end:
            end = end_of_group(unjudged_hit_queries, unjudged_hit_above, h)
            if above < n_ranks < above + ties:
                n_before = h - unjudged_hit_offsets[query]
                out[query] = (above - n_before) + (ties - (end - h)) * ((n_ranks - above) / ties)
            elif above < n_ranks:
                out[query] -= end - h
    for q in range(out.shape[0]):
        n_ranks = min(sizes[q], k)
        out[q] = out[q] / n_ranks if n_ranks > 0 else math.nan


@kernel
def share_unjudged(n_unjudged, n_looked_at, out):
    """Share of the first k ranks without a judgment, 0 where there are none."""
    for q in range(out.shape[0]):
        out[q] = n_unjudged[q] / n_looked_at[q] if n_unjudged[q] > 0 else 0.0


@kernel
def rbp_residual(unjudged_reached, sizes, p, k, out):
    """What RBP could gain at ranks without a judgment, and below all of them."""
    for q in range(out.shape[0]):
        out[q] = unjudged_reached[q] + p ** min(sizes[q], k)
