"""
Compute the hits of each query without sorting all its documents.

Three strategies give the same hits, to the bit:

COUNT    compare every document with each candidate, 64 documents at once: for up to 64 candidates
SELECT   find the documents of the first ranks and compare them with one another: for many candidates, few ranks
SORT     sort all documents by score: for many candidates and many ranks

The window of a query has every document that scores at least a threshold, which enough documents for the first ranks
reach. Documents that score higher than one in the window are in the window, too. So each candidate in the window is
ranked by comparing it with the window alone.

A query that COUNT and SELECT cannot rank is *open*. `rank` leaves room for all its candidates, and `rank_remaining` in
many_candidates.py writes its hits. `rank` is the first kernel to read the scores of a query.

Ranks are checked before they serve as indices, because another thread may overwrite the scores while a kernel reads
them, each several times. If all reads of a score agree, ranks have three properties, which the kernels of metrics rely
on:

1. Within a query, each tie group begins at the end of the group before it, or below.
2. A tie group has no more hits than documents.
3. Each tie group ends within its query. The kernels that write hits ensure this property by themselves.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.candidates import (
    HAS_CHANGED,
    N_NAN,
    N_OPEN,
    N_TIED,
    Candidates,
    Hits,
    find_query,
    find_tail,
)
from fastndcg.kernels.simd import (
    ALL,
    LANES,
    NONE,
    ONE,
    WIDE,
    compare,
    compare_wide,
    lowest_bit,
    make_wide_like,
    mask_at_least,
    mask_first,
    mask_nan,
    min_int64,
    popcount,
    prefetch,
    raise_maxima,
    raise_maxima_wide,
)


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


@inline
def has_valid_ranks(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if the first `n_hits` hits have the first two properties."""
    if n_hits == 0:
        return True
    if hit_ties[0] <= 0 or not is_in_rank_order(hit_queries, hit_above, hit_ties, n_hits):
        return False
    return has_valid_group_sizes(hit_queries, hit_above, hit_ties, n_hits)


@inline
def is_in_rank_order(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if each hit is tied with the hit before it, or begins at the end of that hit's group or below."""
    n_valid = np.int32(0)
    last_queries = hit_queries[: n_hits - 1]
    last_above = hit_above[: n_hits - 1]
    last_ties = hit_ties[: n_hits - 1]
    next_queries = hit_queries[1:n_hits]
    next_above = hit_above[1:n_hits]
    next_ties = hit_ties[1:n_hits]
    for h in range(n_hits - 1):
        is_below = next_above[h] >= np.int32(last_above[h] + last_ties[h])
        is_tied = (next_above[h] == last_above[h]) & (next_ties[h] == last_ties[h]) & (next_ties[h] != 1)
        is_valid = is_below | is_tied | (next_queries[h] != last_queries[h])
        n_valid = np.int32(n_valid + (is_valid & (next_ties[h] > 0)))
    return n_valid == n_hits - 1


@inline
def has_valid_group_sizes(hit_queries, hit_above, hit_ties, n_hits):
    """Return True if no tie group has more hits than documents."""
    for block in range(0, n_hits, WIDE):
        stop = min_int64(block + WIDE, n_hits)
        n_tied = 0
        for h in range(block, stop):
            n_tied += hit_ties[h] != 1
        if n_tied == 0:
            continue
        n_wrong = 0
        for h in range(block, stop):
            before = h - np.int64(hit_ties[h])
            place = np.uint64(before if before > 0 else 0)
            is_same_group = (hit_queries[place] == hit_queries[h]) & (hit_above[place] == hit_above[h])
            n_wrong += is_same_group & (hit_ties[h] != 1) & (before >= 0)
        if n_wrong > 0:
            return False
    return True


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
