"""
Find the ideal ranking for judgments by subtopic, greedily: the optimal one is NP-hard to find (Clarke et al. 2008).

Each step takes the document with the highest gain after those chosen so far, the first of them if several have it.
Documents with one pattern have equal gains, so that only the first of them that is left is compared.

judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots   see diversity.py
alpha          share of its gain that a subtopic loses with each document
depth          number of ranks
out_labels     (n_judged,)        float64, patterns of the documents of each query in ideal order
out_above      (n_judged,)        int32, ranks less one
out_ties       (n_judged,)        int32, 1: the ideal ranking has no ties
out_offsets    (n_queries + 1,)   int64
"""

import math

import numpy as np

from fastndcg.kernels.jit import helper, kernel
from fastndcg.kernels.metrics.diversity import fill_powers, find_pattern, first_entry, last_entry

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
