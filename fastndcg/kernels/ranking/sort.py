"""
Sort documents by falling score, and compute the ideal ranking: the candidates of each query by falling label.

`sort_descending` is stable, and sorts short runs by insertion and merging. `rank_by_sorting` sorts the documents of a
query byte by byte: all of them, or, where these are few, the candidates, among which it locates the others. That takes
AP of 100,000 documents, 2 % of them relevant, from 2.9 to 1.3 ms a query. The sort key is a uint64 that rises as the
score falls. With each key goes the index of the candidate that has it, or the number of candidates
for other documents. A radix sort has no branch that depends on the scores.

`rank_ideal` counts labels that are whole numbers from 1 to 31, and sorts others. Labels from 1 to 7 are counted in the
bytes of one word. That takes nDCG@10 of a million documents, in queries of 100, from 1.60 to 1.36 ms with 5 % relevant
documents, and from 3.7 to 3.3 ms with 30 %.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.simd import ONE, make_wide_like

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
STARTS_PER_KEY = 32  # so that few documents have a key to compare with, and branches are foreseen
LEAST_OTHERS = 8  # documents a candidate: with fewer, sorting all of them takes no longer


class SortBuffers(NamedTuple):
    """Scratch arrays for a query: keys with their candidates, the same after the next pass, and bins."""

    keys: np.ndarray  # (n_documents + 1,) uint64
    candidates: np.ndarray  # (n_documents + 1,) int32
    next_keys: np.ndarray
    next_candidates: np.ndarray
    bins: np.ndarray  # (N_BINS,) int32
    starts: np.ndarray  # (n_documents + 1,) int32


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
    is_located = are_others_located(query.stop - query.start, query.n_candidates)
    if is_located:
        n = query.n_candidates
        differing_bits = make_candidate_keys(scores, query, documents, keys, candidates)
    else:
        n = query.stop - query.start
        differing_bits = make_keys(scores, query, documents, keys, candidates)
    for shift in range(0, KEY_BITS, BITS):
        if differing_bits >> np.uint64(shift) & np.uint64(N_BINS - 1) != 0:
            sort_by_byte(keys, candidates, n, np.uint64(shift), buffers.bins, next_keys, next_candidates)
            keys, next_keys = next_keys, keys
            candidates, next_candidates = next_candidates, candidates
    if is_located:
        count_between(scores, query, keys, candidates, next_keys, next_candidates, buffers.starts, out_above, out_ties)
    else:
        rank_in_order(keys, candidates, n, out_above, out_ties)


@inline
def are_others_located(n_documents, n_candidates):
    """Return True if candidates alone are sorted, and the other documents located among them."""
    return 0 < n_candidates * LEAST_OTHERS <= n_documents


@inline
def make_candidate_keys(scores, query, documents, out_keys, out_candidates):
    """Write the keys of a query's candidates, and their numbers. Return the bits in which keys differ."""
    differing_bits = np.uint64(0)
    for i in range(query.n_candidates):
        document = documents[query.first_candidate + i] - query.base
        out_keys[i] = make_descending_key(scores[query.start + document])
        out_candidates[i] = i
        differing_bits |= out_keys[i] ^ out_keys[0]
    return differing_bits


@inline
def count_between(scores, query, keys, candidates, same, higher, starts, out_above, out_ties):
    """
    Count the documents above each candidate, and those with the same key, given the candidates' keys in order.

    Each document is located among the keys, by a table of where the keys with the same first bits begin.

    same    (n_candidates,) uint64, scratch: documents with this key, at the first of equal keys
    higher  (n_candidates,) int32, scratch: documents between the key before and this one
    starts  (n_documents + 1,) int32, scratch
    """
    n = query.n_candidates
    lowest = keys[0]
    highest = keys[n - 1]
    n_starts = np.uint64(min(n * STARTS_PER_KEY, query.stop - query.start))
    shift = np.uint64(0)
    while highest - lowest >> shift >= n_starts:
        shift += ONE
    b = np.int64(0)
    for i in range(n):
        same[i] = 0
        higher[i] = 0
        while b <= np.int64(keys[i] - lowest >> shift):
            starts[b] = i
            b += 1
    starts[b] = n
    for d in range(query.start, query.stop):
        key = make_descending_key(scores[d])
        if key <= highest:
            first = 0
            if key > lowest:
                b = np.int64(key - lowest >> shift)
                first = starts[b]
                end = starts[b + 1]
                while first < end:
                    middle = (first + end) // 2
                    if keys[middle] < key:
                        first = middle + 1
                    else:
                        end = middle
            if keys[first] == key:
                same[first] += ONE
            else:
                higher[first] += 1
    above = np.int64(0)
    ties = np.int64(0)
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            above += ties + higher[i]
            ties = np.int64(same[i])
        out_above[candidates[i]] = above
        out_ties[candidates[i]] = max(ties, 1)  # another thread may have changed the score


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


N_GRADES = 32  # whole labels below this are counted
N_PACKED_GRADES = 8  # whole labels below this are counted in one word
MAX_PACKED = 255  # the highest count of a byte
BYTE = np.uint64(255)


@kernel
def rank_ideal(labels, label_offsets, offsets, first, depth, skip_all_ones, out_ideal):
    """
    Write the ideal hits of each query.

    labels         (n_candidates,) float64, of the candidates among the documents or the pool
    label_offsets  (n_queries + 1,) int64
    offsets        (n_all_queries + 1,) int64, of the documents, or of the pool if the candidates come from there
    first          first query
    depth          number of ranks that any metric reads
    skip_all_ones  True to write no hits for queries whose candidates all have label 1
    out_ideal      `Ideal` as a tuple, with room for every candidate
    """
    ideal = Ideal(*out_ideal)
    counts = make_wide_like(label_offsets)
    counts[:] = 0
    n_hits = 0
    ideal.offsets[0] = 0
    for q in range(ideal.offsets.shape[0] - 1):
        query_labels = labels[label_offsets[q] : label_offsets[q + 1]]
        n_new = write_by_grade(query_labels, depth, skip_all_ones, counts, n_hits, ideal)
        if n_new < 0:
            n_documents = offsets[first + q + 1] - offsets[first + q]
            n_new = write_by_sorting(query_labels, n_documents, depth, n_hits, ideal)
        n_hits += n_new
        ideal.offsets[q + 1] = n_hits


@inline
def write_by_grade(labels, depth, skip_all_ones, counts, n_hits, ideal):
    """Write the ideal hits of one query. Return their number, -1 if the labels have to be sorted."""
    n = labels.shape[0]
    if n == 0 or (skip_all_ones and labels[0] == 1.0 and is_all_ones(labels)):
        return 0
    packed_counts = pack_counts(labels)
    if packed_counts != 0:
        write_packed(labels, packed_counts, n_hits, ideal)
        return min(n, depth)
    highest = count_grades(labels, counts)
    return write_grades(counts, highest, min(n, depth), n_hits, ideal) if highest > 0 else -1


@inline
def is_all_ones(labels):
    """Return True if all labels are 1."""
    n_others = 0
    for i in range(labels.shape[0]):
        n_others += labels[i] != 1.0
    return n_others == 0


@inline
def pack_counts(labels):
    """Return the counts of the labels 1 to 7 in the bytes of a word, 0 for other labels or more than 255 of them."""
    n = labels.shape[0]
    packed_counts = np.uint64(0)
    n_others = n // (MAX_PACKED + 1)
    for i in range(min(n, MAX_PACKED)):
        label = labels[i]
        grade = np.int32(min(max(label, 0.0), N_PACKED_GRADES - 1.0))
        n_others += (grade != label) | (grade == 0)
        packed_counts += ONE << np.uint64(grade << 3)
    return packed_counts if n_others == 0 else np.uint64(0)


@inline
def write_packed(labels, packed_counts, n_hits, ideal):
    """Write all labels in ideal order. No branch depends on the counts."""
    n_at_most = packed_counts  # byte g: number of labels of at most g that have no place yet
    for n_bits in (8, 16, 32):
        n_at_most += n_at_most << np.uint64(n_bits)
    stop = np.uint64(n_hits + labels.shape[0])
    for i in range(np.uint64(labels.shape[0])):
        label = labels[i]
        shift = np.uint64(np.int32(label) << 3)
        ideal.labels[stop - (n_at_most >> shift & BYTE)] = label
        ideal.above[np.uint64(n_hits) + i] = i
        n_at_most -= ONE << shift


@inline
def count_grades(labels, counts):
    """Count the labels of each grade. Return the highest grade, 0 if a label is no whole number from 1 to 31."""
    n_others = 0
    highest = 0
    for i in range(labels.shape[0]):
        grade = int(labels[i]) if 0.0 < labels[i] < N_GRADES else 0  # also for NaN, if labels change meanwhile
        n_others += grade != labels[i] or grade == 0
        highest = max(highest, grade)
        counts[grade] += 1
    if n_others > 0:
        counts[:] = 0
        return 0
    return highest


@inline
def write_grades(counts, highest, n_ranks, n_hits, ideal):
    """Write the counted labels of the first ranks, the highest first, and reset the counts. Return their number."""
    n_new = 0
    for grade in range(highest, 0, -1):
        for _ in range(min(counts[grade], n_ranks - n_new)):
            ideal.labels[n_hits + n_new] = grade
            ideal.above[n_hits + n_new] = n_new
            n_new += 1
        counts[grade] = 0
    return n_new


@helper
def write_by_sorting(labels, n_documents, depth, n_hits, ideal):
    """
    Write the labels of a query that rank above `depth`, sorted. Return their number.

    They are sorted where they will stand: indices in the place of ranks, and scratch in the place of labels.
    """
    n = labels.shape[0]
    order = ideal.above[n_hits : n_hits + n]
    for i in range(n):
        order[i] = i
    sort_descending(labels, n, ideal.labels[n_hits : n_hits + n].view(np.int32), order)
    n_new = 0
    for i in range(n):
        label = labels[order[i]]
        above = i if label > 0.0 else n_documents - n + i
        if above >= depth:
            break
        ideal.labels[n_hits + i] = label
        ideal.above[n_hits + i] = above
        n_new += 1
    return n_new
