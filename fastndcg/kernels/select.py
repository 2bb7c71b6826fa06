"""
Selection, where few ranks count: *near* documents score at least as high as some that are enough for the first ranks.

Whoever scores higher than a near document is near, too. So each candidate among them is compared with these alone.

start, stop   the query's documents in `scores`; its first is document `base` of the call
best          room for the best score of each of sixty-four lanes
near          scores, labels, documents of up to sixty-four documents, as given
wanted        the mask of the candidates among them
"""

import numpy as np

from fastndcg.kernels.count import find_tail
from fastndcg.kernels.jit import part, unit
from fastndcg.kernels.vectors import (
    ALL,
    LANES,
    NONE,
    ONE,
    WIDE,
    compare,
    lanes_below,
    lesser,
    lowest_bit,
    popcount,
    raise_lanes,
    raise_wide,
    reach_wide,
)

SELECT_DEPTH = 10  # the 10th best of 16 lanes is a bar that some 15 documents reach, however many there are


@unit
def gather_near(scores, start, stop, base, candidates, depth, best, near):
    """Put the near documents of a query together; says how many, -1 if too many, and which of them are wanted."""
    _, labels, _, marks, before = candidates
    near_scores, near_labels, near_documents = near
    bar = find_bar(scores, start, stop, best, depth)
    n_near = 0
    wanted = NONE
    if not is_any_wanted(scores, start, stop, base, marks, bar):
        return n_near, wanted
    for d in range(start, stop, WIDE):
        reached = reach_bar(scores, d, stop, bar)
        if n_near + popcount(reached) > WIDE:
            return -1, wanted
        while reached != 0:
            document = d + lowest_bit(reached) - start
            reached &= reached - ONE
            mark = marks[(base + document) // WIDE]
            lane = (base + document) % WIDE
            c = before[(base + document) // WIDE] + popcount(mark & lanes_below(lane))
            near_scores[n_near] = scores[start + document]
            near_labels[n_near] = labels[lesser(c, labels.shape[0] - 1)]  # of no meaning where it is not wanted
            near_documents[n_near] = document
            wanted |= (mark >> np.uint64(lane) & ONE) << np.uint64(n_near)
            n_near += 1
    return n_near, wanted


@part
def is_any_wanted(scores, start, stop, base, marks, bar):
    """Whether a candidate reaches the bar."""
    for d in range(start, stop, WIDE):
        word = (base + d - start) // WIDE
        skipped = np.uint64((base + d - start) % WIDE)
        following = marks[lesser(word + 1, marks.shape[0] - 1)] << ONE << np.uint64(63) - skipped
        if reach_bar(scores, d, stop, bar) & (marks[word] >> skipped | following) != 0:
            return True
    return False


@part
def reach_bar(scores, d, stop, bar):
    """The mask of those that reach the bar among the sixty-four documents from `d` on; fewer at `stop`."""
    block = lesser(d, scores.shape[0] - WIDE)
    return reach_wide(scores, block, bar) >> np.uint64(d - block) & lanes_below(stop - d)


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
        raise_wide(best, scores, d, ALL)
    raise_wide(best, scores, tail_block, tail_lanes)
    for lane in range(LANES, WIDE, LANES):
        raise_lanes(best, best, lane, ALL)
    bar = best[0]
    for lane in range(LANES):
        higher, same = compare(best, 0, best[lane])
        if popcount(higher) < depth <= popcount(higher | same):
            bar = best[lane]
    return bar
