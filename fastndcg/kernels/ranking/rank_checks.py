"""
Check ranks before they serve as indices, because another thread may overwrite the scores while a kernel reads them.

The kernels here read each score several times. If all reads of a score agree, ranks have three properties, which the
kernels of metrics rely on:

1. Within a query, each tie group begins at the end of the group before it, or below.
2. A tie group has no more hits than documents.
3. Each tie group ends within its query. The kernels that write hits ensure this property by themselves.
"""

import numpy as np

from fastndcg.kernels.jit import inline
from fastndcg.kernels.simd import WIDE, min_int64


@inline
def has_valid_ranks(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if the first `n_hits` hits have the first two properties."""
    if n_hits == 0:
        return True
    if hit_ties[0] <= 0 or not is_in_rank_order(hit_queries, hit_above, hit_ties, n_hits):
        return False
    return has_valid_group_sizes(hit_queries, hit_above, hit_ties, n_hits)


@inline
def is_in_rank_order(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if each hit is tied with the hit before it, or begins at the end of that hit's group or below."""
    n_valid = np.int32(0)
    last_queries = hit_queries[: n_hits - 1]
    last_above = hit_above[: n_hits - 1]
    last_ties = hit_ties[: n_hits - 1]
    next_queries = hit_queries[1:n_hits]
    next_above = hit_above[1:n_hits]
    next_ties = hit_ties[1:n_hits]
    for h in range(n_hits - 1):
        is_below = next_above[h] >= np.int32(last_above[h] + last_ties[h])
        is_tied = (next_above[h] == last_above[h]) & (next_ties[h] == last_ties[h]) & (next_ties[h] != 1)
        is_valid = is_below | is_tied | (next_queries[h] != last_queries[h])
        n_valid = np.int32(n_valid + (is_valid & (next_ties[h] > 0)))
    return n_valid == n_hits - 1


@inline
def has_valid_group_sizes(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if no tie group has more hits than documents."""
    for block in range(0, n_hits, WIDE):
        stop = min_int64(block + WIDE, n_hits)
        n_tied = 0
        for h in range(block, stop):
            n_tied += hit_ties[h] != 1
        if n_tied == 0:
            continue
        n_wrong = 0
        for h in range(block, stop):
            before = h - np.int64(hit_ties[h])
            place = np.uint64(before if before > 0 else 0)
            is_same_group = (hit_queries[place] == hit_queries[h]) & (hit_above[place] == hit_above[h])
            n_wrong += is_same_group & (hit_ties[h] != 1) & (before >= 0)
        if n_wrong > 0:
            return False
    return True
