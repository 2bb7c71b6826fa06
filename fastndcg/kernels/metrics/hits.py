"""
Parts of kernels that read hits: find tie groups among them, count and add up their documents, add up over their ranks.

A kernel has one loop over the hits of all queries, with this pattern:

    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        share = 0.0
        if hit_ties[h] == 1:
            share = ...  # of a document without ties
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            share = ...  # of the whole tie group, at its first hit
        out[query] += share

A loop per query would end at an unpredictable place for almost every query. Conditional expressions in place of
branches serve the same end. Query numbers are unsigned, so that no code for negative indices is compiled.
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline

NO_QUERY = np.uint32(0xFFFFFFFF)


class GainHits(NamedTuple):
    """Hits with gains: hit_queries, hit_above, hit_ties and hit_gains of the package's legend."""

    queries: np.ndarray
    above: np.ndarray
    tie_sizes: np.ndarray
    gains: np.ndarray


@inline
def find_group_end(queries, above, h):
    """Return the hit after the tie group that begins at hit `h`."""
    end = h + 1
    while end < above.shape[0] and above[end] == above[h] and queries[end] == queries[h]:
        end += 1
    return end


@inline
def count_relevant_hits(labels, start, stop, rel):
    """Return the number of relevant hits from `start` up to `stop`."""
    n_relevant = 0
    for h in range(start, stop):
        n_relevant += labels[h] >= rel
    return n_relevant


@inline
def count_tied_relevant(queries, above, labels, h, rel):
    """Return the end of the tie group that begins at hit `h`, and the number of its relevant documents."""
    end = find_group_end(queries, above, h)
    return end, count_relevant_hits(labels, h, end, rel)


@inline
def sum_gains(gains, start, stop):
    """Return the sum of the gains of hits from `start` up to `stop`."""
    total = 0.0
    for h in range(start, stop):
        total += gains[h]
    return total


@inline
def have_equal_gains(gains, start, stop):
    """Return True if hits from `start` up to `stop` have equal gains."""
    are_equal = True
    for h in range(start + 1, stop):
        are_equal &= gains[h] == gains[start]
    return are_equal


@inline
def count_positive(values, start, stop):
    """Return the number of values above 0 from `start` up to `stop`, where values fall."""
    end = stop
    while end > start and values[end - 1] <= 0.0:
        end -= 1
    return end - start


@inline
def write_quotients(values, denominators, out):
    """Write each value over its denominator, NaN where that is not above 0."""
    for q in range(out.shape[0]):
        out[q] = values[q] / denominators[q] if denominators[q] > 0.0 else np.nan


MAX_ADDED_TERMS = 64  # terms of a harmonic sum that are added up; above, the rest of the series is below 2e-17


@inline
def sum_reciprocals(first, last):
    """Return 1/first + … + 1/last, for whole numbers."""
    if last - first < MAX_ADDED_TERMS:
        return add_reciprocals(first, last)
    start = first
    total = 0.0
    if first < MAX_ADDED_TERMS:
        total = add_reciprocals(first, MAX_ADDED_TERMS - 1.0)
        start = float(MAX_ADDED_TERMS)
    below = start - 1.0
    total += math.log1p((last - below) / below) - 0.5 * (last - below) / (last * below)
    return total + series_rest(last) - series_rest(below)


@inline
def add_reciprocals(first, last):
    """Return 1/first + … + 1/last, added up from the smallest on."""
    total = 0.0
    i = last
    while i >= first:
        total += 1.0 / i
        i -= 1.0
    return total


@inline
def series_rest(n):
    """Return the terms of the harmonic number of n behind its logarithm, Euler's constant and 1 / (2 n)."""
    square = 1.0 / (n * n)
    return -square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
