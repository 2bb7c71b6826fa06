"""
Hits by way of *levels*, the distinct scores of a query's candidates: for queries with many of them.

start, stop   the query's documents in `scores`
order         scores of the candidates, their order, spare room
levels        distinct scores, falling; for each, the documents above it and at it
out_hits      see rank.py; this query's begin at `n_hits`
"""

from fastndcg.kernels.jit import part
from fastndcg.kernels.sorting import sort_descending


@part
def sort_hits(scores, start, stop, candidates, c, n_candidates, order, levels, depth, n_hits, out_hits):
    """Hits among the candidates from `c` on; says how many, and whether documents that tie have different labels."""
    order_candidates(scores, start, candidates, c, n_candidates, order)
    search_levels(scores, start, stop, find_levels(order, n_candidates, levels), levels)
    return emit(candidates, c, n_candidates, order, levels, depth, n_hits, out_hits)


@part
def order_candidates(scores, start, candidates, c, n_candidates, order):
    """Put the candidates in rank order: by label first, then by score, which keeps that order among equals."""
    documents, labels = candidates[:2]
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


@part
def find_levels(order, n_candidates, levels):
    """The distinct scores of ordered candidates, falling; says how many they are."""
    keys, places, _ = order
    level_scores, level_above, level_ties = levels
    n_levels = 0
    for i in range(n_candidates):
        score = keys[places[i]]
        if n_levels == 0 or score != level_scores[n_levels - 1]:
            level_scores[n_levels] = score
            level_above[n_levels] = 0
            level_ties[n_levels] = 0
            n_levels += 1
    return n_levels


@part
def search_levels(scores, start, stop, n_levels, levels):
    """For each level, the documents above it and at it, by binary search of every document among the levels."""
    level_scores, level_above, level_ties = levels
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
        if low < n_levels and level_scores[low] == score:
            level_ties[low] += 1
            low += 1
        if low < n_levels:
            level_above[low] += 1
    for level in range(1, n_levels):
        level_above[level] += level_above[level - 1]


@part
def emit(candidates, c, n_candidates, order, levels, depth, n_hits, out_hits):
    """Write one query's hits; says how many, and whether documents that tie have different labels."""
    documents, labels = candidates[:2]
    keys, places, _ = order
    level_scores, level_above, level_ties = levels
    out_documents, out_labels, out_above, out_ties = out_hits
    level = 0
    n_new = 0
    n_alike = 0
    mixed = False
    for i in range(n_candidates):
        key = keys[places[i]]
        label = labels[c + places[i]]
        if key != level_scores[level]:
            level += 1
            n_alike = 0
        if level_above[level] >= depth:
            break
        n_alike += n_alike == 0 or label == out_labels[n_hits + n_new - 1]
        if level_ties[level] > 1:
            last_of_level = i + 1 == n_candidates or keys[places[i + 1]] != key
            mixed |= last_of_level and n_alike < level_ties[level]
        out_documents[n_hits + n_new] = documents[c + places[i]]
        out_labels[n_hits + n_new] = label
        out_above[n_hits + n_new] = level_above[level]
        out_ties[n_hits + n_new] = level_ties[level]
        n_new += 1
    return n_new, mixed
