"""
Order the documents of each query by falling fused score.

fused       (n_documents,) float64, no NaN
offsets     (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
ids         ids of rows: see inputs/ids.py
numbers     (n_rows,) int64, by which equal scores are ordered, or none: they stay as they are
rows        (n_documents,) int64, the row of each document's id
out_rows    (n_documents,) int64, the rows of the documents in their order
out_scores  (n_documents,) float64, their fused scores
"""

import numpy as np

from fastndcg.kernels.inputs.ids import sort_rows
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending


@inline
def count_longest(offsets, first, stop):
    """Return the number of documents of the longest query."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


@inline
def find_group_end(fused, start, order, i, n):
    """Return the place behind the last document whose score equals that at place i."""
    end = i + 1
    while end < n and fused[start + order[end]] == fused[start + order[i]]:
        end += 1
    return end


@inline
def sort_by_score(fused, start, n, spare, order):
    """Write the places of a query's documents by falling score."""
    for i in range(n):
        order[i] = i
    sort_descending(fused[start : start + n], n, spare, order)


@inline
def write_order(fused, rows, start, order, out_rows, out_scores):
    """Write the rows and the scores of the documents of a query."""
    for i in range(order.shape[0]):
        out_rows[start + i] = rows[start + order[i]]
        out_scores[start + i] = fused[start + order[i]] + 0.0  # -0.0 as 0.0: a tie group has one score, bit by bit


@kernel(allocates=True)
def order_by_numbers(fused, numbers, rows, is_falling, offsets, first, stop, out_rows, out_scores):
    """Order the queries `first` up to `stop`, equal scores by the number of each document's row, rising or falling."""
    longest = count_longest(offsets, first, stop)
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    keys = np.empty(longest, np.int64)
    for q in range(first, stop):
        start = offsets[q]
        n = offsets[q + 1] - start
        sort_by_score(fused, start, n, spare, order)
        i = 0
        while numbers.shape[0] > 0 and i < n:
            end = find_group_end(fused, start, order, i, n)
            if end - i > 1:  # few are read: a pass over all numbers takes as long as half of the sorting
                for j in range(i, end):
                    number = numbers[rows[start + order[j]]]
                    keys[order[j]] = number if is_falling else ~number
                sort_descending(keys, end - i, spare, order[i:end])
            i = end
        write_order(fused, rows, start, order[:n], out_rows, out_scores)


@kernel(allocates=True)
def order_by_ids(fused, ids, rows, is_falling, offsets, first, stop, out_rows, out_scores):
    """Order the queries `first` up to `stop`, equal scores by the bytes of their ids, rising or falling."""
    longest = count_longest(offsets, first, stop)
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    spare_rows = np.empty(longest, np.int64)
    for q in range(first, stop):
        start = offsets[q]
        n = offsets[q + 1] - start
        sort_by_score(fused, start, n, spare, order)
        write_order(fused, rows, start, order[:n], out_rows, out_scores)
        i = 0
        while i < n:
            end = find_group_end(fused, start, order, i, n)
            if end - i > 1:  # the documents of a group have one score, so that their rows alone are sorted
                group = out_rows[start + i : start + end]
                sort_rows(ids, group, spare_rows)
                if is_falling:
                    for j in range((end - i) // 2):
                        group[j], group[end - i - 1 - j] = group[end - i - 1 - j], group[j]
            i = end
