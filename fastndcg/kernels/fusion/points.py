"""
Give documents points by their ranks.

ranks     (n_runs, n_documents) int32, from 1, 0 where absent. The first of its tie group if ties share ranks
ties      (n_runs, n_documents) int32, sizes of tie groups: documents of a group share the mean of their points
offsets   (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
sizes     (n_runs, n_queries) int64, how many documents each run has
tables    (n_runs, n_entries) float64, points of the ranks 1, 2, …, or what a method needs to compute them
kind      the rule: see the constants
number    a parameter of the rule: the half of a window
absent    what a document gets that a run lacks, NaN to mark it
is_own    True if a rule that has points for such documents gives them in place of `absent`
out       (n_runs, n_documents) float64
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.simd import min_int64

TABLE = 0  # tables[r, rank - 1], and 0 beyond the table
BORDA = 1  # N - rank + 1 of N documents of the union; absent ones share the points that are left
RANK = 2  # 1 - (rank - 1) / n of n documents of the run
BORDA_SHARE = 3  # 1 - (rank - 1) / N; absent ones 1 / 2 - (n - 1) / (2 N)
SEGMENT = 4  # tables[r, s] / (s + 1), where s counts segments of equal size from 0
WINDOW = 5  # the mean of the table's entries of the ranks within `number` of this one


@inline
def fill_points(kind, tables, r, n, n_union, number, out_points):
    """Write the points of the ranks 1 to n of a run."""
    n_entries = tables.shape[1]
    if kind == TABLE:
        for i in range(n):
            out_points[i] = tables[r, i] if i < n_entries else 0.0
    elif kind == BORDA:
        for i in range(n):
            out_points[i] = n_union - i
    elif kind == RANK:
        for i in range(n):
            out_points[i] = 1.0 - i / n
    elif kind == BORDA_SHARE:
        for i in range(n):
            out_points[i] = 1.0 - i / n_union
    elif kind == SEGMENT:
        size = (n + n_entries - 1) // n_entries
        for i in range(n):
            out_points[i] = tables[r, i // size] / (i // size + 1)
    elif kind == WINDOW:
        half = np.int64(number)
        for i in range(n):
            begin = -min_int64(half - i, 0)
            end = min_int64(i + half, n - 1)
            total = 0.0
            for j in range(begin, min_int64(end + 1, n_entries)):
                total += tables[r, j]
            out_points[i] = total / (end - begin + 1)


@inline
def find_absent_points(kind, n, n_union, absent):
    """Return the points of a document that a run lacks."""
    if kind == BORDA:
        return (n_union - n + 1) / 2.0
    if kind == BORDA_SHARE:
        return 0.5 - (n - 1) / (2.0 * n_union)
    return absent


@kernel(allocates=True)
def score_ranks(ranks, ties, offsets, sizes, tables, kind, number, absent, is_own, first, stop, out):
    """Write the points of every run in the queries `first` up to `stop`."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    points = np.empty(longest)
    for q in range(first, stop):
        n_union = offsets[q + 1] - offsets[q]
        for r in range(ranks.shape[0]):
            n = sizes[r, q]
            fill_points(kind, tables, r, n, n_union, number, points)
            share = find_absent_points(kind, n, n_union, absent) if is_own else absent
            for d in range(offsets[q], offsets[q + 1]):
                rank = ranks[r, d]
                if rank == 0:
                    out[r, d] = share
                elif ties[r, d] == 1:
                    out[r, d] = points[rank - 1]
                else:
                    total = 0.0
                    for i in range(rank - 1, rank - 1 + ties[r, d]):
                        total += points[i]
                    out[r, d] = total / ties[r, d]
