"""
Rank the rows of one run in each query by falling score, and write the ranks at the documents of a union.

scores     (n_rows,) float32 or float64, no NaN
keys       (n_rows,) int64, the order of equal scores: the lower key first
numbers    (n_rows,) int32, the number of each row's document in its query
starts     (n_queries,) int64, query q has the rows from starts[q] on
sizes      (n_queries,) int64
offsets    (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
averages   True to give the documents of a tie group the rank of the first of them
out_ranks  (n_documents,) int32, from 1. Documents that the run lacks keep what is there
out_ties   (n_documents,) int32, the size of each document's tie group, 1 unless `averages`
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sorting import sort_descending


@inline
def is_falling(scores, start, stop):
    """Return True if each score is below the one before it."""
    n_rising = 0
    for row in range(start + 1, stop):
        n_rising += scores[row] >= scores[row - 1]
    return n_rising == 0


@kernel(allocates=True)
def rank_rows(scores, keys, has_keys, numbers, starts, sizes, offsets, averages, first, stop, out_ranks, out_ties):
    """Rank the rows of the queries `first` up to `stop`. Without keys, equal scores keep their order."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, sizes[q])
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    falling_keys = np.empty(longest, np.int64)
    for q in range(first, stop):
        start = starts[q]
        n = sizes[q]
        if is_falling(scores, start, start + n):
            for i in range(n):
                out_ranks[offsets[q] + numbers[start + i]] = i + 1
                out_ties[offsets[q] + numbers[start + i]] = 1
            continue
        for i in range(n):
            order[i] = i
        if has_keys:
            for i in range(n):
                falling_keys[i] = ~keys[start + i]
            sort_descending(falling_keys, n, spare, order)
        sort_descending(scores[start : start + n], n, spare, order)
        i = 0
        while i < n:
            group_stop = i + 1
            if averages:
                while group_stop < n and scores[start + order[group_stop]] == scores[start + order[i]]:
                    group_stop += 1
            for j in range(i, group_stop):
                out_ranks[offsets[q] + numbers[start + order[j]]] = i + 1
                out_ties[offsets[q] + numbers[start + order[j]]] = group_stop - i
            i = group_stop
