"""
Arrays that the kernels of this package share, in groups.

A kernel works on one chunk: consecutive queries, of which `first` is the first. Queries and documents of a chunk are
counted from 0. `offsets` has all queries, so query q of the chunk owns the documents `offsets[first + q]` up to
`offsets[first + q + 1]` of `scores` and `labels`.

Kernels that Python calls take these groups as plain tuples, in the order of their fields: a call with two NamedTuples
takes 2.1 µs, one with two plain tuples 0.8 µs. One query through `fn.ndcg` takes 14 µs.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline
from fastndcg.kernels.simd import WIDE, mask_first, min_int64


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
