"""
Compute the metrics that add up gains: DCG and nDCG, their variants, and the Q-measure.

DCG@k is the sum over ranks r = 1 … k of gain · discount(r), and nDCG@k = DCG@k / IDCG@k (Järvelin and Kekäläinen 2002).
Sums run in rank order. nDCG_rel is the mean of nDCG@r over the ranks r of all documents with a gain, and Rndcg over the
ranks that end a level of the ideal ranking. G and binG discount a gain by the gains missed above it, in place of its
rank. The last four are trec_eval's.

Ties: each document of a tie group counts with the mean discount of the group's ranks. The sum of the discounts of a
group is a difference of `discount_sums`, and of `discount_rests` for the digits that it loses. Given the rank of one
document of the group, each other document is at each other rank with equal probability, so that expressions that are
linear in the gains have an exact mean. If different labels may have equal gains, all documents of a tie group may have
the same gain. Then their gains are added rank by rank, as for the ideal ranking: a perfect order has exactly the IDCG.

Q is the mean over relevant documents of the blended ratio at their rank r, (C(r) + beta · G(r)) / (r + beta · G*(r))
(Sakai 2004). C counts the relevant documents of the first r ranks, G adds up their gains, and G* is G of the ideal
ranking. The denominator depends on the rank alone, so that a tie group needs the expected numerator at each rank. A
relevant document is at a given rank with probability n / m, for n relevant documents in a group of m. Given that, each
of the other n − 1 is at each rank of the group above with probability 1 / (m − 1).

label_offsets   (n_queries + 1,)  int64, query q owns candidates label_offsets[q] up to label_offsets[q + 1]
ideal_gains, ideal_gain_offsets   gains of the ideal ranking, rank by rank
highest_gains   (n_queries,)      float64, highest gain of the judged documents, 0 if none is above 0
highest_ndcg    1, or infinity where negative gains let nDCG exceed 1
n_gaining, n_gaining_ranked       (n_queries,)  float64, number of documents with a gain above 0: in all, and ranked
idcg_by_rank, idcg_starts         idcg_by_rank[idcg_starts[q] + r] is the DCG of the first r ideal ranks of query q
log2_discounts, log2_sums, log2_rests   as discounts, discount_sums and discount_rests, for 1 / log2(r + 1)
beta            weight of a gain beside a count
out_dcg         (n_queries,)      float64, buffer: DCG down to a rank
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.hits import (
    NO_QUERY,
    GainHits,
    count_positive,
    count_tied_relevant,
    find_group_end,
    have_equal_gains,
    sum_gains,
    write_quotients,
)
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.kernels.simd import min_int64


class DiscountSums(NamedTuple):
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
    """Return the mean discount of a tie group: the sum over ranks above + 1 … last, divided by the group's size."""
    rest = discounts.rests[last] - discounts.rests[above]
    return (discounts.sums[last] - discounts.sums[above] + rest) / size


@inline
def group_dcg(hits, h, discounts, k):
    """Return the end of the tie group that begins at hit `h`, and its expected part of DCG@k."""
    above = hits.above[h]
    size = hits.tie_sizes[h]
    end = find_group_end(hits.queries, hits.above, h)
    last = min(above + size, max(above, k))  # a group below the cutoff has no rank that counts, not a negative number
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
def add_gains(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, discounts, discount_sums, discount_rests, cutoffs, out
):  # fmt: skip
    """
    Compute DCG at each cutoff where different labels have different gains.

    Hits below the last cutoff are skipped: with 60 hits a query and a cutoff of 10, this takes a fourth of the time. A
    product with 0 or 1 takes two thirds of the time of a condition at the other cutoffs.
    """
    all_discounts = DiscountSums(discounts, discount_sums, discount_rests)
    n_queries = hit_offsets.shape[0] - 1
    last = cutoffs.shape[0] - 1
    for i in range(out.shape[0]):
        out[i] = 0.0
    h = 0
    while h < hit_above.shape[0]:
        query = np.uint32(hit_queries[h])
        above = np.uint32(hit_above[h])
        if above >= cutoffs[last]:
            h = hit_offsets[query + np.uint32(1)]
            continue
        if hit_ties[h] == 1:
            gain = hit_gains[h] * discounts[above + np.uint32(1)]
            out[np.uint64(last * n_queries + query)] += gain
            for i in range(last):
                out[np.uint64(i * n_queries + query)] += gain * (above < cutoffs[i])
        else:
            size = np.uint32(hit_ties[h])
            for i in range(last + 1):
                if above < cutoffs[i]:
                    stop = np.uint32(min_int64(above + size, cutoffs[i]))
                    discount = group_discount(all_discounts, above, stop, size)
                    out[np.uint64(i * n_queries + query)] += hit_gains[h] * discount
        h += 1


@kernel
def add_equal_gains(
    hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, cutoffs, out
):  # fmt: skip
    """Compute DCG at each cutoff where different labels may have equal gains."""
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    all_discounts = DiscountSums(discounts, discount_sums, discount_rests)
    n_queries = out.shape[0] // cutoffs.shape[0]
    for i in range(out.shape[0]):
        out[i] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        if hit_ties[h] == 1:
            gain = hit_gains[h] * discounts[np.uint32(hit_above[h]) + 1]
            for i in range(cutoffs.shape[0]):
                out[np.uint64(i * n_queries + query)] += gain if hit_above[h] < cutoffs[i] else 0.0
        elif h >= end:
            for i in range(cutoffs.shape[0]):
                end, share = group_dcg(hits, h, all_discounts, cutoffs[i])
                out[np.uint64(i * n_queries + query)] += share


@kernel
def find_highest_gains(ideal_gains, ideal_offsets, out):
    """Write the highest gain of each query, the first of its ideal ranking, or 0 if none is above 0."""
    for q in range(out.shape[0]):
        highest = ideal_gains[ideal_offsets[q]] if ideal_offsets[q] < ideal_offsets[q + 1] else 0.0
        out[q] = max(highest, 0.0)


@kernel
def dcg_over_max_gain(dcg, highest_gains, out):
    """Compute DCG@k with gains divided by the query's highest gain, if that is above 1."""
    for q in range(out.shape[0]):
        out[q] = dcg[q] / max(highest_gains[q], 1.0)


@kernel
def add_ideal_gains(ideal_above, ideal_gains, ideal_offsets, label_offsets, discounts, discount_sums, cutoffs, out):
    """Compute IDCG at each cutoff. A query without ideal hits has candidates of gain 1 alone."""
    n_queries = ideal_offsets.shape[0] - 1
    for q in range(n_queries):
        n_labels = label_offsets[q + 1] - label_offsets[q]
        stop = ideal_offsets[q + 1]
        h = ideal_offsets[q]
        is_empty = h == stop
        total = 0.0
        for i in range(cutoffs.shape[0]):
            while h < stop and ideal_above[h] < cutoffs[i]:
                total += ideal_gains[h] * discounts[ideal_above[h] + 1]
                h += 1
            out[i * n_queries + q] = discount_sums[min_int64(n_labels, cutoffs[i])] if is_empty else total


@kernel
def idcg_with_unit_gains(label_offsets, discount_sums, cutoffs, out):
    """Compute IDCG at each cutoff where each candidate has gain 1: a sum of discounts."""
    n_queries = label_offsets.shape[0] - 1
    for i in range(cutoffs.shape[0]):
        k = np.uint32(cutoffs[i])
        for q in range(n_queries):
            n = label_offsets[q + 1] - label_offsets[q]
            out[i * n_queries + q] = discount_sums[min(np.uint32(n), k)]


@kernel
def idcg_of_retrieved(ideal_above, ideal_gains, ideal_offsets, sizes, discounts, cutoffs, out):
    """Compute IDCG at each cutoff, of as many documents as the query has retrieved."""
    n_queries = sizes.shape[0]
    for q in range(n_queries):
        h = ideal_offsets[q]
        total = 0.0
        for i in range(cutoffs.shape[0]):
            n_ranks = min_int64(sizes[q], cutoffs[i])
            while h < ideal_offsets[q + 1] and ideal_above[h] < n_ranks:
                total += ideal_gains[h] * discounts[ideal_above[h] + 1]
                h += 1
            out[i * n_queries + q] = total


@kernel
def replace_undefined(value, out):
    """Replace NaN by a value."""
    for q in range(out.shape[0]):
        out[q] = value if out[q] != out[q] else out[q]


@kernel
def ndcg(dcg, idcg, highest_ndcg, out):
    """
    Compute nDCG@k. A quotient above `highest_ndcg` can only be a rounding error.

    Where negative labels are kept, IDCG may be below 0, too: the quotient is what is meant.
    """
    for q in range(out.shape[0]):
        out[q] = min(dcg[q] / idcg[q], highest_ndcg) if idcg[q] != 0.0 else math.nan


class IdealSums(NamedTuple):
    """DCG of the first r ideal ranks of query q, at sums[starts[q] + r], and the number of documents with a gain."""

    sums: np.ndarray
    starts: np.ndarray
    n_gaining: np.ndarray


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


@kernel
def ndcg_at_levels(
    hit_queries, hit_above, hit_ties, hit_gains, hit_offsets, ideal_gains, ideal_gain_offsets, n_gaining, sizes,
    discounts, discount_sums, discount_rests, highest_ndcg, out,
):  # fmt: skip
    """
    Compute Rndcg: the mean of nDCG at the ranks that end a level of the ideal ranking, where the ideal gain falls.

    A query with R + 2 or more ranked documents, for R documents with a gain, has the nDCG of all ranks as one more
    level.
    """
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    all_discounts = DiscountSums(discounts, discount_sums, discount_rests)
    for q in range(out.shape[0]):
        first = ideal_gain_offsets[q]
        n_ideal = count_positive(ideal_gains, first, ideal_gain_offsets[q + 1])
        stop = hit_offsets[q + 1]
        h = hit_offsets[q]
        total = 0.0
        dcg = 0.0
        best = 0.0
        n_levels = 0
        for i in range(n_ideal + 1):
            if i < n_ideal:
                best += ideal_gains[first + i] * discounts[i + 1]
                if i + 1 < n_ideal and ideal_gains[first + i] == ideal_gains[first + i + 1]:
                    continue
            elif sizes[q] <= n_ideal + 1:
                continue
            k = MAX_RANK if i == n_ideal else i + 1
            split_share = 0.0
            while h < stop and hit_above[h] < k:
                if hit_ties[h] == 1:
                    dcg += hit_gains[h] * discounts[hit_above[h] + 1]
                    h += 1
                    continue
                end, share = group_dcg(hits, h, all_discounts, k)
                if hit_above[h] + hit_ties[h] > k:
                    split_share = share
                    break
                dcg += share
                h = end
            total += (dcg + split_share) / best if best > 0.0 else 0.0
            n_levels += 1
        out[q] = min(total / max(n_levels, 1), highest_ndcg) if n_gaining[q] > 0.0 else math.nan


@inline
def add_exactly(total, rest, value):
    """Return a sum with one more value, and the sum of the rounding errors (Knuth's TwoSum)."""
    new_total = total + value
    added = new_total - total
    return new_total, rest + ((total - (new_total - added)) + (value - added))


@kernel
def normalised_gain(hit_above, hit_gains, hit_offsets, ideal_gains, ideal_gain_offsets, log2_discounts, out):
    """
    Compute G: each gain discounted by the ideal gains, less the gains, down to its rank, over the sum of all gains.

    An ideal gain below 1, or a rank beyond the ideal ranking, counts 1. G has no expectation over orders. The engine
    has put the hits in an order.
    """
    for q in range(out.shape[0]):
        first = ideal_gain_offsets[q]
        n_ideal = count_positive(ideal_gains, first, ideal_gain_offsets[q + 1])
        total = 0.0
        missed = 0.0  # ideal gains less gains
        rest = 0.0  # rounding error of `missed`: gains that cancel may be of any size
        n_ideal_ranks = 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            missed, rest = add_exactly(missed, rest, -hit_gains[h])
            while n_ideal_ranks < min(hit_above[h] + 1, n_ideal):
                missed, rest = add_exactly(missed, rest, max(ideal_gains[first + n_ideal_ranks], 1.0))
                n_ideal_ranks += 1
            if hit_gains[h] > 0.0:
                exact = missed + (rest + (hit_above[h] + 1 - n_ideal_ranks))
                place = int(max(min(exact, log2_discounts.shape[0] - 2.0), 0.0))
                if place == exact:  # mostly so: a look-up takes less time than a logarithm
                    total += hit_gains[h] * log2_discounts[place + 1]
                else:
                    total += hit_gains[h] / math.log2(2.0 + max(exact, 0.0))
        out[q] = total / sum_gains(ideal_gains, first, first + n_ideal) if n_ideal > 0 else math.nan


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
    write_quotients(out, n_relevant, out)


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
