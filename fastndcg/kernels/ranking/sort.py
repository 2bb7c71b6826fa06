"""
Sort numbers of documents by falling score: short runs by insertion and merging, many documents by radix.

`sort_descending` is stable. `rank_by_sorting` sorts all documents of a query byte by byte. The sort key of a document
is a uint64 that rises as the score falls. With each key goes the index of the candidate that has it, or the number of
candidates for other documents. A radix sort has no branch that depends on the scores.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline

RUN = 16  # length of the runs that are sorted by insertion and then merged


@helper
def sort_descending(keys, n, spare, out):
    """
    Sort the first n indices of `out` stably by falling key, and return the number of inversions.

    An inversion is a pair of indices whose order changes.

    keys   array of any number type without NaN, indexed by the entries of `out`
    spare  (n or more,) int32, scratch
    out    (n or more,) int32
    """
    n_inversions = 0
    for start in range(0, n, RUN):
        n_inversions += insert_descending(keys, start, min(start + RUN, n), out)
    width = RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            n_inversions += merge_descending(keys, start, start + width, min(start + 2 * width, n), spare, out)
        width *= 2
    return n_inversions


@inline
def insert_descending(keys, start, stop, out):
    """Sort out[start:stop] by insertion, and return the number of inversions."""
    n_inversions = 0
    for i in range(start + 1, stop):
        index = out[i]
        key = keys[index]
        j = i
        while j > start and keys[out[j - 1]] < key:
            out[j] = out[j - 1]
            j -= 1
        out[j] = index
        n_inversions += i - j
    return n_inversions


@inline
def merge_descending(keys, start, middle, stop, spare, out):
    """Merge the sorted runs out[start:middle] and out[middle:stop], and return the number of inversions."""
    n_inversions = 0
    if keys[out[middle - 1]] >= keys[out[middle]]:
        return n_inversions
    for i in range(start, middle):
        spare[i] = out[i]
    left = start
    right = middle
    for i in range(start, stop):
        if left == middle:
            break
        if right < stop and keys[out[right]] > keys[spare[left]]:
            out[i] = out[right]
            right += 1
            n_inversions += middle - left
        else:
            out[i] = spare[left]
            left += 1
    return n_inversions


BITS = 8  # of a key that one pass sorts by
N_BINS = 1 << BITS
KEY_BITS = 64


class SortBuffers(NamedTuple):
    """Scratch arrays for a query: keys with their candidates, the same after the next pass, and bins."""

    keys: np.ndarray  # (n_documents,) uint64
    candidates: np.ndarray  # (n_documents,) int32
    next_keys: np.ndarray
    next_candidates: np.ndarray
    bins: np.ndarray  # (N_BINS,) int32


@inline
def make_sort_buffers(n_documents):
    """Return scratch arrays for queries of up to so many documents."""
    return SortBuffers(
        np.empty(n_documents, np.uint64),
        np.empty(n_documents, np.int32),
        np.empty(n_documents, np.uint64),
        np.empty(n_documents, np.int32),
        np.empty(N_BINS, np.int32),
    )


@helper
def rank_by_sorting(scores, query, documents, buffers, out_above, out_ties):
    """
    Count the documents with a higher score than each candidate of a query, and with the same score.

    scores     no NaN among them
    documents  those of all candidates of the chunk
    out_above  (n_candidates + 1,) int32, the last entry is scratch
    out_ties   (n_candidates + 1,) int32, the last entry is scratch
    """
    keys = buffers.keys
    candidates = buffers.candidates
    next_keys = buffers.next_keys
    next_candidates = buffers.next_candidates
    n = query.stop - query.start
    differing_bits = make_keys(scores, query, documents, keys, candidates)
    for shift in range(0, KEY_BITS, BITS):
        if differing_bits >> np.uint64(shift) & np.uint64(N_BINS - 1) != 0:
            sort_by_byte(keys, candidates, n, np.uint64(shift), buffers.bins, next_keys, next_candidates)
            keys, next_keys = next_keys, keys
            candidates, next_candidates = next_candidates, candidates
    rank_in_order(keys, candidates, n, out_above, out_ties)


@inline
def make_keys(scores, query, documents, out_keys, out_candidates):
    """Write the keys and candidates of a query's documents in input order. Return the bits in which keys differ."""
    differing_bits = np.uint64(0)
    for d in range(query.stop - query.start):
        out_keys[d] = make_descending_key(scores[query.start + d])
        out_candidates[d] = query.n_candidates
        differing_bits |= out_keys[d] ^ out_keys[0]
    for i in range(query.n_candidates):
        out_candidates[documents[query.first_candidate + i] - query.base] = i
    return differing_bits


@inline
def make_descending_key(score):
    """Return a number that is higher for lower scores. 0.0 and -0.0 have the same."""
    bits = np.float64(score + 0.0).view(np.uint64)
    is_positive = bits >> np.uint64(KEY_BITS - 1) == 0
    return bits ^ np.uint64(0x7FFFFFFFFFFFFFFF) if is_positive else bits


@inline
def sort_by_byte(keys, candidates, n, shift, bins, out_keys, out_candidates):
    """Sort stably by the byte of the keys that begins at bit `shift`."""
    for b in range(N_BINS):
        bins[b] = 0
    for d in range(n):
        bins[keys[d] >> shift & np.uint64(N_BINS - 1)] += 1
    place = 0
    for b in range(N_BINS):
        size = bins[b]
        bins[b] = place
        place += size
    for d in range(n):
        b = keys[d] >> shift & np.uint64(N_BINS - 1)
        place = bins[b]
        bins[b] += 1
        out_keys[place] = keys[d]
        out_candidates[place] = candidates[d]


@inline
def rank_in_order(keys, candidates, n, out_above, out_ties):
    """Count the documents above each candidate, and those with the same key, along sorted keys and back."""
    first = 0
    for d in range(n):
        first = d if keys[d] != keys[first] else first
        out_above[candidates[d]] = first
    last = n - 1
    for d in range(n - 1, -1, -1):
        last = d if keys[d] != keys[last] else last
        out_ties[candidates[d]] = last + 1 - out_above[candidates[d]]
