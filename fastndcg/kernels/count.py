"""
Counting: how many documents score higher than a candidate, and how many the same, sixty-four at once.

start, stop   the query's documents in `scores`
near          room for the scores, labels, documents of up to sixteen candidates
out_hits      see rank.py; those of this query, number `q`, begin at `n_hits`
"""

import numpy as np

from fastndcg.kernels.jit import part
from fastndcg.kernels.vectors import WIDE, compare, compare_wide, fetch_ahead, missing, popcount


@part
def gather_all(scores, start, candidates, c, n_candidates, near):
    """Put the candidates from `c` on together."""
    documents, labels = candidates[:2]
    near_scores, near_labels, near_documents = near
    for i in range(n_candidates):
        near_scores[i] = scores[start + documents[c + i]]
        near_labels[i] = labels[c + i]
        near_documents[i] = documents[c + i]


@part
def place_all(scores, start, stop, near, n_near, depth, q, n_hits, out_hits):
    """
    Hits among the candidates; says how many, and whether documents that tie have different labels.

    A candidate's place among the hits is counted like its rank among all documents, so nothing is moved or sorted.
    Where a whole tie group has one label, its order changes nothing: each of its documents takes a rank of its own.
    """
    near_scores, near_labels, near_documents = near
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    rest = find_tail(scores, start, stop)
    among = first_lanes(n_near)
    n_new = 0
    mixed = False
    for i in range(n_near):
        score = near_scores[i]
        above, ties = count(scores, start, rest, score, depth)
        if above >= depth:
            continue
        higher, same = compare(near_scores, 0, score)
        h = n_hits + popcount(higher & among)
        if ties > 1:
            label_higher, label_same = compare(near_labels, 0, near_labels[i])
            alike = same & label_same & among
            before = popcount(alike & first_lanes(i))
            h += popcount(same & label_higher & among) + before
            if popcount(alike) == ties:
                above += before
                ties = 1
            else:
                mixed = True
        out_documents[h] = near_documents[i]
        out_labels[h] = near_labels[i]
        out_above[h] = above
        out_ties[h] = ties
        out_queries[h] = q
        n_new += above < depth
    return n_new, mixed


@part
def count(scores, start, rest, score, depth):
    """How many documents score higher, and how many the same; it stops at `depth` that score higher."""
    tail, tail_block, tail_lanes = rest
    above = 0
    ties = 0
    for d in range(start, tail, WIDE):
        higher, same = compare_wide(scores, d, score)
        above += popcount(higher)
        ties += popcount(same)
        if above >= depth:
            return above, ties
    higher, same = compare_wide(scores, tail_block, score)
    return above + popcount(higher & tail_lanes), ties + popcount(same & tail_lanes)


@part
def has_nan(scores, start, stop):
    """Whether a score is NaN; the first look at a query's scores, so it asks for those of the next."""
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    found = missing(scores, tail_block) & tail_lanes
    fetch_ahead(scores, tail)
    for d in range(start, tail, WIDE):
        fetch_ahead(scores, d)
        found |= missing(scores, d)
    return found != 0


@part
def find_tail(scores, start, stop):
    """
    Where whole blocks end, and the block and lanes that hold the rest.

    That block may begin before the rest does: it must not end behind the array.
    """
    tail = start + (stop - start) // WIDE * WIDE
    block = min(tail, scores.shape[0] - WIDE)
    if tail == stop:
        return tail, block, np.uint64(0)
    skipped = np.uint64(tail - block)
    lanes = ~np.uint64(0) >> np.uint64(block + WIDE - stop)
    return tail, block, lanes >> skipped << skipped


@part
def first_lanes(n):
    """The mask of the first n lanes, of sixteen at the most."""
    return (np.uint64(1) << np.uint64(n)) - np.uint64(1)
