"""
Selection: the candidates that may stand in the first ranks, of queries with many candidates where few ranks count.

start, stop   the query's documents in `scores`; its first is document `base` of the call
best          room for the best score of each of sixty-four lanes
near          scores, labels, documents of up to sixteen candidates
"""

import numpy as np

from fastndcg.kernels.count import find_tail
from fastndcg.kernels.jit import part, unit
from fastndcg.kernels.vectors import LANES, WIDE, compare, lowest_bit, popcount, raise_lanes, raise_wide, reach_wide

SELECT_DEPTH = 10  # the 10th best of 16 lanes is a bar that some 15 documents reach, however many there are


@unit
def gather_best(scores, start, stop, base, candidates, best, depth, near):
    """Put the candidates that may stand in the first `depth` ranks among the near ones; how many, -1 if too many."""
    _, labels, _, marks, before = candidates
    near_scores, near_labels, near_documents = near
    bar = find_bar(scores, start, stop, best, depth)
    n_near = 0
    n_wanted = 0
    for d in range(start, stop, WIDE):
        block = min(d, scores.shape[0] - WIDE)
        reached = reach_wide(scores, block, bar) >> np.uint64(d - block)
        wanted = reached & marks_from(marks, base + d - start) & (~np.uint64(0) >> np.uint64(max(WIDE - stop + d, 0)))
        n_wanted += popcount(wanted)
        while wanted != 0 and n_near < LANES:
            near_document = d + lowest_bit(wanted) - start
            wanted &= wanted - np.uint64(1)
            word = (base + near_document) // WIDE
            bit = np.uint64(1) << np.uint64((base + near_document) % WIDE)
            c = before[word] + popcount(marks[word] & (bit - np.uint64(1)))
            near_scores[n_near] = scores[start + near_document]
            near_labels[n_near] = labels[c]
            near_documents[n_near] = near_document
            n_near += 1
    return n_near if n_near == n_wanted else -1


@part
def find_bar(scores, start, stop, best, depth):
    """
    A score that the best `depth` documents reach, and few others.

    Lane i holds the best score of documents i, i + 16, …: as many documents as lanes reach the `depth`-th best lane.
    Four of them are filled at once, then put together.
    """
    for lane in range(WIDE):
        best[lane] = -np.inf
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    for d in range(start, tail, WIDE):
        raise_wide(best, scores, d, ~np.uint64(0))
    raise_wide(best, scores, tail_block, tail_lanes)
    for lane in range(LANES, WIDE, LANES):
        raise_lanes(best, best, lane, ~np.uint64(0))
    bar = best[0]
    for lane in range(LANES):
        higher, same = compare(best, 0, best[lane])
        if popcount(higher) < depth <= popcount(higher | same):
            bar = best[lane]
    return bar


@part
def marks_from(marks, place):
    """The marks of sixty-four documents, from `place` on."""
    word = place // WIDE
    skipped = np.uint64(place % WIDE)
    following = marks[min(word + 1, marks.shape[0] - 1)] << np.uint64(1) << np.uint64(63) - skipped
    return marks[word] >> skipped | following
