"""
Metrics of a user who stops at a document with some chance: ERR, nERR, PFound, time-biased gain.

Hits are in rank order, and one loop goes over those of all queries: see gain.py. Where scores tie, any order of a
group's documents is as likely. The chance to pass all of j documents drawn from the group is an elementary symmetric
polynomial of the chances to pass each, over the number of draws; `fill_group` finds these means and what they make of
the chance to stop at the j-th rank by adding one document after the other, so that nothing is ever subtracted.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels                (n_hits,)         float64
hit_stops, falling_stops  (n_hits,)         float64, the chance to stop at a document that is looked at; and for the
                          documents of the best order, of query q from falling_offsets[q] up to falling_offsets[q + 1]
label_offsets             (n_queries + 1,)  int64, the same where all have one label
best_reciprocal_rank      (n_queries,)      float64, of the best order
k                         how many ranks are looked at
decay                     the chance to go on from one rank to the next
rel, half_life, words     a document is relevant if its label is at least this; seconds; words in a document
out                       (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.precision import group_of

NEGLIGIBLE = 2.0**-60  # of a sum, below its last digit


@part
def deepest_rank(hit_above, hit_ties, k):
    """The last rank that a hit may have, k at the most."""
    deepest = 0
    for h in range(hit_above.shape[0]):
        deepest = max(deepest, hit_above[h] + hit_ties[h])
    return min(deepest, k)


@part
def fill_weights(decay, out_weights):
    """Weights of the ranks: decay to the power of the ranks above, 1 / rank for a decay of 1; 0 for rank 0."""
    out_weights[0] = 0.0
    for r in range(1, out_weights.shape[0]):
        out_weights[r] = 1.0 / r if decay == 1.0 else decay ** (r - 1)


@part
def fill_group(stops, start, stop, ties, n_ranks, out_passing, out_stopping):
    """
    For the first ranks of a tie group whose hits are start … stop: chances to pass j ranks, and to stop at the j-th.

    Those are means over all draws from the documents seen so far: a new one is the last drawn or among the other
    j − 1 or not drawn in 1, j − 1 and n − j of n cases. Documents that stop nobody begin.
    """
    n = ties - (stop - start)
    for j in range(n_ranks + 1):
        out_passing[j] = 1.0 if j <= n else 0.0
        out_stopping[j] = 0.0
    for h in range(start, stop):
        n += 1
        passed = 1.0 - stops[h]
        for j in range(min(n_ranks, n), 0, -1):
            last = stops[h] * out_passing[j - 1]
            out_stopping[j] = (last + (j - 1) * passed * out_stopping[j - 1] + (n - j) * out_stopping[j]) / n
            out_passing[j] = (j * passed * out_passing[j - 1] + (n - j) * out_passing[j]) / n


@part
def n_ranks_reached(stops, start, stop, ties, n_ranks):
    """
    How many of the first ranks of a tie group are reached with a chance that is not negligible.

    By Maclaurin's inequality the chance to pass j of them is at most the mean chance to pass one, to the power of j.
    """
    mean = 0.0
    for h in range(start, stop):
        mean += stops[h]
    mean /= ties
    if mean <= 0.0 or mean >= 1.0:
        return min(n_ranks, 1) if mean > 0.0 else 0
    return int(min(float(n_ranks), 1.0 + (math.log(NEGLIGIBLE) + math.log(mean)) / math.log1p(-mean)))


@part
def end_of_group(hit_queries, hit_above, h):
    """Where the tie group that begins at hit `h` ends."""
    end = h + 1
    while end < hit_above.shape[0] and hit_above[end] == hit_above[h] and hit_queries[end] == hit_queries[h]:
        end += 1
    return end


@part
def add_stops(hit_queries, hit_above, hit_ties, hit_stops, k, decay, out):
    """Expected 1 / rank where a user stops; or, with a decay below 1, decay to the power of the ranks gone past."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    deepest = deepest_rank(hit_above, hit_ties, k)
    weights = np.empty(deepest + 1)
    fill_weights(decay, weights)
    passing = np.empty(deepest + 1)
    stopping = np.empty(deepest + 1)
    end = 0
    last_query = np.uint32(0xFFFFFFFF)
    looking = 1.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        looking = looking if query == last_query else 1.0
        last_query = query
        share = 0.0
        above = hit_above[h]
        if hit_ties[h] == 1:
            share = looking * hit_stops[h] * weights[np.uint32(above + 1 if above < k else 0)]
            looking *= 1.0 - hit_stops[h]
        elif h >= end:
            end = end_of_group(hit_queries, hit_above, h)
            n_ranks = n_ranks_reached(hit_stops, h, end, hit_ties[h], min(hit_ties[h], k - above))
            fill_group(hit_stops, h, end, hit_ties[h], n_ranks, passing, stopping)
            for j in range(1, n_ranks + 1):
                share += stopping[j] * weights[above + j]
            share *= looking
            for i in range(h, end):
                looking *= 1.0 - hit_stops[i]
        out[query] += share


@allocating_kernel
def expected_reciprocal_rank(hit_queries, hit_above, hit_ties, hit_stops, k, out):
    """Expected 1 / rank where a user stops."""
    add_stops(hit_queries, hit_above, hit_ties, hit_stops, k, 1.0, out)


@kernel
def best_reciprocal_rank(falling_stops, falling_offsets, k, out):
    """The same of the best order."""
    for q in range(out.shape[0]):
        start = falling_offsets[q]
        out[q] = 0.0
        looking = 1.0
        for above in range(min(falling_offsets[q + 1] - start, k)):
            out[q] += looking * falling_stops[start + above] * (1.0 / (above + 1))
            looking *= 1.0 - falling_stops[start + above]


@allocating_kernel
def best_of_one_label(stop, label_offsets, k, out):
    """The same where all documents of the best order stop a user with the same chance."""
    most = 0
    for q in range(out.shape[0]):
        most = max(most, min(label_offsets[q + 1] - label_offsets[q], k))
    sums = np.empty(most + 1)
    sums[0] = 0.0
    looking = 1.0
    for r in range(1, most + 1):
        sums[r] = sums[r - 1] + looking * stop * (1.0 / r)
        looking *= 1.0 - stop
    for q in range(out.shape[0]):
        out[q] = sums[min(label_offsets[q + 1] - label_offsets[q], k)]


@allocating_kernel
def normalised_reciprocal_rank(hit_queries, hit_above, hit_ties, hit_stops, best_reciprocal_rank, k, out):
    """Expected 1 / rank as a share of what the best order has."""
    add_stops(hit_queries, hit_above, hit_ties, hit_stops, k, 1.0, out)
    for q in range(out.shape[0]):
        best = best_reciprocal_rank[q]
        out[q] = min(out[q] / best, 1.0) if best > 0.0 else math.nan


@allocating_kernel
def chance_to_find(hit_queries, hit_above, hit_ties, hit_stops, decay, k, out):
    """Chance that a user finds what they look for, who goes on from each rank with a chance below 1."""
    add_stops(hit_queries, hit_above, hit_ties, hit_stops, k, decay, out)


@part
def fill_passing(ties, n_slow, slower, n_ranks, out_passing):
    """Mean of `slower` to the power of how many slow documents j draws from a tie group have; see `fill_group`."""
    n = ties - n_slow
    for j in range(n_ranks + 1):
        out_passing[j] = 1.0 if j <= n else 0.0
    for _ in range(n_slow):
        n += 1
        for j in range(min(n_ranks, n), 0, -1):
            out_passing[j] = (j * slower * out_passing[j - 1] + (n - j) * out_passing[j]) / n


@allocating_kernel
def time_biased_gain(hit_queries, hit_above, hit_ties, hit_labels, rel, half_life, words, k, out):
    """
    Expected gain of the relevant documents, half as much after each half-life of reading.

    In a tie group, those above a relevant document are a draw from the others.
    """
    reading = 0.018 * words + 7.8
    faster = 0.5 ** ((4.4 + 0.39 * reading) / half_life)
    slower = 0.5 ** ((0.64 - 0.39) * reading / half_life)
    for q in range(out.shape[0]):
        out[q] = 0.0
    most = deepest_rank(hit_above, hit_ties, k)
    weights = np.empty(most + 1)
    fill_weights(faster, weights)
    passing = np.empty(most + 1)
    most = min(most, int(math.log(NEGLIGIBLE) / math.log(faster)) + 1)
    end = 0
    last_query = np.uint32(0xFFFFFFFF)
    patience = 1.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        patience = patience if query == last_query else 0.64 * 0.77
        last_query = query
        share = 0.0
        above = hit_above[h]
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            share = patience * weights[np.uint32(above + 1 if above < k else 0)] if relevant else 0.0
            patience *= slower if relevant else 1.0
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            n_ranks = min(hit_ties[h], k - above, most) if n_inside > 0 else 0
            fill_passing(hit_ties[h] - 1, n_inside - 1, slower, n_ranks - 1, passing)
            for j in range(n_ranks):
                share += passing[j] * weights[above + j + 1]
            share *= patience * (n_inside / hit_ties[h])
            patience *= slower**n_inside
        out[query] += share
