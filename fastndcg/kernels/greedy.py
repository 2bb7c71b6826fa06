"""
The best order of judgments by subtopic, found greedily: the true one is NP-hard to find.

Documents of the same pattern gain as much, so that only the first of each that is left has to be looked at.

judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots   as in diversity.py
alpha          how much of its gain a subtopic loses with each document
depth          how many ranks any metric looks at
out_labels     (n_judged,)        float64, the documents of each query in the best order
out_above      (n_judged,)        int32, their ranks less one
out_ties       (n_judged,)        int32, 1: no two stand at the same rank
out_offsets    (n_queries + 1,)   int64
"""

import math

import numpy as np

from fastndcg.kernels.diversity import first_entry, last_entry, powers_of
from fastndcg.kernels.jit import allocating_kernel, unit

CLEARLY = 1.0 + 1e-12  # times as much: sums of the same gains in another order differ by less


@allocating_kernel
def best_order(
    judged_labels, judged_offsets, pattern_offsets, pattern_subtopics, n_slots, alpha, depth,
    out_labels, out_above, out_ties, out_offsets,
):  # fmt: skip
    """Of each query the document that gains most next to those chosen, as given where several do, down to `depth`."""
    found = np.empty(n_slots, np.int64)
    powers = powers_of(1.0 - alpha, judged_offsets)
    most = np.empty(powers.shape[0])  # what a document of a group gains at the most: no less than it did before
    firsts = np.empty(powers.shape[0], np.int64)
    following = np.empty(powers.shape[0], np.int64)
    group_of = np.full(pattern_offsets.shape[0], -1)
    n = 0
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        labels = judged_labels[judged_offsets[q] : judged_offsets[q + 1]]
        n_groups = group_patterns(labels, group_of, firsts, following)
        found[:] = 0
        most[:n_groups] = math.inf
        above = 0
        chosen = 0
        while chosen >= 0 and above < min(labels.shape[0], depth):
            chosen = best_group(labels, firsts, pattern_offsets, pattern_subtopics, powers, found, n_groups, most)
            if chosen >= 0:
                label = labels[firsts[chosen]]
                for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
                    found[pattern_subtopics[e]] += 1
                firsts[chosen] = following[firsts[chosen]]
                out_labels[n] = label
                out_above[n] = above
                out_ties[n] = 1
                above += 1
                n += 1
        out_offsets[q + 1] = n


@unit
def group_patterns(labels, out_group_of, out_firsts, out_following):
    """Documents of the same pattern as chains, the first document given first; out_group_of is -1 before and after."""
    n_groups = 0
    for d in range(labels.shape[0] - 1, -1, -1):
        pattern = np.int64(max(labels[d], 0.0))
        group = out_group_of[pattern]
        if group < 0:
            group = n_groups
            out_group_of[pattern] = n_groups
            out_firsts[n_groups] = -1
            n_groups += 1
        out_following[d] = out_firsts[group]
        out_firsts[group] = d
    for d in range(labels.shape[0]):
        out_group_of[np.int64(max(labels[d], 0.0))] = -1
    return n_groups


@unit
def best_group(labels, firsts, pattern_offsets, pattern_subtopics, powers, found, n_groups, out_most):
    """The group whose documents gain most, of several that with the first document; -1 where none gains anything."""
    chosen = -1
    highest = 0.0
    for g in range(n_groups):
        if firsts[g] < 0 or out_most[g] * CLEARLY < highest:
            continue
        label = labels[firsts[g]]
        gain = 0.0
        for e in range(first_entry(label, pattern_offsets), last_entry(label, pattern_offsets)):
            gain += powers[found[pattern_subtopics[e]]]
        out_most[g] = gain
        if gain > highest * CLEARLY or (chosen >= 0 and gain * CLEARLY >= highest and firsts[g] < firsts[chosen]):
            chosen = g
            highest = gain
    return chosen
