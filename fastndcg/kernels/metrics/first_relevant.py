"""
Compute the metrics of the first relevant document, and their values in random order.

RR is 1 / rank of the first relevant document, and Success@k is 1 if that is among the first k ranks. Chance is the mean
over all orders of the n ranked documents, R of which are relevant (C. T. Hoyt et al. 2022,
doi:10.48550/arXiv.2203.07544).

Ties: the first of n relevant documents in a tie group of m is at the first rank of the group with probability n / m.
Otherwise it is at the second rank with probability n / (m − 1), and so on (McSherry and Najork 2008, section 2.5). The
mean rank of a tie group of m documents below a others is a + (m + 1) / 2.
"""

import math

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.hits import count_relevant_hits, sum_reciprocals
from fastndcg.kernels.ranking.candidates import find_group_end_in_query


@inline
def find_first_relevant(hit_labels, start, stop, rel):
    """Return the first relevant hit of a query, or `stop` if no hit is relevant."""
    h = start
    while h < stop and hit_labels[h] < rel:
        h += 1
    return h


@inline
def next_probability(probability, n_left, n_relevant):
    """
    Return the probability that the first relevant document is at the next rank, from that of this rank.

    `n_left` documents of the tie group are at this rank or below. `n_relevant` is the number of relevant documents of
    the group.
    """
    return probability * ((n_left - n_relevant) / (n_left - 1)) if n_left > 1 else 0.0


@kernel
def reciprocal_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Compute RR@k: the expected 1 / rank of the first relevant document, 0 if that is below rank k."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        total = 0.0
        if h < stop and hit_ties[h] == 1:
            total = 1.0 / (hit_above[h] + 1) if hit_above[h] < k else 0.0
        elif h < stop:
            n_relevant = count_relevant_hits(hit_labels, h, find_group_end_in_query(hit_above, h, stop), rel)
            last = min(hit_above[h] + hit_ties[h] - n_relevant + 1, k)
            probability = n_relevant / hit_ties[h]
            for r in range(hit_above[h] + 1, last + 1):
                total += probability / r
                probability = next_probability(probability, hit_above[h] + hit_ties[h] - r + 1, n_relevant)
        out[q] = total


@kernel
def success(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Compute Success@k: the probability that a relevant document is among the first k ranks."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        total = 0.0
        if h < stop and hit_ties[h] == 1:
            total = 1.0 if hit_above[h] < k else 0.0
        elif h < stop:
            n_relevant = count_relevant_hits(hit_labels, h, find_group_end_in_query(hit_above, h, stop), rel)
            total = find_success_probability(hit_above[h], hit_ties[h], n_relevant, k)
        out[q] = min(total, 1.0)


@inline
def find_success_probability(above, size, n_relevant, k):
    """
    Return the probability that a tie group has one of its relevant documents among the first k ranks.

    Probabilities of the ranks are added up, because 1 less the probability of none would lose digits.
    """
    if above + size - n_relevant < k:
        return 1.0
    total = 0.0
    probability = n_relevant / size
    for r in range(above + 1, k + 1):
        total += probability
        probability = next_probability(probability, above + size - r + 1, n_relevant)
    return min(total, 1.0)


@kernel
def first_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, out):
    """Compute the expected rank of the first relevant document, NaN if no hit is relevant."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        rank = math.nan
        if h < stop:
            n_relevant = 1
            if hit_ties[h] > 1:
                n_relevant = count_relevant_hits(hit_labels, h, find_group_end_in_query(hit_above, h, stop), rel)
            rank = hit_above[h] + (hit_ties[h] + 1) / (n_relevant + 1)
        out[q] = rank


@kernel
def first_mean_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, out):
    """Compute the mean rank of the tie group of the first relevant document, NaN if no hit is relevant."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        out[q] = hit_above[h] + 0.5 * (hit_ties[h] + 1) if h < stop else math.nan


@kernel
def reciprocal_mean_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Compute RR@k at the mean rank of the first relevant document."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        value = 0.0
        if h < stop:
            rank = hit_above[h] + 0.5 * (hit_ties[h] + 1)
            value = 1.0 / rank if rank <= k else 0.0
        out[q] = value


@kernel
def success_at_mean_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Compute Success@k at the mean rank of the first relevant document."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = find_first_relevant(hit_labels, hit_offsets[q], stop, rel)
        out[q] = 1.0 if h < stop and hit_above[h] + 0.5 * (hit_ties[h] + 1) <= k else 0.0


@kernel
def n_retrieved_at_mean_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Count the relevant documents with a mean rank of k or less."""
    for q in range(out.shape[0]):
        total = 0.0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_labels[h] >= rel and hit_above[h] + 0.5 * (hit_ties[h] + 1) <= k:
                total += 1.0
        out[q] = total


@kernel
def chance_rank(sizes, n_relevant_ranked, out):
    """Compute the mean rank of the first relevant document over all orders, NaN if none is relevant."""
    for q in range(out.shape[0]):
        n_relevant = n_relevant_ranked[q]
        out[q] = (sizes[q] + 1.0) / (n_relevant + 1.0) if n_relevant > 0.0 else math.nan


@kernel
def chance_reciprocal_rank(sizes, n_relevant_ranked, k, out):
    """
    Compute the mean of RR@k over all orders.

    Over all ranks it is R / (n − R + 1) · (1/R + 1/(R + 1) + … + 1/n). Up to rank k, the terms are added up, and for
    one relevant document they are those of a harmonic sum.
    """
    for q in range(out.shape[0]):
        n_relevant = n_relevant_ranked[q]
        n_places = sizes[q] - n_relevant + 1.0
        value = 0.0
        if n_relevant > 0.0 and k >= n_places:
            value = n_relevant / n_places * sum_reciprocals(n_relevant, float(sizes[q]))
        elif n_relevant == 1.0:
            value = sum_reciprocals(1.0, float(k)) / sizes[q]
        elif n_relevant > 0.0:
            probability = n_relevant / sizes[q]
            for r in range(1, k + 1):
                value += probability / r
                probability = next_probability(probability, sizes[q] - r + 1, n_relevant)
        out[q] = value


@kernel
def chance_success(sizes, n_relevant_ranked, k, out):
    """
    Compute the share of all orders with a relevant document among the first k ranks.

    The shares of the first, second, … relevant document are added up, since 1 less a product would lose digits.
    """
    for q in range(out.shape[0]):
        n_relevant = n_relevant_ranked[q]
        value = 0.0
        if n_relevant > 0.0 and k >= sizes[q] - n_relevant + 1.0:
            value = 1.0
        elif n_relevant > 0.0:
            none = 1.0
            for i in range(int(n_relevant)):
                share = k / (sizes[q] - i)
                value += none * share
                none *= 1.0 - share
        out[q] = min(value, 1.0)
