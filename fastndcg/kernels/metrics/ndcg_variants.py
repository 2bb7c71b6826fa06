"""
Compute gains relative to the highest possible gains at the same rank: nDCG_rel, Rndcg, G and binG.

nDCG_rel is the mean of nDCG@r over the ranks r of all documents with a gain. Rndcg is the mean of nDCG@r over the
ranks that end a level of the ideal ranking. G and binG discount a gain by the gains missed above it, in place of its
rank. All four are trec_eval's.

Ties: given the rank of one document of a tie group, each other document is at each other rank of the group with equal
probability. Expressions that are linear in the gains therefore have an exact mean.

mixed_ideal_gains, mixed_ideal_offsets   gains of the ideal ranking, query q from mixed_ideal_offsets[q] on, gains
                          above 0 first, and empty if all gains are 1
constant_gain             gain of every document; NaN if gains differ
n_gaining, n_gaining_ranked   (n_queries,)  float64, number of documents with a gain above 0: in all, and ranked
idcg_by_rank, idcg_starts        idcg_by_rank[idcg_starts[q] + r] is the DCG of the first r ideal ranks of query q
log2_discounts, log2_sums, log2_rests   as discounts, discount_sums and discount_rests, for 1 / log2(r + 1)
highest_ndcg          1, or infinity where negative gains let nDCG exceed 1
out_dcg           (n_queries,)  float64, buffer: DCG down to a rank
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.kernels.metrics.dcg import Discounts, group_dcg
from fastndcg.kernels.metrics.tie_groups import (
    NO_QUERY,
    GainHits,
    count_positive,
    count_tied_relevant,
    divide,
    find_group_end,
    have_equal_gains,
    sum_gains,
)
from fastndcg.kernels.simd import min_int64


class IdealSums(NamedTuple):
    """DCG of the first r ideal ranks of query q, at sums[starts[q] + r], and the number of documents with a gain."""

    sums: np.ndarray
    starts: np.ndarray
    n_gaining: np.ndarray


class IdealGains(NamedTuple):
    """Gains of the ideal ranking, query q from offsets[q] up to offsets[q + 1]."""

    gains: np.ndarray
    offsets: np.ndarray


@kernel
def count_gaining(ideal_gains, ideal_offsets, out):
    """Count the documents of each query with a gain above 0."""
    for q in range(out.shape[0]):
        out[q] = count_positive(ideal_gains, ideal_offsets[q], ideal_offsets[q + 1])


@kernel
def sum_ideal_gains(ideal_gains, ideal_offsets, discounts, out):
    """Compute the DCG of the first 0, 1, 2, … ranks of the ideal ranking of each query."""
    for q in range(ideal_offsets.shape[0] - 1):
        total = 0.0
        out[ideal_offsets[q] + q] = 0.0
        for i in range(ideal_offsets[q + 1] - ideal_offsets[q]):
            total += ideal_gains[ideal_offsets[q] + i] * discounts[i + 1]
            out[ideal_offsets[q] + q + i + 1] = total


@inline
def sum_positive_gains(gains, start, stop):
    """Return the sum and the number of the gains above 0 of hits from `start` up to `stop`."""
    total = 0.0
    n = 0
    for h in range(start, stop):
        total += max(gains[h], 0.0)
        n += gains[h] > 0.0
    return total, n


@inline
def add_tied_ndcg(hits, h, end, ideal, discounts, dcg):
    """
    Return the expected sum of nDCG at the documents with a gain of a tie group, and the DCG down to the group's end.

    The gains of the group add up to g. A document with gain x at rank r has the DCG of the groups before above it. Each
    rank of the group above it has the mean gain (g − x) / (size − 1).
    """
    query = hits.queries[h]
    above = hits.above[h]
    size = hits.tie_sizes[h]
    start = ideal.starts[query]
    n_ideal = np.int64(ideal.n_gaining[query])
    gains = sum_gains(hits.gains, h, end)
    positive, n_positive = sum_positive_gains(hits.gains, h, end)
    is_certain = end - h == size and have_equal_gains(hits.gains, h, end)
    other_gains = (n_positive * gains - positive) / max(size - 1, 1)
    discount_above = 0.0
    share = 0.0
    for r in range(above + 1, above + size + 1):
        best = ideal.sums[np.uint64(start + min_int64(r, n_ideal))]
        if is_certain:
            dcg += hits.gains[h] * discounts[r]
            share += dcg / best if hits.gains[h] > 0.0 else 0.0
        elif n_positive > 0:
            share += (n_positive * dcg + positive * discounts[r] + other_gains * discount_above) / best / size
        discount_above += discounts[r]
    dcg += 0.0 if is_certain else gains * (discount_above / size)
    return share, dcg


@kernel
def ndcg_at_relevant(
    hit_queries, hit_above, hit_ties, hit_gains, idcg_by_rank, idcg_starts, n_gaining, n_gaining_ranked, discounts,
    highest_ndcg, out_dcg, out,
):  # fmt: skip
    """
    Compute nDCG_rel: the mean of nDCG at the ranks of all documents with a gain.

    A document that is not ranked has the nDCG of all ranks.
    """
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    ideal = IdealSums(idcg_by_rank, idcg_starts, n_gaining)
    for q in range(out.shape[0]):
        out_dcg[q] = 0.0
        out[q] = 0.0
    end = 0
    last_query = NO_QUERY
    dcg = 0.0
    total = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        dcg = dcg if query == last_query else 0.0
        total = total if query == last_query else 0.0
        last_query = query
        share = 0.0
        if hit_ties[h] == 1:
            dcg += hit_gains[h] * discounts[np.uint32(hit_above[h] + 1)]
            n_ranks = min_int64(hit_above[h] + 1, np.int64(n_gaining[query]))
            best = idcg_by_rank[np.uint64(idcg_starts[query] + n_ranks)]
            share = dcg / best if hit_gains[h] > 0.0 else 0.0
        elif h >= end:
            end = find_group_end(hit_queries, hit_above, h)
            share, dcg = add_tied_ndcg(hits, h, end, ideal, discounts, dcg)
        total += share
        out[query] = total
        out_dcg[query] = dcg
    for q in range(out.shape[0]):
        best = idcg_by_rank[idcg_starts[q] + np.int64(n_gaining[q])]
        n_unranked = n_gaining[q] - n_gaining_ranked[q]
        total = out[q] + (n_unranked * (out_dcg[q] / best) if n_unranked > 0.0 else 0.0)
        out[q] = min(total / n_gaining[q], highest_ndcg) if best > 0.0 else math.nan


@inline
def average_at_levels(hits, hit_offsets, ideal, sizes, discounts, out):
    """Compute Rndcg where gains differ: a level ends at each rank where the ideal gain falls."""
    for q in range(out.shape[0]):
        first = ideal.offsets[q]
        n_ideal = count_positive(ideal.gains, first, ideal.offsets[q + 1])
        stop = hit_offsets[q + 1]
        h = hit_offsets[q]
        total = 0.0
        dcg = 0.0
        best = 0.0
        n_levels = 0
        for i in range(n_ideal + 1):
            if i < n_ideal:
                best += ideal.gains[first + i] * discounts.values[i + 1]
                if i + 1 < n_ideal and ideal.gains[first + i] == ideal.gains[first + i + 1]:
                    continue
            elif sizes[q] <= n_ideal + 1:
                continue
            k = MAX_RANK if i == n_ideal else i + 1
            split_share = 0.0
            while h < stop and hits.above[h] < k:
                if hits.tie_sizes[h] == 1:
                    dcg += hits.gains[h] * discounts.values[hits.above[h] + 1]
                    h += 1
                    continue
                end, share = group_dcg(hits, h, discounts, k)
                if hits.above[h] + hits.tie_sizes[h] > k:
                    split_share = share
                    break
                dcg += share
                h = end
            total += (dcg + split_share) / best if best > 0.0 else 0.0
            n_levels += 1
        out[q] = total / max(n_levels, 1)


@kernel
def ndcg_at_levels(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, ideal_gains, ideal_gain_offsets, n_gaining, sizes,
    discounts, discount_sums, discount_rests, highest_ndcg, out,
):  # fmt: skip
    """
    Compute Rndcg: the mean of nDCG at the ranks that end a level of the ideal ranking.

    A query with R + 2 or more ranked documents, for R documents with a gain, has the nDCG of all ranks as one more
    level.
    """
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    all_discounts = Discounts(discounts, discount_sums, discount_rests)
    average_at_levels(hits, hit_offsets, IdealGains(ideal_gains, ideal_gain_offsets), sizes, all_discounts, out)
    for q in range(out.shape[0]):
        out[q] = min(out[q], highest_ndcg) if n_gaining[q] > 0.0 else math.nan


@inline
def add_exactly(total, rest, value):
    """Return a sum with one more value, and the sum of the rounding errors (Knuth's TwoSum)."""
    new_total = total + value
    added = new_total - total
    return new_total, rest + ((total - (new_total - added)) + (value - added))


@inline
def add_different_gains(hit_above, hit_gains, hit_offsets, ideal, log2_discounts, out):
    """
    Compute G where gains differ: each gain is discounted by the ideal gains, less the gains, down to its rank.

    An ideal gain below 1, or a rank beyond the ideal ranking, counts 1.
    """
    for q in range(out.shape[0]):
        first = ideal.offsets[q]
        n_ideal = count_positive(ideal.gains, first, ideal.offsets[q + 1])
        total = 0.0
        missed = 0.0  # ideal gains less gains
        rest = 0.0  # rounding error of `missed`: gains that cancel may be of any size
        n_ideal_ranks = 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            missed, rest = add_exactly(missed, rest, -hit_gains[h])
            while n_ideal_ranks < min(hit_above[h] + 1, n_ideal):
                missed, rest = add_exactly(missed, rest, max(ideal.gains[first + n_ideal_ranks], 1.0))
                n_ideal_ranks += 1
            if hit_gains[h] > 0.0:
                exact = missed + (rest + (hit_above[h] + 1 - n_ideal_ranks))
                place = int(max(min(exact, log2_discounts.shape[0] - 2.0), 0.0))
                if place == exact:  # mostly so: a look-up takes less time than a logarithm
                    total += hit_gains[h] * log2_discounts[place + 1]
                else:
                    total += hit_gains[h] / math.log2(2.0 + exact)
        highest_total = 0.0
        for i in range(first, first + n_ideal):
            highest_total += ideal.gains[i]
        out[q] = total / highest_total if n_ideal > 0 else math.nan


@kernel
def normalised_gain(
    hit_above, hit_gains, hit_offsets, ideal_gains, ideal_gain_offsets, log2_discounts, out
):  # fmt: skip
    """
    Compute G: gains discounted by the gains missed above, over the sum of all gains.

    G has no expectation over orders. The engine has put the hits in an order.
    """
    ideal = IdealGains(ideal_gains, ideal_gain_offsets)
    add_different_gains(hit_above, hit_gains, hit_offsets, ideal, log2_discounts, out)


@kernel
def binary_gain(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, log2_discounts, log2_sums, log2_rests, out
):  # fmt: skip
    """
    Compute binG: the mean over relevant documents of 1 / log2(2 + x), with x documents above that are not relevant.

    Ties: of the n other documents of a tie group, 0, 1, … or n are above a relevant one, each number with probability
    1 / (n + 1).
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        n_others_above = hit_above[h] - n_before
        share = 0.0
        if hit_ties[h] == 1:
            is_relevant = hit_labels[h] >= rel
            share = log2_discounts[np.uint32(n_others_above + 1)] if is_relevant else 0.0
            n_before += is_relevant
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            first = n_others_above
            last = first + hit_ties[h] - n_tied_relevant + 1
            mean = (log2_sums[last] - log2_sums[first] + (log2_rests[last] - log2_rests[first])) / (last - first)
            share = n_tied_relevant * (mean if last > first + 1 else log2_discounts[last])
            n_before += n_tied_relevant
        out[query] += share
    divide(out, n_relevant, out)
