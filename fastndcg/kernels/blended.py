"""
Q-measure: average precision of a ratio in which gains are blended with counts.

Hits are in rank order, and one loop goes over those of all queries: see gain.py. The ratio's denominator depends on
its rank alone, so that the mean over the orders of a tie group needs the mean of the numerator at each rank: a relevant
document stands there in n of m cases, and then each of the other n − 1 stands at each of the other ranks as often.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels, hit_gains    (n_hits,)         float64
only_gain                what each relevant document gains, NaN if they gain different things
varied_gains, varied_offsets   if it is not 1: the gains of the best order, of query q from varied_offsets[q] on
rel                      a document is relevant if its label is at least this; others gain nothing
beta                     how much a gain counts beside a relevant document
n_relevant, ap_denominators   (n_queries,)   float64
out                      (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of


@part
def group_totals(hit_queries, hit_above, hit_labels, hit_gains, h, rel):
    """The end of the tie group that begins at hit `h`, how many of its hits are relevant, and what they gain."""
    end = h
    n_inside = 0
    gains = 0.0
    while end < hit_above.shape[0] and hit_above[end] == hit_above[h] and hit_queries[end] == hit_queries[h]:
        n_inside += hit_labels[end] >= rel
        gains += hit_gains[end]
        end += 1
    return end, n_inside, gains


@part
def same_gains(hit_queries, hit_above, hit_ties, hit_labels, rel, beta, n_relevant, k, out):
    """
    Sum of the blended ratios where each relevant document gains 1: no order has to be looked at.

    The same operations as where gains differ, so that the bits do not depend on what else is in a chunk.
    """
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before *= query == last_query
        last_query = query
        above = hit_above[h]
        share = 0.0
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            n_before += relevant
            ratio = (n_before + beta * n_before) / (above + 1 + beta * min(above + 1, n_relevant[query]))
            share = ratio if relevant & (above < k) else 0.0
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            for r in range(above + 1, min(above + hit_ties[h], k) + 1 if n_inside > 0 else 0):
                among = (r - above - 1) / (hit_ties[h] - 1)
                inside = (n_inside + beta * n_inside) * (1.0 + (n_inside - 1) * among)
                share += (n_inside * (n_before + beta * n_before) + inside) / (r + beta * min(r, n_relevant[query]))
            share /= hit_ties[h]
            n_before += n_inside
        out[query] += share


@part
def different_gains(
    hit_queries, hit_above, hit_ties, hit_labels, hit_gains, varied_gains, varied_offsets, rel, beta, k, out
):  # fmt: skip
    """Sum of the blended ratios, with the best order's gains as far as each rank."""
    end = 0
    last_query = np.uint32(0xFFFFFFFF)
    n_before = i = ideal_start = ideal_stop = 0
    gained = best = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        if query != last_query:
            n_before = 0
            gained = best = 0.0
            i = ideal_start = varied_offsets[query]
            ideal_stop = varied_offsets[query + 1]
            last_query = query
        above = hit_above[h]
        share = 0.0
        if hit_ties[h] == 1:
            while i < min(ideal_start + above + 1, ideal_stop):
                best += max(varied_gains[i], 0.0)
                i += 1
            relevant = hit_labels[h] >= rel
            n_before += relevant
            gained += hit_gains[h]
            ratio = (n_before + beta * gained) / (above + 1 + beta * best)
            share = ratio if relevant & (above < k) else 0.0
        elif h >= end:
            end, n_inside, gains = group_totals(hit_queries, hit_above, hit_labels, hit_gains, h, rel)
            for r in range(above + 1, min(above + hit_ties[h], k) + 1 if n_inside > 0 else 0):
                while i < min(ideal_start + r, ideal_stop):
                    best += max(varied_gains[i], 0.0)
                    i += 1
                among = (r - above - 1) / (hit_ties[h] - 1)
                inside = (n_inside + beta * gains) * (1.0 + (n_inside - 1) * among)
                share += (n_inside * (n_before + beta * gained) + inside) / (r + beta * best)
            share /= hit_ties[h]
            n_before += n_inside
            gained += gains
        out[query] += share


@kernel
def q_measure(
    hit_queries, hit_above, hit_ties, hit_labels, hit_gains, only_gain, varied_gains, varied_offsets, rel, beta,
    n_relevant, ap_denominators, k, out,
):  # fmt: skip
    """Mean of the blended ratios at the ranks of relevant documents, those not found counting 0."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    if only_gain == 1.0:
        same_gains(hit_queries, hit_above, hit_ties, hit_labels, rel, beta, n_relevant, k, out)
    else:
        different_gains(
            hit_queries, hit_above, hit_ties, hit_labels, hit_gains, varied_gains, varied_offsets, rel, beta, k, out
        )
    for q in range(out.shape[0]):
        out[q] = min(out[q] / ap_denominators[q], 1.0) if ap_denominators[q] > 0 else math.nan
