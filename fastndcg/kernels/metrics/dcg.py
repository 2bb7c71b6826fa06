"""
Compute gains and the metrics that add them up: CG, DCG, IDCG, nDCG (Järvelin and Kekäläinen 2002).

DCG@k is the sum over ranks r = 1 … k of gain · discount(r), and nDCG@k = DCG@k / IDCG@k. Sums run in rank order.

Ties: each document of a tie group counts with the mean discount of the group's ranks. The sum of the discounts of a
group is a difference of `discount_sums`, and of `discount_rests` for the digits that it loses.

If different labels may have equal gains, all documents of a tie group may have the same gain. Then their gains are
added rank by rank, as for the ideal ranking: a perfect order has exactly the IDCG.

label_offsets   (n_queries + 1,)  int64, query q owns candidates label_offsets[q] up to label_offsets[q + 1]
highest_gains   (n_queries,)      float64, highest gain of the judged documents
highest_ndcg    1, or infinity where negative gains let nDCG exceed 1
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import GainHits, find_group_end, have_equal_gains, sum_gains
from fastndcg.kernels.simd import min_int64


class Discounts(NamedTuple):
    """Discounts by rank, sums of the first r of them, and the rounding errors of these sums."""

    values: np.ndarray
    sums: np.ndarray
    rests: np.ndarray


@kernel
def linear_gains(labels, rel, out):
    """Write each label as its gain, 0 below `rel`."""
    for h in range(out.shape[0]):
        out[h] = labels[h] if labels[h] >= rel else 0.0


@kernel
def exp2_gains(labels, rel, out):
    """Write 2^label − 1 as the gain, 0 below `rel`."""
    for h in range(out.shape[0]):
        label = labels[h]
        if label < rel:
            out[h] = 0.0
        elif abs(label) < 1.0:
            out[h] = math.expm1(label * math.log(2.0))  # keeps the digits that 2^label − 1 cancels
        else:
            out[h] = 2.0**label - 1.0


@kernel
def binary_gains(labels, rel, out):
    """Write gain 1 for labels from `rel` on, else 0."""
    for h in range(out.shape[0]):
        out[h] = 1.0 if labels[h] >= rel else 0.0


@kernel
def table_gains(labels, table, rel, out):
    """Write table[label] as the gain, 0 below `rel` and for labels outside the table."""
    for h in range(out.shape[0]):
        is_inside = (labels[h] >= rel) & (labels[h] >= 0.0) & (labels[h] < table.shape[0])
        out[h] = table[int(labels[h])] if is_inside else 0.0


@inline
def group_discount(discounts, above, last, size):
    """Return the discounts of ranks above + 1, …, last of a tie group, divided by its size."""
    rest = discounts.rests[last] - discounts.rests[above]
    return (discounts.sums[last] - discounts.sums[above] + rest) / size


@inline
def group_dcg(hits, h, discounts, k):
    """Return the end of the tie group that begins at hit `h`, and its expected part of DCG@k."""
    above = hits.above[h]
    size = hits.tie_sizes[h]
    end = find_group_end(hits.queries, hits.above, h)
    last = min(above + size, max(above, k))
    if end - h == size and have_equal_gains(hits.gains, h, end):
        total = 0.0
        for r in range(above + 1, last + 1):
            total += hits.gains[h] * discounts.values[r]
    else:
        total = sum_gains(hits.gains, h, end) * group_discount(discounts, above, last, size)
    return end, total


@kernel
def cg(hit_queries, hit_above, hit_ties, hit_gains, k, out):
    """Compute CG@k: the sum of the gains of the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    for h in range(hit_above.shape[0]):
        n_ranks = min(max(k - hit_above[h], 0), hit_ties[h])
        out[hit_queries[h]] += hit_gains[h] if n_ranks == hit_ties[h] else hit_gains[h] * (n_ranks / hit_ties[h])


@kernel
def dcg(hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, k, out):
    """Compute DCG@k where different labels have different gains."""
    all_discounts = Discounts(discounts, discount_sums, discount_rests)
    for q in range(out.shape[0]):
        out[q] = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        above = np.uint32(hit_above[h])
        size = np.uint32(hit_ties[h])
        discount = 0.0
        if size == 1:
            discount = discounts[above + np.uint32(1)] if above < k else 0.0
        else:
            last = np.uint32(min_int64(above + size, k) if above < k else above)
            discount = group_discount(all_discounts, above, last, size)
        out[query] += hit_gains[h] * discount


@kernel
def dcg_with_equal_gains(hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, k, out):
    """Compute DCG@k where different labels may have equal gains."""
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    all_discounts = Discounts(discounts, discount_sums, discount_rests)
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
            end, share = group_dcg(hits, h, all_discounts, k)
        out[query] += share


@kernel
def find_highest_gains(ideal_gains, ideal_offsets, out):
    """Write the highest gain of each query: the first of its ideal ranking, 0 if that is empty."""
    for q in range(out.shape[0]):
        out[q] = ideal_gains[ideal_offsets[q]] if ideal_offsets[q] < ideal_offsets[q + 1] else 0.0


@kernel
def dcg_over_max_gain(dcg, highest_gains, out):
    """Compute DCG@k with gains divided by the query's highest gain, if that is above 1."""
    for q in range(out.shape[0]):
        out[q] = dcg[q] / max(highest_gains[q], 1.0)


@kernel
def add_ideal_gains(ideal_above, ideal_gains, ideal_offsets, label_offsets, discounts, discount_sums, k, out):
    """Compute IDCG@k. A query without ideal hits has candidates of gain 1 alone."""
    for q in range(out.shape[0]):
        if ideal_offsets[q] == ideal_offsets[q + 1]:
            out[q] = discount_sums[min_int64(label_offsets[q + 1] - label_offsets[q], k)]
            continue
        total = 0.0
        for h in range(ideal_offsets[q], ideal_offsets[q + 1]):
            if ideal_above[h] >= k:
                break
            total += ideal_gains[h] * discounts[ideal_above[h] + 1]
        out[q] = total


@kernel
def idcg(idcg, out):
    """Write IDCG@k as a metric."""
    for q in range(out.shape[0]):
        out[q] = idcg[q]


@kernel
def idcg_with_unit_gains(label_offsets, discount_sums, k, out):
    """Compute IDCG@k where each candidate has gain 1: a sum of discounts."""
    for q in range(out.shape[0]):
        n = label_offsets[q + 1] - label_offsets[q]
        out[q] = discount_sums[min(np.uint32(n), np.uint32(k))]


@kernel
def idcg_k_best(ideal_gains, ideal_offsets, discount_sums, k, out):
    """Compute the DCG of k documents that all have the query's highest gain."""
    for q in range(out.shape[0]):
        highest_gain = ideal_gains[ideal_offsets[q]] if ideal_offsets[q] < ideal_offsets[q + 1] else 0.0
        out[q] = max(highest_gain, 0.0) * discount_sums[k]


@kernel
def replace_undefined(value, out):
    """Replace NaN by a value."""
    for q in range(out.shape[0]):
        out[q] = value if out[q] != out[q] else out[q]


@kernel
def ndcg(dcg, idcg, highest_ndcg, out):
    """Compute nDCG@k. A quotient above `highest_ndcg` can only be a rounding error."""
    for q in range(out.shape[0]):
        out[q] = min(dcg[q] / idcg[q], highest_ndcg) if idcg[q] != 0.0 else math.nan
