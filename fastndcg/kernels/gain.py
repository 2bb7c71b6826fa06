"""
Gains, and the metrics that add them up: CG, DCG, IDCG, nDCG.

Hits are in rank order (`rank.py` made them so). Sums run in that order, in float64. Where scores tie, a group of
`ties` documents from rank `above` + 1 on shares the mean discount of its ranks (McSherry and Najork 2008, section 3);
a group of equal gains is added rank by rank, so that a perfect order adds up to the ideal to the bit.

hit_above, hit_ties   (n_hits,)         int32
hit_gains             (n_hits,)         float64
hit_offsets           (n_queries + 1,)  int64
ideal_above, ideal_gains, ideal_offsets   the same for the best order, without ties
discounts             (n_ranks + 1,)    float64, discounts[r] belongs to rank r
discount_sums, discount_rests   (n_ranks + 1,)  float64, sum of the first r discounts as two numbers, see `add_up`
out                   (n_queries,)      float64
"""

import math

from fastndcg.kernels.jit import kernel, part


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
def table_gains(labels, table, rel, out):
    """The gain that a table gives, 0 below `rel`."""
    for h in range(out.shape[0]):
        out[h] = table[int(labels[h])] if labels[h] >= rel else 0.0


@kernel
def add_up(discounts, out_sums, out_rests):
    """
    Sum of the first r discounts, as a float64 and what it misses of the exact sum.

    The difference of two such sums is the sum of the discounts between two ranks to full precision; of plain
    sums it would lose ten digits at rank 10⁷.
    """
    total = 0.0
    rest = 0.0
    for r in range(discounts.shape[0]):
        longer = total + discounts[r]
        kept = longer - total
        rest += (total - (longer - kept)) + (discounts[r] - kept)
        total = longer
        out_sums[r] = total
        out_rests[r] = rest


@part
def discounted(
    hit_above, hit_ties, hit_gains, start, stop, discounts, discount_sums, discount_rests, k
):  # fmt: skip
    """Expected DCG@k of one query, whose hits are `start` up to `stop`."""
    total = 0.0
    h = start
    while h < stop and hit_above[h] < k:
        above = hit_above[h]
        ties = hit_ties[h]
        gains = hit_gains[h]
        alike = True
        end = h + 1
        while end < stop and hit_above[end] == above:
            gains += hit_gains[end]
            alike &= hit_gains[end] == hit_gains[h]
            end += 1
        if alike and end - h == ties:
            for r in range(above + 1, min(above + ties, k) + 1):
                total += hit_gains[h] * discounts[r]
        else:
            last = min(above + ties, k)
            share = discount_sums[last] - discount_sums[above] + (discount_rests[last] - discount_rests[above])
            total += gains * (share / ties)
        h = end
    return total


@kernel
def cg(hit_above, hit_ties, hit_gains, hit_offsets, k, out):
    """Gain of each query's first k ranks."""
    for q in range(out.shape[0]):
        total = 0.0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            inside = min(k - hit_above[h], hit_ties[h])
            total += hit_gains[h] if inside == hit_ties[h] else hit_gains[h] * (inside / hit_ties[h])
        out[q] = total


@kernel
def dcg(hit_above, hit_ties, hit_gains, hit_offsets, discounts, discount_sums, discount_rests, k, out):
    """Discounted gain of each query's first k ranks."""
    for q in range(out.shape[0]):
        out[q] = discounted(
            hit_above, hit_ties, hit_gains, hit_offsets[q], hit_offsets[q + 1],
            discounts, discount_sums, discount_rests, k,
        )  # fmt: skip


@part
def ideal(ideal_above, ideal_gains, start, stop, discounts, k):
    """DCG@k of one query's best order."""
    total = 0.0
    for h in range(start, stop):
        if ideal_above[h] >= k:
            break
        total += ideal_gains[h] * discounts[ideal_above[h] + 1]
    return total


@kernel
def idcg(ideal_above, ideal_gains, ideal_offsets, discounts, k, out):
    """Discounted gain of the first k ranks of each query's best order."""
    for q in range(out.shape[0]):
        out[q] = ideal(ideal_above, ideal_gains, ideal_offsets[q], ideal_offsets[q + 1], discounts, k)


@kernel
def ndcg(
    hit_above, hit_ties, hit_gains, hit_offsets, ideal_above, ideal_gains, ideal_offsets,
    discounts, discount_sums, discount_rests, k, highest_ndcg, out,
):  # fmt: skip
    """DCG over IDCG of each query. Rounding may lift a sum above the ideal's: `highest_ndcg` takes that back."""
    for q in range(out.shape[0]):
        best = ideal(ideal_above, ideal_gains, ideal_offsets[q], ideal_offsets[q + 1], discounts, k)
        if best == 0.0:
            out[q] = math.nan
            continue
        reached = discounted(
            hit_above, hit_ties, hit_gains, hit_offsets[q], hit_offsets[q + 1],
            discounts, discount_sums, discount_rests, k,
        )  # fmt: skip
        out[q] = min(reached / best, highest_ndcg)
