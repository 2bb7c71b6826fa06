"""
Gains relative to what could have been gained down to the same rank: nDCG_rel, Rndcg, G, binG.

Where scores tie, each document of a group of `ties` from rank `above` + 1 on is as likely at any of its ranks, and
given one of them the others are as likely at the ranks that are left: what is linear in the gains has an exact mean.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels, hit_gains  (n_hits,)        float64
hit_offsets, ideal_offsets   (n_queries + 1,)  int64
ideal_gains           (n_ideal_hits,)   float64, the best order's: those above 0 come first, and have no ties
discounts, discount_sums, discount_rests, log2_…   (n_ranks + 1,)  float64, see gain.py
sizes                 (n_queries,)      int64, how many documents are ranked
n_relevant            (n_queries,)      float64, retrieved or not
out                   (n_queries,)      float64
"""

import math

from fastndcg.kernels.gain import group_share
from fastndcg.kernels.jit import kernel, part

ALL_RANKS = 2**31 - 1


@part
def count_positive(ideal_gains, start, stop):
    """How many documents of one query have a gain above 0."""
    n = 0
    while start + n < stop and ideal_gains[start + n] > 0.0:
        n += 1
    return n


@part
def sum_group(hit_above, hit_gains, h, stop):
    """The end of the tie group that begins at hit `h`, its gains, and those above 0 with their number."""
    end = h
    gains = 0.0
    positive = 0.0
    n_positive = 0
    alike = True
    while end < stop and hit_above[end] == hit_above[h]:
        gains += hit_gains[end]
        positive += max(hit_gains[end], 0.0)
        n_positive += hit_gains[end] > 0.0
        alike &= hit_gains[end] == hit_gains[h]
        end += 1
    return end, gains, positive, n_positive, alike


@part
def add_ideal(ideal_gains, first, discounts, rank, last, best):
    """The ideal's sum from rank `rank` on, down to rank `last`."""
    for r in range(rank, last):
        best += ideal_gains[first + r] * discounts[r + 1]
    return best, max(rank, last)


@kernel
def ndcg_at_relevant(
    hit_above, hit_ties, hit_gains, hit_offsets, ideal_gains, ideal_offsets, discounts, highest_ndcg, out
):  # fmt: skip
    """
    Mean of nDCG at the ranks of all documents with a gain, that of all ranks for those not found.

    In a group whose gains add up to g, a document of gain x at rank r has above it the groups before, and of this one
    (g − x) / (ties − 1) at each rank.
    """
    for q in range(out.shape[0]):
        first = ideal_offsets[q]
        n_ideal = count_positive(ideal_gains, first, ideal_offsets[q + 1])
        total = 0.0
        reached = 0.0
        best = 0.0
        rank = 0  # down to which `best` adds up
        n_left = n_ideal
        h = hit_offsets[q]
        while h < hit_offsets[q + 1]:
            if hit_ties[h] == 1:
                best, rank = add_ideal(ideal_gains, first, discounts, rank, min(hit_above[h] + 1, n_ideal), best)
                reached += hit_gains[h] * discounts[hit_above[h] + 1]
                total += reached / best if hit_gains[h] > 0.0 else 0.0
                n_left -= hit_gains[h] > 0.0
                h += 1
                continue
            end, gains, positive, n_positive, alike = sum_group(hit_above, hit_gains, h, hit_offsets[q + 1])
            ties = hit_ties[h]
            is_sure = alike and end - h == ties
            others = (n_positive * gains - positive) / max(ties - 1, 1)
            before = 0.0
            for r in range(hit_above[h] + 1, hit_above[h] + ties + 1):
                best, rank = add_ideal(ideal_gains, first, discounts, rank, min(r, n_ideal), best)
                if is_sure:
                    reached += hit_gains[h] * discounts[r]
                    total += reached / best if hit_gains[h] > 0.0 else 0.0
                elif n_positive > 0:
                    at_rank = n_positive * reached + positive * discounts[r] + others * before
                    total += at_rank / best / ties
                before += discounts[r]
            if not is_sure:
                reached += gains * (before / ties)
            n_left -= n_positive
            h = end
        best, rank = add_ideal(ideal_gains, first, discounts, rank, n_ideal, best)
        if n_left > 0:
            total += n_left * (reached / best)
        out[q] = min(total / n_ideal, highest_ndcg) if best > 0.0 else math.nan


@kernel
def ndcg_at_levels(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, ideal_gains, ideal_offsets, sizes, discounts,
    discount_sums, discount_rests, highest_ndcg, out,
):  # fmt: skip
    """Mean of nDCG at the ranks that end a level of the best order, and of all ranks where there are R + 2 or more."""
    for q in range(out.shape[0]):
        first = ideal_offsets[q]
        n_ideal = count_positive(ideal_gains, first, ideal_offsets[q + 1])
        stop = hit_offsets[q + 1]
        h = hit_offsets[q]
        total = 0.0
        reached = 0.0
        best = 0.0
        n_levels = 0
        for i in range(n_ideal + 1):
            is_last = i == n_ideal
            if i < n_ideal:
                best += ideal_gains[first + i] * discounts[i + 1]
                if i + 1 < n_ideal and ideal_gains[first + i] == ideal_gains[first + i + 1]:
                    continue
            elif sizes[q] <= n_ideal + 1:
                continue
            k = ALL_RANKS if is_last else i + 1
            straddling = 0.0
            while h < stop and hit_above[h] < k:
                if hit_ties[h] == 1:
                    reached += hit_gains[h] * discounts[hit_above[h] + 1]
                    h += 1
                    continue
                end, share = group_share(
                    hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, k
                )
                if hit_above[h] + hit_ties[h] > k:
                    straddling = share
                    break
                reached += share
                h = end
            total += (reached + straddling) / best if best > 0.0 else 0.0
            n_levels += 1
        out[q] = min(total / n_levels, highest_ndcg) if best > 0.0 else math.nan


@part
def added(total, rest, value):
    """A sum as a float64 and what it misses, and one more value: gains that cancel may be of any size."""
    longer = total + value
    kept = longer - total
    return longer, rest + ((total - (longer - kept)) + (value - kept))


@kernel
def normalised_gain(hit_above, hit_gains, hit_offsets, ideal_gains, ideal_offsets, log2_discounts, out):
    """
    Gains, each the less the more had been lost down to its rank, over the sum of all gains.

    Every hit has a rank of its own: tied scores of different labels come here in an order.
    """
    for q in range(out.shape[0]):
        first = ideal_offsets[q]
        n_ideal = count_positive(ideal_gains, first, ideal_offsets[q + 1])
        total = 0.0
        lost = 0.0  # cost less what was gained
        rest = 0.0
        n_costed = 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            lost, rest = added(lost, rest, -hit_gains[h])
            while n_costed < min(hit_above[h] + 1, n_ideal):
                lost, rest = added(lost, rest, max(ideal_gains[first + n_costed], 1.0))
                n_costed += 1
            if hit_gains[h] > 0.0:
                missed = lost + (rest + (hit_above[h] + 1 - n_costed))
                place = int(min(missed, log2_discounts.shape[0] - 2.0))
                if place == missed:  # whole, as gains mostly are: a logarithm takes longer than all else here
                    total += hit_gains[h] * log2_discounts[place + 1]
                else:
                    total += hit_gains[h] / math.log2(2.0 + missed)
        most = 0.0
        for i in range(first, first + n_ideal):
            most += ideal_gains[i]
        out[q] = total / most if n_ideal > 0 else math.nan


@kernel
def binary_gain(
    hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, log2_discounts, log2_sums, log2_rests, out
):  # fmt: skip
    """
    Mean of 1 / log2(2 + documents above that are not relevant) over the relevant documents.

    Of the n documents of a tie group that are not relevant, as likely 0 as 1, … or n stand above a relevant one.
    """
    for q in range(out.shape[0]):
        total = 0.0
        n_before = 0
        h = hit_offsets[q]
        while h < hit_offsets[q + 1]:
            end = h
            n_inside = 0
            while end < hit_offsets[q + 1] and hit_above[end] == hit_above[h]:
                n_inside += hit_labels[end] >= rel
                end += 1
            lost = hit_above[h] - n_before
            n_others = hit_ties[h] - n_inside
            if n_others == 0 or n_inside == 0:
                total += n_inside * log2_discounts[lost + 1]
            else:
                last = lost + n_others + 1
                share = log2_sums[last] - log2_sums[lost] + (log2_rests[last] - log2_rests[lost])
                total += n_inside * (share / (n_others + 1))
            n_before += n_inside
            h = end
        out[q] = total / n_relevant[q] if n_relevant[q] > 0 else math.nan
