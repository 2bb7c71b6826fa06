"""
Compute the agreement of two rankings of the same documents: correlations and RBO.

The documents of both rankings are ranked, and the pairs that both order alike are counted. Arguments first_… and
second_… belong to the two rankings: `above`, `ties`, `order`, `other` and `offsets`.

Kendall's tau_b, Spearman's rho and AP correlation compare documents that are in both rankings. The documents of
rank-biased overlap (RBO) may differ (Webber et al. 2010). Both forms of RBO are linear in the overlaps at all depths.
Expected overlaps therefore give the expectation over orders of ties (RBO^a of Corsi and Urbano 2024). Depth d may split
a tie group. Each of its documents is then among the first d with probability (d − above) / size.

scores       (n_documents,)    float32 or float64, without NaN
offsets      (n_queries + 1,)  int64, query q owns documents offsets[q] up to offsets[q + 1]
partners     (n_second,)       int64, place of the second ranking's document in its query of the first; −1 if absent
above        (n_documents,)    int32, number of documents with a higher score
ties         (n_documents,)    int32, number of documents with the same score, the document included
order        (n_documents,)    int32, documents of each query, numbered from 0 in it, by falling score
other        (n_documents,)    int32, `above` of the same document in the other ranking; −1 if absent
n_concordant_above        (n_documents,)  int32, number of documents above this one in both rankings
n_tied_in_first           (n_documents,)  int32, number of documents above it in the second ranking that tie with it in
                          the first
first_n_concordant_above  (n_documents,)  int32, `n_concordant_above` with the rankings exchanged
p            probability to go on from one rank to the next
form         0 for RBO_EXT (extrapolated, equation 32), 1 for RBO_MIN (lower bound, equation 11)
out          (n_queries,)      float64, NaN if undefined
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending

ABSENT = -1


@kernel(allocates=True)
def rank_all(scores, offsets, out_order, out_above, out_ties, out_tied):
    """Rank the documents of every query, and write True to `out_tied` for a query with ties."""
    longest = 0
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    spare = np.empty(longest, np.int32)
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        keys = scores[start : start + n]
        order = out_order[start : start + n]
        for i in range(n):
            order[i] = i
        sort_descending(keys, n, spare, order)
        out_tied[q] = False
        i = 0
        while i < n:
            end = i + 1
            while end < n and keys[order[end]] == keys[order[i]]:
                end += 1
            for j in range(i, end):
                out_above[start + order[j]] = i
                out_ties[start + order[j]] = end - i
            out_tied[q] |= end - i > 1
            i = end


@kernel
def ranks_in_other(
    partners, first_above, first_offsets, second_above, second_offsets, out_first_other, out_second_other
):
    """Write, for each document of either ranking, the number of documents above it in the other."""
    out_first_other[:] = ABSENT
    for q in range(second_offsets.shape[0] - 1):
        for d in range(second_offsets[q], second_offsets[q + 1]):
            out_second_other[d] = ABSENT
            if partners[d] >= 0:
                out_second_other[d] = first_above[first_offsets[q] + partners[d]]
                out_first_other[first_offsets[q] + partners[d]] = second_above[d]


@kernel
def gather_common(first, first_offsets, second, second_offsets, partners, out_first, out_second, out_offsets):
    """Write the scores of the documents that are in both rankings."""
    n = 0
    out_offsets[0] = 0
    for q in range(second_offsets.shape[0] - 1):
        for d in range(second_offsets[q], second_offsets[q + 1]):
            if partners[d] >= 0:
                out_first[n] = first[first_offsets[q] + partners[d]]
                out_second[n] = second[d]
                n += 1
        out_offsets[q + 1] = n


@kernel(allocates=True)
def count_concordant(order, ties, other, offsets, out_alike, out_level):
    """
    Count, of the documents above each one, those above it in the other ranking, and those that tie with it there.

    Tie groups enter a Fenwick tree from the first to the last, at their ranks in the other ranking. All documents must
    be in both rankings.
    """
    longest = 0
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    sums = np.zeros(longest + 1, np.int32)
    counts = np.zeros(longest + 1, np.int32)
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        sums[: n + 1] = 0
        counts[: n + 1] = 0
        i = 0
        while i < n:
            end = i + ties[start + order[start + i]]
            for j in range(i, end):
                d = start + order[start + j]
                node = other[d]
                n_before = 0
                while node > 0:  # not in a function: numba would count references to its arrays
                    n_before += sums[node]
                    node &= node - 1
                out_alike[d] = n_before
                out_level[d] = counts[other[d]]
            for j in range(i, end):
                node = other[start + order[start + j]]
                counts[node] += 1
                node += 1
                while node <= n:
                    sums[node] += 1
                    node += node & -node
            i = end


@kernel
def tau_b(first_ties, second_above, second_ties, n_concordant_above, n_tied_in_first, offsets, out):
    """
    Compute Kendall's tau_b (Kendall 1945).

    tau_b = (concordant − discordant) / sqrt(n_1 · n_2), where n_1 and n_2 count the pairs that each ranking orders.
    """
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        n_concordant = 0
        n_discordant = 0
        twice_tied_first = 0
        twice_tied_second = 0
        for d in range(offsets[q], offsets[q + 1]):
            n_concordant += n_concordant_above[d]
            n_discordant += second_above[d] - n_concordant_above[d] - n_tied_in_first[d]
            twice_tied_first += first_ties[d] - 1
            twice_tied_second += second_ties[d] - 1
        twice_pairs = n * (n - 1)
        product = float((twice_pairs - twice_tied_first) // 2) * float((twice_pairs - twice_tied_second) // 2)
        out[q] = (n_concordant - n_discordant) / np.sqrt(product) if product > 0 else np.nan


@kernel
def spearman(first_above, first_ties, second_above, second_ties, offsets, out):
    """
    Compute Spearman's rho: the correlation of ranks, where tied documents have the mean of their ranks.

    Twice the ranks are whole numbers, so that the sums are exact.
    """
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        covariance = 0.0
        first_variance = 0.0
        second_variance = 0.0
        for d in range(offsets[q], offsets[q + 1]):
            x = float(2 * first_above[d] + first_ties[d] - n)
            y = float(2 * second_above[d] + second_ties[d] - n)
            covariance += x * y
            first_variance += x * x
            second_variance += y * y
        product = first_variance * second_variance
        out[q] = covariance / np.sqrt(product) if product > 0 else np.nan


@kernel
def tau_ap(second_order, second_ties, n_concordant_above, n_tied_in_first, offsets, out):
    """
    Compute the expectation of AP correlation over all orders of tied documents, in either ranking.

    A document of the second ranking adds a share: of the documents above it, those that are also above it in the first
    ranking. A pair that ties in a ranking counts 1/2 (tau_AP,a of Urbano and Marrero 2017).
    """
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        i = 0
        while i < n:
            size = second_ties[start + second_order[start + i]]
            twice_right = 0
            for j in range(i, i + size):
                d = start + second_order[start + j]
                twice_right += 2 * n_concordant_above[d] + n_tied_in_first[d]
            total += expected_share(i, size, twice_right)
            i += size
        out[q] = 2.0 * total / (n - 1) - 1.0 if n > 1 else np.nan


@inline
def expected_share(n_above, size, twice_right):
    """
    Return the expected sum of shares of a tie group of `size` documents below `n_above` others.

    `twice_right` is twice the number of right pairs of a document above the group and one in it. A document of the
    group is at each of its ranks with equal probability.
    """
    if n_above == 0:
        return 0.5 * (size - 1)
    if size == 1:
        return twice_right / (2.0 * n_above)
    reciprocals = 0.0
    tied_shares = 0.0
    for i in range(size):
        reciprocals += 1.0 / (n_above + i)
        tied_shares += i / (n_above + i)
    return 0.5 * (twice_right * reciprocals / size + tied_shares)


@kernel
def tau_ap_b(
    first_order, first_ties, first_n_concordant_above, second_order, second_ties, n_concordant_above, offsets, out
):
    """
    Compute tau_AP,b (Urbano and Marrero 2017): the mean of AP correlation in both directions.

    Each direction skips the documents of its ranking's first tie group.
    """
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        for order, ties, n_concordant in (
            (first_order, first_ties, first_n_concordant_above),
            (second_order, second_ties, n_concordant_above),
        ):
            top = ties[start + order[start]] if n > 0 else 0
            shares = 0.0
            i = top
            while i < n:
                size = ties[start + order[start + i]]
                n_right = 0
                for j in range(i, i + size):
                    n_right += n_concordant[start + order[start + j]]
                shares += n_right / i
                i += size
            total += 2.0 * shares / (n - top) - 1.0 if n > top else np.nan
        out[q] = total / 2.0


NOT_STARTED = -2  # less than the number of documents above any document, and than ABSENT


class Ranking(NamedTuple):
    """One ranking: see the arguments first_… and second_… of this file."""

    order: np.ndarray
    ties: np.ndarray
    other: np.ndarray
    offsets: np.ndarray


@kernel
def rbo(
    first_order, first_ties, first_other, first_offsets, second_order, second_ties, second_other, second_offsets,
    p, form, k, out,
):  # fmt: skip
    """Compute RBO_EXT or RBO_MIN of two rankings."""
    first = Ranking(first_order, first_ties, first_other, first_offsets)
    second = Ranking(second_order, second_ties, second_other, second_offsets)
    for q in range(out.shape[0]):
        out[q] = compare_rankings(first, second, q, p, form, k)


@inline
def compare_rankings(first, second, q, p, form, k):
    """
    Return the RBO of two rankings of one query.

    At each depth one tie group of either ranking is open. Documents of both rankings are counted by where they are:
    above the open groups in both (n_common), in one open group and above the other (n_first, n_second), or in both open
    groups (n_both). Counts are exact, and updated when a group ends.
    """
    a = first.offsets[q]
    b = second.offsets[q]
    size_first = first.offsets[q + 1] - a
    size_second = second.offsets[q + 1] - b
    short = min(size_first, size_second, k)
    long = min(max(size_first, size_second), k)
    if short == 0:
        return np.nan
    above = 0
    end = 0
    second_above = NOT_STARTED
    second_end = 0
    n_common = 0
    n_first = 0
    n_second = 0
    n_both = 0
    weight = 1.0
    weighted_agreement = 0.0
    weighted_overlap = 0.0
    weights = 0.0
    short_overlap = 0.0
    overlap = 0.0
    is_equal = True
    for depth in range(1, long + 1):
        if depth > end:
            above = end
            n_common += n_first
            n_second += n_both
            end = find_next_end(first, a, size_first, above)
            n_first, n_both = count_group(first, a, above, min(end, size_first), second_above)
        if depth > second_end:
            second_above = second_end
            n_common += n_second
            n_first += n_both
            second_end = find_next_end(second, b, size_second, second_above)
            n_second, n_both = count_group(second, b, second_above, min(second_end, size_second), above)
        x = (depth - above) / (end - above)
        y = (depth - second_above) / (second_end - second_above)
        overlap = n_common + n_first * x + n_second * y + n_both * x * y
        weight *= p
        agreement = overlap / depth
        if depth == short:
            short_overlap = overlap
        elif depth > short:
            agreement += short_overlap * (depth - short) / (short * float(depth))
        is_equal &= agreement == 1.0
        weighted_agreement += agreement * weight
        weighted_overlap += overlap / depth * weight
        weights += weight / depth
    if form == 1:
        return max((1.0 - p) / p * (weighted_overlap - overlap * (weights + np.log1p(-p))), 0.0)
    if is_equal:  # exactly 1, without rounding errors
        return 1.0
    rest = ((overlap - short_overlap) / long + short_overlap / short) * weight
    return min((1.0 - p) / p * weighted_agreement + rest, 1.0)


@inline
def find_next_end(ranking, start, size, place):
    """Return the end of the tie group that begins at a place of a ranking, or a huge number after the last group."""
    if place >= size:
        return np.int64(2**62)
    return place + np.int64(ranking.ties[start + ranking.order[start + place]])


@inline
def count_group(ranking, start, begin, end, other_above):
    """Return the number of documents of a group above the other ranking's open group, and of those in it."""
    n_above = 0
    n_in = 0
    for i in range(begin, end):
        place = ranking.other[start + ranking.order[start + i]]
        n_above += 0 <= place < other_above
        n_in += place == other_above
    return n_above, n_in
