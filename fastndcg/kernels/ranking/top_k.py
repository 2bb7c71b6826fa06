"""
Select the documents of the first ranks, where few ranks count.

The window of a query has every document that scores at least a threshold, which enough documents for the first ranks
reach. Documents that score higher than one in the window are in the window, too. So each candidate in the window is
ranked by comparing it with the window alone.
"""

import numpy as np

from fastndcg.kernels.jit import helper, inline
from fastndcg.kernels.ranking.arrays import find_tail
from fastndcg.kernels.simd import (
    ALL,
    LANES,
    NONE,
    ONE,
    WIDE,
    compare,
    lowest_bit,
    mask_at_least,
    mask_first,
    min_int64,
    popcount,
    raise_maxima,
    raise_maxima_wide,
)

MAX_SELECT_DEPTH = 10  # some 15 documents, in a query of any length, reach the 10th highest maximum of 16 lanes


@helper
def select_window(scores, query, candidates, depth, buffers):
    """Copy the documents of the first ranks. Return their number, -1 for more than 64, and the mask of candidates."""
    threshold = find_threshold(scores, query, buffers.maxima, depth)
    n_window = 0
    candidate_mask = NONE
    if not reaches_threshold(scores, query, candidates.bitmask, threshold):
        return n_window, candidate_mask
    for d in range(query.start, query.stop, WIDE):
        selected = mask_selected(scores, d, query.stop, threshold)
        if n_window + popcount(selected) > WIDE:
            return -1, candidate_mask
        while selected != 0:
            document = d + lowest_bit(selected) - query.start
            selected &= selected - ONE
            block = (query.base + document) // WIDE
            lane = (query.base + document) % WIDE
            bits = candidates.bitmask[block]
            c = candidates.n_before_block[block] + popcount(bits & mask_first(lane))
            buffers.scores[n_window] = scores[query.start + document]
            buffers.labels[n_window] = candidates.labels[min_int64(c, candidates.labels.shape[0] - 1)]
            buffers.documents[n_window] = document
            candidate_mask |= (bits >> np.uint64(lane) & ONE) << np.uint64(n_window)
            n_window += 1
    return n_window, candidate_mask


@inline
def reaches_threshold(scores, query, bitmask, threshold):
    """Return True if a candidate of the query reaches the threshold."""
    for d in range(query.start, query.stop, WIDE):
        block = (query.base + d - query.start) // WIDE
        shift = np.uint64((query.base + d - query.start) % WIDE)
        next_bits = bitmask[min_int64(block + 1, bitmask.shape[0] - 1)] << ONE << np.uint64(63) - shift
        if mask_selected(scores, d, query.stop, threshold) & (bitmask[block] >> shift | next_bits) != 0:
            return True
    return False


@inline
def mask_selected(scores, d, stop, threshold):
    """Return the mask of the documents that reach the threshold among 64 from `d` on and before `stop`."""
    block = min_int64(d, scores.shape[0] - WIDE)
    return mask_at_least(scores, block, threshold) >> np.uint64(d - block) & mask_first(stop - d)


@inline
def find_threshold(scores, query, maxima, depth):
    """
    Return a score that at least `depth` documents reach, and few others.

    Lane i of 16 has the highest score of the documents i, i + 16, …. The threshold is the `depth`-th highest lane, so
    `depth` documents or more reach it. The loop fills 64 lanes at once, which are merged into 16 at the end.
    """
    for lane in range(WIDE):
        maxima[lane] = -np.inf
    tail = find_tail(scores, query)
    for d in range(query.start, tail.tail_start, WIDE):
        raise_maxima_wide(maxima, scores, d, ALL)
    raise_maxima_wide(maxima, scores, tail.block, tail.lanes)
    for lane in range(LANES, WIDE, LANES):
        raise_maxima(maxima, maxima, lane, ALL)
    threshold = maxima[0]
    for lane in range(LANES):
        higher, same = compare(maxima, 0, maxima[lane])
        if popcount(higher) < depth <= popcount(higher | same):
            threshold = maxima[lane]
    return threshold
