"""
How many relevant documents are found down to ranks that each query has of its own: multiples of those there are.

A query's relevant documents in its first sixty-three ranks are the bits of a mask, so that a count is that of some
bits. Where scores tie, or a rank is lower than that, one walk over the query's hits counts at all of its ranks.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels    (n_hits,)               float64
hit_offsets   (n_queries + 1,)        int64
n_relevant    (n_queries,)            float64, retrieved or not
multiples     (n_points,)             float64, rising
k             how many ranks count at the most
out_masks     (n_queries,)            uint64, bit i is set if the document at rank i + 1 is relevant
out           (n_points, n_queries)   float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of
from fastndcg.kernels.together import share_of
from fastndcg.kernels.vectors import NONE, ONE, popcount

FEW = 63.0  # ranks whose bits, and no others, fit below a power of two in 64 bits


@part
def cutoff_of(multiple, n_relevant, k):
    """How many ranks a multiple is, rounded up from a tenth."""
    return min(math.floor(multiple * n_relevant + 0.9), float(k))


@part
def count_one(hit_queries, hit_above, hit_ties, hit_labels, start, stop, rel, n_relevant, multiples, k, q, out):
    """Expected number of relevant documents in the first ranks of one query."""
    n_points = multiples.shape[0]
    total = 0.0
    i = 0
    h = start
    while h < stop:
        above = hit_above[h]
        ties = hit_ties[h]
        while i < n_points and cutoff_of(multiples[i], n_relevant, k) <= above:
            out[i, q] = total
            i += 1
        end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
        while i < n_points and cutoff_of(multiples[i], n_relevant, k) < above + ties:
            out[i, q] = total + share_of(ties, above, cutoff_of(multiples[i], n_relevant, k), n_inside)
            i += 1
        total += n_inside
        h = end
    while i < n_points:
        out[i, q] = total
        i += 1


@kernel
def count_found_at_multiples(
    hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, multiples, k, out_masks, out
):  # fmt: skip
    """Expected number of relevant documents in the first ranks of each query, for each multiple."""
    out_masks[:] = NONE
    for h in range(hit_above.shape[0]):
        above = np.uint64(hit_above[h])
        is_counted = (hit_labels[h] >= rel) & (hit_above[h] < FEW)
        out_masks[np.uint32(hit_queries[h])] |= (ONE if is_counted else NONE) << (above & np.uint64(63))
    for i in range(multiples.shape[0]):
        for q in range(out.shape[1]):
            n_ranks = np.uint64(np.int64(min(cutoff_of(multiples[i], n_relevant[q], k), FEW)))
            out[i, q] = popcount(out_masks[q] & ((ONE << n_ranks) - ONE))
    last_query = -1
    for h in range(hit_above.shape[0]):
        q = hit_queries[h]
        is_open = hit_ties[h] != 1 or cutoff_of(multiples[-1], n_relevant[q], k) > FEW
        if is_open and q != last_query:
            last_query = q
            start, stop, n = hit_offsets[q], hit_offsets[q + 1], n_relevant[q]
            count_one(hit_queries, hit_above, hit_ties, hit_labels, start, stop, rel, n, multiples, k, q, out)
