"""
Gains, and the metrics that add them up: CG, DCG, IDCG, nDCG.

Hits are in rank order (`rank.py` made them so). Sums run in that order, in float64. Where scores tie, a group of
`ties` documents from rank `above` + 1 on shares the mean discount of its ranks (McSherry and Najork 2008, section 3).
A group of equal labels has no ties left; one of different labels with equal gains, where gains merge labels, is added
rank by rank, so that a perfect order adds up to the ideal to the bit.

One loop goes over the hits of all queries, and adds what lies below rank k as 0: a loop for each query, or one that
stops at rank k, ends where the processor does not expect it, which takes longer than the hits do. Indices are
unsigned, so that no code is made for negative ones.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_gains             (n_hits,)         float64
ideal_above, ideal_gains, ideal_offsets   the same for the best order, without ties
label_offsets         (n_queries + 1,)  int64, query q owns candidates label_offsets[q] up to label_offsets[q + 1]
discounts             (n_ranks + 1,)    float64, discounts[r] belongs to rank r
discount_sums, discount_rests   (n_ranks + 1,)  float64, sum of the first r discounts as two numbers, see discounts.py
reached, best         (n_queries,)      float64, DCG@k and IDCG@k
highest_gains         (n_queries,)      float64, of the judged documents
out                   (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.vectors import lesser


@kernel
def linear_gains(labels, rel, out):
    """The label itself, 0 below `rel`."""
    for h in range(out.shape[0]):
        out[h] = labels[h] if labels[h] >= rel else 0.0


@kernel
def exp2_gains(labels, rel, out):
    """2^label − 1, 0 below `rel`; for fractions by `expm1`, which keeps the digits that the difference loses."""
    for h in range(out.shape[0]):
        label = labels[h]
        if label < rel:
            out[h] = 0.0
        elif abs(label) < 1.0:
            out[h] = math.expm1(label * math.log(2.0))
        else:
            out[h] = 2.0**label - 1.0


@kernel
def binary_gains(labels, rel, out):
    """1 from `rel` on, 0 below."""
    for h in range(out.shape[0]):
        out[h] = 1.0 if labels[h] >= rel else 0.0


@kernel
def table_gains(labels, table, rel, out):
    """The gain that a table gives, 0 below `rel`."""
    for h in range(out.shape[0]):
        out[h] = table[int(labels[h])] if labels[h] >= rel else 0.0


@part
def group_share(hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, k):
    """Where the tie group that begins at hit `h` ends, and its expected part of DCG@k."""
    above = hit_above[h]
    ties = hit_ties[h]
    gains = hit_gains[h]
    alike = True
    end = h + 1
    while end < hit_above.shape[0] and hit_above[end] == above and hit_queries[end] == hit_queries[h]:
        gains += hit_gains[end]
        alike &= hit_gains[end] == hit_gains[h]
        end += 1
    last = min(above + ties, max(above, k))
    if alike and end - h == ties:
        total = 0.0
        for r in range(above + 1, last + 1):
            total += hit_gains[h] * discounts[r]
        return end, total
    share = discount_sums[last] - discount_sums[above] + (discount_rests[last] - discount_rests[above])
    return end, gains * (share / ties)


@kernel
def cg(hit_queries, hit_above, hit_ties, hit_gains, k, out):
    """Gain of each query's first k ranks."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    for h in range(hit_above.shape[0]):
        inside = min(max(k - hit_above[h], 0), hit_ties[h])
        out[hit_queries[h]] += hit_gains[h] if inside == hit_ties[h] else hit_gains[h] * (inside / hit_ties[h])


@kernel
def dcg(hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, k, out):
    """Discounted gain of each query's first k ranks, where different labels have different gains."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        above = np.uint32(hit_above[h])
        ties = np.uint32(hit_ties[h])
        discount = 0.0
        if ties == 1:
            discount = discounts[above + np.uint32(1)] if above < k else 0.0
        else:
            last = np.uint32(lesser(above + ties, k) if above < k else above)
            rest = discount_rests[last] - discount_rests[above]
            discount = (discount_sums[last] - discount_sums[above] + rest) / ties
        out[query] += hit_gains[h] * discount


@kernel
def dcg_of_merged_labels(hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, k, out):
    """The same where different labels may have the same gain."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        share = 0.0
        if hit_ties[h] == 1:
            gain = hit_gains[h] * discounts[np.uint32(hit_above[h]) + 1]
            share = gain if hit_above[h] < k else 0.0
        elif h >= end:
            end, share = group_share(
                hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, k
            )
        out[query] += share


@kernel
def highest(ideal_gains, ideal_offsets, out):
    """The first gain of each query's best order, 0 where there is none."""
    for q in range(out.shape[0]):
        out[q] = ideal_gains[ideal_offsets[q]] if ideal_offsets[q] < ideal_offsets[q + 1] else 0.0


@kernel
def dcg_of_shares(reached, highest_gains, out):
    """The same with gains divided by the highest one of each query, where that is above 1."""
    for q in range(out.shape[0]):
        out[q] = reached[q] / max(highest_gains[q], 1.0)


@kernel
def add_ideal(ideal_above, ideal_gains, ideal_offsets, label_offsets, discounts, discount_sums, k, out):
    """Discounted gain of the first k ranks of each query's best order; without hits, of candidates that gain 1 each."""
    for q in range(out.shape[0]):
        if ideal_offsets[q] == ideal_offsets[q + 1]:
            out[q] = discount_sums[lesser(label_offsets[q + 1] - label_offsets[q], k)]
            continue
        total = 0.0
        for h in range(ideal_offsets[q], ideal_offsets[q + 1]):
            if ideal_above[h] >= k:
                break
            total += ideal_gains[h] * discounts[ideal_above[h] + 1]
        out[q] = total


@kernel
def idcg(best, out):
    """The same, which nDCG divides by, as a metric."""
    for q in range(out.shape[0]):
        out[q] = best[q]


@kernel
def idcg_of_ones(label_offsets, discount_sums, k, out):
    """IDCG where each candidate gains 1: the sum of as many discounts."""
    for q in range(out.shape[0]):
        n = label_offsets[q + 1] - label_offsets[q]
        out[q] = discount_sums[min(np.uint32(n), np.uint32(k))]


@kernel
def idcg_of_k_best(ideal_gains, ideal_offsets, discount_sums, k, out):
    """Discounted gain of k documents that all have the highest gain of their query."""
    for q in range(out.shape[0]):
        highest = ideal_gains[ideal_offsets[q]] if ideal_offsets[q] < ideal_offsets[q + 1] else 0.0
        out[q] = max(highest, 0.0) * discount_sums[k]


@kernel
def replace_undefined(value, out):
    """Put a value where there is none."""
    for q in range(out.shape[0]):
        out[q] = value if out[q] != out[q] else out[q]


@kernel
def ndcg(reached, best, highest_ndcg, out):
    """DCG over IDCG of each query. Rounding may lift a sum above the ideal's: `highest_ndcg` takes that back."""
    for q in range(out.shape[0]):
        out[q] = min(reached[q] / best[q], highest_ndcg) if best[q] != 0.0 else math.nan
