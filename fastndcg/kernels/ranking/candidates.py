"""
Collect the documents that may become hits, order the hits that tie, and define the arrays that these kernels share.

A kernel works on one chunk: consecutive queries, of which `first` is the first. Queries and documents of a chunk are
counted from 0. `offsets` has all queries, so query q of the chunk owns the documents `offsets[first + q]` up to
`offsets[first + q + 1]` of `scores` and `labels`.

Kernels that Python calls take groups of arrays as plain tuples, in the order of their fields: a call with two
NamedTuples takes 2.1 µs, one with two plain tuples 0.8 µs. One query through `fn.ndcg` takes 14 µs.

`collect` is the only kernel that reads the user's labels.

Hits of one tie group are consecutive, and have the same query, the same `above` and the same `ties`. Before ties are
ordered, their labels fall. The kernels that order ties by label, by key or by the order of the input change the hits in
place, so that each hit gets its own rank. Afterwards, all `ties` are 1.

Ranks are checked before they serve as indices, because another thread may overwrite the scores while a kernel reads
them, each several times. If all reads of a score agree, ranks have three properties, which the kernels of metrics rely
on:

1. Within a query, each tie group begins at the end of the group before it, or below.
2. A tie group has no more hits than documents.
3. Each tie group ends within its query. The kernels that write hits ensure this property by themselves.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending
from fastndcg.kernels.simd import (
    ALL,
    NONE,
    ONE,
    WIDE,
    lowest_bit,
    mask_first,
    mask_nonzero,
    mask_positive,
    min_int64,
    popcount,
    prefetch,
)


class Candidates(NamedTuple):
    """
    The documents of a chunk with a label other than 0, query after query.

    documents        (n_candidates,)   int32, position among the documents of the chunk
    labels           (n_candidates,)   float64
    offsets          (n_queries + 1,)  int64, query q owns candidates offsets[q] up to offsets[q + 1]
    bitmask          (n_blocks,)       uint64, bit i of entry b is set if document 64 b + i of the chunk is a candidate
    n_before_block   (n_blocks,)       int64, number of candidates before block b
    """

    documents: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    bitmask: np.ndarray
    n_before_block: np.ndarray


class Hits(NamedTuple):
    """
    The ranked candidates of a chunk, query after query, in rank order.

    Rank order is by falling score, then by falling label, then as in the input. Arrays have room for every candidate.

    documents  (n_hits,)         int32, position among the documents of the query
    labels     (n_hits,)         float64
    above      (n_hits,)         int32, number of documents with a higher score
    ties       (n_hits,)         int32, number of documents with the same score, 1 if they all have the same label
    queries    (n_hits,)         int32, query of the chunk
    offsets    (n_queries + 1,)  int64, query q owns hits offsets[q] up to offsets[q + 1]
    counts     (4,)              int64, at the indices N_TIED, N_NAN, N_WORDS and HAS_CHANGED
    workspace  (n_words,)        uint64, scratch for a query with more than 64 candidates
    """

    documents: np.ndarray
    labels: np.ndarray
    above: np.ndarray
    ties: np.ndarray
    queries: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray
    workspace: np.ndarray


# indices of `Hits.counts`: numbers of queries
N_TIED = 0  # with a tie group of different labels
N_NAN = 1  # with NaN scores

# index of `Hits.counts`: 0, or the size of the workspace for the query at which a kernel stopped
N_WORDS = 2

# index of `Hits.counts`: 1 if ranks contradict one another, because scores changed during the call, else 0
HAS_CHANGED = 3


@inline
def write_hit(q, document, label, above, ties, h, hits):
    """Write one hit of query `q`. Hits of known ranks have no documents: their ranks stand for them."""
    hits.documents[h] = document
    hits.labels[h] = label
    hits.above[h] = above
    hits.ties[h] = ties
    hits.queries[h] = q


class Query(NamedTuple):
    """One query of a chunk: where its documents and its candidates are."""

    number: int  # in the chunk, from 0
    start: int  # first document of the query in `scores`
    stop: int
    base: int  # number of documents of the chunk before the query
    first_candidate: int
    n_candidates: int


@inline
def find_query(offsets, first, candidate_offsets, q):
    """Return query q of the chunk."""
    start = offsets[first + q]
    first_candidate = candidate_offsets[q]
    n_candidates = candidate_offsets[q + 1] - first_candidate
    return Query(q, start, offsets[first + q + 1], start - offsets[first], first_candidate, n_candidates)


class Tail(NamedTuple):
    """The last block of a query's scores, which may be shorter than a vector, and a vector within `scores`."""

    tail_start: int  # first document behind the whole blocks
    block: int  # start of a vector that covers the tail
    lanes: np.uint64  # mask of the lanes of that vector in the tail


@inline
def find_tail(scores, query):
    """Return the tail of a query's scores."""
    start = query.start + (query.stop - query.start & -WIDE)
    block = min_int64(start, scores.shape[0] - WIDE)
    return Tail(start, block, mask_first(query.stop - block) & ~mask_first(start - block))


@kernel
def collect(labels, offsets, first, lowest_dropped, out_candidates, out_summary):
    """
    Collect the candidates of each query: documents with a label above 0, or below `lowest_dropped`.

    labels          (n_documents,) array of any dtype of labels
    lowest_dropped  0.0 to collect all negative labels, minus infinity to collect none
    out_candidates  `Candidates` as a tuple, with room for every document
    out_summary     (4,) float64: the number of NaN labels, the minimum of all labels and 0, and the lowest and
                    highest label of the candidates (infinity and minus infinity without candidates)

    The kernel reads 64 labels at once, whatever queries they belong to, because most labels are 0.
    """
    candidates = Candidates(*out_candidates)
    n_queries = candidates.offsets.shape[0] - 1
    start = offsets[first]
    stop = offsets[first + n_queries]
    block = start
    lowest = 0.0
    min_candidate = np.inf
    max_candidate = -np.inf
    n_nan = 0
    n_candidates = 0
    for b in range(candidates.bitmask.shape[0]):
        prefetch(labels, block)
        mask, negative = mask_labels(labels, block, stop)  # NaN labels are in the second mask, too
        while negative != 0:
            label = float(labels[block + lowest_bit(negative)])
            if label < lowest:
                lowest = label
            n_nan += label != label
            if label < lowest_dropped:
                mask |= ONE << np.uint64(lowest_bit(negative))
            negative &= negative - ONE
        candidates.bitmask[b] = mask
        candidates.n_before_block[b] = n_candidates
        if mask == ALL:
            min_candidate, max_candidate = write_block(
                labels, block, start, n_candidates, min_candidate, max_candidate, candidates
            )
            n_candidates += WIDE
        else:
            while mask != 0:
                d = block + lowest_bit(mask)
                label = float(labels[np.uint64(d)])
                candidates.documents[np.uint64(n_candidates)] = d - start
                candidates.labels[np.uint64(n_candidates)] = label
                if label > max_candidate:  # `max` would also compare with NaN
                    max_candidate = label
                if label < min_candidate:
                    min_candidate = label
                n_candidates += 1
                mask &= mask - ONE
        block += WIDE
    write_offsets(offsets, first, n_candidates, candidates)
    out_summary[0] = n_nan
    out_summary[1] = lowest
    out_summary[2] = min_candidate
    out_summary[3] = max_candidate


@inline
def mask_labels(labels, block, stop):
    """Return the masks of the labels above 0 and of the labels below 0 or NaN, from `block` on and before `stop`."""
    if block + WIDE <= stop:
        positive = mask_positive(labels, block)
        return positive, mask_nonzero(labels, block) & ~positive
    positive = NONE
    negative = NONE
    for d in range(block, stop):
        bit = ONE << np.uint64(d - block)
        if labels[d] > 0:
            positive |= bit
        elif labels[d] != 0:
            negative |= bit
    return positive, negative


@inline
def write_block(labels, block, start, n_candidates, min_candidate, max_candidate, candidates):
    """Write a block of 64 candidates with vector instructions, and return the lowest and the highest label so far."""
    block_labels = labels[block : block + WIDE]
    out_documents = candidates.documents[n_candidates : n_candidates + WIDE]
    out_labels = candidates.labels[n_candidates : n_candidates + WIDE]
    low = block_labels[0]
    high = block_labels[0]
    for i in range(WIDE):
        low = block_labels[i] if block_labels[i] < low else low
        high = block_labels[i] if block_labels[i] > high else high
    for i in range(WIDE):
        out_documents[i] = block - start + i
        out_labels[i] = block_labels[i]
    return (low if low < min_candidate else min_candidate), (high if high > max_candidate else max_candidate)


@inline
def write_offsets(offsets, first, n_candidates, candidates):
    """Write the candidate offsets of the queries. Queries without a later document get the number of candidates."""
    n_queries = candidates.offsets.shape[0] - 1
    n_documents = offsets[first + n_queries] - offsets[first]
    for q in range(n_queries + 1):
        d = offsets[first + q] - offsets[first]
        candidates.offsets[q] = n_candidates
        if d < n_documents:
            n_in_block = popcount(candidates.bitmask[d // WIDE] & mask_first(d % WIDE))
            candidates.offsets[q] = candidates.n_before_block[d // WIDE] + n_in_block


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """Count the candidates of each query with a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant


@inline
def find_group_end_in_query(hit_above, h, stop):
    """Return the end of the tie group that begins at hit `h`, in a query whose hits end at `stop`."""
    end = h + 1
    while end < stop and hit_above[end] == hit_above[h]:
        end += 1
    return end


@inline
def find_group_starts(hit_above, hit_ties, out_starts):
    """Write the first hit of each tie group of several documents in one query. Return the number of groups."""
    n_groups = 0
    for h in range(hit_above.shape[0]):
        if hit_ties[h] > 1 and (h == 0 or hit_above[h] != hit_above[h - 1]):
            out_starts[n_groups] = h
            n_groups += 1
    return n_groups


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


@kernel
def has_valid_tie_order(hit_queries, hit_above, hit_ties):
    """Return True if the ranks of the hits agree with one another: see `has_valid_ranks`."""
    return has_valid_ranks(hit_queries, hit_above, hit_ties, hit_above.shape[0])


@kernel
def order_by_label(falls, out_hits):
    """Order tie groups by falling label, or by rising: candidates above 0, documents with label 0, those below 0."""
    hits = Hits(*out_hits)
    for q in range(hits.offsets.shape[0] - 1):
        h = hits.offsets[q]
        while h < hits.offsets[q + 1]:
            stop = find_group_end_in_query(hits.above, h, hits.offsets[q + 1])
            n_zeros = hits.ties[h] - (stop - h)
            for i in range(0 if falls else (stop - h) // 2):
                swap(hits.documents, h + i, stop - 1 - i)
                swap(hits.labels, h + i, stop - 1 - i)
            for i in range(h, stop):
                is_behind_zeros = hits.labels[i] < 0.0 if falls else hits.labels[i] > 0.0
                hits.above[i] += i - h + (n_zeros if is_behind_zeros else 0)
                hits.ties[i] = 1
            h = stop


@inline
def swap(values, i, j):
    """Exchange two entries."""
    value = values[i]
    values[i] = values[j]
    values[j] = value


class KeyBuffers(NamedTuple):
    """
    Scratch arrays, each with an entry for every document of the largest query.

    members        int32, the documents of the tie groups
    groups         int32, the group of each member, counted from the last
    group_hits     int32, the first hit of each group
    document_hits  int32, the hit of each document, -1 for none
    order          int32, the members in their new order
    spare          int32
    labels         float64, the score of each group, then the label of each hit
    """

    members: np.ndarray
    groups: np.ndarray
    group_hits: np.ndarray
    document_hits: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    labels: np.ndarray


@inline
def make_key_buffers(n):
    """Return scratch arrays for queries of up to n documents."""
    return KeyBuffers(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.full(n, -1, np.int32),
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64),
    )  # fmt: skip


@kernel(allocates=True)
def order_by_key(scores, tie_keys, offsets, first, depth, first_rel, out_hits):
    """
    Order the tie groups that are read by falling tie key, equal keys in input order.

    scores     (n_documents,) those that the hits were ranked by
    tie_keys   (n_documents,) int64, or an empty array for input order
    offsets    (n_all_queries + 1,) int64
    depth      groups that begin below so many ranks are left as they are
    first_rel  but not that of the first hit with such a label or a higher one
    """
    hits = Hits(*out_hits)
    n = 0
    for q in range(hits.offsets.shape[0] - 1):
        n = max(n, offsets[first + q + 1] - offsets[first + q])
    buffers = make_key_buffers(n)
    q = 0
    h = 0
    while h < hits.offsets[-1]:
        if hits.ties[h] == 1:
            h += 1
            continue
        while hits.offsets[q + 1] <= h:
            q += 1
        stop = find_last_read(hits, hits.offsets[q], hits.offsets[q + 1], depth, first_rel)
        if h < stop:
            documents = slice(offsets[first + q], offsets[first + q + 1])
            keys = tie_keys[documents] if tie_keys.shape[0] > 0 else tie_keys
            order_query_by_key(scores[documents], keys, hits.offsets[q], stop, buffers, hits)
        h = hits.offsets[q + 1]


@inline
def find_last_read(hits, start, stop, depth, first_rel):
    """Return the end of a query's hits that are read: see `order_by_key`."""
    if stop == start or hits.above[stop - 1] < depth:
        return stop
    end = start
    while hits.above[end] < depth:
        end += 1
    for h in range(start, stop):
        if hits.labels[h] >= first_rel:
            return max(end, find_group_end_in_query(hits.above, h, stop))
    return end


@inline
def order_query_by_key(scores, keys, start, stop, buffers, hits):
    """Order the tie groups of one query, whose hits are those from `start` up to `stop`."""
    documents = hits.documents[start:stop]
    n_groups = find_group_starts(hits.above[start:stop], hits.ties[start:stop], buffers.group_hits)
    for g in range(n_groups):
        buffers.labels[g] = scores[documents[buffers.group_hits[g]]]
    n_members = find_members(scores, buffers.labels[:n_groups], buffers.members, buffers.groups)
    for i in range(n_members):
        buffers.order[i] = i
    if keys.shape[0] > 0:
        sort_descending(keys[buffers.members[:n_members]], n_members, buffers.spare, buffers.order)
    sort_descending(buffers.groups, n_members, buffers.spare, buffers.order)
    rank_members(n_groups, n_members, start, stop, buffers, hits)


@inline
def find_members(scores, group_scores, out_members, out_groups):
    """
    Write the documents of the tie groups in input order, with their groups. Return their number.

    Groups are counted from the last, so that a sort by falling group puts the highest score first.
    """
    n_members = 0
    n_groups = group_scores.shape[0]
    for d in range(scores.shape[0]):
        score = scores[d]
        low = 0
        size = n_groups
        while size > 1:  # bisection: the first group that does not score higher than the document, without a branch
            half = size // 2
            low += half * (group_scores[low + half - 1] > score)
            size -= half
        if low < n_groups and group_scores[low] == score:
            out_members[n_members] = d
            out_groups[n_members] = n_groups - 1 - low
            n_members += 1
    return n_members


@inline
def rank_members(n_groups, n_members, start, stop, buffers, hits):
    """
    Write the hits of each tie group again, in the order of its members.

    `buffers.document_hits` is all -1 before and after. If scores change during the call, a group may get more or fewer
    members. `has_valid_tie_order` detects that afterwards.
    """
    documents = hits.documents[start:stop]
    labels = hits.labels[start:stop]
    hit_above = hits.above[start:stop]
    ties = hits.ties[start:stop]
    for h in range(documents.shape[0]):
        if ties[h] > 1:
            buffers.document_hits[documents[h]] = h
            buffers.labels[h] = labels[h]
    group = -1
    place = 0
    slot = 0
    above = 0
    last = 0
    for i in range(n_members):
        member = buffers.order[i]
        if buffers.groups[member] != group:
            group = buffers.groups[member]
            place = 0
            slot = buffers.group_hits[n_groups - 1 - group]
            above = hit_above[slot]
            last = above + ties[slot] - 1
        document = buffers.members[member]
        h = buffers.document_hits[document]
        if h >= 0 and slot < documents.shape[0]:
            documents[slot] = document
            labels[slot] = buffers.labels[h]
            hit_above[slot] = min(above + place, last)
            ties[slot] = 1
            buffers.document_hits[document] = -1
            slot += 1
        place += 1
    ties[:] = 1
