"""
One query at a time, for loops of users' own: what the default convention says, ties by expectation.

Call them in functions compiled by Numba, on slices, or from Python, on arrays:

>>> import numba
>>> import numpy as np
>>> from fastndcg.kernels import ndcg
>>> @numba.njit
... def values_of(labels, scores, offsets, k):
...     values = np.empty(len(offsets) - 1)
...     for q in range(len(values)):
...         documents = slice(offsets[q], offsets[q + 1])
...         values[q] = ndcg(labels[documents], scores[documents], k)
...     return values
>>> labels, scores = np.array([1, 0, 2, 0, 1]), np.array([0.9, 0.1, 0.5, 0.3, 0.3])
>>> values_of(labels, scores, np.array([0, 3, 5]), 10).round(5)
array([0.85972, 0.81546])

A loop over queries may be Numba's own ``prange``: nothing is shared between calls. They take arrays as they are and
raise no error, for a loop in parallel has nobody to tell: what `evaluate` would refuse makes the value NaN. That is a
label that is NaN, negative or beyond 2**53, a score that is NaN, and labels that are not as many as scores.

labels   (n_documents,)  bool, int or float, 0 or more; 0 for not relevant
scores   (n_documents,)  floats, or whole numbers up to 2**53; higher is better
k        how many ranks count, 1 or more; by default all
rel      a document is relevant if its label is at least this
out      (n_documents,)  float64
"""

import math

import numpy as np

from fastndcg.kernels import cascade, precision
from fastndcg.kernels.jit import allocating_kernel, kernel, part, unit
from fastndcg.kernels.open import number_each, place_each, room_for
from fastndcg.kernels.rank import AUTO
from fastndcg.kernels.sorting import sort_descending
from fastndcg.kernels.vectors import WIDE

ALL = 2**31 - 1
HIGHEST = 2.0**53  # label: above it, a whole number may have been another


@allocating_kernel
def dcg(labels, scores, k=ALL):
    """Sum over ranks r = 1 … k of the label at rank r / log2(r + 1); for other gains, give gains as labels."""
    documents, candidates, values, is_right = read(labels, scores)
    above, ties, gains = find_hits(documents, candidates, values, len(scores), k)
    return discounted(above, ties, gains, k) if is_right else math.nan


@allocating_kernel
def ndcg(labels, scores, k=ALL):
    """DCG over DCG of the best order; NaN where every label is 0. For other gains, give gains as labels."""
    documents, candidates, values, is_right = read(labels, scores)
    above, ties, gains = find_hits(documents, candidates, values, len(scores), k)
    best = highest(candidates, k)
    return min(discounted(above, ties, gains, k) / best, 1.0) if is_right and best > 0.0 else math.nan


@allocating_kernel
def average_precision(labels, scores, k=ALL, rel=1.0):
    """Sum of P@r over the ranks r = 1 … k of relevant documents, over how many these are; NaN where there are none."""
    documents, candidates, values, is_right = read(labels, scores)
    above, ties, found = find_hits(documents, candidates, values, len(scores), k)
    return precision_of(above, ties, found, candidates, rel, k) if is_right else math.nan


@allocating_kernel
def reciprocal_rank(labels, scores, k=ALL, rel=1.0):
    """1 / rank of the first relevant document; 0 if it is below rank k, or there is none."""
    documents, candidates, values, is_right = read(labels, scores)
    above, ties, found = find_hits(documents, candidates, values, len(scores), k)
    return first_of(above, ties, found, rel, k) if is_right else math.nan


@allocating_kernel
def ranks(scores, out):
    """Each document's rank, the best is 1; equal scores share the mean of their ranks. All NaN, if a score is."""
    _, _, values, is_right = read(np.zeros(len(scores), np.uint8), scores)
    if is_right and len(out) == len(scores):
        mean_ranks(values[: len(out)], out)
    else:
        out[:] = math.nan


@part
def read(labels, scores):
    """
    Documents with a label above 0, their labels, and all scores; no document, and False, where a number is wrong.

    There is room for a whole vector of scores, which kernels compare at once.
    """
    n = len(scores) if len(labels) == len(scores) else 0
    documents = np.empty(n, np.int32)
    candidates = np.empty(n)
    values = np.empty(max(n, WIDE))
    n_candidates = 0
    n_right = 0
    for d in range(n):
        values[d] = scores[d]
        documents[n_candidates] = d
        candidates[n_candidates] = labels[d]
        label = candidates[n_candidates]
        n_right += (values[d] == values[d]) & (label >= 0.0) & (label <= HIGHEST)
        n_candidates += label > 0.0
    is_right = n_right == len(scores) and n_right == len(labels)
    m = n_candidates if is_right else 0
    return documents[:m], candidates[:m], values, is_right


@allocating_kernel
def find_hits(documents, candidates, values, n_documents, k):
    """Candidates in rank order, down to rank k: how many documents score higher, how many the same, their labels."""
    m = len(candidates)
    hits = (np.empty(m, np.int32), np.empty(m), np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32))
    n_hits = place((documents, candidates), values, n_documents, k, room_for(m, n_documents), hits)
    return hits[2][:n_hits], hits[3][:n_hits], hits[1][:n_hits]


@unit
def place(given, values, n_documents, k, room, out_hits):
    """Write the hits, in a function of its own: here no references are counted. Says how many there are."""
    here, m = (0, n_documents, 0), len(given[1])
    number_each(values, here, given[0], 0, m, k, AUTO, n_documents, room)
    return place_each(here, given, 0, m, k, room, 0, 0, out_hits)[0]


@kernel
def discounted(above, ties, gains, k):
    """DCG@k of hits: a group of equal scores shares the discounts of its ranks."""
    total = 0.0
    h = 0
    while h < len(above):
        start = h
        gain = 0.0
        while h < len(above) and above[h] == above[start]:
            gain += gains[h]
            h += 1
        share = 0.0
        for r in range(above[start] + 1, min(above[start] + ties[start], k) + 1):
            share += 1.0 / math.log2(r + 1.0)
        total += gain * (share / ties[start])
    return total


@allocating_kernel
def highest(candidates, k):
    """DCG@k of the best order."""
    m = len(candidates)
    places = np.empty((2, m), np.int32)
    order = places[0]
    for i in range(m):
        order[i] = i
    sort_descending(candidates, m, places[1], order)
    total = 0.0
    for i in range(min(m, k)):
        total += candidates[order[i]] * (1.0 / math.log2(i + 2.0))
    return total


@allocating_kernel
def precision_of(above, ties, found, candidates, rel, k):
    """AP@k of hits."""
    n_relevant = 0
    for c in range(len(candidates)):
        n_relevant += candidates[c] >= rel
    out = np.empty(1)
    precision.add_precisions(np.zeros(len(found), np.int32), above, ties, found, rel, k, out)
    return out[0] / n_relevant if n_relevant > 0 else math.nan


@allocating_kernel
def first_of(above, ties, found, rel, k):
    """RR@k of hits."""
    out = np.empty(1)
    cascade.reciprocal_rank(above, ties, found, np.array([0, len(found)]), rel, k, out)
    return out[0]


@allocating_kernel
def mean_ranks(values, out):
    """The ranks of values, equal ones sharing theirs."""
    n = len(values)
    order = np.arange(n).astype(np.int32)
    sort_descending(values, n, np.empty(n, np.int32), order)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and values[order[stop]] == values[order[start]]:
            stop += 1
        for i in range(start, stop):
            out[order[i]] = (start + 1 + stop) / 2
        start = stop
