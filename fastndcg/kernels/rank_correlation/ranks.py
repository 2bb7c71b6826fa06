"""
Rank the documents of two rankings, and count the pairs that both order alike.

scores       (n_documents,)    float32 or float64, without NaN
offsets      (n_queries + 1,)  int64, from 0
partners     (n_second,)       int64, place of the second ranking's document in its query of the first; −1 if absent
above        (n_documents,)    int32, number of documents with a higher score
ties         (n_documents,)    int32, number of documents with the same score, the document included
order        (n_documents,)    int32, documents of each query, numbered from 0 in it, by falling score
other        (n_documents,)    int32, `above` of the same document in the other ranking; −1 if absent
"""

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.ranking.sorting import sort_descending

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
