"""
Find tie groups among hits.

Hits of one tie group are consecutive, and have the same query, the same `above` and the same `ties`.
"""

from fastndcg.kernels.jit import inline


@inline
def find_group_end_in_query(hit_above, h, stop):
    """Return the end of the tie group that begins at hit `h`, in a query whose hits end at `stop`."""
    end = h + 1
    while end < stop and hit_above[end] == hit_above[h]:
        end += 1
    return end


@inline
def find_group_starts(hit_above, hit_ties, out_starts):
    """Write the first hit of each tie group of several documents in one query. Return the number of groups."""
    n_groups = 0
    for h in range(hit_above.shape[0]):
        if hit_ties[h] > 1 and (h == 0 or hit_above[h] != hit_above[h - 1]):
            out_starts[n_groups] = h
            n_groups += 1
    return n_groups
