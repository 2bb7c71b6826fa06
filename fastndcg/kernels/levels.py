"""
Hits by way of *levels*, the distinct scores of a query's candidates: for queries with many of them.

start, stop   the query's documents in `scores`
order         scores of the candidates, their order, spare room
levels        distinct scores, falling; for each, the documents above it and at it
out_hits      see rank.py; this query's begin at `n_hits`
"""

from fastndcg.kernels.count import count_around, find_tail
from fastndcg.kernels.jit import part
from fastndcg.kernels.sorting import sort_descending


@part
def sort_hits(scores, start, stop, candidates, c, n_candidates, order, levels, counting, depth, n_hits, out_hits):
    """Hits among the candidates from `c` on; says how many, and whether documents that tie have different labels."""
    documents = candidates[0][c : c + n_candidates]
    labels = candidates[1][c : c + n_candidates]
    order_candidates(scores, start, documents, labels, order)
    level_scores, level_above, level_ties = levels
    n_levels = find_levels(order, n_candidates, level_scores)
    if counting:
        count_levels(scores, start, stop, level_scores, n_levels, level_above, level_ties)
    else:
        search_levels(scores, start, stop, level_scores, n_levels, level_above, level_ties)
    return emit(documents, labels, order, levels, depth, n_hits, out_hits)


@part
def order_candidates(scores, start, documents, labels, order):
    """Put the candidates in rank order."""
    keys, places, spare = order
    n = documents.shape[0]
    one_label = True
    for i in range(n):
        keys[i] = scores[start + documents[i]]
        places[i] = i
        one_label &= labels[i] == labels[0]
    if not one_label:
        sort_descending(labels, spare, places[:n])
    sort_descending(keys, spare, places[:n])


@part
def find_levels(order, n_candidates, out_levels):
    """The distinct scores of ordered candidates, falling; says how many they are."""
    keys, places, _ = order
    n_levels = 0
    for i in range(n_candidates):
        score = keys[places[i]]
        if n_levels == 0 or score != out_levels[n_levels - 1]:
            out_levels[n_levels] = score
            n_levels += 1
    return n_levels


@part
def count_levels(scores, start, stop, levels, n_levels, out_above, out_ties):
    """For each level, the documents above it and at it, by comparing all of them."""
    tail, tail_block, tail_lanes = find_tail(scores, start, stop)
    for i in range(n_levels):
        out_above[i], out_ties[i] = count_around(scores, start, tail, tail_block, tail_lanes, levels[i])


@part
def search_levels(scores, start, stop, levels, n_levels, out_above, out_ties):
    """For each level, the documents above it and at it, by binary search of every document among the levels."""
    out_above[: n_levels + 1] = 0
    out_ties[:n_levels] = 0
    for d in range(start, stop):
        score = scores[d]
        low = 0
        size = n_levels
        while size > 0:  # first level that is not above the score
            half = size // 2
            if levels[low + half] > score:
                low += half + 1
                size -= half + 1
            else:
                size = half
        if low < n_levels and levels[low] == score:
            out_ties[low] += 1
            low += 1
        out_above[low] += 1
    for level in range(1, n_levels):
        out_above[level] += out_above[level - 1]


@part
def emit(documents, labels, order, levels, depth, n_hits, out_hits):
    """Write one query's hits; says how many, and whether documents that tie have different labels."""
    keys, places, _ = order
    level_scores, level_above, level_ties = levels
    out_documents, out_labels, out_above, out_ties = out_hits
    n = documents.shape[0]
    level = 0
    n_new = 0
    n_alike = 0
    mixed = False
    for i in range(n):
        c = places[i]
        if keys[c] != level_scores[level]:
            level += 1
            n_alike = 0
        if level_above[level] >= depth:
            break
        n_alike += n_alike == 0 or labels[c] == labels[places[i - 1]]
        if level_ties[level] > 1:
            last_of_level = i + 1 == n or keys[places[i + 1]] != keys[c]
            mixed |= last_of_level and n_alike < level_ties[level]
        out_documents[n_hits + n_new] = documents[c]
        out_labels[n_hits + n_new] = labels[c]
        out_above[n_hits + n_new] = level_above[level]
        out_ties[n_hits + n_new] = level_ties[level]
        n_new += 1
    return n_new, mixed
