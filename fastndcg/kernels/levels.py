"""
Hits of the queries that `rank` left open, by way of *levels*, the distinct scores of a query's candidates.

scores, offsets, …, before, depth, out_documents, …, out_counts   see rank.py
order    scores of a query's candidates in their order, the order, spare room
levels   distinct scores, falling; for each, the documents above it and at it
digits   where many numbers are sorted by digits: see radix.py; else of no length
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, part, unit
from fastndcg.kernels.radix import LARGE, N_DIGITS, decode, encode, sort_codes
from fastndcg.kernels.sorting import sort_descending


@allocating_kernel
def sort_open(
    scores, offsets, first, documents, labels, candidate_offsets, marks, before, depth,
    out_documents, out_labels, out_above, out_ties, out_queries, out_offsets, out_counts,
):  # fmt: skip
    """Find the hits of the open queries; those of the others move up to where the ones before them end."""
    out_hits = (out_documents, out_labels, out_above, out_ties, out_queries)
    most = 0
    for q in range(out_offsets.shape[0] - 1):
        most = max(most, candidate_offsets[q + 1] - candidate_offsets[q])
    order = (np.empty(most), np.empty(most, np.int32), np.empty(most, np.int32))
    levels = (np.empty(most, scores.dtype), np.empty(most, np.int32), np.empty(most, np.int32))
    n_digits = most if most > LARGE else 0
    values = np.empty(n_digits)
    digits = (values, values.view(np.uint64), np.empty(N_DIGITS, np.int64), np.empty(n_digits, np.uint64))
    none = np.empty(0, np.int32)
    fill_open(
        scores, offsets, first, (documents, labels), candidate_offsets, depth, order, levels, digits, none, out_hits,
        out_offsets, out_counts,
    )  # fmt: skip


@unit
def fill_open(
    scores, offsets, first, candidates, candidate_offsets, depth, order, levels, digits, none, out_hits, out_offsets,
    out_counts,
):  # fmt: skip
    """Go through all queries, in a function of its own: here no references are counted."""
    out_ties = out_hits[3]
    n_hits = 0
    stop = 0
    for q in range(out_offsets.shape[0] - 1):
        h = stop
        stop = out_offsets[q + 1]
        if h < stop and out_ties[h] == 0:
            c = candidate_offsets[q]
            n_candidates = candidate_offsets[q + 1] - c
            here = offsets[first + q]
            if n_candidates > LARGE:
                order_many(scores, here, candidates, c, n_candidates, order, digits)
                n_levels = find_levels(order, n_candidates, levels)
                search_sorted(scores, here, offsets[first + q + 1], n_levels, levels, digits, none)
            else:
                order_candidates(scores, here, candidates, c, n_candidates, order)
                n_levels = find_levels(order, n_candidates, levels)
                search_levels(scores, here, offsets[first + q + 1], n_levels, levels)
            n_new, mixed = emit(candidates, c, n_candidates, order, levels, depth, q, n_hits, out_hits)
            n_hits += n_new
            out_counts[0] += mixed
        else:
            if n_hits < h:
                move_up(h, stop, n_hits, out_hits)
            n_hits += stop - h
        out_offsets[q + 1] = n_hits


@part
def move_up(start, stop, place, out_hits):
    """Move the hits from `start` up to `stop` to an earlier place."""
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    for h in range(start, stop):
        out_documents[place + h - start] = out_documents[h]
        out_labels[place + h - start] = out_labels[h]
        out_above[place + h - start] = out_above[h]
        out_ties[place + h - start] = out_ties[h]
        out_queries[place + h - start] = out_queries[h]


@part
def order_candidates(scores, start, candidates, c, n_candidates, order):
    """Put the candidates in rank order: by label first, then by score, which keeps that order among equals."""
    documents, labels = candidates
    keys, places, spare = order
    one_label = True
    for i in range(n_candidates):
        keys[i] = labels[c + i]
        places[i] = i
        one_label &= labels[c + i] == labels[c]
    if not one_label:
        sort_descending(keys, n_candidates, spare, places)
    for i in range(n_candidates):
        keys[i] = scores[start + documents[c + i]]
    sort_descending(keys, n_candidates, spare, places)
    for i in range(n_candidates):
        keys[i] = scores[start + documents[c + places[i]]]


@part
def order_many(scores, start, candidates, c, n_candidates, order, digits):
    """The same for many, by digits."""
    documents, labels = candidates
    keys, places, spare = order
    values, codes, counts, spare_codes = digits
    one_label = True
    for i in range(n_candidates):
        values[i] = labels[c + i]
        places[i] = i
        one_label &= labels[c + i] == labels[c]
    if not one_label:
        encode(codes, n_candidates)
        sort_codes(codes, places, n_candidates, counts, spare_codes, spare)
    for i in range(n_candidates):
        values[i] = scores[start + documents[c + places[i]]]
    encode(codes, n_candidates)
    sort_codes(codes, places, n_candidates, counts, spare_codes, spare)
    decode(codes, n_candidates)
    for i in range(n_candidates):
        keys[i] = values[i]


@part
def find_levels(order, n_candidates, levels):
    """The distinct scores of ordered candidates, falling; says how many they are."""
    keys = order[0]
    level_scores, level_above, level_ties = levels
    n_levels = 0
    for i in range(n_candidates):
        score = keys[i]
        if n_levels == 0 or score != level_scores[n_levels - 1]:
            level_scores[n_levels] = score
            level_above[n_levels] = 0
            level_ties[n_levels] = 0
            n_levels += 1
    return n_levels


@part
def search_levels(scores, start, stop, n_levels, levels):
    """For each level, the documents above it and at it, by binary search of every document among the levels."""
    level_scores = levels[0]
    for d in range(start, stop):
        score = scores[d]
        low = 0
        size = n_levels
        while size > 0:  # first level that is not above the score
            half = size // 2
            if level_scores[low + half] > score:
                low += half + 1
                size -= half + 1
            else:
                size = half
        if low < n_levels:
            tally(score, low, n_levels, levels)
    add_up(n_levels, levels)


@part
def search_sorted(scores, start, stop, n_levels, levels, digits, none):
    """The same where levels are many: documents are sorted, as many at once as there is room for, and go along them."""
    level_scores = levels[0]
    values, codes, counts, spare_codes = digits
    for first in range(start, stop, values.shape[0]):
        n = min(values.shape[0], stop - first)
        for i in range(n):
            values[i] = scores[first + i]
        encode(codes, n)
        sort_codes(codes, none, n, counts, spare_codes, none)
        decode(codes, n)
        low = 0
        for i in range(n):
            score = values[i]
            while low < n_levels and level_scores[low] > score:
                low += 1
            if low < n_levels:
                tally(score, low, n_levels, levels)
    add_up(n_levels, levels)


@part
def tally(score, low, n_levels, levels):
    """Note a document whose score is that of the level `low`, or between it and the one above."""
    level_scores, level_above, level_ties = levels
    if level_scores[low] == score:
        level_ties[low] += 1
        low += 1
    if low < n_levels:
        level_above[low] += 1


@part
def add_up(n_levels, levels):
    """Documents above a level are also above those below it."""
    level_above = levels[1]
    for level in range(1, n_levels):
        level_above[level] += level_above[level - 1]


@part
def emit(candidates, c, n_candidates, order, levels, depth, q, n_hits, out_hits):
    """Write one query's hits, group after group; says how many, and whether one that ties has different labels."""
    documents, labels = candidates
    keys, places, _ = order
    _, level_above, level_ties = levels
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    n_new = 0
    mixed = False
    i = 0
    level = 0
    while i < n_candidates and level_above[level] < depth:
        stop = i + 1
        alike = True
        while stop < n_candidates and keys[stop] == keys[i]:
            alike &= labels[c + places[stop]] == labels[c + places[i]]
            stop += 1
        alike &= stop - i == level_ties[level]
        mixed |= not alike
        for member in range(i, stop):
            above = level_above[level] + (member - i if alike else 0)
            out_documents[n_hits + n_new] = documents[c + places[member]]
            out_labels[n_hits + n_new] = labels[c + places[member]]
            out_above[n_hits + n_new] = above
            out_ties[n_hits + n_new] = 1 if alike else level_ties[level]
            out_queries[n_hits + n_new] = q
            n_new += above < depth
        i = stop
        level += 1
    return n_new, mixed
