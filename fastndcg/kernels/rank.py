"""
Who stands where: the hits of each query, found without sorting its documents. The one kernel that reads all scores.

Candidates become hits, in rank order: score falling, among equal scores label falling, then as given. Of their
distinct scores, the *levels*, each gets the number of documents that score higher (`above`, the rank less one) and
the number that score the same (`ties`, 1 for a document alone). Three ways lead to the same numbers:

count   compare every document with every level: straight, vectorised; for few levels
sort    search every document's place among the levels; for many levels
select  find the best `depth` scores first and forget the candidates below; for many candidates and a small cutoff

scores         (n_documents,)       float32 or float64
offsets        (n_all_queries + 1,) int64; this call works on n_queries of them, from query `first`
documents, labels, candidate_offsets   the candidates, see candidates.py
depth          how many ranks any metric looks at; hits that begin below it are left out
strategy       AUTO, or one of the three
out_documents, out_labels, out_above, out_ties   (n_candidates,) int32, float64, int32, int32
out_offsets    (n_queries + 1,)     int64, query q owns hits out_offsets[q] up to out_offsets[q + 1]
out_counts     (2,)                 int64: queries in which equal scores have different labels, NaN scores
"""

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.sorting import sort_descending

AUTO, COUNT, SELECT, SORT = 0, 1, 2, 3
SELECT_DEPTH = 64  # beyond it, keeping the best scores by insertion costs more than it saves


@kernel
def rank(
    scores, offsets, first, documents, labels, candidate_offsets, depth, strategy,
    out_documents, out_labels, out_above, out_ties, out_offsets, out_counts,
):  # fmt: skip
    """Hits of each query in rank order."""
    most = 0
    for q in range(out_offsets.shape[0] - 1):
        most = max(most, candidate_offsets[q + 1] - candidate_offsets[q])
    order = np.empty(most, np.int32)
    spare = np.empty(most, np.int32)
    keys = np.empty(most, scores.dtype)
    levels = np.empty(most, scores.dtype)
    level_above = np.empty(most + 1, np.int32)
    level_ties = np.empty(most, np.int32)
    best = np.empty(min(depth, SELECT_DEPTH), scores.dtype)
    n_hits = 0
    n_mixed = 0
    n_nan = 0
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        query_scores = scores[offsets[first + q] : offsets[first + q + 1]]
        n_nan += count_nan(query_scores)
        query_documents = documents[candidate_offsets[q] : candidate_offsets[q + 1]]
        query_labels = labels[candidate_offsets[q] : candidate_offsets[q + 1]]
        way = choose(query_scores.shape[0], query_labels.shape[0], depth) if strategy == AUTO else strategy
        least = -np.inf
        if way == SELECT and depth <= SELECT_DEPTH:
            least = least_of_best(query_scores, depth, best)
        m = order_candidates(query_scores, query_documents, query_labels, least, keys, spare, order)
        n_levels = find_levels(keys, order, m, levels)
        if n_levels > 0:
            if way == COUNT:
                count_levels(query_scores, levels[:n_levels], level_above, level_ties)
            else:
                search_levels(query_scores, levels[:n_levels], level_above, level_ties)
        n_new, mixed = emit(
            query_documents, query_labels, keys, order[:m], levels, level_above, level_ties, depth,
            out_documents[n_hits:], out_labels[n_hits:], out_above[n_hits:], out_ties[n_hits:],
        )  # fmt: skip
        n_hits += n_new
        n_mixed += mixed
        out_offsets[q + 1] = n_hits
    out_counts[0] = n_mixed
    out_counts[1] = n_nan


@kernel
def choose(n_documents, n_candidates, depth):
    """The cheapest way, by the work of each in units of one document looked at."""
    if n_candidates <= 8:
        return COUNT
    searches = 1.0
    while (1 << int(searches)) < n_candidates:
        searches += 1.0
    count = n_documents * n_candidates * 0.06 + n_candidates * 4.0
    sort = (n_documents + 2.0 * n_candidates) * searches
    select = n_documents * 1.5 + depth * depth * 4.0
    if depth <= SELECT_DEPTH and depth < n_documents and select < count and select < sort:
        return SELECT
    return COUNT if count < sort else SORT


@kernel
def count_nan(scores):
    """How many scores are NaN."""
    n_nan = 0
    for d in range(scores.shape[0]):
        n_nan += scores[d] != scores[d]
    return n_nan


@kernel
def least_of_best(scores, size, best):
    """The score of rank `size`, found by keeping the best scores in order; -inf where there are no more than that."""
    n = scores.shape[0]
    if n <= size:
        return -np.inf
    n_kept = 0
    for d in range(n):
        score = scores[d]
        if n_kept == size:
            if not score > best[size - 1]:
                continue
            n_kept -= 1
        place = n_kept
        while place > 0 and best[place - 1] < score:
            best[place] = best[place - 1]
            place -= 1
        best[place] = score
        n_kept += 1
    return float(best[size - 1])


@kernel
def order_candidates(scores, documents, labels, least, keys, spare, order):
    """Put the candidates that score at least `least` in rank order; says how many they are."""
    m = 0
    one_label = True
    for c in range(documents.shape[0]):
        keys[c] = scores[documents[c]]
        if keys[c] >= least:
            order[m] = c
            m += 1
            one_label &= labels[c] == labels[0]
    if not one_label:
        sort_descending(labels, spare, order[:m])
    sort_descending(keys, spare, order[:m])
    return m


@kernel
def find_levels(keys, order, m, levels):
    """The distinct scores of ordered candidates, falling; says how many they are."""
    n_levels = 0
    for i in range(m):
        score = keys[order[i]]
        if n_levels == 0 or score != levels[n_levels - 1]:
            levels[n_levels] = score
            n_levels += 1
    return n_levels


@kernel
def count_levels(scores, levels, out_above, out_ties):
    """For each level, the documents above it and at it, by comparing all of them."""
    for level in range(levels.shape[0]):
        score = levels[level]
        above = 0
        ties = 0
        for d in range(scores.shape[0]):
            above += scores[d] > score
            ties += scores[d] == score
        out_above[level] = above
        out_ties[level] = ties


@kernel
def search_levels(scores, levels, out_above, out_ties):
    """For each level, the documents above it and at it, by binary search of every document among the levels."""
    n_levels = levels.shape[0]
    out_above[: n_levels + 1] = 0
    out_ties[:n_levels] = 0
    for d in range(scores.shape[0]):
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


@kernel
def emit(
    documents, labels, keys, order, levels, level_above, level_ties, depth,
    out_documents, out_labels, out_above, out_ties,
):  # fmt: skip
    """Write one query's hits; says how many, and whether documents that tie have different labels."""
    level = 0
    n_hits = 0
    n_alike = 0
    mixed = False
    for i in range(order.shape[0]):
        c = order[i]
        if keys[c] != levels[level]:
            level += 1
            n_alike = 0
        if level_above[level] >= depth:
            break
        n_alike += n_alike == 0 or labels[c] == labels[order[i - 1]]
        if level_ties[level] > 1:
            last_of_level = i + 1 == order.shape[0] or keys[order[i + 1]] != keys[c]
            mixed |= last_of_level and n_alike < level_ties[level]
        out_documents[n_hits] = documents[c]
        out_labels[n_hits] = labels[c]
        out_above[n_hits] = level_above[level]
        out_ties[n_hits] = level_ties[level]
        n_hits += 1
    return n_hits, mixed
