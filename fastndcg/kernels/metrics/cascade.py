"""
Compute metrics of a user who stops at a document with some probability: ERR, nERR, PFound and time-biased gain.

A user reaches rank r with the probability that no document above made them stop. ERR (Chapelle et al. 2009) is the
expected 1 / rank of the rank where the user stops. PFound weights rank r with decay^(r − 1) in place of 1 / r.

Ties: let e_j be the mean, over all draws of j documents from the tie group, of the probability to pass all j. This is
the elementary symmetric polynomial of degree j in the probabilities to pass each document, over the number of draws.
`fill_group` updates these means, and those to stop at the j-th document, one document after the other. Every term is
positive, so that no digits cancel.

hit_stops                  (n_hits,)   float64, probability to stop at the hit
falling_stops              (n_ideal,)  float64, the same for the ideal ranking, query q from falling_offsets[q] on
label_offsets              (n_queries + 1,)  int64, as falling_offsets, where all documents have one label
ideal_err       (n_queries,)      float64, ERR of the ideal ranking
decay                      probability to go on from one rank to the next
half_life, words           seconds until the gain is halved; mean number of words in a document
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import NO_QUERY, count_tied_relevant, find_group_end

NEGLIGIBLE = 2.0**-60  # relative to a sum: below its last digit
# Smucker and Clarke 2012, table 1: seconds to read, and probabilities to click and to save
SECONDS_PER_SUMMARY = 4.4
SECONDS_PER_WORD = 0.018
SECONDS_PER_DOCUMENT = 7.8
P_CLICK_RELEVANT = 0.64
P_CLICK_OTHER = 0.39
P_SAVE_RELEVANT = 0.77


@inline
def find_deepest_rank(hit_above, hit_ties, k):
    """Return the lowest rank of any hit, at most k."""
    deepest = 0
    for h in range(hit_above.shape[0]):
        deepest = max(deepest, hit_above[h] + hit_ties[h])
    return min(deepest, k)


@inline
def fill_weights(decay, out_weights):
    """Write the weight of each rank: decay^(rank − 1), or 1 / rank if decay is 1, and 0 for rank 0."""
    out_weights[0] = 0.0
    for r in range(1, out_weights.shape[0]):
        out_weights[r] = 1.0 / r if decay == 1.0 else decay ** (r - 1)


@inline
def fill_group(stops, start, stop, size, n_ranks, out_passing, out_stopping):
    """
    Write for j = 1, …, n_ranks the probabilities to pass the first j ranks of a tie group and to stop at the j-th.

    The group has `size` documents. Its hits are `start` up to `stop`. A user passes all other documents. A new document
    is the last one drawn in 1 of n cases, an earlier one in j − 1, and not drawn in n − j.
    """
    n = size - (stop - start)
    for j in range(n_ranks + 1):
        out_passing[j] = 1.0 if j <= n else 0.0
        out_stopping[j] = 0.0
    for h in range(start, stop):
        n += 1
        p_pass = 1.0 - stops[h]
        for j in range(min(n_ranks, n), 0, -1):
            stop_last = stops[h] * out_passing[j - 1]
            out_stopping[j] = (stop_last + (j - 1) * p_pass * out_stopping[j - 1] + (n - j) * out_stopping[j]) / n
            out_passing[j] = (j * p_pass * out_passing[j - 1] + (n - j) * out_passing[j]) / n


@inline
def count_reached_ranks(stops, start, stop, size, n_ranks):
    """
    Return the number of the first ranks of a tie group that a user reaches with a probability that matters.

    By Maclaurin's inequality, the probability to pass j documents is at most the j-th power of the mean probability to
    pass one.
    """
    mean = 0.0
    for h in range(start, stop):
        mean += stops[h]
    mean /= size
    if mean <= 0.0 or mean >= 1.0:
        return min(n_ranks, 1) if mean > 0.0 else 0
    return int(min(float(n_ranks), 1.0 + (math.log(NEGLIGIBLE) + math.log(mean)) / math.log1p(-mean)))


@inline
def add_expected_stops(hit_queries, hit_above, hit_ties, hit_stops, k, decay, out):
    """Compute the expected weight of the rank where a user stops: 1 / rank, or decay^(rank − 1) if decay is below 1."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    deepest = find_deepest_rank(hit_above, hit_ties, k)
    weights = np.empty(deepest + 1)
    fill_weights(decay, weights)
    passing = np.empty(deepest + 1)
    stopping = np.empty(deepest + 1)
    end = 0
    last_query = NO_QUERY
    p_reach = 1.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        p_reach = p_reach if query == last_query else 1.0
        last_query = query
        share = 0.0
        above = hit_above[h]
        if hit_ties[h] == 1:
            share = p_reach * hit_stops[h] * weights[np.uint32(above + 1 if above < k else 0)]
            p_reach *= 1.0 - hit_stops[h]
        elif h >= end:
            end = find_group_end(hit_queries, hit_above, h)
            n_ranks = count_reached_ranks(hit_stops, h, end, hit_ties[h], min(hit_ties[h], k - above))
            fill_group(hit_stops, h, end, hit_ties[h], n_ranks, passing, stopping)
            for j in range(1, n_ranks + 1):
                share += stopping[j] * weights[above + j]
            share *= p_reach
            for i in range(h, end):
                p_reach *= 1.0 - hit_stops[i]
        out[query] += share


@kernel(allocates=True)
def expected_reciprocal_rank(hit_queries, hit_above, hit_ties, hit_stops, k, out):
    """Compute ERR@k: the expected 1 / rank of the rank where a user stops."""
    add_expected_stops(hit_queries, hit_above, hit_ties, hit_stops, k, 1.0, out)


@kernel
def ideal_err(falling_stops, falling_offsets, k, out):
    """Compute ERR@k of the ideal ranking."""
    for q in range(out.shape[0]):
        start = falling_offsets[q]
        out[q] = 0.0
        p_reach = 1.0
        for above in range(min(falling_offsets[q + 1] - start, k)):
            out[q] += p_reach * falling_stops[start + above] * (1.0 / (above + 1))
            p_reach *= 1.0 - falling_stops[start + above]


@kernel(allocates=True)
def normalised_reciprocal_rank(hit_queries, hit_above, hit_ties, hit_stops, ideal_err, k, out):
    """Compute nERR@k: ERR@k over that of the ideal ranking."""
    add_expected_stops(hit_queries, hit_above, hit_ties, hit_stops, k, 1.0, out)
    for q in range(out.shape[0]):
        best = ideal_err[q]
        out[q] = min(out[q] / best, 1.0) if best > 0.0 else math.nan


@kernel(allocates=True)
def pfound(hit_queries, hit_above, hit_ties, hit_stops, decay, k, out):
    """Compute PFound@k: the probability that a user finds a relevant document before they give up."""
    add_expected_stops(hit_queries, hit_above, hit_ties, hit_stops, k, decay, out)


@inline
def fill_slowdowns(size, n_slow, slowdown, n_ranks, out_slowdowns):
    """Write for each j the mean of slowdown^x over x, the number of slow documents among j draws from a tie group."""
    n = size - n_slow
    for j in range(n_ranks + 1):
        out_slowdowns[j] = 1.0 if j <= n else 0.0
    for _ in range(n_slow):
        n += 1
        for j in range(min(n_ranks, n), 0, -1):
            out_slowdowns[j] = (j * slowdown * out_slowdowns[j - 1] + (n - j) * out_slowdowns[j]) / n


@kernel(allocates=True)
def time_biased_gain(hit_queries, hit_above, hit_ties, hit_labels, rel, half_life, words, k, out):
    """
    Compute time-biased gain: the expected gain of relevant documents, halved after each `half_life` seconds.

    The time to reach a rank depends on the ranks and on the relevant documents above. A user reads relevant documents
    more often (Smucker and Clarke 2012).

    Ties: the documents of a tie group above a relevant one are a draw from the others of the group.
    """
    seconds = SECONDS_PER_WORD * words + SECONDS_PER_DOCUMENT
    decay = 0.5 ** ((SECONDS_PER_SUMMARY + P_CLICK_OTHER * seconds) / half_life)
    slowdown = 0.5 ** ((P_CLICK_RELEVANT - P_CLICK_OTHER) * seconds / half_life)
    for q in range(out.shape[0]):
        out[q] = 0.0
    deepest = find_deepest_rank(hit_above, hit_ties, k)
    weights = np.empty(deepest + 1)
    fill_weights(decay, weights)
    slowdowns = np.empty(deepest + 1)
    deepest = min(deepest, int(math.log(NEGLIGIBLE) / math.log(decay)) + 1)
    end = 0
    last_query = NO_QUERY
    gain = 1.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        gain = gain if query == last_query else P_CLICK_RELEVANT * P_SAVE_RELEVANT
        last_query = query
        share = 0.0
        above = hit_above[h]
        if hit_ties[h] == 1:
            is_relevant = hit_labels[h] >= rel
            share = gain * weights[np.uint32(above + 1 if above < k else 0)] if is_relevant else 0.0
            gain *= slowdown if is_relevant else 1.0
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            n_ranks = min(hit_ties[h], k - above, deepest) if n_tied_relevant > 0 else 0
            fill_slowdowns(hit_ties[h] - 1, n_tied_relevant - 1, slowdown, n_ranks - 1, slowdowns)
            for j in range(n_ranks):
                share += slowdowns[j] * weights[above + j + 1]
            share *= gain * (n_tied_relevant / hit_ties[h])
            gain *= slowdown**n_tied_relevant
        out[query] += share
