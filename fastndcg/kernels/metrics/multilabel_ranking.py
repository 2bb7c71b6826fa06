"""
Compute metrics of the ranks of relevant documents: LRAP, coverage error and precision at a recall.

Ties: the last of n places drawn from m is on average n · (m + 1) / (n + 1). The rank of the n-th of several relevant
documents in a tie group is negative hypergeometric.

precision_sums   (n_queries,)  float64, expected sum of the precisions at relevant documents
recall           share of the relevant documents
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import NO_QUERY, count_tied_relevant, divide


@kernel
def label_ranking_precision(precision_sums, n_relevant, out):
    """Compute label ranking average precision: the mean precision at the ranks of relevant documents."""
    divide(precision_sums, n_relevant, out)


@kernel
def coverage_error(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """Compute the expected rank of the last relevant document, where documents not retrieved rank last."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        if hit_ties[h] == 1:
            out[query] = hit_above[h] + 1.0 if hit_labels[h] >= rel else out[query]
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            last_place = n_tied_relevant * (hit_ties[h] + 1.0) / (n_tied_relevant + 1.0)
            out[query] = hit_above[h] + last_place if n_tied_relevant > 0 else out[query]
    for q in range(out.shape[0]):
        n_unretrieved = n_relevant[q] - n_relevant_ranked[q]
        if n_unretrieved > 0:
            out[q] = sizes[q] + n_unretrieved
        elif not n_relevant[q] > 0:
            out[q] = math.nan


@kernel(allocates=True)
def precision_at_recall(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, recall, out):
    """Compute the expected precision at the first rank with the recall, 0 if no rank has it."""
    n_needed = np.empty(out.shape[0], np.int64)
    for q in range(out.shape[0]):
        n_needed[q] = max(np.ceil(recall * n_relevant[q] - 1e-9), 1.0)  # the float64 product 0.7 · 10 exceeds 7
        out[q] = 0.0 if n_relevant[q] > 0 else math.nan
    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        precision = 0.0
        if hit_ties[h] == 1:
            is_relevant = hit_labels[h] >= rel
            n_before += is_relevant
            has_recall = np.int64(is_relevant & (n_before == n_needed[query]))
            precision = n_before * has_recall / (hit_above[h] + 1)  # without a branch, which would be unpredictable
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            n = n_needed[query] - n_before
            if 0 < n <= n_tied_relevant:
                precision = n_needed[query] * expected_reciprocal(hit_above[h], hit_ties[h], n_tied_relevant, n)
            n_before += n_tied_relevant
        out[query] += precision


@inline
def expected_reciprocal(above, size, n_tied_relevant, n):
    """
    Return the expected 1 / rank of the n-th relevant document of a tie group.

    Probabilities are relative to that of a place near the mean, so that none overflows.
    """
    first = n
    last = size - n_tied_relevant + n
    middle = min(max(n * (size + 1) // (n_tied_relevant + 1), first), last)
    weights = 0.0
    value = 0.0
    weight = 1.0
    for place in range(middle, last + 1):
        weights += weight
        value += weight / (above + place)
        weight *= place * (last - place) / ((place - n + 1) * max(size - place, 1))
    weight = 1.0
    for place in range(middle - 1, first - 1, -1):
        weight *= (place - n + 1) * (size - place) / (place * (last - place))
        weights += weight
        value += weight / (above + place)
    return value / weights
