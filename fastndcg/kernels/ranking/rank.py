"""
Compute the hits of each query without sorting all its documents.

Three strategies give the same hits, to the bit:

COUNT    compare every document with each candidate, 64 documents at once: for up to 64 candidates
SELECT   find the documents of the first ranks and compare them with one another: for many candidates, few ranks
SORT     sort all documents by score: for many candidates and many ranks

A query that COUNT and SELECT cannot rank is *open*. `rank` leaves room for all its candidates, and `rank_remaining` in
many_candidates.py writes its hits. `rank` is the first kernel to read the scores of a query.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.arrays import HAS_CHANGED, N_NAN, N_OPEN, N_TIED, Candidates, Hits, find_query
from fastndcg.kernels.ranking.count import count_above, gather_candidates, has_nan
from fastndcg.kernels.ranking.rank_checks import has_valid_ranks
from fastndcg.kernels.ranking.top_k import MAX_SELECT_DEPTH, select_window
from fastndcg.kernels.simd import (
    LANES,
    NONE,
    ONE,
    WIDE,
    compare,
    lowest_bit,
    make_wide_like,
    mask_first,
    min_int64,
    popcount,
)

AUTO = 0
COUNT = 1
SELECT = 2
SORT = 3


class WindowBuffers(NamedTuple):
    """Scratch arrays for up to 64 documents of a query."""

    scores: np.ndarray
    labels: np.ndarray
    documents: np.ndarray
    maxima: np.ndarray  # highest score of each lane


class Window(NamedTuple):
    """Up to 64 documents of a query, in input order: all its candidates, or the documents of its first ranks."""

    scores: np.ndarray
    labels: np.ndarray
    documents: np.ndarray
    size: int
    candidate_mask: np.uint64  # bit i is set if document i of the window is a candidate


@kernel
def rank(scores, offsets, first, candidates, depth, strategy, as_given, out_hits):
    """
    Write the hits of each query that COUNT or SELECT can rank, and list the open queries.

    scores      (n_documents,) float32 or float64, at least 64 entries so that one vector fits
    offsets     (n_all_queries + 1,) int64
    candidates  `Candidates` as a tuple
    depth       number of ranks that any metric reads, hits that begin below are skipped
    strategy    AUTO, COUNT, SELECT or SORT
    as_given    True if SELECT ranks tied documents with different labels in input order, not as a tie group
    out_hits    `Hits` as a tuple
    """
    candidates = Candidates(*candidates)
    hits = Hits(*out_hits)
    buffers = WindowBuffers(
        make_wide_like(scores), make_wide_like(candidates.labels), make_wide_like(candidates.documents),
        make_wide_like(scores),
    )  # fmt: skip
    n_hits = 0
    n_tied = 0
    n_nan = 0
    n_open = 0
    n_wrong = 0
    hits.offsets[0] = 0
    for q in range(hits.offsets.shape[0] - 1):
        query = find_query(offsets, first, candidates.offsets, q)
        n_documents = query.stop - query.start
        method = strategy
        if strategy == AUTO:
            method = choose_strategy(n_documents, query.n_candidates, depth, scores.itemsize)
        n_window = -1
        candidate_mask = NONE
        if has_nan(scores, query):
            n_nan += 1
            n_window = 0
        elif query.n_candidates == 0:
            n_window = 0
        elif method == COUNT and query.n_candidates <= WIDE:
            n_window, candidate_mask = gather_candidates(scores, query, candidates, buffers)
        elif method == SELECT and depth <= MAX_SELECT_DEPTH:
            n_window, candidate_mask = select_window(scores, query, candidates, depth, buffers)
            if n_window < 0 and query.n_candidates <= WIDE:  # more than 64 documents tie at the threshold
                method = COUNT
                n_window, candidate_mask = gather_candidates(scores, query, candidates, buffers)
        if n_window >= 0:
            window = Window(buffers.scores, buffers.labels, buffers.documents, n_window, candidate_mask)
            in_input_order = as_given and method == SELECT
            n_new, is_tied, is_right = rank_window(scores, query, window, method, depth, in_input_order, n_hits, hits)
            n_hits += n_new
            n_tied += is_tied
            n_wrong += not is_right
        else:
            hits.open_queries[n_open] = q
            n_hits += query.n_candidates
            n_open += 1
        hits.offsets[q + 1] = n_hits
    hits.counts[N_TIED] = n_tied
    hits.counts[N_NAN] = n_nan
    hits.counts[N_OPEN] = n_open
    is_consistent = n_wrong == 0 and (n_open > 0 or has_valid_ranks(hits.queries, hits.above, hits.ties, n_hits))
    hits.counts[HAS_CHANGED] = 0 if is_consistent else 1


@inline
def choose_strategy(n_documents, n_candidates, depth, n_bytes):
    """
    Return the fastest strategy, estimated from the work of each in nanoseconds with vectors of 512 bits.

    Counting stops early for candidates that rank below `depth`: the estimate takes 2/3 of the full count.
    """
    n_vectors = n_documents * n_bytes / 64.0
    select = 85.0 + 1.5 * n_vectors
    count = n_candidates * (5.0 + 0.35 * n_vectors)
    if depth <= MAX_SELECT_DEPTH and (select < count or n_candidates > LANES):
        return SELECT
    return COUNT if n_candidates <= WIDE else SORT


@inline
def rank_window(scores, query, window, method, depth, in_input_order, n_hits, hits):
    """
    Write the hits among the candidates of the window.

    Return the number of hits, True if a tie group has different labels, and True if the hits fill their places. If
    scores change during the call, two hits may get one place. Then the query gets no hits.

    The place of a candidate among the hits is counted like its rank, so nothing is moved or sorted. If all documents of
    a tie group have one label, their order changes no value, so each gets its own rank.
    """
    window_lanes = mask_first(window.size)
    filled_places = NONE
    n_new = 0
    is_tied = False
    counted_candidate = -1  # the candidate whose score was counted last
    n_above = 0
    n_equal = 0
    remaining = window.candidate_mask
    while remaining != 0:
        i = lowest_bit(remaining)
        earlier = mask_first(i)
        remaining &= remaining - ONE
        above = 0
        ties = 0
        if method == COUNT:
            if counted_candidate < 0 or window.scores[i] != window.scores[counted_candidate]:
                n_above, n_equal = count_above(scores, query, window.scores[i], depth)
                counted_candidate = i
            above = n_above
            ties = n_equal
            if above >= depth:
                continue
        higher, same = compare_window(window.scores, window.size, window.scores[i])
        if method == SELECT:
            above = popcount(higher & window_lanes)
            ties = popcount(same & window_lanes)
            if above >= depth:
                continue
        before = higher
        if ties > 1:
            higher_label, same_label = compare_window(window.labels, window.size, window.labels[i])
            has_one_label = popcount(same & same_label & window.candidate_mask) == ties
            is_tied |= not has_one_label
            if has_one_label or in_input_order:
                above += min_int64(popcount(same & earlier), ties - 1)
                if above >= depth:
                    continue
                before |= same & earlier
                ties = 1
            else:
                before |= same & higher_label | same & same_label & earlier
        place = popcount(before & window.candidate_mask)
        filled_places |= np.uint64(ties > 0) << np.uint64(place)
        h = n_hits + place
        hits.documents[h] = window.documents[i]
        hits.labels[h] = window.labels[i]
        hits.above[h] = above
        hits.ties[h] = ties
        hits.queries[h] = query.number
        n_new += 1
    is_right = filled_places == mask_first(n_new)
    return (n_new if is_right else 0), is_tied, is_right


@inline
def compare_window(values, size, level):
    """Return masks of the entries above a level and equal to it. Lanes behind the first `size` have no meaning."""
    higher = NONE
    same = NONE
    for lane in range(0, size, LANES):
        lanes_higher, lanes_same = compare(values, lane, level)
        higher |= lanes_higher << np.uint64(lane)
        same |= lanes_same << np.uint64(lane)
    return higher, same
