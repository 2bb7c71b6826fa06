"""
Compute the metrics that count relevant documents: precision, recall, average precision, and sets.

AP is the sum of P@r over the ranks r of relevant documents, over the number of relevant documents. A classifier takes
the first k ranks as relevant and all other documents as not relevant.

Ties: in a tie group of m documents, n of them relevant, each rank of the group is relevant with probability n / m.
Given a relevant rank, each other rank of the group is relevant with probability (n − 1) / (m − 1). See McSherry and
Najork 2008, sections 2.1 to 2.4.

ranks                  (n_queries,)  float64, the last rank that counts
n_relevant_at_multiple (n_queries,)  float64, expected number of relevant documents in the first mult · R ranks
a, b, c, d             worth of a document: relevant and retrieved, other and retrieved, only relevant, neither
documents              number of documents of the collection
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.hits import (
    MAX_ADDED_TERMS,
    NO_QUERY,
    count_tied_relevant,
    sum_reciprocals,
    write_quotients,
)


@inline
def count_found_in_group(size, above, cutoff, n_tied_relevant):
    """Return the expected number of relevant documents of a tie group in the first ranks."""
    n_ranks = min(max(cutoff - above, 0.0), float(size))
    return float(n_tied_relevant) if n_ranks == size else n_tied_relevant * (n_ranks / size)


@kernel
def count_found(hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, cutoffs, out):
    """
    Compute the expected number of relevant documents in the first ranks of each query, for each cutoff.

    Hits below the last cutoff are skipped, as in `gains.add_gains`.
    """
    n_queries = hit_offsets.shape[0] - 1
    last = cutoffs.shape[0] - 1
    for i in range(out.shape[0]):
        out[i] = 0.0
    end = 0
    h = 0
    while h < hit_above.shape[0]:
        query = np.uint32(hit_queries[h])
        above = np.uint32(hit_above[h])
        if above >= cutoffs[last]:
            h = hit_offsets[query + np.uint32(1)]
            continue
        if hit_ties[h] == 1:
            is_relevant = 1.0 if hit_labels[h] >= rel else 0.0
            out[np.uint64(last * n_queries + query)] += is_relevant
            for i in range(last):
                out[np.uint64(i * n_queries + query)] += is_relevant * (above < cutoffs[i])
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            for i in range(last + 1):
                n = count_found_in_group(hit_ties[h], hit_above[h], float(cutoffs[i]), n_tied_relevant)
                out[np.uint64(i * n_queries + query)] += n
        h += 1


@kernel
def count_found_at_ranks(hit_queries, hit_above, hit_ties, hit_labels, rel, ranks, out):
    """Compute the expected number of relevant documents down to a rank of each query."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        found = 0.0
        if hit_ties[h] == 1:
            found = 1.0 if (hit_labels[h] >= rel) & (hit_above[h] < ranks[query]) else 0.0
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            found = count_found_in_group(hit_ties[h], hit_above[h], ranks[query], n_tied_relevant)
        out[query] += found


@kernel
def precision(n_relevant_found, precision_denominators, out):
    """Compute P@k: the share of the first k ranks that is relevant, 0 if none is."""
    for q in range(out.shape[0]):
        out[q] = n_relevant_found[q] / precision_denominators[q] if n_relevant_found[q] > 0 else 0.0


@kernel
def divide(values, denominators, out):
    """Write each value over its denominator, NaN where that is not above 0."""
    write_quotients(values, denominators, out)


@kernel
def f_score(n_relevant_found, beta, recall_denominators, precision_denominators, out):
    """
    Compute F@k: the weighted harmonic mean of precision and recall.

    F = (1 + beta²) · n_relevant_found / (beta² · recall denominator + precision denominator). This is linear in
    n_relevant_found. Both weights are divided by 1 + beta².
    """
    precision_weight = 1.0 / (1.0 + beta * beta)
    for q in range(out.shape[0]):
        if n_relevant_found[q] > 0.0:
            recall_part = (1.0 - precision_weight) * recall_denominators[q]
            out[q] = n_relevant_found[q] / (recall_part + precision_weight * precision_denominators[q])
        else:
            out[q] = 0.0 if recall_denominators[q] > 0 else math.nan


@kernel
def r_precision(n_relevant_at_multiple, n_relevant, mult, k, out):
    """Compute Rprec: the precision at rank mult · R, or at rank k if that is lower."""
    for q in range(out.shape[0]):
        cutoff = min(math.floor(mult * n_relevant[q] + 0.9), float(k))
        out[q] = n_relevant_at_multiple[q] / cutoff if cutoff > 0 else math.nan


@inline
def expected_precision_sum(above, size, last, n_tied_relevant, n_before):
    """
    Return the expected sum of P@r over the relevant documents at ranks r = above + 1, …, last of a tie group.

    `n_before` relevant documents are above the group. The closed form for many ranks takes AP of 20,000 tied hits from
    240 to below 5 ms. It subtracts two sums of about `n_ranks`, so it is left where less than 13 digits would remain.
    """
    n_ranks = last - above
    if n_ranks >= MAX_ADDED_TERMS and (n_tied_relevant == 1 or above < 64 * n_ranks):
        reciprocals = sum_reciprocals(above + 1.0, float(last))
        slope = (n_tied_relevant - 1) / (size - 1)
        total = (n_before + 1) * reciprocals + slope * (n_ranks - (above + 1) * reciprocals)
        return total * (n_tied_relevant / size)
    total = 0.0
    for r in range(above + 1, last + 1):
        n_tied_above = (r - above - 1) * (n_tied_relevant - 1) / (size - 1) if size > 1 else 0.0
        total += (n_before + 1 + n_tied_above) / r
    return total * (n_tied_relevant / size)


@kernel
def add_precisions(hit_queries, hit_above, hit_ties, hit_labels, rel, cutoffs, out):
    """Compute the expected sum of the precisions at the ranks of relevant documents, down to each cutoff."""
    last = cutoffs.shape[0] - 1
    n_queries = out.shape[0] // cutoffs.shape[0]
    for i in range(out.shape[0]):
        out[i] = 0.0
    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        above = np.uint32(hit_above[h])
        if hit_ties[h] == 1:
            is_relevant = 1 if hit_labels[h] >= rel else 0
            n_before += is_relevant
            precision = float(is_relevant * n_before) / (float(above) + 1.0)
            out[np.uint64(last * n_queries + query)] += precision if above < cutoffs[last] else 0.0
            for i in range(last):
                out[np.uint64(i * n_queries + query)] += precision * (above < cutoffs[i])
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            for i in range(last + 1):
                stop = min(hit_above[h] + hit_ties[h], cutoffs[i])
                out[np.uint64(i * n_queries + query)] += expected_precision_sum(
                    hit_above[h], hit_ties[h], stop, n_tied_relevant, n_before
                )
            n_before += n_tied_relevant


@kernel
def average_precision_over_hits(hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, k, out):
    """Compute the mean of the precisions at the relevant documents of the first k ranks."""
    for q in range(out.shape[0]):
        total = 0.0
        n_before = 0
        h = hit_offsets[q]
        stop = hit_offsets[q + 1]
        value = 0.0
        while h < stop and hit_above[h] < k:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            last = hit_above[h] + hit_ties[h]
            if n_tied_relevant > 0 and last <= k:
                total += expected_precision_sum(hit_above[h], hit_ties[h], last, n_tied_relevant, n_before)
                n_before += n_tied_relevant
                value = total / n_before
            elif n_tied_relevant > 0:
                value = ap_with_split_group(hit_above[h], hit_ties[h], k, n_tied_relevant, n_before, total)
            h = end
        out[q] = value if n_relevant[q] > 0 else math.nan


@inline
def ap_with_split_group(above, size, k, n_tied_relevant, n_before, total):
    """
    Return the expected mean of the precisions in the first k ranks, where rank k splits a tie group.

    The number x of relevant documents of the group in its `n_slots` ranks down to k is hypergeometric. Given x, each of
    these ranks is relevant with probability x / n_slots. Probabilities are relative to that of the likeliest x, so that
    none underflows.
    """
    n_slots = k - above
    first = max(0, n_tied_relevant - (size - n_slots))
    last = min(n_slots, n_tied_relevant)
    if first == last:
        return (total + expected_precision_sum(above, n_slots, k, first, n_before)) / (n_before + first)
    # the sum of the precisions, given x, is x / n_slots · ((n_before + 1) · reciprocals + (x − 1) · slopes)
    reciprocals = 0.0
    slopes = 0.0
    for r in range(above + 1, k + 1):
        reciprocals += 1.0 / r
        slopes += (r - above - 1) / r / max(n_slots - 1, 1)
    likeliest = min(max((n_slots + 1) * (n_tied_relevant + 1) // (size + 2), first), last)
    weights = 0.0
    value = 0.0
    weight = 1.0
    for x in range(likeliest, first - 1, -1):
        weights += weight
        precision_sum = x / n_slots * ((n_before + 1) * reciprocals + (x - 1) * slopes)
        value += weight * ((total + precision_sum) / max(n_before + x, 1))
        weight *= x * (size - n_tied_relevant - n_slots + x) / ((n_tied_relevant - x + 1) * (n_slots - x + 1))
    weight = 1.0
    for x in range(likeliest + 1, last + 1):
        weight *= (n_tied_relevant - x + 1) * (n_slots - x + 1) / (x * (size - n_tied_relevant - n_slots + x))
        weights += weight
        precision_sum = x / n_slots * ((n_before + 1) * reciprocals + (x - 1) * slopes)
        value += weight * ((total + precision_sum) / (n_before + x))
    return value / weights


@kernel
def n_retrieved(sizes, k, out):
    """Count the documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = min(sizes[q], k)


@kernel
def precision_times_recall(n_relevant_found, n_relevant, sizes, out):
    """Compute precision times recall of the retrieved set, 0 if it is empty."""
    for q in range(out.shape[0]):
        value = n_relevant_found[q] * n_relevant_found[q] / max(sizes[q] * n_relevant[q], 1.0)
        out[q] = value if n_relevant[q] > 0 else math.nan


@kernel
def utility(n_relevant_found, n_relevant, sizes, a, b, c, d, documents, out):
    """Compute the utility of the retrieved set: the worth of the four parts of the collection."""
    for q in range(out.shape[0]):
        n_others = documents + n_relevant_found[q] - sizes[q] - n_relevant[q]
        out[q] = (
            a * n_relevant_found[q]
            + b * (sizes[q] - n_relevant_found[q])
            + c * (n_relevant[q] - n_relevant_found[q])
            + d * n_others
        )


@kernel
def classification_accuracy(n_relevant_found, n_relevant, n_relevant_ranked, sizes, k, out):
    """Compute the accuracy of the classifier: the share of documents, ranked or relevant, that it classifies right."""
    for q in range(out.shape[0]):
        n_negative = sizes[q] - n_relevant_ranked[q]
        n = n_negative + n_relevant[q]
        n_false_positive = min(sizes[q], k) - n_relevant_found[q]
        out[q] = (n_relevant_found[q] + (n_negative - n_false_positive)) / n if n > 0 else math.nan


@kernel
def fall_out(n_relevant_found, n_relevant_ranked, sizes, k, out):
    """Compute fall-out: the share of the documents that are not relevant in the first k ranks."""
    for q in range(out.shape[0]):
        n_negative = sizes[q] - n_relevant_ranked[q]
        out[q] = (min(sizes[q], k) - n_relevant_found[q]) / n_negative if n_negative > 0 else math.nan
