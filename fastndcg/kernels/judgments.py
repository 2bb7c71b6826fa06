"""
Metrics that look at which documents were judged: bpref, infAP, the shares of judged and unjudged ones, RBP's residual.

Hits are in rank order. `judged_hit_…` are the same hits where unjudged documents are left out of the ranking,
`pooled_hit_…` where those are that were not to be judged, and `unjudged_hit_…` are the documents without a judgment.

hit_labels, judged_hit_labels   (n_hits,)         float64
…hit_queries, …hit_above, …hit_ties   (n_hits,)   int32
…hit_offsets                    (n_queries + 1,)  int64
sizes                           (n_queries,)      int64, how many documents are ranked
n_relevant, n_judged            (n_queries,)      float64, retrieved or not
preferences                     ((FEW + 1) * WIDE,)  float64, (most − n) / most at most · WIDE + n, in the last column 0
out_most                        (n_queries,)      int64, room for how many documents a relevant one may be preferred to
n_found, n_unjudged             (n_queries,)      float64, expected numbers in the first k ranks
unjudged_reached                (n_queries,)      float64, DCG of the documents without a judgment
n_looked_at                     (n_queries,)      float64, k or the number retrieved
out                             (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of
from fastndcg.kernels.stopping import end_of_group
from fastndcg.kernels.vectors import WIDE, lesser

FEW = 32  # documents that a relevant one may be preferred to, for which its share of right preferences is looked up
EPSILON = 0.00001  # infAP's, that of trec_eval
NEGLIGIBLE = 2.0**-70  # beside the chance of what is about the mean


@kernel
def binary_preference(
    judged_hit_queries, judged_hit_above, judged_hit_ties, judged_hit_labels, rel, n_relevant, n_judged, preferences,
    out_most, out,
):  # fmt: skip
    """
    Share of the judged documents that are not relevant, up to R of them, that each relevant one stands above.

    Of the n such documents of a tie group, as likely 0 as 1, … or n stand above a relevant one: the mean is that of
    n + 1 whole numbers, kept as their sum. Shares are looked up, also the 0 of others: choosing between two float64
    numbers, and making one of a whole number, are what the processor does least of at a time.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
        out_most[q] = np.int64(min(n_judged[q] - n_relevant[q], n_relevant[q]))
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    total = 0.0
    for h in range(judged_hit_above.shape[0]):
        query = np.uint32(judged_hit_queries[h])
        n_before = n_before if query == last_query else 0
        total = total if query == last_query else 0.0
        last_query = query
        above = judged_hit_above[h] - n_before
        most = out_most[query]
        share = 0.0
        if judged_hit_ties[h] == 1:
            relevant = judged_hit_labels[h] >= rel
            n_before += relevant
            n_wrong = lesser(above, most)
            if most <= FEW:
                share = preferences[np.uint64(most * WIDE + (n_wrong if relevant else WIDE - 1))]
            else:
                share = (most - n_wrong) / most if relevant else 0.0
        elif h >= end:
            end, n_inside = group_of(judged_hit_queries, judged_hit_above, judged_hit_labels, h, rel)
            n_others = judged_hit_ties[h] - n_inside
            n_below = max(min(n_others, int(n_relevant[query]) - above), -1)  # this and all below R count as they are
            lost = (n_below + 1) * (above + n_below * 0.5) + (n_others - n_below) * n_relevant[query]
            whole = (n_others + 1) * most
            share = n_inside * ((whole - lost) / whole if above + n_others > 0 and n_inside > 0 else 1.0)
            n_before += n_inside
        total += share
        out[query] = total
    for q in range(out.shape[0]):
        out[q] = out[q] / n_relevant[q] if n_relevant[q] > 0 else math.nan


@part
def estimate(n_before, n_judged, n_pooled):
    """What the documents above a relevant one add to the precision at its rank, by those of them that were judged."""
    return n_pooled * ((n_before + EPSILON) / (n_judged + 2.0 * EPSILON))


@part
def mean_estimate(n_drawn, n_others, n_judged, share_relevant, share_pooled, judged_above, pooled_above, before):
    """
    The same where documents above are a draw from those that a relevant one ties with, of whom some are judged.

    How many of the drawn are judged is hypergeometric; given that, the mean number of relevant ones is a share of
    them, and that of pooled ones a share of the rest, independently. Chances are relative to one near their mean.
    """
    n_unjudged = n_others - n_judged
    fewest = max(n_drawn - n_unjudged, 0)
    most = min(n_drawn, n_judged)
    middle = min(max(n_drawn * n_judged // max(n_others, 1), fewest), most)
    chances = 0.0
    value = 0.0
    chance = 1.0
    for n in range(middle, most + 1):
        pooled = pooled_above + n + share_pooled * (n_drawn - n)
        chances += chance
        value += chance * estimate(before + share_relevant * n, judged_above + n, pooled)
        chance *= (n_judged - n) * (n_drawn - n) / ((n + 1.0) * (n_unjudged - n_drawn + n + 1.0))
        if chance < NEGLIGIBLE:
            break
    chance = 1.0
    for n in range(middle - 1, fewest - 1, -1):
        chance *= (n + 1.0) * (n_unjudged - n_drawn + n + 1.0) / ((n_judged - n) * (n_drawn - n))
        if chance < NEGLIGIBLE:
            break
        pooled = pooled_above + n + share_pooled * (n_drawn - n)
        chances += chance
        value += chance * estimate(before + share_relevant * n, judged_above + n, pooled)
    return value / chances


@part
def tied_precisions(above, ties, n_inside, n_judged, n_pooled, judged_above, pooled_above, before):
    """Expected sum of the estimated precisions at the relevant documents of a tie group."""
    share_relevant = (n_inside - 1) / max(n_judged - 1, 1)
    share_pooled = (n_pooled - n_judged) / max(ties - n_judged, 1)
    total = 0.0
    for i in range(ties if n_inside > 0 else 0):
        seen = mean_estimate(
            i, ties - 1, n_judged - 1, share_relevant, share_pooled, judged_above, pooled_above, before
        )
        total += (1.0 + seen) / (above + i + 1)
    return total * (n_inside / ties)


@kernel
def inferred_average_precision(
    hit_queries, hit_above, hit_ties, hit_labels, pooled_hit_above, pooled_hit_ties, judged_hit_above, judged_hit_ties,
    rel, n_relevant, out,
):  # fmt: skip
    """
    AP where each precision is estimated from the judged documents above, those outside the pool counting 0.

    The hits that tie may have ranks of their own in a view that shows no others: the last of them says how many.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = np.uint32(0)
    before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        before *= query == last_query
        last_query = query
        share = 0.0
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            seen = estimate(before, judged_hit_above[h], pooled_hit_above[h])
            share = (1.0 + seen) / (hit_above[h] + 1) if relevant else 0.0
            before += relevant
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            judged_above = judged_hit_above[h]
            pooled_above = pooled_hit_above[h]
            n_judged = judged_hit_above[end - 1] + judged_hit_ties[end - 1] - judged_above
            n_pooled = pooled_hit_above[end - 1] + pooled_hit_ties[end - 1] - pooled_above
            share = tied_precisions(
                hit_above[h], hit_ties[h], n_inside, n_judged, n_pooled, judged_above, pooled_above, before
            )
            before += n_inside
        out[query] += share
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
