"""
Rank-biased overlap of two rankings, which need not have the same documents.

first_…, second_…  `order`, `ties`, `other` and offsets of either ranking, see pairs.py
form               0: extrapolated, 1: the lower bound
out                (n_queries,)  float64, NaN where a ranking is empty
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part

NONE_YET = -2  # no document's place


@kernel
def rbo(
    first_order, first_ties, first_other, first_offsets, second_order, second_ties, second_other, second_offsets,
    p, form, k, out,
):  # fmt: skip
    """
    The expectation over all orders of tied documents of RBO_EXT (Webber et al., equation 32) or RBO_MIN (equation 11).

    Both are linear in the overlaps at all depths, so that expected overlaps will do: a document of a tie group that
    begins above depth d and ends at it or below is in the first d with the chance (d − above) / ties (Corsi and Urbano,
    RBO^a). One group of each ranking is met at a depth: four counts say how many documents are in both rankings in,
    before, or in one and before the other, of these groups. They are whole numbers, kept up as groups end.
    """
    for q in range(out.shape[0]):
        a, b = first_offsets[q], second_offsets[q]
        n_first, n_second = first_offsets[q + 1] - a, second_offsets[q + 1] - b
        short, long = min(n_first, n_second, k), min(max(n_first, n_second), k)
        above, end, second_above, second_end, whole, of_first, of_second, of_both = 0, 0, NONE_YET, 0, 0, 0, 0, 0
        weight, total, seen, weights, at_short, overlap = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
        alike = True
        for depth in range(1, long + 1):
            if depth > end:
                above = end
                whole, of_second = whole + of_first, of_second + of_both
                end = next_end(first_order, first_ties, a, n_first, above)
                of_first, of_both = count_group(first_order, first_other, a, above, min(end, n_first), second_above)
            if depth > second_end:
                second_above = second_end
                whole, of_first = whole + of_second, of_first + of_both
                second_end = next_end(second_order, second_ties, b, n_second, second_above)
                last = min(second_end, n_second)
                of_second, of_both = count_group(second_order, second_other, b, second_above, last, above)
            x, y = (depth - above) / (end - above), (depth - second_above) / (second_end - second_above)
            overlap = whole + of_first * x + of_second * y + of_both * x * y
            weight *= p
            agreement = overlap / depth
            if depth == short:
                at_short = overlap
            elif depth > short:
                agreement += at_short * (depth - short) / (short * float(depth))
            alike &= agreement == 1.0
            total += agreement * weight
            seen += overlap / depth * weight
            weights += weight / depth
        if short == 0:
            out[q] = np.nan
        elif form == 1:
            out[q] = max((1.0 - p) / p * (seen - overlap * (weights + np.log1p(-p))), 0.0)
        elif alike:  # not 1 less rounding
            out[q] = 1.0
        else:
            out[q] = min((1.0 - p) / p * total + ((overlap - at_short) / long + at_short / short) * weight, 1.0)


@part
def next_end(order, ties, start, n, place):
    """Where the tie group that begins at a place of a ranking ends; beyond all depths where the ranking has ended."""
    return place + np.int64(ties[start + order[start + place]]) if place < n else np.int64(2**62)


@part
def count_group(order, other, start, begin, end, other_above):
    """How many of a group are, in the other ranking, before the group that is met there, and how many in it."""
    n_before, n_in = 0, 0
    for i in range(begin, end):
        place = other[start + order[start + i]]
        n_before += 0 <= place < other_above
        n_in += place == other_above
    return n_before, n_in
