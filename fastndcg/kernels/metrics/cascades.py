"""
Compute the metrics of users who may stop, adapt, or compare with an ideal ranking.

ERR (Chapelle et al. 2009) is the expected 1 / rank of the rank where a user stops, who reaches rank r with the
probability that no document above made them stop. PFound weights rank r with decay^(r − 1) in place of 1 / r.

Ties: let e_j be the mean, over all draws of j documents from the tie group, of the probability to pass all j. This is
the elementary symmetric polynomial of degree j in the probabilities to pass each document, over the number of draws.
`fill_group` updates these means, and those to stop at the j-th document, one document after the other. Every term is
positive, so that no digits cancel.

INST is a weighted mean of the gains (Moffat, Bailey, Scholer and Thomas 2017). The weight of a rank is proportional to
1 / (2 · goal + x)², where x is the number of ranks above less the gains above. Between two gains the weights are
scale / (2 · goal + x)², with x rising by 1 a rank. Their sum is a difference of two values of the trigamma function. A
gain of 1 leaves x as it is. INST and BPM have no expectation over orders. The engine has put the hits in an order.

Compatibility is the rank-biased overlap (RBO) of a ranking with the nearest ideal one (Clarke et al. 2021). An ideal
ranking has falling labels. Among those, the nearest has the documents of one label in their ranked order: the j-th hit
with a label has the j-th ideal rank of this label. A document is among the first d of both rankings from
d = max(rank, ideal rank) on. It adds the tail weight of that rank: the sum of p^(d − 1) / d over d up to k. The value
is divided by the overlap of the ideal ranking with itself.

Ties: the rank of the j-th of m documents with one label, in a tie group of n, is negative hypergeometric. Its expected
weight falls with j. After one that is too small to change the sum, the rest of the m are skipped. Without this, a
million tied documents with 10,000 relevant ones took over 25 s.

hit_stops         (n_hits,)         float64, probability to stop at the hit
falling_stops     (n_ideal,)        float64, the same for the ideal ranking, query q from falling_offsets[q] on
ideal_err         (n_queries,)      float64, ERR of the ideal ranking
decay, p          probability to go on from one rank to the next
half_life, words  seconds until the gain is halved; mean number of words in a document
hit_unit_gains    (n_hits,)         float64, gains from 0 to 1
goal              float64, total gain that the user wants
ideal_labels      (n_best,)         float64, labels of the ideal ranking: falling, labels below 0 last
ideal_offsets     (n_queries + 1,)  int64
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.metrics.hits import NO_QUERY, count_positive, count_tied_relevant, find_group_end
from fastndcg.kernels.shared import MAX_RANK

NEGLIGIBLE_REACH = 2.0**-60  # relative to a sum: below its last digit
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
    return int(min(float(n_ranks), 1.0 + (math.log(NEGLIGIBLE_REACH) + math.log(mean)) / math.log1p(-mean)))


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
    deepest = min(deepest, int(math.log(NEGLIGIBLE_REACH) / math.log(decay)) + 1)
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


MAX_TABLE_SIZE = 1024
# columns of the table of weights
TAIL_SUM = 0
FIRST_TERM = 1
SHRINKAGE = 2


class InstState(NamedTuple):
    """State of each query after its last gain: total gain, sum of weights, scale and tail sum of the weights below."""

    gains: np.ndarray
    weights: np.ndarray
    scales: np.ndarray
    tails: np.ndarray


@inline
def trigamma(x):
    """
    Return the sum of 1 / (x + j)² over j = 0, 1, ….

    The terms below x = 16 are added one by one, the rest by the Euler-Maclaurin formula (Abramowitz and Stegun 6.4.12).
    """
    total = 0.0
    while x < 16.0:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    rest = 1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0 - y * (691.0 / 2730.0)))))
    return total + y * (x + 0.5 + rest / x)


@inline
def tabulate_weights(goal, out_table):
    """Tabulate for whole x: sum of 1 / (2 · goal + x)² from x on, its first term, and the factor of the scale."""
    for i in range(out_table.shape[0]):
        x = 2.0 * goal + i
        out_table[i, TAIL_SUM] = trigamma(x)
        out_table[i, FIRST_TERM] = (1.0 / x) * (1.0 / x)
        out_table[i, SHRINKAGE] = ((x - 1.0) / x) * ((x - 1.0) / x)


@helper
def add_weighted_gains(hit_queries, hit_above, hit_unit_gains, goal, k, table, state, out):
    """Add up weighted gains down to the last hit of each query, and write the state there."""
    last_query = NO_QUERY
    total = 0.0
    weight = 0.0
    gain_above = 0.0
    tail = 0.0
    scale = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        is_same = query == last_query
        last_query = query
        total = total if is_same else 0.0
        weight = weight if is_same else 0.0
        gain_above = gain_above if is_same else 0.0
        tail = tail if is_same else table[0, TAIL_SUM]
        scale = scale if is_same else 4.0 * goal * goal
        gain = hit_unit_gains[h] if hit_above[h] < k else 0.0
        offset = hit_above[h] - gain_above
        row = np.uint32(max(offset, 0.0))
        if gain == 1.0 and row == offset and row + 1 < table.shape[0]:
            weight += scale * (tail - table[row + np.uint32(1), TAIL_SUM])
            total += scale * table[row, FIRST_TERM]
            tail = table[row, TAIL_SUM]
            scale *= table[row, SHRINKAGE]
        elif gain > 0.0:
            x = 2.0 * goal + offset
            weight += scale * (tail - trigamma(x + 1.0))
            total += gain * (scale * ((1.0 / x) * (1.0 / x)))
            tail = trigamma(x + (1.0 - gain))
            scale *= ((x - gain) / x) * ((x - gain) / x)
        gain_above += gain
        out[query] = total
        state.gains[query] = gain_above
        state.weights[query] = weight
        state.scales[query] = scale
        state.tails[query] = tail


@kernel(allocates=True)
def inst(hit_queries, hit_above, hit_unit_gains, goal, k, out):
    """Compute INST: the mean gain of the ranks, weighted by the probability that a user looks at them."""
    deepest = k - 1 if k < MAX_RANK else 0
    for h in range(hit_above.shape[0]):
        deepest = max(deepest, hit_above[h])
    table = np.empty((min(deepest + 2, MAX_TABLE_SIZE), 3))
    tabulate_weights(goal, table)
    gains = np.zeros(out.shape[0])
    weights = np.zeros(out.shape[0])
    scales = np.full(out.shape[0], 4.0 * goal * goal)
    tails = np.full(out.shape[0], table[0, TAIL_SUM])
    for q in range(out.shape[0]):
        out[q] = 0.0
    state = InstState(gains, weights, scales, tails)
    add_weighted_gains(hit_queries, hit_above, hit_unit_gains, goal, k, table, state, out)
    for q in range(out.shape[0]):
        if k < MAX_RANK:
            offset = k - gains[q]
            row = np.uint32(max(offset, 0.0))
            is_in_table = row == offset and row < table.shape[0]
            tails[q] -= table[row, TAIL_SUM] if is_in_table else trigamma(2.0 * goal + offset)
        out[q] = min(out[q] / (weights[q] + scales[q] * tails[q]), 1.0)


@kernel
def bejeweled_player(hit_above, hit_gains, hit_offsets, goal, k, out):
    """
    Compute BPM: the mean gain of the ranks down to the one where the gains reach the goal, or down to rank k.

    See Zhang et al. 2017, doi:10.1145/3077136.3080841.
    """
    enough = goal - 1e-9  # the float64 sum 0.1 + 0.2 + 0.3 may be below 0.6
    for q in range(out.shape[0]):
        total = 0.0
        rank = float(k) if k < MAX_RANK else np.inf
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            total += hit_gains[h]
            if total >= enough:
                rank = hit_above[h] + 1.0
                break
        out[q] = total / rank


NEGLIGIBLE_WEIGHT = 1e-18  # relative to the sum of all weights: below its last digit
MAX_TERMS = 1 << 20  # terms of a tail that are added one by one
BLOCK = 256  # ranks whose tails are added up from the last of them


@kernel(allocates=True)
def compatibility(
    hit_above, hit_ties, hit_labels, hit_offsets, ideal_labels, ideal_offsets, p, k, out
):  # fmt: skip
    """Compute the overlap with the nearest ideal ranking, over the overlap of that ranking with itself."""
    deepest = 0
    for q in range(out.shape[0]):
        deepest = max(deepest, ideal_offsets[q + 1] - ideal_offsets[q])
        out[q] = 0.0
    for h in range(hit_offsets[-1]):
        deepest = max(deepest, hit_above[h] + hit_ties[h])
    n_ranks = (deepest + BLOCK - 1) // BLOCK * BLOCK
    tails = np.empty(n_ranks + 1)
    ideal_overlaps = np.zeros(n_ranks + 1)
    fill_tail_weights(p, k, tails)
    for rank in range(1, deepest + 1):
        ideal_overlaps[rank] = ideal_overlaps[rank - 1] + tails[rank]
    n_matched = np.empty(deepest + 1, np.int32)
    match_labels(hit_above, hit_ties, hit_labels, hit_offsets, ideal_labels, ideal_offsets, tails, n_matched, out)
    for q in range(out.shape[0]):
        n_ideal = count_positive(ideal_labels, ideal_offsets[q], ideal_offsets[q + 1])
        out[q] = min(out[q] / ideal_overlaps[n_ideal], 1.0) if n_ideal > 0 else np.nan


@inline
def match_labels(hit_above, hit_ties, hit_labels, hit_offsets, ideal_labels, ideal_offsets, tails, out_n_matched, out):
    """
    Add up the overlap of each query where labels differ.

    out_n_matched[i] counts the hits so far with the label whose first ideal rank is i + 1.
    """
    for q in range(out.shape[0]):
        start = ideal_offsets[q]
        n_ideal = count_positive(ideal_labels, start, ideal_offsets[q + 1])
        out_n_matched[:n_ideal] = 0
        j = 0  # the hit is the j-th of m with its label in its tie group
        m = 0
        is_negligible = False
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            first = find_first_place(ideal_labels, start, n_ideal, hit_labels[h])
            if hit_ties[h] > 1:
                j += 1
                if j > m:
                    j = 1
                    m = count_same_label(hit_above, hit_labels, h, hit_offsets[q + 1])
                    is_negligible = False
            if first < n_ideal and hit_labels[h] > 0.0:
                out_n_matched[first] += 1
                rank = first + out_n_matched[first]
                if rank <= n_ideal and hit_ties[h] == 1:
                    out[q] += tails[max(rank, hit_above[h] + 1)]
                elif rank <= n_ideal and not is_negligible:
                    weight = expected_tail_weight(tails, rank, hit_above[h], hit_ties[h], m, j)
                    out[q] += weight
                    is_negligible = weight <= NEGLIGIBLE_WEIGHT * out[q]


@inline
def count_same_label(hit_above, hit_labels, h, stop):
    """Return the number of hits from `h` on that have its label and tie with it."""
    m = 1
    while h + m < stop and hit_above[h + m] == hit_above[h] and hit_labels[h + m] == hit_labels[h]:
        m += 1
    return m


@inline
def expected_tail_weight(tails, rank, above, size, m, j):
    """
    Return the mean tail weight at the larger of an ideal rank and the rank of the j-th of m documents of a tie group.

    That document is at place x of the group with probability C(x − 1, j − 1) · C(size − x, m − j) / C(size, m). The
    ratios of neighbouring probabilities are followed up and down from near the mean.
    """
    middle = min(max(j * (size + 1) // (m + 1), j), size - m + j)
    total = 1.0
    value = tails[max(rank, above + middle)]
    probability = 1.0
    for x in range(middle, size - m + j):
        probability *= x / (x - j + 1) * ((size - x - m + j) / (size - x))
        total += probability
        value += probability * tails[max(rank, above + x + 1)]
        if probability < NEGLIGIBLE_WEIGHT:
            break
    probability = 1.0
    for x in range(middle, j, -1):
        probability *= (x - j) / (x - 1) * ((size - x + 1) / (size - x + 1 - m + j))
        total += probability
        value += probability * tails[max(rank, above + x - 1)]
        if probability == 0.0:
            break
    return value / total


@inline
def find_first_place(labels, start, n, label):
    """Return the first of n places, from 0, with `label` or less, where labels fall."""
    place = 0
    size = n
    while size > 0 and labels[start + place] > label:
        half = size // 2
        is_above = labels[start + place + half] > label
        place += half + 1 if is_above else 0
        size = size - half - 1 if is_above else half
    return place


@inline
def fill_tail_weights(p, k, out_tails):
    """
    Write for each rank r the sum of p^(d − 1) / d over d = r, …, k.

    Each block of ranks starts from a separate tail, so that the bits do not depend on the number of ranks.
    """
    for end in range(BLOCK, out_tails.shape[0], BLOCK):
        tail = tail_weight(p, k, end)
        for rank in range(end, end - BLOCK, -1):
            if rank <= k:
                tail += p ** (rank - 1) / rank
            out_tails[rank] = tail


@inline
def tail_weight(p, k, last):
    """Return the sum of p^(d − 1) / d over d = last + 1, …, k, in closed form if that has too many terms."""
    n = np.log(NEGLIGIBLE_WEIGHT) / np.log(p)
    tail = 0.0
    if n > MAX_TERMS and k >= MAX_RANK:
        tail = -np.log1p(-p)
        for rank in range(1, last + 1):
            tail -= p**rank / rank
        return max(tail / p, 0.0)
    weight = p**last
    for rank in range(last + 1, min(k, last + 1 + np.int64(min(n, MAX_RANK))) + 1):
        tail += weight / rank
        weight *= p
    return tail
