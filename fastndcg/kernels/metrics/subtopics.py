"""
Compute the metrics of judgments by subtopic, and the greedy ideal ranking.

The label of a document is the number of its pattern: the set of subtopics that it is relevant to. In novelty
metrics, a document has gain (1 − alpha)^x for each of its subtopics (Clarke et al. 2008). The number x counts the
documents above that are relevant to the same subtopic. Intent-aware metrics are the mean of a metric over subtopics.

Ties: every metric here is a sum over subtopics, and so is its expectation. The documents of a tie group that are
relevant to one subtopic are at any set of ranks of the group with equal probability.

The ideal ranking is found greedily: the optimal one is NP-hard to find. Each step takes the document with the highest
gain after those chosen so far, the first of them if several have it. Documents with one pattern have equal gains, so
that only the first of them that is left is compared.

hit_labels        (n_hits,)       float64, numbers of patterns; below 0 for none
judged_labels, judged_offsets     the same for all judged documents that are relevant to a subtopic
pattern_offsets, pattern_subtopics   pattern p has subtopics pattern_offsets[p] up to pattern_offsets[p + 1]
n_slots           upper bound of the numbers of subtopics
n_subtopics       (n_queries,)    float64, number of subtopics with a relevant document
n_covered, support  (n_queries,)  float64, expected number, or weight, of the subtopics in the first k ranks
total_importance  (n_queries,)    float64, weight of all subtopics
all_covered       (n_queries,)    float64, probability that the first k ranks cover all subtopics
weights           (k_max + 1,)    float64, weights[r] belongs to rank r
novelty           (n_queries,)    float64, sum of gain · weight over the first k ranks
ideal_novelty     (n_queries,)    float64, that sum for the ideal ranking: see `best_order`
max_novelty       (n_queries,)    float64, that sum for documents that are relevant to all subtopics
alpha             share of its gain that a subtopic loses with each document
depth             number of ranks
out_labels        (n_judged,)     float64, patterns of the documents of each query in ideal order
out_above, out_ties  (n_judged,)  int32, ranks less one; 1, as the ideal ranking has no ties
out_offsets       (n_queries + 1,)  int64
"""

import math

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.metrics.counts import expected_precision_sum
from fastndcg.kernels.metrics.first_relevant import find_success_probability

TINY = 1e-300  # a probability that is dropped
NEGLIGIBLE = 2.0**-60  # relative to a sum: below its last digit


@inline
def find_pattern(label, pattern_offsets):
    """Return the pattern of a document, or pattern 0 without subtopics for a label that is no pattern."""
    return np.int64(label) if 0.0 < label < pattern_offsets.shape[0] - 1 else 0


@inline
def first_entry(label, pattern_offsets):
    """Return the first entry of a document's subtopics in `pattern_subtopics`."""
    return pattern_offsets[find_pattern(label, pattern_offsets)]


@inline
def last_entry(label, pattern_offsets):
    """Return the entry after the last of a document's subtopics in `pattern_subtopics`."""
    return pattern_offsets[find_pattern(label, pattern_offsets) + 1]


@helper
def count_tied_by_subtopic(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, out_counts):
    """Count the relevant documents of the tie group that begins at hit `h` by subtopic, and return its end."""
    end = h
    out_counts[:] = 0
    while end < stop and hit_above[end] == hit_above[h]:
        for e in range(first_entry(hit_labels[end], pattern_offsets), last_entry(hit_labels[end], pattern_offsets)):
            out_counts[pattern_subtopics[e]] += 1
        end += 1
    return end


@kernel(allocates=True)
def novelty(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_slots, weights, alpha, k, out
):  # fmt: skip
    """Compute the expected sum of gain · weight over the first k ranks."""
    n_before = np.empty(n_slots, np.int64)
    n_tied = np.empty(n_slots, np.int64)
    powers = fill_powers(1.0 - alpha, hit_offsets)
    probabilities = np.empty(powers.shape[0])
    for q in range(out.shape[0]):
        n_before[:] = 0
        total = 0.0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        while h < stop and hit_above[h] < k:
            if hit_ties[h] == 1:
                gain = 0.0
                for e in range(first_entry(hit_labels[h], pattern_offsets), last_entry(hit_labels[h], pattern_offsets)):
                    s = pattern_subtopics[e]
                    gain += powers[n_before[s]]
                    n_before[s] += 1
                total += gain * weights[hit_above[h] + 1]
                h += 1
                continue
            end = count_tied_by_subtopic(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, n_tied)
            last = min(hit_above[h] + hit_ties[h], k)
            for s in range(n_slots):
                if n_tied[s] > 0:
                    total += powers[n_before[s]] * group_novelty(
                        hit_above[h], hit_ties[h], last, n_tied[s], powers, weights, probabilities
                    )
                    n_before[s] += n_tied[s]
            h = end
        out[q] = total


@inline
def fill_powers(factor, offsets):
    """Return the powers of a factor from 0 to the number of hits of the longest query, and one more."""
    longest = 0
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    powers = np.ones(longest + 2)
    for i in range(1, longest + 2):
        powers[i] = powers[i - 1] * factor
    return powers


@helper
def group_novelty(above, size, last, n_tied, powers, weights, out_probabilities):
    """
    Return the expected sum of gain · weight of one subtopic in a tie group, down to rank `last`.

    The group has `n_tied` documents that are relevant to the subtopic. out_probabilities[x] is the probability that x
    of them are above rank r. The next one is at rank r with probability (n_tied − x) / n_left. No term is negative and
    no weight rises, so that the loop may stop at a negligible term.
    """
    total = 0.0
    if powers[1] == 1.0:  # alpha is 0: documents above do not matter
        for r in range(above + 1, last + 1):
            total += weights[r]
        return total * (n_tied / size)
    out_probabilities[: n_tied + 1] = 0.0
    out_probabilities[0] = 1.0
    lowest = 0  # only numbers from lowest to highest have a probability: ties of a constant scorer may be huge
    highest = 0
    for r in range(above + 1, last + 1):
        n_left = above + size - r + 1
        gain = 0.0
        for x in range(min(n_tied - 1, highest), lowest - 1, -1):
            at_rank = out_probabilities[x] * ((n_tied - x) / n_left)
            gain += at_rank * powers[x]
            out_probabilities[x + 1] += at_rank
            out_probabilities[x] *= (n_left - n_tied + x) / n_left
        total += gain * weights[r]
        if gain * weights[r] * (last - r) <= total * NEGLIGIBLE:
            break
        highest = drop_tiny(lowest, min(highest + 1, n_tied), out_probabilities)
        while lowest < highest and out_probabilities[lowest] < TINY:
            lowest += 1
    return total


@inline
def drop_tiny(lowest, highest, out_probabilities):
    """Return the highest number with a probability of TINY or more, and set those above it to 0."""
    while highest > lowest and out_probabilities[highest] < TINY:
        out_probabilities[highest] = 0.0
        highest -= 1
    return highest


@kernel(allocates=True)
def count_subtopics(judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots, out):
    """Count the subtopics of each query that have a relevant document."""
    last_query = np.full(n_slots, -1)
    for q in range(out.shape[0]):
        n = 0
        for c in range(judged_offsets[q], judged_offsets[q + 1]):
            label = judged_labels[c]
            for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                n += last_query[pattern_subtopics[e]] != q
                last_query[pattern_subtopics[e]] = q
        out[q] = n


@kernel
def precision_ia(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_subtopics,
    precision_denominators, k, out,
):  # fmt: skip
    """Compute P-IA@k: the mean of the subtopics' P@k."""
    for q in range(out.shape[0]):
        total = 0.0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            n = last_entry(hit_labels[h], pattern_offsets) - first_entry(hit_labels[h], pattern_offsets)
            total += n * (min(k - hit_above[h], hit_ties[h]) / hit_ties[h])
        if n_subtopics[q] == 0:
            out[q] = math.nan
        else:
            out[q] = total / (n_subtopics[q] * precision_denominators[q]) if total > 0.0 else 0.0


@kernel(allocates=True)
def average_precision_ia(
    hit_labels, hit_above, hit_ties, hit_offsets, judged_labels, judged_offsets, pattern_offsets, pattern_subtopics,
    n_slots, n_subtopics, k, out,
):  # fmt: skip
    """Compute AP-IA@k: the mean of the subtopics' AP@k."""
    n_relevant = np.empty(n_slots, np.int64)
    n_before = np.empty(n_slots, np.int64)
    n_tied = np.empty(n_slots, np.int64)
    for q in range(out.shape[0]):
        n_relevant[:] = 0
        n_before[:] = 0
        for c in range(judged_offsets[q], judged_offsets[q + 1]):
            label = judged_labels[c]
            for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                n_relevant[pattern_subtopics[e]] += 1
        total = 0.0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        while h < stop and hit_above[h] < k:
            above = hit_above[h]
            size = hit_ties[h]
            last = min(above + size, k)
            h = count_tied_by_subtopic(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, n_tied)
            for s in range(n_slots):
                if n_tied[s] > 0:
                    total += expected_precision_sum(above, size, last, n_tied[s], n_before[s]) / n_relevant[s]
                    n_before[s] += n_tied[s]
        out[q] = total / n_subtopics[q] if n_subtopics[q] > 0 else math.nan


@kernel(allocates=True)
def cover(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_slots, weights, weight_offsets,
    k, out,
):  # fmt: skip
    """Compute the expected weight of the subtopics with a relevant document in the first k ranks."""
    n_before = np.empty(n_slots, np.int64)
    n_tied = np.empty(n_slots, np.int64)
    for q in range(out.shape[0]):
        n_before[:] = 0
        total = 0.0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        while h < stop and hit_above[h] < k:
            above = hit_above[h]
            size = hit_ties[h]
            h = count_tied_by_subtopic(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, n_tied)
            for s in range(n_slots):
                if n_tied[s] > 0 and n_before[s] == 0:
                    total += weights[weight_offsets[q] + s] * find_success_probability(above, size, n_tied[s], k)
                n_before[s] += n_tied[s]
        out[q] = total


@kernel
def subtopic_recall(n_covered, n_subtopics, out):
    """Compute S-recall@k: the share of the subtopics with a relevant document in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = min(n_covered[q] / n_subtopics[q], 1.0) if n_subtopics[q] > 0 else math.nan


@kernel
def nugget_recall(support, total_importance, out):
    """Compute the nugget recall: the weight of the nuggets that the first k documents support, over that of all."""
    for q in range(out.shape[0]):
        out[q] = min(support[q] / total_importance[q], 1.0) if total_importance[q] > 0.0 else math.nan


MOST_TIED = 16  # subtopics: 2^16 sets of them take 1 ms a query


@kernel(allocates=True)
def cover_all(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_slots, n_subtopics, k, out
):  # fmt: skip
    """
    Compute the probability that the first k ranks have a relevant document of every subtopic.

    -1 for a query in which it depends on more than MOST_TIED subtopics within one tie group.
    """
    bits = np.empty(n_slots, np.int64)  # of subtopics that are still missing, -1 for those found
    n_tied = np.empty(n_slots, np.int64)
    counts = np.empty(1 << MOST_TIED, np.int64)
    chances = fill_powers(1.0, hit_offsets)
    for q in range(out.shape[0]):
        bits[:] = 0
        n_missing = np.int64(n_subtopics[q])
        out[q] = 0.0 if n_missing > 0 else math.nan
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        while n_missing > 0 and h < stop and hit_above[h] < k:
            n_drawn = min(k - hit_above[h], hit_ties[h])
            end = count_tied_by_subtopic(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, n_tied)
            n_found = 0
            for s in range(n_slots):
                if n_tied[s] > 0 and bits[s] == 0:
                    n_found += 1
                    bits[s] = -n_found if n_drawn < hit_ties[h] else -MOST_TIED - 1
            if n_drawn == hit_ties[h]:
                n_missing -= n_found
                out[q] = 1.0 if n_missing == 0 else 0.0
            elif n_found == n_missing:  # else a subtopic is missing below rank k
                out[q] = -1.0
                if n_found <= MOST_TIED:
                    count_patterns(hit_labels, h, end, pattern_offsets, pattern_subtopics, bits, counts[: 1 << n_found])
                    out[q] = draw_all(hit_ties[h], end - h, n_drawn, counts[: 1 << n_found], chances)
            h = end


@helper
def count_patterns(hit_labels, h, end, pattern_offsets, pattern_subtopics, bits, out_counts):
    """Count the documents of a tie group whose missing subtopics are all in a set, by the bits of the set."""
    out_counts[:] = 0
    for d in range(h, end):
        members = 0
        for e in range(first_entry(hit_labels[d], pattern_offsets), last_entry(hit_labels[d], pattern_offsets)):
            place = -bits[pattern_subtopics[e]] - 1
            if place < MOST_TIED:
                members |= 1 << place
        out_counts[members] += 1
    step = 1
    while step < out_counts.shape[0]:
        for members in range(out_counts.shape[0]):
            if members & step:
                out_counts[members] += out_counts[members ^ step]
        step *= 2


@helper
def draw_all(size, n_hits, n_drawn, counts, out_chances):
    """
    Return the probability that `n_drawn` of `size` documents have every subtopic between them.

    By inclusion and exclusion over the sets of subtopics. counts[s] hits have no subtopic beyond the set s, and
    size - n_hits documents have none at all. out_chances[i]: all drawn documents are among size - i of them.
    """
    out_chances[0] = 1.0
    for i in range(n_hits):
        out_chances[i + 1] = out_chances[i] * (max(size - i - n_drawn, 0) / (size - i))
    total = 0.0
    for members in range(counts.shape[0]):
        sign = 1.0
        rest = members ^ (counts.shape[0] - 1)
        while rest:
            sign = -sign
            rest &= rest - 1
        total += sign * out_chances[n_hits - counts[members]]
    return min(max(total, 0.0), 1.0)


HIGHER = 1.0 + 1e-12  # sums of the same gains in another order differ by less than this factor


@kernel(allocates=True)
def best_order(
    judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots, alpha, depth,
    out_labels, out_above, out_ties, out_offsets,
):  # fmt: skip
    """Write the greedy ideal ranking of each query as hits, down to `depth`."""
    n_chosen = np.empty(n_slots, np.int64)  # chosen documents by subtopic
    powers = fill_powers(1.0 - alpha, judged_offsets)
    gain_bounds = np.empty(powers.shape[0])  # gains of groups when last computed: they never rise
    firsts = np.empty(powers.shape[0], np.int64)
    successors = np.empty(powers.shape[0], np.int64)
    groups = np.full(pattern_offsets.shape[0], -1)
    n = 0
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        labels = judged_labels[judged_offsets[q] : judged_offsets[q + 1]]
        n_groups = group_patterns(labels, pattern_offsets, groups, firsts, successors)
        n_chosen[:] = 0
        gain_bounds[:n_groups] = math.inf
        above = 0
        group = 0
        while group >= 0 and above < min(labels.shape[0], depth):
            group = choose_group(
                labels, firsts[:n_groups], pattern_offsets, pattern_subtopics, powers, n_chosen, gain_bounds
            )
            if group >= 0:
                label = labels[firsts[group]]
                for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                    n_chosen[pattern_subtopics[e]] += 1
                firsts[group] = successors[firsts[group]]
                out_labels[n] = label
                out_above[n] = above
                out_ties[n] = 1
                above += 1
                n += 1
        out_offsets[q + 1] = n


@helper
def group_patterns(labels, pattern_offsets, out_groups, out_firsts, out_successors):
    """
    Chain the documents of each pattern in their given order, and return the number of patterns.

    out_firsts holds the first document of each chain, out_successors the next document or -1. out_groups is -1 for each
    pattern before and after.
    """
    n_groups = 0
    for d in range(labels.shape[0] - 1, -1, -1):
        pattern = find_pattern(labels[d], pattern_offsets)
        group = out_groups[pattern]
        if group < 0:
            group = n_groups
            out_groups[pattern] = n_groups
            out_firsts[n_groups] = -1
            n_groups += 1
        out_successors[d] = out_firsts[group]
        out_firsts[group] = d
    for d in range(labels.shape[0]):
        out_groups[find_pattern(labels[d], pattern_offsets)] = -1
    return n_groups


@helper
def choose_group(labels, firsts, pattern_offsets, pattern_subtopics, powers, n_chosen, out_gain_bounds):
    """Return the group with the highest gain, of several the one with the first document, or -1 without a gain."""
    best_group = -1
    highest_gain = 0.0
    for g in range(firsts.shape[0]):
        if firsts[g] < 0 or out_gain_bounds[g] * HIGHER < highest_gain:
            continue
        label = labels[firsts[g]]
        gain = 0.0
        for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
            gain += powers[n_chosen[pattern_subtopics[e]]]
        out_gain_bounds[g] = gain
        is_first = best_group >= 0 and gain * HIGHER >= highest_gain and firsts[g] < firsts[best_group]
        if gain > highest_gain * HIGHER or is_first:
            best_group = g
            highest_gain = gain
    return best_group
