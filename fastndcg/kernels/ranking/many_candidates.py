"""
Compute the hits of the queries that `rank` leaves open.

A first pass finds the number of documents above each candidate, by counting or by sorting: whichever is faster. That
number is the *slot* of a candidate. Candidates are put into their slots, tied candidates into consecutive ones, and
read from there in rank order. So only the labels within tie groups are sorted.

A query is ranked in one call, so Ctrl-C is handled after it. Sorting 10**7 documents takes 0.3 to 0.5 s if all scores
are equal, and 1 to 2 s if they differ.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.candidates import HAS_CHANGED, N_OPEN, N_TIED, Candidates, Hits, find_query
from fastndcg.kernels.ranking.rank import COUNT, SORT, count_above, has_valid_ranks
from fastndcg.kernels.ranking.sort import SortBuffers, make_sort_buffers, rank_by_sorting, sort_descending
from fastndcg.kernels.simd import ONE, WIDE, lowest_bit


class RankBuffers(NamedTuple):
    """
    Scratch arrays for the largest open query.

    above        (n_candidates + 1,)       int32, number of documents with a higher score
    ties         (n_candidates + 1,)       int32, number of documents with the same score
    group_bits   (n_documents // 64 + 1,)  uint64, bit of each slot that begins a group
    group_sizes  (n_documents,)            int32, number of candidates in the group that begins at a slot
    slots        (n_documents,)            int32, candidate of the query in each slot
    spare        (n_candidates,)           int32
    """

    above: np.ndarray
    ties: np.ndarray
    group_bits: np.ndarray
    group_sizes: np.ndarray
    slots: np.ndarray
    spare: np.ndarray
    sorting: SortBuffers


@kernel(allocates=True)
def rank_remaining(scores, offsets, first, candidates, depth, strategy, out_hits):
    """
    Write the hits of the open queries, and move those of other queries up so that no gap is left.

    The arguments are those of `rank`. The counts of `out_hits` are updated, and no query is open afterwards.
    """
    candidates = Candidates(*candidates)
    hits = Hits(*out_hits)
    max_candidates = 0
    max_documents = 0
    for i in range(hits.counts[N_OPEN]):
        query = find_query(offsets, first, candidates.offsets, hits.open_queries[i])
        max_candidates = max(max_candidates, query.n_candidates)
        max_documents = max(max_documents, query.stop - query.start)
    buffers = make_buffers(max_candidates, max_documents)
    fill_remaining(scores, offsets, first, candidates, depth, strategy, buffers, hits)


@inline
def make_buffers(n_candidates, n_documents):
    """Return scratch arrays for queries of up to so many candidates and documents."""
    return RankBuffers(
        np.empty(n_candidates + 1, np.int32),
        np.empty(n_candidates + 1, np.int32),
        np.empty(n_documents // WIDE + 1, np.uint64),
        np.empty(n_documents, np.int32),
        np.empty(n_documents, np.int32),
        np.empty(n_candidates, np.int32),
        make_sort_buffers(n_documents),
    )


@helper
def fill_remaining(scores, offsets, first, candidates, depth, strategy, buffers, hits):
    """Rank the open queries and move the hits of the others."""
    n_open = hits.counts[N_OPEN]
    next_open = 0
    n_hits = 0
    stop = 0
    for q in range(hits.offsets.shape[0] - 1):
        start = stop
        stop = hits.offsets[q + 1]
        if next_open < n_open and hits.open_queries[next_open] == q:
            next_open += 1
            query = find_query(offsets, first, candidates.offsets, q)
            compute_ranks(scores, query, candidates.documents, depth, strategy, buffers)
            bucket_by_rank(query, depth, buffers)
            n_new, is_tied = write_hits(query, candidates.documents, candidates.labels, depth, buffers, n_hits, hits)
            n_hits += n_new
            hits.counts[N_TIED] += is_tied
        else:
            if n_hits < start:
                move_hits(start, stop, n_hits, hits)
            n_hits += stop - start
        hits.offsets[q + 1] = n_hits
    hits.counts[N_OPEN] = 0
    hits.counts[HAS_CHANGED] = 0 if has_valid_ranks(hits.queries, hits.above, hits.ties, n_hits) else 1


@inline
def move_hits(start, stop, place, hits):
    """Move the hits from `start` up to `stop` to an earlier place."""
    for h in range(start, stop):
        hits.documents[place + h - start] = hits.documents[h]
        hits.labels[place + h - start] = hits.labels[h]
        hits.above[place + h - start] = hits.above[h]
        hits.ties[place + h - start] = hits.ties[h]
        hits.queries[place + h - start] = hits.queries[h]


@helper
def compute_ranks(scores, query, documents, depth, strategy, buffers):
    """Fill `buffers.above` and `buffers.ties` for the candidates of a query. Ranks below `depth` may be wrong."""
    is_counted = is_counting_faster(query.stop - query.start, query.n_candidates, scores.itemsize)
    if strategy != SORT and (strategy == COUNT or is_counted):
        for i in range(query.n_candidates):
            score = scores[query.start - query.base + documents[query.first_candidate + i]]
            above, ties = count_above(scores, query, score, depth)
            buffers.above[i] = above
            buffers.ties[i] = ties
    else:
        rank_by_sorting(scores, query, documents, buffers.sorting, buffers.above, buffers.ties)


@inline
def is_counting_faster(n_documents, n_candidates, n_bytes):
    """Return True if counting is faster than sorting, estimated from the work of each in nanoseconds."""
    count = n_candidates * (5.0 + 0.7 * n_documents * n_bytes / 64.0)
    return count < 1000.0 + n_documents * (5.0 + 1.5 * n_bytes) + 12.0 * n_candidates


@helper
def bucket_by_rank(query, depth, buffers):
    """
    Put each candidate that ranks above `depth` into the first free slot of its group.

    If scores change during the call, a group may be too large for the query. Its last candidates are left out.
    """
    n_documents = query.stop - query.start
    for block in range(n_documents // WIDE + 1):
        buffers.group_bits[block] = 0
    for i in range(query.n_candidates):
        slot = min(buffers.above[i], n_documents - 1)
        if slot < depth:
            bit = ONE << np.uint64(slot % WIDE)
            if buffers.group_bits[slot // WIDE] & bit == 0:
                buffers.group_bits[slot // WIDE] |= bit
                buffers.group_sizes[slot] = 0
            if slot + buffers.group_sizes[slot] < n_documents:
                buffers.slots[slot + buffers.group_sizes[slot]] = i
                buffers.group_sizes[slot] += 1


@helper
def write_hits(query, documents, labels, depth, buffers, n_hits, hits):
    """Write a query's hits, group by group. Return their number, and True if a tie group has different labels."""
    n_documents = query.stop - query.start
    n_ranks = min(n_documents, depth)
    query_labels = labels[query.first_candidate : query.first_candidate + query.n_candidates]
    n_new = 0
    is_tied = False
    for block in range((n_ranks - 1) // WIDE + 1):
        remaining = buffers.group_bits[block]
        while remaining != 0:
            above = block * WIDE + lowest_bit(remaining)
            remaining &= remaining - ONE
            n_members = buffers.group_sizes[above]
            members = buffers.slots[above : above + n_members]
            ties = min(buffers.ties[members[0]], n_documents - above)
            has_one_label = n_members == ties
            for i in range(1, n_members):
                has_one_label &= query_labels[members[i]] == query_labels[members[0]]
            if has_one_label:
                for i in range(min(n_members, n_ranks - above)):
                    c = query.first_candidate + members[i]
                    write_hit(query, documents[c], labels[c], above + i, 1, n_hits + n_new, hits)
                    n_new += 1
            else:
                is_tied = True
                sort_descending(query_labels, n_members, buffers.spare, members)
                for i in range(n_members):
                    c = query.first_candidate + members[i]
                    write_hit(query, documents[c], labels[c], above, ties, n_hits + n_new, hits)
                    n_new += 1
    return n_new, is_tied


@inline
def write_hit(query, document, label, above, ties, h, hits):
    """Write one hit."""
    hits.documents[h] = document - query.base
    hits.labels[h] = label
    hits.above[h] = above
    hits.ties[h] = ties
    hits.queries[h] = query.number
