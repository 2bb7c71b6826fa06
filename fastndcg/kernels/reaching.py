"""
Metrics of the ranks at which relevant documents are reached: LRAP, coverage error, precision at a recall.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels    (n_hits,)     float64
rel           a document is relevant if its label is at least this
n_relevant, n_relevant_ranked   (n_queries,)  float64, all relevant documents, and those that are ranked
precision_sums   (n_queries,)  float64, expected sum of the precisions at relevant documents
sizes         (n_queries,)  int64, how many documents are ranked
recall        the share of the relevant documents that is to be reached
out           (n_queries,)  float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.precision import group_of


@kernel
def label_ranking_precision(precision_sums, n_relevant, out):
    """Mean over the relevant documents of the share of relevant ones among those down to it."""
    for q in range(out.shape[0]):
        out[q] = precision_sums[q] / n_relevant[q] if n_relevant[q] > 0 else math.nan


@kernel
def coverage_error(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """
    Expected rank of the last relevant document; those that were not retrieved stand below all others.

    The last of n places drawn from m is on average n (m + 1) / (n + 1).
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        if hit_ties[h] == 1:
            out[query] = hit_above[h] + 1.0 if hit_labels[h] >= rel else out[query]
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            last = n_inside * (hit_ties[h] + 1.0) / (n_inside + 1.0)
            out[query] = hit_above[h] + last if n_inside > 0 else out[query]
    for q in range(out.shape[0]):
        n_lost = n_relevant[q] - n_relevant_ranked[q]
        out[q] = sizes[q] + n_lost if n_lost > 0 else out[q] if n_relevant[q] > 0 else math.nan


@allocating_kernel
def precision_at_recall(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, recall, out):
    """Expected precision at the rank where the recall is reached, 0 where it is not."""
    wanted = np.empty(out.shape[0], np.int64)
    for q in range(out.shape[0]):
        wanted[q] = max(np.ceil(recall * n_relevant[q] - 1e-9), 1.0)  # 0.7 · 10 is a little more than 7
        out[q] = 0.0 if n_relevant[q] > 0 else math.nan
    end = 0
    last_query = np.uint32(0)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before *= query == last_query
        last_query = query
        found = 0.0
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            n_before += relevant
            reached = np.int64(relevant & (n_before == wanted[query]))
            found = n_before * reached / (hit_above[h] + 1)  # no branch, which would be taken once a query
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            n = wanted[query] - n_before
            if 0 < n <= n_inside:
                found = wanted[query] * mean_reciprocal(hit_above[h], hit_ties[h], n_inside, n)
            n_before += n_inside
        out[query] += found


@part
def mean_reciprocal(above, ties, n_inside, n):
    """
    Expected 1 / rank of the nth of `n_inside` relevant documents of a tie group.

    Its place is negative hypergeometric; weights are relative to one near its mean, so that none of them overflows.
    """
    first = n
    last = ties - n_inside + n
    middle = min(max(n * (ties + 1) // (n_inside + 1), first), last)
    weights = 0.0
    value = 0.0
    weight = 1.0
    for place in range(middle, last + 1):
        weights += weight
        value += weight / (above + place)
        weight *= place * (last - place) / ((place - n + 1) * max(ties - place, 1))
    weight = 1.0
    for place in range(middle - 1, first - 1, -1):
        weight *= (place - n + 1) * (ties - place) / (place * (last - place))
        weights += weight
        value += weight / (above + place)
    return value / weights
