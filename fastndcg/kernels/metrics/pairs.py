"""
Compute the metrics of pairs of documents, of multi-label ranking, and of precision at a recall.

A pair has two documents with different labels, at least one of them ranked. It is right if the document with the higher
label is ranked higher. Documents that were not retrieved rank below all others. For AUC and ranking loss there are two
labels: relevant and not relevant. A pair with equal scores counts 1/2. All sums are whole or half numbers and therefore
exact in float64.

Interpolated precision at a recall is the highest P@r over the ranks r with that recall or more. Precision only falls
between two relevant documents, so that the maximum is at a relevant document.

Ties: the last of n places drawn from m is on average n · (m + 1) / (n + 1). The rank of the n-th of several relevant
documents in a tie group is negative hypergeometric. Interpolated precision has no expectation over orders. The engine
has put the hits in an order.

judged_sizes      (n_queries,)   int64, number of judged documents
max_fpr           highest false positive rate of the partial AUC
out_counted, out_whole, out_rest   (n_queries,)  float64, buffers: see `add_partial_area`
recall, recalls   share of the relevant documents; (n_recalls,)  float64, several of them
relevant_queries, relevant_above, relevant_offsets   hits that are relevant, as hit_queries, hit_above and hit_offsets
n_recalls_needing ((MAX_TABULATED + 1) * WIDE,) float64: n_recalls_needing[R * WIDE + n] recalls need n of R relevant
                  documents
recall_rounding   number that is added to recall · R before rounding down to the number of relevant documents needed
out_highest       (n_hits + 1,)  float64, highest precision from each relevant hit on, then 0
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.hits import NO_QUERY, count_positive, count_tied_relevant
from fastndcg.kernels.ranking.sort import sort_descending
from fastndcg.kernels.simd import WIDE, min_int64


@inline
def count_wrong_pairs(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """
    Count the expected wrong pairs of a relevant document and another one.

    These are all documents above each relevant document, less one for each pair of relevant documents. The loop adds up
    twice the number of documents above, a whole number.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    last_query = NO_QUERY
    twice_above = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        twice = 2 * np.int64(hit_above[h]) + (hit_ties[h] - 1)
        twice_above = (twice_above if query == last_query else 0) + (twice if hit_labels[h] >= rel else 0)
        last_query = query
        out[query] = twice_above
    for q in range(out.shape[0]):
        n_ranked = n_relevant_ranked[q]
        n_unretrieved_pairs = (n_relevant[q] - n_ranked) * (sizes[q] - n_ranked)
        out[q] = n_unretrieved_pairs - 0.5 * n_ranked * (n_ranked - 1.0) + 0.5 * out[q]


@kernel
def auc(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """Compute the area under the ROC curve: the share of right pairs."""
    count_wrong_pairs(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out)
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * (sizes[q] - n_relevant_ranked[q])
        out[q] = (n_pairs - out[q]) / n_pairs if n_pairs > 0 else math.nan


@kernel
def ranking_loss(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out):
    """Compute the share of wrong pairs of a relevant document and another one."""
    count_wrong_pairs(hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, out)
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * (sizes[q] - n_relevant_ranked[q])
        out[q] = out[q] / n_pairs if n_pairs > 0 else math.nan


@inline
def average_remaining(limit, n):
    """Return the mean of max(limit − x, 0) over x = 0, 1, …, n."""
    whole = math.floor(max(limit, -1.0))
    return ((whole + 1.0) * limit - 0.5 * whole * (whole + 1.0)) / (n + 1.0)


@inline
def add_partial_area(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """
    Compute the share of right pairs of a relevant document and one of the first others.

    The first max_fpr · N of the N documents that are not relevant count, the last of them in part: `out_counted`. A
    relevant document below x others is right out_counted − x times. A perfect order has area 1 to the bit, because the
    numbers x are added up on their own, in `out`. `out_whole` is the number of their relevant documents.
    `out_rest` holds the tie groups in which the limit out_counted falls.

    Ties: of n others in a tie group, 0, 1, … or n are above a relevant document, each number with equal probability.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
        out_whole[q] = 0.0
        out_rest[q] = 0.0
        out_counted[q] = max_fpr * (sizes[q] - n_relevant_ranked[q])
    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        limit = out_counted[query]
        n_others_above = hit_above[h] - n_before
        if hit_ties[h] == 1:
            is_relevant = hit_labels[h] >= rel
            is_right = is_relevant & (n_others_above < limit)
            out_whole[query] += 1.0 if is_right else 0.0
            out[query] += n_others_above if is_right else 0.0
            n_before += is_relevant
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            n_tied_others = hit_ties[h] - n_tied_relevant
            if limit - n_others_above >= n_tied_others:
                out_whole[query] += n_tied_relevant
                out[query] += n_tied_relevant * (n_others_above + 0.5 * n_tied_others)
            else:
                out_rest[query] += n_tied_relevant * average_remaining(limit - n_others_above, n_tied_others)
            n_before += n_tied_relevant
    for q in range(out.shape[0]):
        n_pairs = n_relevant[q] * out_counted[q]
        n_right = out_whole[q] * out_counted[q] - out[q] + out_rest[q]
        out[q] = min(n_right / n_pairs, 1.0) if n_pairs > 0 else math.nan


@kernel
def partial_auc(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """Compute the area under the ROC curve up to a false positive rate, as a share of that rate."""
    add_partial_area(
        hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
        out_counted, out_whole, out_rest, out,
    )  # fmt: skip


@kernel
def partial_auc_mcclish(
    hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
    out_counted, out_whole, out_rest, out,
):  # fmt: skip
    """Compute the partial AUC on McClish's scale, where a random order has 1/2 and a perfect one 1."""
    add_partial_area(
        hit_queries, hit_above, hit_ties, hit_labels, rel, n_relevant, n_relevant_ranked, sizes, max_fpr,
        out_counted, out_whole, out_rest, out,
    )  # fmt: skip
    for q in range(out.shape[0]):
        out[q] = 0.5 + 0.5 * (out[q] - 0.5 * max_fpr) / (1.0 - 0.5 * max_fpr)


@kernel(allocates=True)
def pairwise_accuracy(
    hit_above, hit_ties, hit_labels, hit_offsets, sizes, judged_sizes, ideal_labels, ideal_offsets, out
):  # fmt: skip
    """Compute the share of right pairs of documents with different labels."""
    longest = 0
    for q in range(out.shape[0]):
        longest = max(longest, hit_offsets[q + 1] - hit_offsets[q])
    labels = np.empty(longest)
    order = np.empty(longest, np.int32)
    spare = np.empty(longest, np.int32)
    for q in range(out.shape[0]):
        start = hit_offsets[q]
        stop = hit_offsets[q + 1]
        n_wrong = count_wrong_with_zeros(hit_above, hit_ties, hit_labels, start, stop, sizes[q])
        for i in range(stop - start):
            order[i] = i
        n_wrong += sort_descending(hit_labels[start:stop], stop - start, spare, order)
        for i in range(stop - start):
            labels[i] = hit_labels[start + order[i]]
        judged = ideal_labels[ideal_offsets[q] : ideal_offsets[q + 1]]
        n_ranked_pairs, n_pairs = count_pairs(labels, stop - start, judged, sizes[q], judged_sizes[q])
        out[q] = (n_ranked_pairs - n_wrong) / n_pairs if n_pairs > 0 else math.nan


@inline
def count_wrong_with_zeros(hit_above, hit_ties, hit_labels, start, stop, size):
    """Count the expected wrong pairs of a hit and a document with label 0, and half of the tied pairs of hits."""
    n_zeros = size - (stop - start)
    n_wrong = 0.0
    h = start
    while h < stop:
        end = h
        n_same_label = 0  # hits of the group just before this one with the same label
        while end < stop and hit_above[end] == hit_above[h]:
            n_same_label = n_same_label + 1 if end > h and hit_labels[end] == hit_labels[end - 1] else 0
            n_wrong += 0.5 * (end - h - n_same_label)
            end += 1
        n_zeros_above = hit_above[h] - (h - start) + 0.5 * (hit_ties[h] - (end - h))
        for i in range(h, end):
            n_wrong += n_zeros_above if hit_labels[i] > 0.0 else n_zeros - n_zeros_above
        h = end
    return n_wrong


@inline
def count_pairs(labels, n, judged, size, judged_size):
    """
    Return two numbers of pairs with different labels: those with both documents ranked, and all.

    `labels` holds the n ranked labels other than 0, and `judged` all judged ones. Both fall. The lower document of a
    pair is always ranked.
    """
    n_zeros = float(size - n)
    n_ranked_pairs = 0.5 * size * (size - 1.0) - 0.5 * n_zeros * (n_zeros - 1.0)
    n_pairs = count_positive(judged, 0, judged.shape[0]) * n_zeros
    n_higher = 0
    n_same_label = 0
    for i in range(n):
        n_same_label = n_same_label + 1 if i > 0 and labels[i] == labels[i - 1] else 0
        n_ranked_pairs -= n_same_label
        while n_higher < judged.shape[0] and judged[n_higher] > labels[i]:
            n_higher += 1
        n_pairs += n_higher + (judged_size - judged.shape[0] if labels[i] < 0.0 else 0)
    return n_ranked_pairs, n_pairs


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
    """
    Compute the expected precision at the first rank with the recall, 0 if no rank has it.

    `recall` is the metric's own, and reaching it is meant literally. What `recall_rounding` chooses is how trec_eval
    and others round the eleven recalls of interpolated precision.
    """
    n_needed = np.empty(out.shape[0], np.int64)
    for q in range(out.shape[0]):
        n_needed[q] = max(np.ceil(recall * n_relevant[q] - 1e-9), 1.0)  # the float64 product 0.07 · 100 exceeds 7
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


MAX_TABULATED = 32  # relevant documents with entries in `n_recalls_needing`: without it, IAP takes 3 times as long


@kernel
def keep_relevant(hit_queries, hit_above, hit_labels, rel, out_queries, out_above, out_offsets):
    """Write the relevant hits."""
    n = 0
    out_offsets[:] = 0
    for h in range(hit_above.shape[0]):
        out_queries[n] = hit_queries[h]
        out_above[n] = hit_above[h]
        is_relevant = hit_labels[h] >= rel
        out_offsets[hit_queries[h] + 1] += is_relevant
        n += is_relevant
    for q in range(out_offsets.shape[0] - 1):
        out_offsets[q + 1] += out_offsets[q]


@inline
def count_needed(recall, n_relevant, recall_rounding):
    """Return the number of relevant documents that a recall needs, 1 or more."""
    return max(np.floor(recall * n_relevant + recall_rounding), 1.0)


@kernel
def find_highest(relevant_queries, relevant_above, relevant_offsets, out_highest):
    """Write the highest precision from each relevant hit of a query on, and 0 behind the last hit."""
    n_hits = relevant_above.shape[0]
    out_highest[n_hits] = 0.0
    highest_precision = 0.0
    last_query = NO_QUERY
    for h in range(n_hits - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        precision = (h - relevant_offsets[query] + 1) / (relevant_above[h] + 1)
        highest_precision = max(highest_precision if query == last_query else 0.0, precision)
        last_query = query
        out_highest[h] = highest_precision


@kernel
def look_up(highest, relevant_offsets, n_relevant, recall, recall_rounding, out):
    """Compute the interpolated precision at a recall, 0 where the ranking does not have that recall."""
    for q in range(out.shape[0]):
        n_needed = np.int64(count_needed(recall, n_relevant[q], recall_rounding))
        place = relevant_offsets[q] + n_needed - 1
        value = highest[np.uint64(place if place < relevant_offsets[q + 1] else highest.shape[0] - 1)]
        out[q] = value if n_relevant[q] > 0 else math.nan


@kernel
def average_over_recalls(
    relevant_queries, relevant_above, relevant_offsets, n_relevant, recalls, recall_rounding, n_recalls_needing, out
):  # fmt: skip
    """Compute the mean interpolated precision: each relevant document adds it for the recalls that need its number."""
    highest_precision = 0.0
    total = 0.0
    last_query = NO_QUERY
    for h in range(relevant_above.shape[0] - 1, -1, -1):
        query = np.uint32(relevant_queries[h])
        n = h - relevant_offsets[query] + 1
        precision = n / (float(relevant_above[h]) + 1.0)
        highest_precision = highest_precision if query == last_query else 0.0
        highest_precision = precision if precision > highest_precision else highest_precision
        total = total if query == last_query else 0.0
        last_query = query
        n_recalls = 0.0
        n_all = np.int64(n_relevant[query])
        if n_all <= MAX_TABULATED:
            n_recalls = n_recalls_needing[np.uint64(n_all * WIDE + min_int64(n, WIDE - 1))]
        else:
            for i in range(recalls.shape[0]):
                n_recalls += count_needed(recalls[i], n_relevant[query], recall_rounding) == n
        total += highest_precision * n_recalls
        out[query] = total
    for q in range(out.shape[0]):
        total = out[q] if relevant_offsets[q] < relevant_offsets[q + 1] else 0.0
        out[q] = total / recalls.shape[0] if n_relevant[q] > 0 else math.nan
