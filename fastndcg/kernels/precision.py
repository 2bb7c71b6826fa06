"""
Metrics that count relevant documents: P, R, F, Rprec, AP.

Hits are in rank order. Where scores tie, a group of `ties` documents from rank `above` + 1 on holds some relevant
ones, each as likely at any of its ranks; what is linear in their number needs their share of the ranks up to k
alone (McSherry and Najork 2008, sections 2.1 to 2.4). One loop goes over the hits of all queries: see gain.py.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels            (n_hits,)         float64
hit_offsets           (n_queries + 1,)  int64
rel                   a document is relevant if its label is at least this
cutoffs               (n_queries,)      float64, how many ranks count
n_relevant            (n_queries,)      float64, retrieved or not
n_found, n_found_at_multiple   (n_queries,)  float64, expected number of relevant documents in so many ranks
precision_sums        (n_queries,)      float64, expected sum of the precisions at relevant documents
precision_denominators, recall_denominators, relative_denominators, ap_denominators   (n_queries,)  float64
out                   (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part


@part
def group_of(hit_queries, hit_above, hit_labels, h, rel):
    """The end of the tie group that begins at hit `h`, and how many of its hits are relevant."""
    end = h
    n_relevant = 0
    while end < hit_above.shape[0] and hit_above[end] == hit_above[h] and hit_queries[end] == hit_queries[h]:
        n_relevant += hit_labels[end] >= rel
        end += 1
    return end, n_relevant


@kernel
def count_found(hit_queries, hit_above, hit_ties, hit_labels, rel, cutoffs, out):
    """Expected number of relevant documents in each query's first ranks."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        found = 0.0
        if hit_ties[h] == 1:
            found = 1.0 if (hit_labels[h] >= rel) & (hit_above[h] < cutoffs[query]) else 0.0
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            ranks = min(max(cutoffs[query] - hit_above[h], 0.0), float(hit_ties[h]))
            found = n_inside if ranks == hit_ties[h] else n_inside * (ranks / hit_ties[h])
        out[query] += found


@kernel
def precision(n_found, precision_denominators, out):
    """Share of the first k ranks that is relevant, 0 where there are none."""
    for q in range(out.shape[0]):
        out[q] = n_found[q] / precision_denominators[q] if n_found[q] > 0 else 0.0


@kernel
def recall(n_found, recall_denominators, out):
    """Share of the relevant documents that is in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = n_found[q] / recall_denominators[q] if recall_denominators[q] > 0 else math.nan


@kernel
def f_score(n_found, beta, recall_denominators, precision_denominators, out):
    """Weighted harmonic mean of precision and recall, which is linear in the number found."""
    share = 1.0 / (1.0 + beta * beta)  # of precision; as the textbook's fraction divided by 1 + beta²
    for q in range(out.shape[0]):
        if n_found[q] > 0.0:
            out[q] = n_found[q] / ((1.0 - share) * recall_denominators[q] + share * precision_denominators[q])
        else:
            out[q] = 0.0 if recall_denominators[q] > 0 else math.nan


@kernel
def r_precision(n_found_at_multiple, n_relevant, mult, k, out):
    """Precision at rank R, the number of relevant documents, or a multiple of it; at rank k if that is less."""
    for q in range(out.shape[0]):
        cutoff = min(math.floor(mult * n_relevant[q] + 0.9), float(k))
        out[q] = n_found_at_multiple[q] / cutoff if cutoff > 0 else math.nan


@kernel
def relative_precision(n_found, relative_denominators, out):
    """Share of the relevant documents that could be among the first k."""
    for q in range(out.shape[0]):
        out[q] = n_found[q] / relative_denominators[q] if relative_denominators[q] > 0 else math.nan


@part
def precisions(above, ties, last, n_inside, n_before):
    """
    Expected sum of P@r over the relevant documents at ranks r = `above` + 1 … `last` of one group.

    Each of the `ties` ranks is as likely to be relevant, `n_inside` are; given that one is, each rank before it in
    the group is so with (n_inside − 1) / (ties − 1). `n_before` relevant documents stand above the group.
    """
    total = 0.0
    for r in range(above + 1, last + 1):
        among = (r - above - 1) * (n_inside - 1) / (ties - 1) if ties > 1 else 0.0
        total += (n_before + 1 + among) / r
    return total * (n_inside / ties)


@kernel
def add_precisions(hit_queries, hit_above, hit_ties, hit_labels, rel, k, out):
    """Expected sum of the precisions at the ranks of relevant documents, down to rank k."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before *= query == last_query
        last_query = query
        found = 0.0
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            n_before += relevant
            found = n_before / (hit_above[h] + 1) if relevant & (hit_above[h] < k) else 0.0
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            last = min(hit_above[h] + hit_ties[h], k)
            found = precisions(hit_above[h], hit_ties[h], last, n_inside, n_before)
            n_before += n_inside
        out[query] += found


@kernel
def average_precision(precision_sums, ap_denominators, out):
    """Mean of the precisions at the ranks of relevant documents, those not found counting 0."""
    for q in range(out.shape[0]):
        out[q] = precision_sums[q] / ap_denominators[q] if ap_denominators[q] > 0 else math.nan


@kernel
def average_precision_of_hits(hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, k, out):
    """Mean of the precisions at the ranks of the relevant documents found in the first k."""
    for q in range(out.shape[0]):
        total = 0.0
        n_before = 0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        value = 0.0
        while h < stop and hit_above[h] < k:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            last = hit_above[h] + hit_ties[h]
            if n_inside > 0 and last <= k:
                total += precisions(hit_above[h], hit_ties[h], last, n_inside, n_before)
                n_before += n_inside
                value = total / n_before
            elif n_inside > 0:
                value = straddling(hit_above[h], hit_ties[h], k, n_inside, n_before, total)
            h = end
        out[q] = value if n_relevant[q] > 0 else math.nan


@part
def straddling(above, ties, k, n_inside, n_before, total):
    """
    Expected mean of the precisions in the first k ranks, where a tie group goes on below k.

    The number x of its relevant documents among the `slots` ranks above k is hypergeometric; given x, they are as
    likely at any of these ranks. Weights are relative to the likeliest x, so that none of them vanishes.
    """
    slots = k - above
    first = max(0, n_inside - (ties - slots))
    last = min(slots, n_inside)
    if first == last:
        return (total + precisions(above, slots, k, first, n_before)) / (n_before + first)
    flat = 0.0
    rising = 0.0
    for r in range(above + 1, k + 1):
        flat += 1.0 / r
        rising += (r - above - 1) / r / max(slots - 1, 1)
    likeliest = min(max((slots + 1) * (n_inside + 1) // (ties + 2), first), last)
    weights = 0.0
    value = 0.0
    weight = 1.0
    for x in range(likeliest, first - 1, -1):
        weights += weight
        reached = x / slots * ((n_before + 1) * flat + (x - 1) * rising)
        value += weight * ((total + reached) / max(n_before + x, 1))
        weight *= x * (ties - n_inside - slots + x) / ((n_inside - x + 1) * (slots - x + 1))
    weight = 1.0
    for x in range(likeliest + 1, last + 1):
        weight *= (n_inside - x + 1) * (slots - x + 1) / (x * (ties - n_inside - slots + x))
        weights += weight
        reached = x / slots * ((n_before + 1) * flat + (x - 1) * rising)
        value += weight * ((total + reached) / (n_before + x))
    return value / weights
