"""
Join the rows of several runs, query by query, rank them, and order the documents by falling fused score.

The rows of all runs are in one concatenation. Run r has the rows from starts[r, q] on for query q, sizes[r, q] of them.
A document of a query has the number of its first appearance, run after run.

ids          ids of the rows' documents: see inputs/ids.py
starts       (n_runs, n_queries) int64
sizes        (n_runs, n_queries) int64
bounds       (n_queries + 1,) int64, the number of rows before each query, over all runs
offsets      (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1] of the joined runs
scores       (n_rows,) float32 or float64, no NaN
keys         (n_rows,) int64, the order of equal scores: the lower key first
averages     True to give the documents of a tie group the rank of the first of them
out_numbers  (n_rows,) int32, the number of each row's document in its query
out_rows     (n_rows,) int64, from bounds[q] on: the row in which each document of query q appears first
out_counts   (n_queries,) int64, how many documents each query has
out_ranks    (n_runs, n_documents) int32, from 1. Documents that the run lacks keep what is there
out_ties     (n_runs, n_documents) int32, the size of each document's tie group, 1 unless `averages`
fused        (n_documents,) float64, no NaN
numbers      of the orders: (n_rows,) int64, by which equal scores are ordered, or none: they stay as they are
rows         (n_documents,) int64, the row of each document's id
out_scores   (n_documents,) float64, the fused scores of the documents in their order, whose rows are `out_rows`
"""

import math

import numpy as np

from fastndcg.kernels.inputs.ids import (
    MAX_ENTRY,
    count_slots,
    first_slot,
    get_number,
    hash_id,
    is_alive,
    is_equal,
    make_entry,
    make_mask,
    next_slot,
    sort_rows,
)
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending


@kernel(allocates=True)
def number_documents(ids, starts, sizes, bounds, first, stop, out_numbers, out_rows, out_counts):
    """Number the documents of the queries `first` up to `stop`. No run has a document twice in a query."""
    n_runs = starts.shape[0]
    longest = 0
    for q in range(first, stop):
        longest = max(longest, bounds[q + 1] - bounds[q])
    slots = np.zeros(count_slots(longest), np.uint32)
    n_indexed = 0
    for q in range(first, stop):
        if n_indexed + bounds[q + 1] - bounds[q] > MAX_ENTRY:
            slots[:] = 0
            n_indexed = 0
        base = np.uint32(n_indexed)
        mask = make_mask(count_slots(bounds[q + 1] - bounds[q]))
        n_documents = 0
        for r in range(n_runs):
            n_before = n_documents
            for row in range(starts[r, q], starts[r, q] + sizes[r, q]):
                slot = first_slot(hash_id(ids, row), mask)
                number = -1
                while is_alive(slots[slot], base):
                    candidate = get_number(slots[slot], base)
                    if candidate < n_before and is_equal(ids, row, ids, out_rows[bounds[q] + candidate]):
                        number = candidate
                        break
                    slot = next_slot(slot, mask)
                if number < 0:
                    number = n_documents
                    slots[slot] = make_entry(number, base)
                    out_rows[bounds[q] + number] = row
                    n_documents += 1
                out_numbers[row] = np.int32(number)
        out_counts[q] = n_documents
        n_indexed += n_documents


@kernel
def spread(scores, numbers, first_rows, starts, sizes, bounds, offsets, first, stop, out_rows, out):
    """
    Write the score that each run has for each document, NaN where it has none, and the row of each document's id.

    first_rows   (n_rows,) int64, the `out_rows` of `number_documents`
    out_rows     (n_documents,) int64
    out          (n_runs, n_documents) float64
    """
    for q in range(first, stop):
        for d in range(offsets[q + 1] - offsets[q]):
            out_rows[offsets[q] + d] = first_rows[bounds[q] + d]
        for r in range(starts.shape[0]):
            if sizes[r, q] != offsets[q + 1] - offsets[q]:
                out[r, offsets[q] : offsets[q + 1]] = math.nan
            for row in range(starts[r, q], starts[r, q] + sizes[r, q]):
                out[r, offsets[q] + numbers[row]] = scores[row]


@inline
def is_falling(scores, start, stop):
    """Return True if each score is below the one before it."""
    n_rising = 0
    for row in range(start + 1, stop):
        n_rising += scores[row] >= scores[row - 1]
    return n_rising == 0


@kernel(allocates=True)
def rank_rows(scores, keys, has_keys, numbers, starts, sizes, offsets, averages, first, stop, out_ranks, out_ties):
    """
    Rank the rows of each run in the queries `first` up to `stop` by falling score.

    Write the ranks at the documents of the joined runs. Without keys, equal scores keep their order.
    """
    longest = 0
    for q in range(first, stop):
        for r in range(starts.shape[0]):
            longest = max(longest, sizes[r, q])
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    falling_keys = np.empty(longest, np.int64)
    for q in range(first, stop):
        for r in range(starts.shape[0]):
            start = starts[r, q]
            n = sizes[r, q]
            if is_falling(scores, start, start + n):
                for i in range(n):
                    out_ranks[r, offsets[q] + numbers[start + i]] = i + 1
                    out_ties[r, offsets[q] + numbers[start + i]] = 1
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
                    out_ranks[r, offsets[q] + numbers[start + order[j]]] = i + 1
                    out_ties[r, offsets[q] + numbers[start + order[j]]] = group_stop - i
                i = group_stop


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
