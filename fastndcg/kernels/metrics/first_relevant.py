"""
Compute metrics of a user who stops at the first relevant document: RR and Success.

RR is 1 / rank of the first relevant document, and Success@k is 1 if that is among the first k ranks.

Ties: the first of n relevant documents in a tie group of m is at the first rank of the group with probability n / m.
Otherwise it is at the second rank with probability n / (m − 1), and so on (McSherry and Najork 2008, section 2.5).
"""

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.tie_groups import count_relevant_hits
from fastndcg.kernels.ranking.tie_groups import find_group_end_in_query


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
