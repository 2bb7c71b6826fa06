"""
Counting: how many documents score higher than a candidate, and how many the same, sixteen at once.

start, stop   the query's documents in `scores`
near          scores, labels, documents of up to sixteen candidates: more than fit are never compared
out_hits      see rank.py; this query's begin at `n_hits`
"""

import numpy as np

from fastndcg.kernels.jit import part
from fastndcg.kernels.vectors import LANES, compare, missing, popcount


@part
def count_hits(scores, start, stop, candidates, c, n_candidates, near, depth, n_hits, out_hits):
    """Hits among the candidates from `c` on; says how many, and whether documents that tie have different labels."""
    documents, labels = candidates[:2]
    near_scores, near_labels, near_documents = near
    for i in range(n_candidates):
        near_scores[i] = scores[start + documents[c + i]]
        near_labels[i] = labels[c + i]
        near_documents[i] = documents[c + i]
    return place_near(scores, start, stop, near, n_candidates, depth, n_hits, out_hits)


@part
def place_near(scores, start, stop, near, n_near, depth, n_hits, out_hits):
    """
    Hits among the near candidates; says how many, and whether documents that tie have different labels.

    A candidate's place among the hits is counted like its rank among all documents, so nothing is moved or sorted.
    """
    near_scores, near_labels, near_documents = near
    out_documents, out_labels, out_above, out_ties = out_hits
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    among = lanes_between(0, n_near)
    n_new = 0
    mixed = False
    for i in range(n_near):
        above, ties = count_around(scores, start, tail, tail_block, tail_lanes, near_scores[i])
        if above >= depth:
            continue
        higher, same = compare(near_scores, 0, near_scores[i])
        label_higher, label_same = compare(near_labels, 0, near_labels[i])
        alike = same & label_same & among
        h = n_hits + popcount(higher & among) + popcount(same & label_higher & among)
        h += popcount(alike & lanes_between(0, i))
        out_documents[h] = near_documents[i]
        out_labels[h] = near_labels[i]
        out_above[h] = above
        out_ties[h] = ties
        mixed |= popcount(alike) < ties
        n_new += 1
    return n_new, mixed


@part
def count_around(scores, start, tail, tail_block, tail_lanes, score):
    """How many documents score higher, and how many the same."""
    above = 0
    ties = 0
    for d in range(start, tail, LANES):
        higher, same = compare(scores, d, score)
        above += popcount(higher)
        ties += popcount(same)
    higher, same = compare(scores, tail_block, score)
    return above + popcount(higher & tail_lanes), ties + popcount(same & tail_lanes)


@part
def has_nan(scores, start, stop):
    """Whether a score is NaN."""
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    found = missing(scores, tail_block) & tail_lanes
    for d in range(start, tail, LANES):
        found |= missing(scores, d)
    return found != 0


@part
def find_tail(scores, start, stop):
    """
    Where whole blocks end, and the block and lanes that hold the rest.

    That block may begin before the rest does: it must not end behind the array.
    """
    tail = start + (stop - start) // LANES * LANES
    block = min(tail, scores.shape[0] - LANES)
    return tail, block, lanes_between(tail - block, stop - block)


@part
def lanes_between(begin, end):
    """The mask of lanes `begin` up to `end`."""
    return (np.uint64(1) << np.uint64(end)) - (np.uint64(1) << np.uint64(begin))
