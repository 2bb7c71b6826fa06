"""
Collect the documents that may become hits, and define the arrays that kernels of this package share.

A kernel works on one chunk: consecutive queries, of which `first` is the first. Queries and documents of a chunk are
counted from 0. `offsets` has all queries, so query q of the chunk owns the documents `offsets[first + q]` up to
`offsets[first + q + 1]` of `scores` and `labels`.

Kernels that Python calls take groups of arrays as plain tuples, in the order of their fields: a call with two
NamedTuples takes 2.1 µs, one with two plain tuples 0.8 µs. One query through `fn.ndcg` takes 14 µs.

`collect` is the only kernel that reads the user's labels.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
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

    documents     (n_hits,)          int32, position among the documents of the query
    labels        (n_hits,)          float64
    above         (n_hits,)          int32, number of documents with a higher score
    ties          (n_hits,)          int32, number of documents with the same score, 1 if they all have the same label
    queries       (n_hits,)          int32, query of the chunk
    offsets       (n_queries + 1,)   int64, query q owns hits offsets[q] up to offsets[q + 1]
    open_queries  (n_queries,)       int32, queries that `rank` leaves to `rank_remaining`, in rising order
    counts        (4,)               int64, at the indices N_TIED, N_NAN, N_OPEN and HAS_CHANGED
    """

    documents: np.ndarray
    labels: np.ndarray
    above: np.ndarray
    ties: np.ndarray
    queries: np.ndarray
    offsets: np.ndarray
    open_queries: np.ndarray
    counts: np.ndarray


# indices of `Hits.counts`: numbers of queries
N_TIED = 0  # with a tie group of different labels
N_NAN = 1  # with NaN scores
N_OPEN = 2  # in `open_queries`

# index of `Hits.counts`: 1 if ranks contradict one another, because scores changed during the call, else 0
HAS_CHANGED = 3


class Ideal(NamedTuple):
    """
    The candidates of a chunk in ideal order, query after query. The ideal ranking has no ties.

    labels   (n_candidates,)   float64, labels above 0, then labels below 0
    above    (n_candidates,)   int32, the rank less 1: labels below 0 rank after all documents with label 0
    offsets  (n_queries + 1,)  int64, query q owns entries offsets[q] up to offsets[q + 1]
    """

    labels: np.ndarray
    above: np.ndarray
    offsets: np.ndarray


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
