"""
Gains relative to what could have been gained down to the same rank: nDCG_rel, Rndcg, G, binG.

Where scores tie, each document of a group of `ties` from rank `above` + 1 on is as likely at any of its ranks, and
given one of them the others are as likely at the ranks that are left: what is linear in the gains has an exact mean.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels, hit_gains  (n_hits,)        float64
hit_offsets           (n_queries + 1,)  int64
varied_gains, varied_offsets   unless all gains are 1: those of the best order, of query q from varied_offsets[q] on;
                      those above 0 come first, and have no ties
only_gain             what each document gains, NaN if they gain different things
n_gaining, n_gaining_ranked   (n_queries,)  float64, how many documents have a gain above 0: in all, and ranked
best_sums, best_starts   DCG of the first r ranks of the best order of query q is best_sums[best_starts[q] + r], int64
discounts, discount_sums, discount_rests, log2_…   (n_ranks + 1,)  float64, see gain.py
sizes                 (n_queries,)      int64, how many documents are ranked
n_relevant            (n_queries,)      float64, retrieved or not
out_reached           (n_queries,)      float64, room for gains found down to some rank
out                   (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.gain import group_share
from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of
from fastndcg.kernels.vectors import lesser

ALL_RANKS = 2**31 - 1


@part
def count_positive(gains, start, stop):
    """How many documents of one query have a gain above 0."""
    n = 0
    while start + n < stop and gains[start + n] > 0.0:
        n += 1
    return n


@kernel
def count_gaining(ideal_gains, ideal_offsets, out):
    """How many documents of each query have a gain above 0."""
    for q in range(out.shape[0]):
        out[q] = count_positive(ideal_gains, ideal_offsets[q], ideal_offsets[q + 1])


@kernel
def add_best(ideal_gains, ideal_offsets, discounts, out):
    """DCG of the first 0, 1, 2 … ranks of the best order of each query, those with gains above 0."""
    for q in range(ideal_offsets.shape[0] - 1):
        total = 0.0
        out[ideal_offsets[q] + q] = 0.0
        for i in range(ideal_offsets[q + 1] - ideal_offsets[q]):
            total += ideal_gains[ideal_offsets[q] + i] * discounts[i + 1]
            out[ideal_offsets[q] + q + i + 1] = total


@part
def sum_group(hit_queries, hit_above, hit_gains, h):
    """The end of the tie group that begins at hit `h`, its gains, and those above 0 with their number."""
    end = h
    gains = 0.0
    positive = 0.0
    n_positive = 0
    alike = True
    while end < hit_above.shape[0] and hit_above[end] == hit_above[h] and hit_queries[end] == hit_queries[h]:
        gains += hit_gains[end]
        positive += max(hit_gains[end], 0.0)
        n_positive += hit_gains[end] > 0.0
        alike &= hit_gains[end] == hit_gains[h]
        end += 1
    return end, gains, positive, n_positive, alike


@kernel
def ndcg_at_relevant(
    hit_queries, hit_above, hit_ties, hit_gains, best_sums, best_starts, n_gaining, n_gaining_ranked, discounts,
    highest_ndcg, out_reached, out,
):  # fmt: skip
    """
    Mean of nDCG at the ranks of all documents with a gain, that of all ranks for those not found.

    In a group whose gains add up to g, a document of gain x at rank r has above it the groups before, and of this one
    (g − x) / (ties − 1) at each rank.
    """
    for q in range(out.shape[0]):
        out_reached[q] = out[q] = 0.0
    end, last_query = 0, np.uint32(0xFFFFFFFF)
    reached = total = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        reached = reached if query == last_query else 0.0
        total = total if query == last_query else 0.0
        last_query = query
        start = best_starts[query]
        n_ideal = np.int64(n_gaining[query])
        above = hit_above[h]
        share = 0.0
        if hit_ties[h] == 1:
            reached += hit_gains[h] * discounts[np.uint32(above + 1)]
            best = best_sums[np.uint64(start + lesser(above + 1, n_ideal))]
            share = reached / best if hit_gains[h] > 0.0 else 0.0
        elif h >= end:
            end, gains, positive, n_positive, alike = sum_group(hit_queries, hit_above, hit_gains, h)
            ties = hit_ties[h]
            is_sure = alike and end - h == ties
            others = (n_positive * gains - positive) / max(ties - 1, 1)
            before = 0.0
            for r in range(above + 1, above + ties + 1):
                best = best_sums[np.uint64(start + lesser(r, n_ideal))]
                if is_sure:
                    reached += hit_gains[h] * discounts[r]
                    share += reached / best if hit_gains[h] > 0.0 else 0.0
                elif n_positive > 0:
                    share += (n_positive * reached + positive * discounts[r] + others * before) / best / ties
                before += discounts[r]
            reached += 0.0 if is_sure else gains * (before / ties)
        total += share
        out[query] = total
        out_reached[query] = reached
    average_at_relevant(best_sums, best_starts, n_gaining, n_gaining_ranked, out_reached, highest_ndcg, out)


@part
def average_at_relevant(best_sums, best_starts, n_gaining, n_gaining_ranked, reached, highest_ndcg, out):
    """The mean, with nDCG of all ranks for each document that is not ranked."""
    for q in range(out.shape[0]):
        best = best_sums[best_starts[q] + np.int64(n_gaining[q])]
        n_left = n_gaining[q] - n_gaining_ranked[q]
        total = out[q] + (n_left * (reached[q] / best) if n_left > 0.0 else 0.0)
        out[q] = min(total / n_gaining[q], highest_ndcg) if best > 0.0 else math.nan


@part
def at_one_level(
    hit_queries, hit_above, hit_ties, hit_gains, best_sums, best_starts, n_gaining, sizes, discounts,
    discount_sums, discount_rests, out_reached, out,
):  # fmt: skip
    """The mean where all gains are the same: one rank ends a level."""
    for q in range(out.shape[0]):
        out_reached[q] = out[q] = 0.0
    end, last_query = 0, np.uint32(0xFFFFFFFF)
    reached = total = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        reached = reached if query == last_query else 0.0
        total = total if query == last_query else 0.0
        last_query = query
        share = inside = 0.0
        k = np.int64(n_gaining[query])
        if hit_ties[h] == 1:
            share = hit_gains[h] * discounts[np.uint32(hit_above[h] + 1)]
            inside = share if hit_above[h] < k else 0.0
        elif h >= end:
            end, share = group_share(
                hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, ALL_RANKS
            )
            end, inside = group_share(
                hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, k
            )
        reached += inside
        total += share
        out_reached[query] = reached
        out[query] = total
    for q in range(out.shape[0]):
        best = best_sums[best_starts[q] + np.int64(n_gaining[q])] if n_gaining[q] > 0.0 else 1.0
        levels = out_reached[q] / best
        out[q] = (levels + out[q] / best) / 2.0 if sizes[q] > n_gaining[q] + 1.0 else levels


@part
def at_several_levels(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, varied_gains, varied_offsets, sizes, discounts,
    discount_sums, discount_rests, out,
):  # fmt: skip
    """The mean where gains differ."""
    for q in range(out.shape[0]):
        first = varied_offsets[q]
        n_ideal = count_positive(varied_gains, first, varied_offsets[q + 1])
        stop = hit_offsets[q + 1]
        h = hit_offsets[q]
        total = 0.0
        reached = 0.0
        best = 0.0
        n_levels = 0
        for i in range(n_ideal + 1):
            is_last = i == n_ideal
            if i < n_ideal:
                best += varied_gains[first + i] * discounts[i + 1]
                if i + 1 < n_ideal and varied_gains[first + i] == varied_gains[first + i + 1]:
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
        out[q] = total / max(n_levels, 1)


@kernel
def ndcg_at_levels(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, only_gain, varied_gains, varied_offsets, best_sums,
    best_starts, n_gaining, sizes, discounts, discount_sums, discount_rests, highest_ndcg, out_reached, out,
):  # fmt: skip
    """Mean of nDCG at the ranks that end a level of the best order, and of all ranks where there are R + 2 or more."""
    if only_gain > 0.0:
        at_one_level(
            hit_queries, hit_above, hit_ties, hit_gains, best_sums, best_starts, n_gaining, sizes, discounts,
            discount_sums, discount_rests, out_reached, out,
        )  # fmt: skip
    else:
        at_several_levels(
            hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, varied_gains, varied_offsets, sizes, discounts,
            discount_sums, discount_rests, out,
        )  # fmt: skip
    for q in range(out.shape[0]):
        out[q] = min(out[q], highest_ndcg) if n_gaining[q] > 0.0 else math.nan


@part
def added(total, rest, value):
    """A sum as a float64 and what it misses, and one more value: gains that cancel may be of any size."""
    longer = total + value
    kept = longer - total
    return longer, rest + ((total - (longer - kept)) + (value - kept))


@part
def gain_of_ones(hit_queries, hit_above, hit_gains, log2_discounts, out):
    """Gains of 1 or 0, each the less the more ranks down to its own gained nothing."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    gained = total = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        gained = (gained if query == last_query else 0.0) + hit_gains[h]
        total = total if query == last_query else 0.0
        last_query = query
        total += hit_gains[h] * log2_discounts[np.uint32(hit_above[h] + 2.0 - gained)]
        out[query] = total


@part
def gain_of_different(hit_above, hit_gains, hit_offsets, varied_gains, varied_offsets, log2_discounts, out):
    """Gains, each the less the more had been lost down to its rank."""
    for q in range(out.shape[0]):
        first = varied_offsets[q]
        n_ideal = count_positive(varied_gains, first, varied_offsets[q + 1])
        total = 0.0
        lost = 0.0  # cost less what was gained
        rest = 0.0
        n_costed = 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            lost, rest = added(lost, rest, -hit_gains[h])
            while n_costed < min(hit_above[h] + 1, n_ideal):
                lost, rest = added(lost, rest, max(varied_gains[first + n_costed], 1.0))
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
            most += varied_gains[i]
        out[q] = total / most if n_ideal > 0 else math.nan


@kernel
def normalised_gain(
    hit_queries, hit_above, hit_gains, hit_offsets, only_gain, varied_gains, varied_offsets, n_gaining,
    log2_discounts, out,
):  # fmt: skip
    """
    Gains, each the less the more had been lost down to its rank, over the sum of all gains.

    Every hit has a rank of its own: tied scores of different labels come here in an order.
    """
    if only_gain == 1.0:
        gain_of_ones(hit_queries, hit_above, hit_gains, log2_discounts, out)
        for q in range(out.shape[0]):
            out[q] = out[q] / n_gaining[q] if n_gaining[q] > 0.0 else math.nan
    else:
        gain_of_different(hit_above, hit_gains, hit_offsets, varied_gains, varied_offsets, log2_discounts, out)


@kernel
def binary_gain(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, log2_discounts, log2_sums, log2_rests, out
):  # fmt: skip
    """
    Mean of 1 / log2(2 + documents above that are not relevant) over the relevant documents.

    Of the n documents of a tie group that are not relevant, as likely 0 as 1, … or n stand above a relevant one.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before *= query == last_query
        last_query = query
        lost = hit_above[h] - n_before
        share = 0.0
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            share = log2_discounts[np.uint32(lost + 1)] if relevant else 0.0
            n_before += relevant
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            last = lost + hit_ties[h] - n_inside + 1
            mean = (log2_sums[last] - log2_sums[lost] + (log2_rests[last] - log2_rests[lost])) / (last - lost)
            share = n_inside * (mean if last > lost + 1 else log2_discounts[last])
            n_before += n_inside
        out[query] += share
    for q in range(out.shape[0]):
        out[q] = out[q] / n_relevant[q] if n_relevant[q] > 0 else math.nan
