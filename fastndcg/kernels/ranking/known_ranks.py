"""Write the hits of candidates whose ranks are known, or for which the documents above and beside were counted."""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.candidates import N_TIED, Candidates, Hits
from fastndcg.kernels.ranking.rank_matrix import AS_GROUPS, RISING
from fastndcg.kernels.ranking.sort import sort_descending


class Counts(NamedTuple):
    """
    Counts of the labelled documents of all queries.

    above   (n_labels,) int32, number of documents with a higher score
    ties    (n_labels,) int32, number of documents with the same score
    before  (n_labels,) int32, number of these that come before the labelled one in the input
    """

    above: np.ndarray
    ties: np.ndarray
    before: np.ndarray


class Order(NamedTuple):
    """Scratch arrays for the candidates of one query: their places, the negated numbers above, and indices."""

    places: np.ndarray
    negative_above: np.ndarray
    members: np.ndarray
    spare: np.ndarray


@kernel
def write_known_hits(known, first, candidates, depth, out_hits):
    """
    Write the hits of queries whose candidates are in rank order.

    known       `KnownHits` of fastndcg/rankings/compact.py: above, offsets, ties, tie_starts
    candidates  `Candidates` as a tuple
    out_hits    `Hits` as a tuple
    """
    above, hit_offsets, ties, tie_starts = known
    candidates = Candidates(*candidates)
    hits = Hits(*out_hits)
    start = hit_offsets[first]
    n_hits = 0
    hits.offsets[0] = 0
    hits.counts[:] = 0
    for q in range(hits.offsets.shape[0] - 1):
        is_tied = False
        for c in range(candidates.offsets[q], candidates.offsets[q + 1]):
            place = start + candidates.documents[c]
            is_tied |= ties.shape[0] > 0 and tie_starts[place] < depth
            if above[place] < depth:
                size = ties[place] if ties.shape[0] > 0 else 1
                write_hit(q, above[place], size, candidates.labels[c], n_hits, hits)
                n_hits += 1
        hits.counts[N_TIED] += is_tied
        hits.offsets[q + 1] = n_hits


@kernel(allocates=True)
def write_counted_hits(counts, label_offsets, first, candidates, depth, tie_order, out_hits):
    """
    Write the hits of some queries in rank order.

    counts         `Counts` as a tuple
    label_offsets  (n_all_queries + 1,) int64, query q owns the entries label_offsets[q] up to label_offsets[q + 1]
    first          first query
    candidates     `Candidates` as a tuple, whose documents count entries from label_offsets[first] on
    depth          number of ranks that any metric reads, hits that begin below are skipped
    tie_order      AS_GROUPS, RISING or FALLING
    out_hits       `Hits` as a tuple
    """
    counts = Counts(*counts)
    candidates = Candidates(*candidates)
    hits = Hits(*out_hits)
    most = 0
    for q in range(hits.offsets.shape[0] - 1):
        most = max(most, candidates.offsets[q + 1] - candidates.offsets[q])
    order = Order(
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.int32)
    )
    fill_hits(counts, label_offsets[first], candidates, depth, tie_order, order, hits)


@helper
def fill_hits(counts, start, candidates, depth, tie_order, order, hits):
    """Write the hits of all queries of a chunk, whose entries begin at `start`."""
    n_hits = 0
    hits.offsets[0] = 0
    hits.counts[:] = 0
    for q in range(hits.offsets.shape[0] - 1):
        c = candidates.offsets[q]
        n = candidates.offsets[q + 1] - c
        for i in range(n):
            order.places[i] = start + candidates.documents[c + i]
            order.negative_above[i] = -counts.above[order.places[i]]
            order.members[i] = i
        sort_descending(order.negative_above, n, order.spare, order.members)
        labels = candidates.labels[c : c + n]
        group = 0
        is_tied = False
        while group < n:
            above = -order.negative_above[order.members[group]]
            if above >= depth:
                break
            stop = group + 1
            while stop < n and -order.negative_above[order.members[stop]] == above:
                stop += 1
            members = order.members[group:stop]
            ties = counts.ties[order.places[members[0]]]
            if has_one_label(labels, members, ties):
                for i in range(min(stop - group, depth - above)):
                    write_hit(q, above + i, 1, labels[members[i]], n_hits, hits)
                    n_hits += 1
            else:
                is_tied = True
                n_hits += write_group(counts, q, members, labels, tie_order, order, n_hits, hits)
            group = stop
        hits.counts[N_TIED] += is_tied
        hits.offsets[q + 1] = n_hits


@inline
def has_one_label(labels, members, ties):
    """Return True if a tie group consists of candidates with one label, so that its order changes no value."""
    is_equal = members.shape[0] == ties
    for i in range(1, members.shape[0]):
        is_equal &= labels[members[i]] == labels[members[0]]
    return is_equal


@inline
def write_group(counts, q, members, labels, tie_order, order, n_hits, hits):
    """Write the hits of a tie group with different labels, and return their number."""
    n = members.shape[0]
    if tie_order == AS_GROUPS:
        sort_descending(labels, n, order.spare, members)
    else:  # the group's numbers above were read before
        for i in range(n):
            before = counts.before[order.places[members[i]]]
            order.negative_above[members[i]] = -before if tie_order == RISING else before
        sort_descending(order.negative_above, n, order.spare, members)
    for i in range(n):
        place = order.places[members[i]]
        above = counts.above[place]
        ties = counts.ties[place]
        if tie_order == RISING:
            above += counts.before[place]
        elif tie_order != AS_GROUPS:
            above += ties - 1 - counts.before[place]
        write_hit(q, above, ties if tie_order == AS_GROUPS else 1, labels[members[i]], n_hits + i, hits)
    return n


@inline
def write_hit(q, above, ties, label, h, hits):
    """Write one hit."""
    hits.documents[h] = above
    hits.labels[h] = label
    hits.above[h] = above
    hits.ties[h] = ties
    hits.queries[h] = q
