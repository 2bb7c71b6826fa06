"""
Where scores tie; and order within tie groups, for the policies that have one: each hit gets a rank of its own.

Hits come from `rank.py`: within a tie group all have the same `above`, and labels fall.

hit_offsets    (n_queries + 1,)  int64
hit_queries, hit_ties   (n_hits,)  int32
out_queries    (n_queries,)      int32
out_documents, out_labels, out_above, out_ties   (n_hits,), changed in place; ties become 1
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.sorting import sort_descending
from fastndcg.kernels.vectors import WIDE, lesser


@kernel
def find_tied(hit_queries, hit_ties, out_queries):
    """The queries in which scores tie between different labels, which are few, in rising order; says how many."""
    n = 0
    last_query = -1
    for block in range(0, hit_ties.shape[0], WIDE):
        stop = lesser(block + WIDE, hit_ties.shape[0])
        others = 0
        for h in range(block, stop):
            others += hit_ties[h] != 1
        if others == 0:
            continue
        for h in range(block, stop):
            if hit_ties[h] != 1 and hit_queries[h] != last_query:
                last_query = hit_queries[h]
                out_queries[n] = last_query
                n += 1
    return n


@kernel
def best_first(hit_offsets, out_documents, out_labels, out_above, out_ties):
    """Higher labels first: candidates above 0, then the rest of the group, then those below 0."""
    for q in range(hit_offsets.shape[0] - 1):
        h = hit_offsets[q]
        while h < hit_offsets[q + 1]:
            stop = group_end(out_above, h, hit_offsets[q + 1])
            rest = out_ties[h] - (stop - h)
            for i in range(h, stop):
                out_above[i] += i - h + (rest if out_labels[i] < 0.0 else 0)
                out_ties[i] = 1
            h = stop


@kernel
def worst_first(hit_offsets, out_documents, out_labels, out_above, out_ties):
    """Lower labels first: candidates below 0, then the rest of the group, then those above 0."""
    for q in range(hit_offsets.shape[0] - 1):
        h = hit_offsets[q]
        while h < hit_offsets[q + 1]:
            stop = group_end(out_above, h, hit_offsets[q + 1])
            rest = out_ties[h] - (stop - h)
            for i in range((stop - h) // 2):
                swap(out_documents, h + i, stop - 1 - i)
                swap(out_labels, h + i, stop - 1 - i)
            for i in range(h, stop):
                out_above[i] += i - h + (rest if out_labels[i] > 0.0 else 0)
                out_ties[i] = 1
            h = stop


@allocating_kernel
def highest_key_first(
    scores, tie_keys, offsets, first, hit_offsets, out_documents, out_labels, out_above, out_ties
):  # fmt: skip
    """Higher tie keys first, equal keys as given; with an empty array of tie keys, as given."""
    longest = 0
    for q in range(hit_offsets.shape[0] - 1):
        longest = max(longest, offsets[first + q + 1] - offsets[first + q])
    members = np.empty(longest, np.int32)
    groups = np.empty(longest, np.int32)
    group_hits = np.empty(longest, np.int32)
    hit_of = np.full(longest, -1, np.int32)
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    labels = np.empty(longest, np.float64)
    q = 0
    for h in range(hit_offsets[-1]):
        if out_ties[h] == 1:  # as nearly all are: queries that have no others are passed over
            continue
        while hit_offsets[q + 1] <= h:
            q += 1
        hits = slice(hit_offsets[q], hit_offsets[q + 1])
        n_groups = find_groups(out_above[hits], out_ties[hits], group_hits)
        query_scores = scores[offsets[first + q] : offsets[first + q + 1]]
        n_members = find_members(query_scores, out_documents[hits], group_hits[:n_groups], members, groups)
        for i in range(n_members):
            order[i] = i
        if tie_keys.shape[0] > 0:
            keys = tie_keys[offsets[first + q] : offsets[first + q + 1]][members[:n_members]]
            sort_descending(keys, n_members, spare, order)
        sort_descending(groups, n_members, spare, order)
        number_members(
            members, groups, order[:n_members], group_hits, hit_of, labels,
            out_documents[hits], out_labels[hits], out_above[hits], out_ties[hits],
        )  # fmt: skip


@part
def group_end(hit_above, h, stop):
    """Where the tie group that begins at hit `h` ends."""
    end = h + 1
    while end < stop and hit_above[end] == hit_above[h]:
        end += 1
    return end


@part
def swap(values, i, j):
    """Exchange two entries."""
    kept = values[i]
    values[i] = values[j]
    values[j] = kept


@part
def find_groups(hit_above, hit_ties, out):
    """The first hit of each tie group of more than one document; says how many there are."""
    n_groups = 0
    for h in range(hit_above.shape[0]):
        if hit_ties[h] > 1 and (h == 0 or hit_above[h] != hit_above[h - 1]):
            out[n_groups] = h
            n_groups += 1
    return n_groups


@part
def find_members(scores, hit_documents, group_hits, out_members, out_groups):
    """All documents of the tie groups, as given; groups are numbered from the last, so that sorting falls."""
    n_members = 0
    n_groups = group_hits.shape[0]
    for d in range(scores.shape[0]):
        low = 0
        size = n_groups
        while size > 0:  # first group that does not score above the document
            half = size // 2
            if scores[hit_documents[group_hits[low + half]]] > scores[d]:
                low += half + 1
                size -= half + 1
            else:
                size = half
        if low < n_groups and scores[hit_documents[group_hits[low]]] == scores[d]:
            out_members[n_members] = d
            out_groups[n_members] = n_groups - 1 - low
            n_members += 1
    return n_members


@part
def number_members(
    members, groups, order, group_hits, hit_of, labels, out_documents, out_labels, out_above, out_ties
):  # fmt: skip
    """Write the hits of each group again, in the order of its members. `hit_of` is all -1 before and after."""
    for h in range(out_documents.shape[0]):
        if out_ties[h] > 1:
            hit_of[out_documents[h]] = h
            labels[h] = out_labels[h]
    group = -1
    place = 0
    slot = 0
    above = 0
    n_groups = groups[order[0]] + 1
    for i in range(order.shape[0]):
        if groups[order[i]] != group:
            group = groups[order[i]]
            place = 0
            slot = group_hits[n_groups - 1 - group]
            above = out_above[slot]
        document = members[order[i]]
        h = hit_of[document]
        if h >= 0:
            out_documents[slot] = document
            out_labels[slot] = labels[h]
            out_above[slot] = above + place
            out_ties[slot] = 1
            hit_of[document] = -1
            slot += 1
        place += 1
