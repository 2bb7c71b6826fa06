"""
Compute rank-biased overlap (RBO) of two rankings, which may have different documents (Webber et al. 2010).

Arguments first_… and second_… belong to the two rankings: `order`, `ties`, `other` and offsets as in ranks.py.

Ties: both forms of RBO are linear in the overlaps at all depths. Expected overlaps therefore give the expectation
(RBO^a of Corsi and Urbano 2024). Depth d may split a tie group. Each of its documents is then among the first d with
probability (d − above) / size.

p       probability to go on from one rank to the next
form    0 for RBO_EXT (extrapolated, equation 32), 1 for RBO_MIN (lower bound, equation 11)
out     (n_queries,)  float64, NaN if a ranking is empty
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel

NOT_STARTED = -2  # less than the number of documents above any document, and than ABSENT


class Ranking(NamedTuple):
    """One ranking: see ranks.py."""

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
