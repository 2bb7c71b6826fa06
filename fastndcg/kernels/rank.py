"""
Who stands where: the hits of each query, found without sorting its documents. `rank` alone reads the scores.

Candidates become hits, in rank order: score falling, among equal scores label falling, then as given. Each gets the
number of documents that score higher (`above`, the rank less one), and of those that score the same if their labels
differ (`ties`, else 1). Three ways lead to the same numbers:

count   compare every document with each candidate, sixty-four at once: for up to sixty-four candidates
select  compare those that may stand in the first ranks with one another: for many candidates and a small cutoff
sort    order all documents: where counting takes longer than that

What has too many candidates for the first two is left open, with room for all of them and `ties` of 0 in the first:
`rank_open` in open.py counts or sorts it. Where it leaves that to its caller, numbers stand there with `ties` below 0.

scores       (n_documents,)         float32 or float64; sixty-four or more, so that one vector fits
offsets      (n_all_queries + 1,)   int64; this call works on n_queries of them, from query `first`
documents, labels, candidate_offsets, marks, before   the candidates: see candidates.py
depth        how many ranks any metric looks at; hits that begin below it are left out
strategy     AUTO, or one of the three
as_given     whether a selected tie group whose labels differ is ranked in the order given, not left as a group
out_documents, out_above, out_ties, out_queries   (n_candidates,) int32, the hits
out_labels   (n_candidates,)        float64
out_offsets  (n_queries + 1,)       int64, query q owns hits out_offsets[q] up to out_offsets[q + 1]
out_counts   (3,)                   int64: queries where equal scores have different labels, with NaN scores, left open
"""

import numpy as np

from fastndcg.kernels.count import count, find_tail, gather_all, has_nan
from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.select import SELECT_DEPTH, gather_near
from fastndcg.kernels.vectors import LANES, NONE, ONE, WIDE, compare, lanes_below, lowest_bit, popcount, wide_like

AUTO, COUNT, SELECT, SORT = 0, 1, 2, 3


@kernel
def rank(
    scores, offsets, first, documents, labels, candidate_offsets, marks, before, depth, strategy, as_given,
    out_documents, out_labels, out_above, out_ties, out_queries, out_offsets, out_counts,
):  # fmt: skip
    """Hits of each query in rank order, where counting or selecting finds them."""
    candidates = (documents, labels, candidate_offsets, marks, before)
    out_hits = (out_documents, out_labels, out_above, out_ties, out_queries)
    near = (wide_like(scores), wide_like(labels), wide_like(documents))
    best = wide_like(scores)
    n_hits = n_mixed = n_nan = n_open = 0
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        start = offsets[first + q]
        stop = offsets[first + q + 1]
        base = start - offsets[first]
        c = candidate_offsets[q]
        n_candidates = candidate_offsets[q + 1] - c
        way = choose(stop - start, n_candidates, depth, scores.itemsize) if strategy == AUTO else strategy
        n_near = -1
        wanted = NONE
        rest = find_tail(scores, start, stop)
        if has_nan(scores, start, rest):
            n_nan += 1
            n_near = 0
        elif n_candidates == 0:
            n_near = 0
        elif way == COUNT and n_candidates <= WIDE:
            n_near, wanted = gather_all(scores, start, base, documents, labels, c, n_candidates, near)
        elif way == SELECT and depth <= SELECT_DEPTH:
            n_near, wanted = gather_near(scores, start, stop, base, candidates, depth, best, near)
        if n_near >= 0:
            is_given = as_given and way == SELECT
            n_new, mixed = place_near(
                scores, start, rest, near, n_near, wanted, way, depth, is_given, q, n_hits, out_hits
            )  # fmt: skip
            n_hits += n_new
            n_mixed += mixed
        else:
            out_ties[n_hits] = 0
            n_hits += n_candidates
            n_open += 1
        out_offsets[q + 1] = n_hits
    out_counts[0] = n_mixed
    out_counts[1] = n_nan
    out_counts[2] = n_open


@kernel
def take_known(
    known, known_offsets, first, documents, labels, candidate_offsets, depth,
    out_documents, out_labels, out_above, out_ties, out_queries, out_offsets, out_counts,
):  # fmt: skip
    """Hits of queries whose candidates stand in rank order, and how many documents above each is `known`."""
    start = known_offsets[first]
    n_hits = 0
    out_offsets[0] = 0
    out_counts[:] = 0
    for q in range(out_offsets.shape[0] - 1):
        for c in range(candidate_offsets[q], candidate_offsets[q + 1]):
            above = known[start + documents[c]]
            if above < depth:
                out_documents[n_hits] = above
                out_labels[n_hits] = labels[c]
                out_above[n_hits] = above
                out_ties[n_hits] = 1
                out_queries[n_hits] = q
                n_hits += 1
        out_offsets[q + 1] = n_hits


@part
def choose(n_documents, n_candidates, depth, n_bytes):
    """
    The cheapest way, by the work of each in nanoseconds, where vectors have 512 bits.

    Counting ends early for candidates that stand below `depth`: two thirds of what it takes at worst are counted on.
    """
    vectors = n_documents * n_bytes / 64.0
    select = 85.0 + 1.5 * vectors
    count = n_candidates * (5.0 + 0.35 * vectors)
    if depth <= SELECT_DEPTH and (select < count or n_candidates > LANES):
        return SELECT
    return COUNT if n_candidates <= WIDE else SORT


@part
def place_near(scores, start, rest, near, n_near, wanted, way, depth, as_given, q, n_hits, out_hits):
    """
    Hits among the wanted of the near documents; says how many, and whether documents that tie have different labels.

    A candidate's place among the hits is counted like its rank, so nothing is moved or sorted. Where a whole tie group
    has one label, its order changes nothing: each of its documents takes a rank of its own.
    """
    near_scores, near_labels, near_documents = near
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    among = lanes_below(n_near)
    n_new = 0
    mixed = False
    left = wanted
    while left != 0:
        i = lowest_bit(left)
        earlier = lanes_below(i)
        left &= left - ONE
        above = ties = 0
        if way == COUNT:
            above, ties = count(scores, start, rest, near_scores[i], depth)
            if above >= depth:
                continue
        higher, same = compare_near(near_scores, n_near, near_scores[i])
        if way == SELECT:
            above, ties = popcount(higher & among), popcount(same & among)
            if above >= depth:
                continue
        before = higher
        if ties > 1:
            label_higher, label_same = compare_near(near_labels, n_near, near_labels[i])
            alike = popcount(same & label_same & wanted) == ties
            mixed |= not alike
            if alike or as_given:
                above += popcount(same & earlier)
                before |= same & earlier
                ties = 1
            else:
                before |= same & label_higher | same & label_same & earlier
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
    higher = NONE
    same = NONE
    for lane in range(0, n_near, LANES):
        lanes_higher, lanes_same = compare(values, lane, level)
        higher |= lanes_higher << np.uint64(lane)
        same |= lanes_same << np.uint64(lane)
    return higher, same
