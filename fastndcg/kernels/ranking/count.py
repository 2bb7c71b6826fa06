"""Count the documents that score higher than a candidate, or the same, 64 at once."""

import numpy as np

from fastndcg.kernels.jit import inline
from fastndcg.kernels.ranking.arrays import find_tail
from fastndcg.kernels.simd import WIDE, compare_wide, mask_first, mask_nan, popcount, prefetch


@inline
def gather_candidates(scores, query, candidates, buffers):
    """Copy a query's candidates, at most 64, to the window. Return their number and their mask."""
    for i in range(query.n_candidates):
        c = np.uint64(query.first_candidate + i)
        document = candidates.documents[c] - query.base
        buffers.scores[i] = scores[query.start + document]
        buffers.labels[i] = candidates.labels[c]
        buffers.documents[i] = document
    return query.n_candidates, mask_first(query.n_candidates)


@inline
def count_above(scores, query, score, depth):
    """Return the numbers of documents with a higher score and with the same. Stop at `depth` higher scores."""
    tail = find_tail(scores, query)
    above = 0
    ties = 0
    for d in range(query.start, tail.tail_start, WIDE):
        higher, same = compare_wide(scores, d, score)
        above += popcount(higher)
        ties += popcount(same)
        if above >= depth:
            return above, ties
    higher, same = compare_wide(scores, tail.block, score)
    return above + popcount(higher & tail.lanes), ties + popcount(same & tail.lanes)


@inline
def has_nan(scores, query):
    """Return True if a score is NaN. This is the first pass over a query's scores, so it prefetches later ones."""
    tail = find_tail(scores, query)
    mask = mask_nan(scores, tail.block) & tail.lanes
    prefetch(scores, tail.tail_start)
    for d in range(query.start, tail.tail_start, WIDE):
        prefetch(scores, d)
        mask |= mask_nan(scores, d)
    return mask != 0
