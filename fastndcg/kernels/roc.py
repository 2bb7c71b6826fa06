"""
Metrics of pairs of documents: AUC, partial AUC, ranking loss, pairwise accuracy.

A pair is a document that is ranked, and a judged one with a higher label (or, where labels are only relevant or not,
a relevant one): it is right if the higher one stands above. What was not retrieved stands below all that is ranked.
Either order of a pair whose scores tie is as likely, so that it counts ½; sums are whole or half numbers, hence exact.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels        (n_hits,)         float64
hit_offsets       (n_queries + 1,)  int64
rel               a document is relevant if its label is at least this
n_relevant, n_relevant_ranked   (n_queries,)  float64, all relevant documents, and those that are ranked
sizes             (n_queries,)      int64, how many documents are ranked
judged_sizes      (n_queries,)      int64, how many documents are judged
falling_labels    (n_candidates,)   float64, the judged labels that are not 0, the highest of each query first
judged_offsets    (n_queries + 1,)  int64, query q owns falling_labels[judged_offsets[q]] up to judged_offsets[q + 1]
only_label        the label that all of these have, NaN if they differ
max_fpr           the share of the documents that are not relevant which counts
out_counted, out_whole, out_rest   (n_queries,)  float64, room: see `area`
out               (n_queries,)      float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.precision import group_of


@part
def count_wrong(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """
    Expected number of wrong pairs of a relevant document and another.

    That is all documents above each relevant one, less the pairs of two relevant ones, of which one is above the
    other whatever the order. Twice as many are whole numbers, which the processor adds up and chooses between sooner.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    twice = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        above = 2 * np.int64(hit_above[h]) + (hit_ties[h] - 1)
        twice = (twice if query == last_query else 0) + (above if hit_labels[h] >= rel else 0)
        last_query = query
        out[query] = twice
    for q in range(out.shape[0]):
        n = n_relevant_ranked[q]
        out[q] = (n_relevant[q] - n) * (sizes[q] - n) - 0.5 * n * (n - 1.0) + 0.5 * out[q]


@kernel
def auc(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """Share of right pairs of a relevant document and another."""
    count_wrong(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out)
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * (sizes[q] - n_relevant_ranked[q])
        out[q] = (n_pairs - out[q]) / n_pairs if n_pairs > 0 else math.nan


@kernel
def ranking_loss(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """Share of wrong pairs of a relevant document and another."""
    count_wrong(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out)
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * (sizes[q] - n_relevant_ranked[q])
        out[q] = out[q] / n_pairs if n_pairs > 0 else math.nan


@part
def mean_left(left, n):
    """Expected number of fewer than n `left` places after 0 … n of them are taken, each as likely; none is below 0."""
    whole = math.floor(max(left, -1.0))
    return ((whole + 1.0) * left - 0.5 * whole * (whole + 1.0)) / (n + 1.0)


@part
def area(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """
    Share of right pairs of a relevant document and one of the first others, a fraction of the last of them counting.

    Of n others in a tie group, 0 … n stand above a relevant document of the group, each number as likely. Those above
    are added up as whole or half numbers and taken off at once, so that rounding takes nothing from a perfect order:
    `out_counted` others count, for `out_whole` relevant documents, and `out_rest` is that of a group in which they end.
    """
    for q in range(out.shape[0]):
        out[q] = out_whole[q] = out_rest[q] = 0.0
        out_counted[q] = max_fpr * (sizes[q] - n_relevant_ranked[q])
    end = 0
    last_query = np.uint32(0xFFFFFFFF)
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        counted = out_counted[query]
        others = hit_above[h] - n_before
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            is_right = relevant & (others < counted)
            out_whole[query] += 1.0 if is_right else 0.0
            out[query] += others if is_right else 0.0
            n_before += relevant
        elif h >= end:
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            n = hit_ties[h] - n_inside
            if counted - others >= n:
                out_whole[query] += n_inside
                out[query] += n_inside * (others + 0.5 * n)
            else:
                out_rest[query] += n_inside * mean_left(counted - others, n)
            n_before += n_inside
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * out_counted[q]
        n_right = out_whole[q] * out_counted[q] - out[q] + out_rest[q]
        out[q] = min(n_right / n_pairs, 1.0) if n_pairs > 0 else math.nan


@kernel
def partial_auc(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """Area under the ROC curve up to a false positive rate, as a share of that rate."""
    area(
        hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
        out_counted, out_whole, out_rest, out,
    )  # fmt: skip


@kernel
def partial_auc_of_mcclish(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """The same stretched so that a random order has 1/2."""
    area(
        hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
        out_counted, out_whole, out_rest, out,
    )  # fmt: skip
    for q in range(out.shape[0]):
        out[q] = 0.5 + 0.5 * (out[q] - 0.5 * max_fpr) / (1.0 - 0.5 * max_fpr)


@allocating_kernel
def pairwise_accuracy(
    hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, sizes, judged_sizes, falling_labels, judged_offsets,
    only_label, out,
):  # fmt: skip
    """Share of right pairs of documents with different labels; those of two labels are counted in one loop."""
    if only_label > 0.0:
        for q in range(out.shape[0]):
            n = hit_offsets[q + 1] - hit_offsets[q]
            out[q] = -0.5 * n * (n - 1.0)
        for h in range(hit_above.shape[0]):
            out[np.uint32(hit_queries[h])] += hit_above[h] + 0.5 * (hit_ties[h] - 1)
        for q in range(out.shape[0]):
            n = hit_offsets[q + 1] - hit_offsets[q]
            n_others = float(sizes[q] - n)
            n_pairs = (judged_offsets[q + 1] - judged_offsets[q]) * n_others
            out[q] = (n * n_others - out[q]) / n_pairs if n_pairs > 0 else math.nan
        return
    most = 0
    for q in range(out.shape[0]):
        most = max(most, hit_offsets[q + 1] - hit_offsets[q])
    labels = np.empty(most)
    spare = np.empty(most)
    for q in range(out.shape[0]):
        start = hit_offsets[q]
        stop = hit_offsets[q + 1]
        wrong = wrong_with_zeros(hit_above, hit_ties, hit_labels, start, stop, sizes[q])
        for h in range(start, stop):
            labels[h - start] = hit_labels[h]
        wrong += count_inversions(labels, stop - start, spare)
        judged = falling_labels[judged_offsets[q] : judged_offsets[q + 1]]
        n_ranked_pairs, n_pairs = count_pairs(labels, stop - start, judged, sizes[q], judged_sizes[q])
        out[q] = (n_ranked_pairs - wrong) / n_pairs if n_pairs > 0 else math.nan


@part
def wrong_with_zeros(hit_above, hit_ties, hit_labels, start, stop, size):
    """Wrong pairs of a hit and a document with label 0, and half of the pairs of hits that tie."""
    n_zeros = size - (stop - start)
    wrong = 0.0
    h = start
    while h < stop:
        end = h
        alike = 0
        while end < stop and hit_above[end] == hit_above[h]:
            alike = alike + 1 if end > h and hit_labels[end] == hit_labels[end - 1] else 0
            wrong += 0.5 * (end - h - alike)
            end += 1
        zeros_above = hit_above[h] - (h - start) + 0.5 * (hit_ties[h] - (end - h))
        for i in range(h, end):
            wrong += zeros_above if hit_labels[i] > 0.0 else n_zeros - zeros_above
        h = end
    return wrong


@part
def count_inversions(labels, n, spare):
    """How many labels stand before a higher one; the n labels are left falling. Merged bottom-up."""
    wrong = 0.0
    width = 1
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle = start + width
            stop = min(middle + width, n)
            for i in range(start, middle):
                spare[i] = labels[i]
            left = start
            right = middle
            for i in range(start, stop):
                if right < stop and (left == middle or labels[right] > spare[left]):
                    labels[i] = labels[right]
                    right += 1
                    wrong += middle - left
                elif left < middle:
                    labels[i] = spare[left]
                    left += 1
        width *= 2
    return wrong


@part
def count_pairs(labels, n, judged, size, judged_size):
    """Pairs of different labels of which both are ranked, and of which the lower is; n falling labels are not 0."""
    n_zeros = float(size - n)
    n_ranked_pairs = 0.5 * size * (size - 1.0) - 0.5 * n_zeros * (n_zeros - 1.0)
    n_above_zero = 0
    while n_above_zero < judged.shape[0] and judged[n_above_zero] > 0.0:
        n_above_zero += 1
    n_pairs = n_above_zero * n_zeros
    higher = 0
    alike = 0
    for i in range(n):
        alike = alike + 1 if i > 0 and labels[i] == labels[i - 1] else 0
        n_ranked_pairs -= alike
        while higher < judged.shape[0] and judged[higher] > labels[i]:
            higher += 1
        n_pairs += higher + (judged_size - judged.shape[0] if labels[i] < 0.0 else 0)
    return n_ranked_pairs, n_pairs
