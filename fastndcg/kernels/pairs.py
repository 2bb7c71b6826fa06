"""
Two rankings of each query: who stands where in both, and how many pairs of documents they order alike.

scores       (n_documents,)   float32 or float64, without NaN, of one of the rankings; the offsets of the same one
offsets      (n_queries + 1,) int64, from 0
partners     (n_second,)      int64: where the second ranking's document stands in its query of the first, -1: nowhere
above, ties  (n_documents,)   int32: how many documents score higher, and how many the same, itself among them
order        (n_documents,)   int32: the documents of each query, as numbers from 0 in it, by falling score
other        (n_documents,)   int32: `above` of the same document in the other ranking, -1 where it is not there
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel
from fastndcg.kernels.sorting import sort_descending

ABSENT = -1


@allocating_kernel
def rank_all(scores, offsets, out_order, out_above, out_ties, out_tied):
    """Rank the documents of every query; whether some of it tie."""
    longest = 0
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    spare = np.empty(longest, np.int32)
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        keys, order = scores[start : start + n], out_order[start : start + n]
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
def look_across(partners, first_above, first_offsets, second_above, second_offsets, out_first_other, out_second_other):
    """For each document of either ranking, how many score higher in the other."""
    out_first_other[:] = ABSENT
    for q in range(second_offsets.shape[0] - 1):
        for d in range(second_offsets[q], second_offsets[q + 1]):
            out_second_other[d] = ABSENT
            if partners[d] >= 0:
                out_second_other[d] = first_above[first_offsets[q] + partners[d]]
                out_first_other[first_offsets[q] + partners[d]] = second_above[d]


@kernel
def gather_common(first, first_offsets, second, second_offsets, partners, out_first, out_second, out_offsets):
    """The scores of the documents that are in both rankings."""
    n = 0
    out_offsets[0] = 0
    for q in range(second_offsets.shape[0] - 1):
        for d in range(second_offsets[q], second_offsets[q + 1]):
            if partners[d] >= 0:
                out_first[n] = first[first_offsets[q] + partners[d]]
                out_second[n] = second[d]
                n += 1
        out_offsets[q + 1] = n


@allocating_kernel
def count_alike(order, ties, other, offsets, out_alike, out_level):
    """
    Of the documents above each one, how many are above it in the other ranking, too, and how many tie with it there.

    Documents enter a tree of sums (Fenwick's), tie group after tie group, at their places in the other ranking; all of
    them must be in both.
    """
    longest = 0
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    sums, here = np.zeros(longest + 1, np.int32), np.zeros(longest + 1, np.int32)
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        sums[: n + 1] = 0
        here[: n + 1] = 0
        i = 0
        while i < n:
            end = i + ties[start + order[start + i]]
            for j in range(i, end):
                d = start + order[start + j]
                node = other[d]
                n_before = 0
                while node > 0:  # loops here, not in parts: those with arrays as arguments count references
                    n_before += sums[node]
                    node &= node - 1
                out_alike[d] = n_before
                out_level[d] = here[other[d]]
            for j in range(i, end):
                node = other[start + order[start + j]]
                here[node] += 1
                node += 1
                while node <= n:
                    sums[node] += 1
                    node += node & -node
            i = end
