"""
Selection: hits of queries with many candidates, where few ranks count.

start, stop   the query's documents in `scores`; its first is document `base` of the call
survivors     the best score of each lane, and scores and places of the documents that may stand in the first ranks
near          scores, labels, documents of the candidates among them
out_hits      see rank.py; this query's begin at `n_hits`
"""

import numpy as np

from fastndcg.kernels.count import find_tail, place_near
from fastndcg.kernels.jit import part
from fastndcg.kernels.vectors import LANES, WIDE, compare, lowest_bit, popcount, raise_lanes

MOST_SURVIVORS = 64  # more come only from ties; sorting copes with them
SELECT_DEPTH = 10  # the 10th best of 16 lanes is a bar that some 15 documents reach, however many there are


@part
def select_hits(scores, start, stop, base, candidates, survivors, near, depth, n_hits, out_hits):
    """Hits in the first ranks, and whether ties among them have different labels; -1 where too many scores tie."""
    n_survivors = find_survivors(scores, start, stop, depth, survivors)
    if n_survivors < 0:
        return -1, False
    n_near = gather_candidates(base, candidates, survivors, n_survivors, near)
    if n_near > LANES:
        return -1, False
    return place_near(survivors[1], 0, n_survivors, near, n_near, depth, n_hits, out_hits)


@part
def find_survivors(scores, start, stop, depth, survivors):
    """
    Documents among which the best `depth` are; -1 if they are too many, else their number.

    Lane i holds the best score of documents i, i + 16, …: as many documents as lanes reach the `depth`-th best lane.
    """
    best, survivor_scores, survivor_documents = survivors
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    for lane in range(LANES):
        best[lane] = -np.inf
    for d in range(start, tail, LANES):
        raise_lanes(best, scores, d)
    for d in range(tail, stop):
        best[d - tail] = max(best[d - tail], scores[d])
    least = nth_best(best, depth)
    n_survivors = 0
    for word in range(start, stop, WIDE):
        kept = np.uint64(0)
        for d in range(word, min(word + WIDE, tail), LANES):
            higher, same = compare(scores, d, least)
            kept |= (higher | same) << np.uint64(d - word)
        if tail < word + WIDE:
            higher, same = compare(scores, tail_block, least)
            kept |= ((higher | same) & tail_lanes) >> np.uint64(tail - tail_block) << np.uint64(tail - word)
        if n_survivors + popcount(kept) > MOST_SURVIVORS:
            return -1
        while kept != 0:
            survivor = word + lowest_bit(kept)
            kept &= kept - np.uint64(1)
            survivor_documents[n_survivors] = survivor - start
            survivor_scores[n_survivors] = scores[survivor]
            n_survivors += 1
    return n_survivors


@part
def nth_best(best, n):
    """The n-th highest of the lanes."""
    for i in range(LANES):
        higher, same = compare(best, 0, best[i])
        if popcount(higher) < n <= popcount(higher) + popcount(same):
            return best[i]
    return best[0]


@part
def gather_candidates(base, candidates, survivors, n_survivors, near):
    """The candidates among the survivors; says how many."""
    documents, labels, _, marks, before = candidates
    _, survivor_scores, survivor_documents = survivors
    near_scores, near_labels, near_documents = near
    n_near = 0
    for i in range(n_survivors):
        d = base + survivor_documents[i]
        bit = np.uint64(1) << np.uint64(d % WIDE)
        word = marks[d // WIDE]
        c = min(before[d // WIDE] + popcount(word & (bit - np.uint64(1))), labels.shape[0] - 1)
        near_scores[n_near] = survivor_scores[i]
        near_labels[n_near] = labels[c]
        near_documents[n_near] = documents[c]
        n_near += (word & bit) != 0  # written always, kept sometimes: a branch would be guessed wrong
    return n_near
