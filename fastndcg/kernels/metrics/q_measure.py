"""
Q-measure: average precision of a ratio that blends gains with counts (Sakai 2004).

The blended ratio at rank r is (C(r) + beta · G(r)) / (r + beta · G*(r)). C counts the relevant documents of the first
r ranks, G adds up their gains, and G* is G of the ideal ranking. Q is the sum of the ratios at the ranks of relevant
documents, over the number of relevant documents.

Ties: the denominator depends on the rank alone, so that a tie group needs the expected numerator at each rank. A
relevant document is at a given rank with probability n / m, for n relevant documents in a group of m. Given that, each
of the other n − 1 is at each rank of the group above with probability 1 / (m − 1).

ideal_gains, ideal_gain_offsets   gains of the ideal ranking, rank by rank
beta                              weight of a gain beside a count
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import NO_QUERY, count_tied_relevant, sum_gains


@kernel
def q_measure(
    hit_queries, hit_above, hit_ties, hit_labels, hit_gains, ideal_gains, ideal_gain_offsets, rel, beta,
    ap_denominators, k, out,
):  # fmt: skip
    """Compute the mean of the blended ratios at the ranks of relevant documents."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = NO_QUERY
    n_before = 0
    n_ideal = 0  # documents of the ideal ranking whose gains `ideal_gain` holds
    ideal_gain = 0.0
    gain_before = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        if query != last_query:
            n_before = 0
            n_ideal = 0
            ideal_gain = 0.0
            gain_before = 0.0
            last_query = query
        above = hit_above[h]
        ratio = 0.0
        if hit_ties[h] == 1:
            n_ideal, ideal_gain = extend_ideal(ideal_gains, ideal_gain_offsets, query, above + 1, n_ideal, ideal_gain)
            is_relevant = hit_labels[h] >= rel
            n_before += is_relevant
            gain_before += hit_gains[h]
            blended = (n_before + beta * gain_before) / (above + 1 + beta * ideal_gain)
            ratio = blended if is_relevant & (above < k) else 0.0
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            tied_gain = sum_gains(hit_gains, h, end)
            for r in range(above + 1, min(above + hit_ties[h], k) + 1 if n_tied_relevant > 0 else 0):
                n_ideal, ideal_gain = extend_ideal(ideal_gains, ideal_gain_offsets, query, r, n_ideal, ideal_gain)
                share_above = (r - above - 1) / (hit_ties[h] - 1)
                tied_part = (n_tied_relevant + beta * tied_gain) * (1.0 + (n_tied_relevant - 1) * share_above)
                ratio += (n_tied_relevant * (n_before + beta * gain_before) + tied_part) / (r + beta * ideal_gain)
            ratio /= hit_ties[h]
            n_before += n_tied_relevant
            gain_before += tied_gain
        out[query] += ratio
    for q in range(out.shape[0]):
        out[q] = min(out[q] / ap_denominators[q], 1.0) if ap_denominators[q] > 0 else math.nan


@inline
def extend_ideal(ideal_gains, ideal_gain_offsets, query, n_ranks, n_ideal, ideal_gain):
    """Return the number of ranks and the gain of the ideal ranking down to rank `n_ranks`, from those at hand."""
    start = ideal_gain_offsets[query]
    stop = min(n_ranks, ideal_gain_offsets[query + 1] - start)
    while n_ideal < stop:
        ideal_gain += max(ideal_gains[start + n_ideal], 0.0)
        n_ideal += 1
    return n_ideal, ideal_gain
