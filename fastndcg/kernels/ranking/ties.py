"""
Order the hits of tie groups by label, by key or by the order of the input, so that each hit gets its own rank.

Hits of one tie group are consecutive, and have the same query, the same `above` and the same `ties`. Before, their
labels fall. The kernels that order ties change the hits in place. Afterwards, all `ties` are 1.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.candidates import Hits
from fastndcg.kernels.ranking.rank import has_valid_ranks
from fastndcg.kernels.ranking.sort import sort_descending


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


@kernel
def mark_mixed_ties(scores, kinds, offsets, out):
    """
    Mark each document whose order by id matters: one that ties with a document of another kind.

    Drop-ins read dicts of dicts, and order ids in Python. With this kernel 2,000 queries of 100 documents take 1.6 ms,
    with NumPy's sort in its place 60 ms (the rows of pytrec_eval in `pytest benchmarks -k drop_in`).

    scores   (n_documents,) float32
    kinds    (n_documents,) float64, a number for each label, and one for unjudged documents
    offsets  (n_queries + 1,) int64
    out      (n_documents,) bool, all False before the call
    """
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        stop = offsets[q + 1]
        if start == stop:
            continue
        majority = find_majority(kinds, start, stop)
        for d in range(start, stop):
            if kinds[d] == majority:  # of two different kinds, one is not the majority
                continue
            score = scores[d]
            kind = kinds[d]
            n_mixed = 0
            for other in range(start, stop):
                n_mixed += (scores[other] == score) & (kinds[other] != kind)
            if n_mixed > 0:
                for other in range(start, stop):
                    if scores[other] == score:
                        out[other] = True


@inline
def find_majority(kinds, start, stop):
    """Return the kind of more than half of a query's documents, or any kind if no kind has so many."""
    majority = kinds[start]
    lead = 1
    for d in range(start + 1, stop):
        if lead == 0:
            majority = kinds[d]
        lead += 1 if kinds[d] == majority else -1
    return majority


@kernel
def has_valid_tie_order(hit_queries, hit_above, hit_ties):
    """Return True if the ranks of the hits agree with one another: see `has_valid_ranks`."""
    return has_valid_ranks(hit_queries, hit_above, hit_ties, hit_above.shape[0])


@kernel
def order_best_first(out_hits):
    """Order tie groups by falling label: candidates above 0, the documents with label 0, candidates below 0."""
    hits = Hits(*out_hits)
    for q in range(hits.offsets.shape[0] - 1):
        h = hits.offsets[q]
        while h < hits.offsets[q + 1]:
            stop = find_group_end_in_query(hits.above, h, hits.offsets[q + 1])
            n_zeros = hits.ties[h] - (stop - h)
            for i in range(h, stop):
                hits.above[i] += i - h + (n_zeros if hits.labels[i] < 0.0 else 0)
                hits.ties[i] = 1
            h = stop


@kernel
def order_worst_first(out_hits):
    """Order tie groups by rising label: candidates below 0, the documents with label 0, candidates above 0."""
    hits = Hits(*out_hits)
    for q in range(hits.offsets.shape[0] - 1):
        h = hits.offsets[q]
        while h < hits.offsets[q + 1]:
            stop = find_group_end_in_query(hits.above, h, hits.offsets[q + 1])
            n_zeros = hits.ties[h] - (stop - h)
            for i in range((stop - h) // 2):
                swap(hits.documents, h + i, stop - 1 - i)
                swap(hits.labels, h + i, stop - 1 - i)
            for i in range(h, stop):
                hits.above[i] += i - h + (n_zeros if hits.labels[i] > 0.0 else 0)
                hits.ties[i] = 1
            h = stop


@inline
def swap(values, i, j):
    """Exchange two entries."""
    value = values[i]
    values[i] = values[j]
    values[j] = value


class KeyBuffers(NamedTuple):
    """
    Scratch arrays, each with an entry for every document of the largest query.

    members        int32, the documents of the tie groups
    groups         int32, the group of each member, counted from the last
    group_hits     int32, the first hit of each group
    document_hits  int32, the hit of each document, -1 for none
    order          int32, the members in their new order
    spare          int32
    labels         float64, the label of each hit
    """

    members: np.ndarray
    groups: np.ndarray
    group_hits: np.ndarray
    document_hits: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    labels: np.ndarray


@kernel(allocates=True)
def order_by_key(scores, tie_keys, offsets, first, out_hits):
    """
    Order tie groups by falling tie key, equal keys in input order.

    scores    (n_documents,) those that the hits were ranked by
    tie_keys  (n_documents,) int64, or an empty array for input order
    offsets   (n_all_queries + 1,) int64
    """
    hits = Hits(*out_hits)
    n = 0
    for q in range(hits.offsets.shape[0] - 1):
        n = max(n, offsets[first + q + 1] - offsets[first + q])
    buffers = KeyBuffers(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.full(n, -1, np.int32),
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64),
    )  # fmt: skip
    q = 0
    for h in range(hits.offsets[-1]):
        if hits.ties[h] == 1:
            continue
        while hits.offsets[q + 1] <= h:
            q += 1
        documents = slice(offsets[first + q], offsets[first + q + 1])
        keys = tie_keys[documents] if tie_keys.shape[0] > 0 else tie_keys
        order_query_by_key(scores[documents], keys, hits.offsets[q], hits.offsets[q + 1], buffers, hits)


@inline
def order_query_by_key(scores, keys, start, stop, buffers, hits):
    """Order the tie groups of one query, whose hits are those from `start` up to `stop`."""
    documents = hits.documents[start:stop]
    n_groups = find_group_starts(hits.above[start:stop], hits.ties[start:stop], buffers.group_hits)
    n_members = find_members(scores, documents, buffers.group_hits[:n_groups], buffers.members, buffers.groups)
    for i in range(n_members):
        buffers.order[i] = i
    if keys.shape[0] > 0:
        sort_descending(keys[buffers.members[:n_members]], n_members, buffers.spare, buffers.order)
    sort_descending(buffers.groups, n_members, buffers.spare, buffers.order)
    rank_members(n_groups, n_members, start, stop, buffers, hits)


@inline
def find_members(scores, hit_documents, group_hits, out_members, out_groups):
    """
    Write the documents of the tie groups in input order, with their groups. Return their number.

    Groups are counted from the last, so that a sort by falling group puts the highest score first.
    """
    n_members = 0
    n_groups = group_hits.shape[0]
    for d in range(scores.shape[0]):
        low = 0
        size = n_groups
        while size > 0:  # bisection: the first group that does not score higher than the document
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


@inline
def rank_members(n_groups, n_members, start, stop, buffers, hits):
    """
    Write the hits of each tie group again, in the order of its members.

    `buffers.document_hits` is all -1 before and after. If scores change during the call, a group may get more or fewer
    members. `has_valid_tie_order` detects that afterwards.
    """
    documents = hits.documents[start:stop]
    labels = hits.labels[start:stop]
    hit_above = hits.above[start:stop]
    ties = hits.ties[start:stop]
    for h in range(documents.shape[0]):
        if ties[h] > 1:
            buffers.document_hits[documents[h]] = h
            buffers.labels[h] = labels[h]
    group = -1
    place = 0
    slot = 0
    above = 0
    last = 0
    for i in range(n_members):
        member = buffers.order[i]
        if buffers.groups[member] != group:
            group = buffers.groups[member]
            place = 0
            slot = buffers.group_hits[n_groups - 1 - group]
            above = hit_above[slot]
            last = above + ties[slot] - 1
        document = buffers.members[member]
        h = buffers.document_hits[document]
        if h >= 0 and slot < documents.shape[0]:
            documents[slot] = document
            labels[slot] = buffers.labels[h]
            hit_above[slot] = min(above + place, last)
            ties[slot] = 1
            buffers.document_hits[document] = -1
            slot += 1
        place += 1
    ties[:] = 1
