"""
Hits among the *near* documents: those that score at least as high as some that are enough for the first ranks.

Whoever scores higher than a near document is near, too. So where they are few, though more than `rank` takes at once,
as when documents tie, each is compared with these alone.

near       scores, labels, documents of up to sixty-four documents, as given
wanted     the mask of the candidates among them
as_given   whether a tie group whose labels differ is ranked in the order given, rather than left as a group
out_hits   see rank.py; those of this query, number `q`, begin at `n_hits`
"""

import numpy as np

from fastndcg.kernels.jit import part
from fastndcg.kernels.select import find_bar
from fastndcg.kernels.vectors import LANES, WIDE, compare, lowest_bit, popcount, reach_wide


@part
def gather_near(scores, start, stop, base, candidates, depth, best, near):
    """Put the near documents of a query together; says how many, -1 if too many, and which of them are wanted."""
    _, labels, marks, before = candidates
    near_scores, near_labels, near_documents = near
    bar = find_bar(scores, start, stop, best, depth)
    n_near = 0
    wanted = np.uint64(0)
    for d in range(start, stop, WIDE):
        block = min(d, scores.shape[0] - WIDE)
        reached = (reach_wide(scores, block, bar) >> np.uint64(d - block)) & (
            ~np.uint64(0) >> np.uint64(max(WIDE - stop + d, 0))
        )
        if n_near < 0 or n_near + popcount(reached) > WIDE:
            n_near = -1
            reached = np.uint64(0)
        while reached != 0:
            document = d + lowest_bit(reached) - start
            reached &= reached - np.uint64(1)
            word = (base + document) // WIDE
            bit = np.uint64(1) << np.uint64((base + document) % WIDE)
            near_scores[n_near] = scores[start + document]
            near_labels[n_near] = 0.0
            near_documents[n_near] = document
            if marks[word] & bit:
                near_labels[n_near] = labels[before[word] + popcount(marks[word] & (bit - np.uint64(1)))]
                wanted |= np.uint64(1) << np.uint64(n_near)
            n_near += 1
    return n_near, wanted


@part
def place_wanted(near, n_near, wanted, depth, as_given, q, n_hits, out_hits):
    """
    Hits among the near documents; says how many, and whether documents that tie have different labels.

    A candidate's place among the hits is counted like its rank, so nothing is moved or sorted. Where a whole tie group
    has one label, its order changes nothing: each of its documents takes a rank of its own.
    """
    near_scores, near_labels, near_documents = near
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    among = ~np.uint64(0) >> np.uint64(WIDE - n_near)
    n_new = 0
    mixed = False
    rest = wanted
    while rest != 0:
        i = lowest_bit(rest)
        earlier = (np.uint64(1) << np.uint64(i)) - np.uint64(1)
        rest &= rest - np.uint64(1)
        higher, same = compare_near(near_scores, n_near, near_scores[i])
        before = higher & among
        above = popcount(before)
        if above >= depth:
            continue
        ties = popcount(same & among)
        if ties > 1:
            label_higher, label_same = compare_near(near_labels, n_near, near_labels[i])
            alike = popcount(same & label_same & among) == ties
            mixed |= not alike
            if alike or as_given:
                before |= same & earlier
                above = popcount(before)
                ties = 1
            else:
                before |= same & among & label_higher | same & label_same & earlier
        h = n_hits + popcount(before & wanted)
        out_documents[h] = near_documents[i]
        out_labels[h] = near_labels[i]
        out_above[h] = above
        out_ties[h] = ties
        out_queries[h] = q
        n_new += above < depth
    return n_new, mixed


@part
def compare_near(values, n_near, level):
    """Masks of those of the near ones, and of some lanes behind them, that are above a level, and that are equal."""
    higher = np.uint64(0)
    same = np.uint64(0)
    for lane in range(0, n_near, LANES):
        lanes_higher, lanes_same = compare(values, lane, level)
        higher |= lanes_higher << np.uint64(lane)
        same |= lanes_same << np.uint64(lane)
    return higher, same
