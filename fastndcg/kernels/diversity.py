"""
Metrics of judgments by subtopic: a document that repeats what stands above it counts less, or subtopics count alike.

The label of a document is the number of its pattern: of the subtopics that it is relevant to. All metrics here are
sums over subtopics, so that where scores tie the expectation is the sum of each subtopic's own: the documents that are
relevant to it are as likely at any of the ranks of their group.

hit_above, hit_ties   (n_hits,)         int32
hit_labels            (n_hits,)         float64, numbers of patterns; below 0 for none
hit_offsets           (n_queries + 1,)  int64
judged_labels, judged_offsets           the same of all judged documents that are relevant to something, as given
pattern_offsets, pattern_subtopics      pattern p is relevant to subtopics pattern_offsets[p] to pattern_offsets[p + 1]
n_slots               numbers of subtopics are below it
weights               (k_max + 1,)      float64, weights[r] belongs to rank r
n_subtopics           (n_queries,)      float64, how many have a relevant document
n_ranks               (n_queries,)      float64, what a precision divides by
out                   (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.cascade import next_chance
from fastndcg.kernels.jit import allocating_kernel, kernel, part, unit
from fastndcg.kernels.precision import precisions

TINY = 1e-300  # a chance without weight in float64
NEGLIGIBLE = 2.0**-60  # share of a sum that float64 does not see


@part
def first_entry(label, pattern_offsets):
    """Where the subtopics of a document begin."""
    return pattern_offsets[np.int64(max(label, 0.0))]


@part
def last_entry(label, pattern_offsets):
    """Where the subtopics of a document end; a label below 0 has none, as pattern 0."""
    return pattern_offsets[np.int64(max(label, 0.0)) + 1]


@unit
def count_inside(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, out_inside):
    """The end of the tie group that begins at hit `h`, and how many of it are relevant to each subtopic."""
    end = h
    out_inside[:] = 0
    while end < stop and hit_above[end] == hit_above[h]:
        for e in range(first_entry(hit_labels[end], pattern_offsets), last_entry(hit_labels[end], pattern_offsets)):
            out_inside[pattern_subtopics[e]] += 1
        end += 1
    return end


@allocating_kernel
def novelty(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_slots, weights, alpha, k, out
):  # fmt: skip
    """Sum of weight(rank) · (1 − alpha)^(relevant documents above) over the subtopics of the first k documents."""
    found = np.empty(n_slots, np.int64)
    inside = np.empty(n_slots, np.int64)
    powers = powers_of(1.0 - alpha, hit_offsets)
    chances = np.empty(powers.shape[0])
    for q in range(out.shape[0]):
        found[:] = 0
        total = 0.0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        while h < stop and hit_above[h] < k:
            if hit_ties[h] == 1:
                gain = 0.0
                for e in range(first_entry(hit_labels[h], pattern_offsets), last_entry(hit_labels[h], pattern_offsets)):
                    s = pattern_subtopics[e]
                    gain += powers[found[s]]
                    found[s] += 1
                total += gain * weights[hit_above[h] + 1]
                h += 1
                continue
            end = count_inside(hit_labels, hit_above, h, stop, pattern_offsets, pattern_subtopics, inside)
            last = min(hit_above[h] + hit_ties[h], k)
            for s in range(n_slots):
                if inside[s] > 0:
                    total += powers[found[s]] * of_group(
                        hit_above[h], hit_ties[h], last, inside[s], powers, weights, chances
                    )
                    found[s] += inside[s]
            h = end
        out[q] = total


@part
def powers_of(factor, offsets):
    """Powers of a factor: as many as the longest query has hits, and one."""
    most = 0
    for q in range(offsets.shape[0] - 1):
        most = max(most, offsets[q + 1] - offsets[q])
    powers = np.ones(most + 2)
    for i in range(1, most + 2):
        powers[i] = powers[i - 1] * factor
    return powers


@unit
def of_group(above, ties, last, n_inside, powers, weights, out_chances):
    """
    What `n_inside` documents of one subtopic add that are as likely at any rank of a group, down to rank `last`.

    out_chances[x] is the chance that x of them stand above the rank at hand: of those left there, n_inside − x are
    relevant to the subtopic. No term is below 0, so that nothing cancels; terms and weights never rise.
    """
    total = 0.0
    if powers[1] == 1.0:  # nothing that stands above matters
        for r in range(above + 1, last + 1):
            total += weights[r]
        return total * (n_inside / ties)
    out_chances[: n_inside + 1] = 0.0
    out_chances[0] = 1.0
    lowest, highest = 0, 0  # numbers that have a chance: a constant scorer may tie millions
    for r in range(above + 1, last + 1):
        n_left = above + ties - r + 1
        gain = 0.0
        for x in range(min(n_inside - 1, highest), lowest - 1, -1):
            here = out_chances[x] * ((n_inside - x) / n_left)
            gain += here * powers[x]
            out_chances[x + 1] += here
            out_chances[x] *= (n_left - n_inside + x) / n_left
        total += gain * weights[r]
        if gain * weights[r] * (last - r) <= total * NEGLIGIBLE:
            break
        highest = last_chance(lowest, min(highest + 1, n_inside), out_chances)
        while lowest < highest and out_chances[lowest] < TINY:
            lowest += 1
    return total


@part
def last_chance(lowest, highest, out_chances):
    """The highest number that has a chance; those above it are left none."""
    while highest > lowest and out_chances[highest] < TINY:
        out_chances[highest] = 0.0
        highest -= 1
    return highest


@allocating_kernel
def count_subtopics(judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots, out):
    """How many subtopics of each query have a relevant document."""
    last_query = np.full(n_slots, -1)
    for q in range(out.shape[0]):
        n = 0
        for c in range(judged_offsets[q], judged_offsets[q + 1]):
            label = judged_labels[c]
            for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                n += last_query[pattern_subtopics[e]] != q
                last_query[pattern_subtopics[e]] = q
        out[q] = n


@part
def divide(values, ideals, out):
    """Each value as a share of its ideal; there is none where that is 0."""
    for q in range(out.shape[0]):
        out[q] = values[q] / ideals[q] if ideals[q] > 0.0 else math.nan


@kernel
def alpha_ndcg(novelty_by_discount, best_by_discount, out):
    """Discounted novelty as a share of that of the best order."""
    divide(novelty_by_discount, best_by_discount, out)


@kernel
def alpha_dcg(novelty_by_discount, limit_by_discount, out):
    """Discounted novelty as a share of that of documents which are relevant to all subtopics."""
    divide(novelty_by_discount, limit_by_discount, out)


@kernel
def nerr_ia(novelty_by_reciprocal, best_by_reciprocal, out):
    """ERR as a share of that of the best order."""
    divide(novelty_by_reciprocal, best_by_reciprocal, out)


@kernel
def err_ia(novelty_by_reciprocal, limit_by_reciprocal, out):
    """ERR as a share of that of documents which are relevant to all subtopics."""
    divide(novelty_by_reciprocal, limit_by_reciprocal, out)


@kernel
def nnrbp(novelty_by_decay, best_by_decay, out):
    """Novelty by patience as a share of that of the best order."""
    divide(novelty_by_decay, best_by_decay, out)


@kernel
def nrbp(novelty_by_decay, limit_by_decay, out):
    """Novelty by patience as a share of that of documents which are relevant to all subtopics."""
    divide(novelty_by_decay, limit_by_decay, out)


@kernel
def precision_ia(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_subtopics, n_ranks, k, out
):  # fmt: skip
    """Mean over subtopics of the share of the first k ranks that is relevant to each."""
    for q in range(out.shape[0]):
        total = 0.0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            n = last_entry(hit_labels[h], pattern_offsets) - first_entry(hit_labels[h], pattern_offsets)
            total += n * (min(k - hit_above[h], hit_ties[h]) / hit_ties[h])
        out[q] = math.nan if n_subtopics[q] == 0 else total / (n_subtopics[q] * n_ranks[q]) if total > 0.0 else 0.0


@allocating_kernel
def average_precision_ia(
    hit_labels, hit_above, hit_ties, hit_offsets, judged_labels, judged_offsets, pattern_offsets, pattern_subtopics,
    n_slots, n_subtopics, k, out,
):  # fmt: skip
    """Mean of the subtopics' average precisions."""
    n_relevant = np.empty(n_slots, np.int64)
    found = np.empty(n_slots, np.int64)
    inside = np.empty(n_slots, np.int64)
    for q in range(out.shape[0]):
        n_relevant[:] = 0
        found[:] = 0
        for c in range(judged_offsets[q], judged_offsets[q + 1]):
            label = judged_labels[c]
            for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                n_relevant[pattern_subtopics[e]] += 1
        total = 0.0
        h = hit_offsets[q]
        while h < hit_offsets[q + 1] and hit_above[h] < k:
            end = count_inside(hit_labels, hit_above, h, hit_offsets[q + 1], pattern_offsets, pattern_subtopics, inside)
            last = min(hit_above[h] + hit_ties[h], k)
            for s in range(n_slots):
                if inside[s] > 0:
                    total += precisions(hit_above[h], hit_ties[h], last, inside[s], found[s]) / n_relevant[s]
                    found[s] += inside[s]
            h = end
        out[q] = total / n_subtopics[q] if n_subtopics[q] > 0 else math.nan


@allocating_kernel
def subtopic_recall(
    hit_labels, hit_above, hit_ties, hit_offsets, pattern_offsets, pattern_subtopics, n_slots, n_subtopics, k, out
):  # fmt: skip
    """Share of the subtopics that a document of the first k ranks is relevant to."""
    found = np.empty(n_slots, np.int64)
    inside = np.empty(n_slots, np.int64)
    for q in range(out.shape[0]):
        found[:] = 0
        total = 0.0
        h = hit_offsets[q]
        while h < hit_offsets[q + 1] and hit_above[h] < k:
            end = count_inside(hit_labels, hit_above, h, hit_offsets[q + 1], pattern_offsets, pattern_subtopics, inside)
            for s in range(n_slots):
                if inside[s] > 0 and found[s] == 0:
                    total += chance_of_one(hit_above[h], hit_ties[h], inside[s], k)
                found[s] += inside[s]
            h = end
        out[q] = min(total / n_subtopics[q], 1.0) if n_subtopics[q] > 0 else math.nan


@part
def chance_of_one(above, ties, n_inside, k):
    """Chance that one of `n_inside` documents, as likely at any rank of a group, is in the first k ranks."""
    if above + ties - n_inside < k:
        return 1.0
    total = 0.0
    chance = n_inside / ties
    for r in range(above + 1, k + 1):
        total += chance
        chance = next_chance(chance, above + ties - r + 1, n_inside)
    return min(total, 1.0)
