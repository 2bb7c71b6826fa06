"""
Compute the hits of each query, without sorting all its documents where that takes longer.

Three strategies give the same hits, to the bit:

COUNT    compare every document with each candidate, 64 documents at once: for up to 64 candidates
SELECT   find the documents of the first ranks and compare them with one another: for many candidates, few ranks
SORT     sort all documents by score: for many candidates and many ranks

The window of a query has every document that scores at least a threshold, which enough documents for the first ranks
reach. Documents that score higher than one in the window are in the window, too. So each candidate in the window is
ranked by comparing it with the window alone.

Candidates without a window of 64 documents are ranked in a workspace. `rank` stops at a query for which it is too
small, and is called again. A first pass finds the number of documents above each candidate, by counting or by sorting:
whichever is faster. That number is the *slot* of a candidate. Candidates are put into their slots, tied candidates into
consecutive ones, and read from there in rank order. So only the labels within tie groups are sorted. A query is ranked
in one call, so Ctrl-C is handled after it. Sorting 10**7 documents takes 0.3 to 0.5 s if all scores are equal, and 1 to
2 s if they differ.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.candidates import (
    HAS_CHANGED,
    N_NAN,
    N_TIED,
    N_WORDS,
    Candidates,
    Hits,
    find_query,
    find_tail,
    has_valid_ranks,
    write_hit,
)
from fastndcg.kernels.ranking.sort import (
    N_BINS,
    SortBuffers,
    are_others_located,
    rank_by_sorting,
    sort_descending,
)
from fastndcg.kernels.shared import AUTO
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


# Some 16 · (H(16) - H(16 - d)) documents reach the d-th highest maximum of 16 lanes in a query of any length: 15 for
# d = 10, 38 for 15. The window has room for 64. Beyond 10 it is time that is lost: more documents are sorted.
MAX_SELECT_DEPTH = 10


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


COUNT = 1
SELECT = 2
SORT = 3


class WindowBuffers(NamedTuple):
    """Scratch arrays for up to 64 documents of a query."""

    scores: np.ndarray
    labels: np.ndarray
    documents: np.ndarray
    maxima: np.ndarray  # highest score of each lane


@inline
def make_window_buffers(scores, candidates):
    """Return scratch arrays on the stack of the kernel."""
    documents = make_wide_like(candidates.documents)
    return WindowBuffers(make_wide_like(scores), make_wide_like(candidates.labels), documents, make_wide_like(scores))


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
    Write the hits of each query.

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
    buffers = make_window_buffers(scores, candidates)
    n_hits = 0
    n_tied = 0
    n_nan = 0
    n_wrong = 0
    hits.offsets[0] = 0
    hits.counts[N_WORDS] = 0
    for q in range(hits.offsets.shape[0] - 1):
        query = find_query(offsets, first, candidates.offsets, q)
        if has_nan(scores, query):
            n_nan += 1
        elif query.n_candidates > 0:
            method = choose_strategy(scores, query, depth, strategy)
            n_new, is_tied, is_right = rank_query(
                scores, query, candidates, method, depth, strategy, as_given, buffers, n_hits, hits
            )
            if n_new < 0:
                break
            n_hits += n_new
            n_tied += is_tied
            n_wrong += not is_right
        hits.offsets[q + 1] = n_hits
    write_counts(n_tied, n_nan, n_wrong, n_hits, hits)


@inline
def write_counts(n_tied, n_nan, n_wrong, n_hits, hits):
    """Write the counts of queries, and whether the scores changed."""
    hits.counts[N_TIED] = n_tied
    hits.counts[N_NAN] = n_nan
    is_consistent = n_wrong == 0 and has_valid_ranks(hits.queries, hits.above, hits.ties, n_hits)
    hits.counts[HAS_CHANGED] = 0 if is_consistent else 1


@inline
def rank_query(scores, query, candidates, method, depth, strategy, as_given, buffers, n_hits, hits):
    """
    Write the hits of a query by a strategy. Return what `rank_window` returns, or -1 hits without enough workspace.

    `as_given` is that of `rank`, whose `strategy` holds where there is no window of 64 documents.
    """
    method, n_window, candidate_mask = fill_window(scores, query, candidates, method, depth, buffers)
    if n_window >= 0:
        window = Window(buffers.scores, buffers.labels, buffers.documents, n_window, candidate_mask)
        return rank_window(scores, query, window, method, depth, as_given and method == SELECT, n_hits, hits)
    n_new, is_tied = rank_many(scores, query, candidates.documents, candidates.labels, depth, strategy, n_hits, hits)
    return n_new, is_tied, True


@inline
def choose_strategy(scores, query, depth, strategy):
    """
    Return `strategy`, or the fastest one, estimated from the work of each in nanoseconds with vectors of 512 bits.

    Counting stops early for candidates that rank below `depth`: the estimate takes half of the full count, whose 0.7 is
    in `is_counting_faster`. 85 is for setting up lanes and window. benchmarks/fit_constants.py fits both functions.
    """
    if strategy != AUTO:
        return strategy
    n_vectors = (query.stop - query.start) * scores.itemsize / 64.0
    select = 85.0 + 1.5 * n_vectors
    count = query.n_candidates * (5.0 + 0.35 * n_vectors)
    if depth <= MAX_SELECT_DEPTH and (select < count or query.n_candidates > LANES):
        return SELECT
    return COUNT if query.n_candidates <= WIDE else SORT


@inline
def fill_window(scores, query, candidates, method, depth, buffers):
    """Fill the window. Return the strategy that it serves, its size or -1 without one, and its candidates."""
    n_window = -1
    candidate_mask = NONE
    if method == SELECT and depth <= MAX_SELECT_DEPTH:
        n_window, candidate_mask = select_window(scores, query, candidates, depth, buffers)
        if n_window < 0 and query.n_candidates <= WIDE:  # more than 64 documents tie at the threshold
            method = COUNT
    if n_window < 0 and method == COUNT and query.n_candidates <= WIDE:
        n_window, candidate_mask = gather_candidates(scores, query, candidates, buffers)
    return method, n_window, candidate_mask


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
        write_hit(query.number, window.documents[i], window.labels[i], above, ties, n_hits + place, hits)
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


class RankBuffers(NamedTuple):
    """
    Scratch arrays for a query with more than 64 candidates.

    above        (n_documents + 1,)        int32, number of documents with a higher score, candidate after candidate
    ties         (n_documents + 1,)        int32, number of documents with the same score
    group_bits   (n_documents // 64 + 1,)  uint64, bit of each slot that begins a group
    group_sizes  (n_documents + 1,)        int32, number of candidates in the group that begins at a slot
    slots        (n_documents + 1,)        int32, candidate of the query in each slot
    spare        (n_documents + 1,)        int32
    """

    above: np.ndarray
    ties: np.ndarray
    group_bits: np.ndarray
    group_sizes: np.ndarray
    slots: np.ndarray
    spare: np.ndarray
    sorting: SortBuffers


@inline
def find_workspace_size(n_documents):
    """Return the number of words that `cut_workspace` takes."""
    return 6 * (n_documents + 1) + n_documents // WIDE + 1 + N_BINS // 2


@inline
def cut_workspace(workspace, n_documents):
    """Return scratch arrays for a query of so many documents."""
    n = n_documents + 1
    n_blocks = n_documents // WIDE + 1
    numbers = workspace[2 * n + n_blocks :].view(np.int32)
    sorting = SortBuffers(
        workspace[:n], numbers[:n], workspace[n : 2 * n], numbers[n : 2 * n], numbers[8 * n : 8 * n + N_BINS],
        numbers[2 * n : 3 * n],
    )  # fmt: skip
    return RankBuffers(
        numbers[3 * n : 4 * n], numbers[4 * n : 5 * n], workspace[2 * n : 2 * n + n_blocks],
        numbers[5 * n : 6 * n], numbers[6 * n : 7 * n], numbers[7 * n : 8 * n], sorting,
    )  # fmt: skip


@helper
def rank_many(scores, query, documents, labels, depth, strategy, n_hits, hits):
    """
    Write the hits of a query without a window. Return their number, and True if a tie group has different labels.

    Where the workspace is too small, write the size that it must have, and return -1.
    """
    n_documents = query.stop - query.start
    n_words = find_workspace_size(n_documents)
    if hits.workspace.shape[0] < n_words:
        hits.counts[N_WORDS] = n_words
        return -1, False
    buffers = cut_workspace(hits.workspace, n_documents)
    compute_ranks(scores, query, documents, depth, strategy, buffers)
    bucket_by_rank(query, depth, buffers)
    return write_hits(query, documents, labels, depth, buffers, n_hits, hits)


@helper
def compute_ranks(scores, query, documents, depth, strategy, buffers):
    """Fill `buffers.above` and `buffers.ties` for the candidates of a query. Ranks below `depth` may be wrong."""
    is_counted = is_counting_faster(query.stop - query.start, query.n_candidates, scores.itemsize)
    if strategy != SORT and (strategy == COUNT or is_counted):
        for i in range(query.n_candidates):
            score = scores[query.start - query.base + documents[query.first_candidate + i]]
            above, ties = count_above(scores, query, score, depth)
            buffers.above[i] = above
            buffers.ties[i] = ties
    else:
        rank_by_sorting(scores, query, documents, buffers.sorting, buffers.above, buffers.ties)


@inline
def is_counting_faster(n_documents, n_candidates, n_bytes):
    """
    Return True if counting is faster than sorting, estimated from the work of each in nanoseconds.

    Sorting takes a pass over all documents for each byte in which scores differ, and clears bins for each: 1,000.
    Where it sorts the candidates alone, it locates each document among them.
    """
    count = n_candidates * (5.0 + 0.7 * n_documents * n_bytes / 64.0)
    if are_others_located(n_documents, n_candidates):
        return count < 1000.0 + 5.0 * n_documents + 90.0 * n_candidates
    return count < 1000.0 + n_documents * (5.0 + 1.5 * n_bytes) + 12.0 * n_candidates


@helper
def bucket_by_rank(query, depth, buffers):
    """
    Put each candidate that ranks above `depth` into the first free slot of its group.

    If scores change during the call, a group may be too large for the query. Its last candidates are left out.
    """
    n_documents = query.stop - query.start
    for block in range(n_documents // WIDE + 1):
        buffers.group_bits[block] = 0
    for i in range(query.n_candidates):
        slot = min(buffers.above[i], n_documents - 1)
        if slot < depth:
            bit = ONE << np.uint64(slot % WIDE)
            if buffers.group_bits[slot // WIDE] & bit == 0:
                buffers.group_bits[slot // WIDE] |= bit
                buffers.group_sizes[slot] = 0
            if slot + buffers.group_sizes[slot] < n_documents:
                buffers.slots[slot + buffers.group_sizes[slot]] = i
                buffers.group_sizes[slot] += 1


@helper
def write_hits(query, documents, labels, depth, buffers, n_hits, hits):
    """Write a query's hits, group by group. Return their number, and True if a tie group has different labels."""
    n_documents = query.stop - query.start
    n_ranks = min(n_documents, depth)
    query_labels = labels[query.first_candidate : query.first_candidate + query.n_candidates]
    n_new = 0
    is_tied = False
    for block in range((n_ranks - 1) // WIDE + 1):
        remaining = buffers.group_bits[block]
        while remaining != 0:
            above = block * WIDE + lowest_bit(remaining)
            remaining &= remaining - ONE
            n_members = buffers.group_sizes[above]
            members = buffers.slots[above : above + n_members]
            ties = min(buffers.ties[members[0]], n_documents - above)
            has_one_label = n_members == ties
            for i in range(1, n_members):
                has_one_label &= query_labels[members[i]] == query_labels[members[0]]
            if has_one_label:
                for i in range(min(n_members, n_ranks - above)):
                    c = query.first_candidate + members[i]
                    write_hit(query.number, documents[c] - query.base, labels[c], above + i, 1, n_hits + n_new, hits)
                    n_new += 1
            else:
                is_tied = True
                sort_descending(query_labels, n_members, buffers.spare, members)
                for i in range(n_members):
                    c = query.first_candidate + members[i]
                    write_hit(query.number, documents[c] - query.base, labels[c], above, ties, n_hits + n_new, hits)
                    n_new += 1
    return n_new, is_tied
