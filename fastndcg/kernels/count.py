"""
Counting: how many documents score higher than a candidate, and how many the same, sixty-four at once.

start, stop   the query's documents in `scores`; its first is document `base` of the call
near          room for the scores, labels, documents of up to sixty-four candidates
"""

import numpy as np

from fastndcg.kernels.jit import part
from fastndcg.kernels.vectors import WIDE, compare_wide, fetch_ahead, lanes_below, lesser, missing, popcount

GROUP = 3  # candidates copied at once; it divides one less than WIDE


@part
def gather_all(scores, start, base, documents, labels, c, n_candidates, near):
    """
    Put the candidates from `c` on together; says how many, and that all are wanted.

    Those behind the first are copied in groups, with others behind the last one that do not matter: a loop that ends
    with them ends where no processor expects it, which takes as long as counting one.
    """
    copy(scores, start, base, documents, labels, c, 0, near)
    last = documents.shape[0] - 1
    for group in range(1, n_candidates, GROUP):
        for i in range(group, group + GROUP):
            copy(scores, start, base, documents, labels, lesser(c + i, last), i, near)
    return n_candidates, lanes_below(n_candidates)


@part
def copy(scores, start, base, documents, labels, c, i, near):
    """Put a candidate in a place."""
    near_scores, near_labels, near_documents = near
    document = documents[np.uint64(c)] - base
    near_scores[i] = scores[start + document]
    near_labels[i] = labels[np.uint64(c)]
    near_documents[i] = document


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
def has_nan(scores, start, rest):
    """Whether a score is NaN; the first look at a query's scores, so it asks for those of the next."""
    tail, tail_block, tail_lanes = rest
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
    tail = start + (stop - start & -WIDE)
    block = lesser(tail, scores.shape[0] - WIDE)
    return tail, block, lanes_below(stop - block) & ~lanes_below(tail - block)
