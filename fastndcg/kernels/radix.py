"""
Sorting all documents of a query by score, byte by byte, which asks nothing that the processor could guess wrong.

A key is a number that rises as the score falls. With it goes the candidate that has it, or for other documents a number
behind the last candidate's. Of the largest queries giant.py takes the same steps in calls of their own.

scores      of the query's documents, those from `start` up to `stop`; none is NaN
documents   places of its candidates in the call, from `c` on; `base` documents of it stand before the query
room        keys and their candidates, both once more, and how many keys there are for each value of a byte
numbers     of each candidate, how many documents score higher, and how many the same; with room for one more
"""

import numpy as np

from fastndcg.kernels.jit import part, unit

BITS = 8  # that are looked at in one pass; more take longer to add up than they save for hundreds of documents
VALUES = 1 << BITS
KEY_BITS = 64


@part
def room_for_sorting(n_documents):
    """Memory to work in for queries of up to so many documents."""
    keys, candidates = np.empty(n_documents, np.uint64), np.empty(n_documents, np.int32)
    return (
        keys,
        candidates,
        np.empty(n_documents, np.uint64),
        np.empty(n_documents, np.int32),
        np.empty(VALUES, np.int32),
    )


@unit
def sort_each(scores, start, stop, base, documents, c, n_candidates, room, numbers):
    """The numbers of each candidate of a query, in a function of its own: `rank_open` need not have it twice."""
    keys, candidates, next_keys, next_candidates, counts = room
    n = stop - start
    differing = key_each(scores, start, n, base, documents, c, n_candidates, keys, candidates)
    for shift in range(0, KEY_BITS, BITS):
        if differing >> np.uint64(shift) & np.uint64(VALUES - 1) != 0:
            pass_on(keys, candidates, n, np.uint64(shift), counts, next_keys, next_candidates)
            keys, next_keys = next_keys, keys
            candidates, next_candidates = next_candidates, candidates
    number(keys, candidates, n, numbers)


@part
def key_each(scores, start, n, base, documents, c, n_candidates, keys, candidates):
    """Write the keys and candidates of n documents as they were given; the bits in which any two keys differ."""
    differing = np.uint64(0)
    for d in range(n):
        keys[d] = falling(scores[start + d])
        candidates[d] = n_candidates
        differing |= keys[d] ^ keys[0]
    for i in range(n_candidates):
        candidates[documents[c + i] - base] = i
    return differing


@part
def falling(score):
    """A score as a number that is the higher the lower the score is; the two zeros are the same."""
    bits = np.float64(score + 0.0).view(np.uint64)
    positive = bits >> np.uint64(KEY_BITS - 1) == 0
    return bits ^ np.uint64(0x7FFFFFFFFFFFFFFF) if positive else bits


@part
def pass_on(keys, candidates, n, shift, counts, next_keys, next_candidates):
    """Order by one byte; what has the same stays as it was."""
    for value in range(VALUES):
        counts[value] = 0
    for d in range(n):
        counts[keys[d] >> shift & np.uint64(VALUES - 1)] += 1
    place = 0
    for value in range(VALUES):
        count = counts[value]
        counts[value] = place
        place += count
    for d in range(n):
        value = keys[d] >> shift & np.uint64(VALUES - 1)
        place = counts[value]
        counts[value] += 1
        next_keys[place] = keys[d]
        next_candidates[place] = candidates[d]


@part
def number(keys, candidates, n, numbers):
    """Count documents above each candidate, and those that tie, along the order and back."""
    above, ties = numbers
    first = 0
    for d in range(n):
        first = d if keys[d] != keys[first] else first
        above[candidates[d]] = first
    last = n - 1
    for d in range(n - 1, -1, -1):
        last = d if keys[d] != keys[last] else last
        ties[candidates[d]] = last + 1 - above[candidates[d]]
