"""
Compute compatibility: the rank-biased overlap (RBO) of a ranking with the nearest ideal one (Clarke et al. 2021).

An ideal ranking has falling labels. Among those, the nearest has the documents of one label in their ranked order: the
j-th hit with a label has the j-th ideal rank of this label. A document is among the first d of both rankings from
d = max(rank, ideal rank) on. It adds the tail weight of that rank: the sum of p^(d − 1) / d over d up to k. The value
is divided by the overlap of the ideal ranking with itself.

Ties: the rank of the j-th of m documents with one label, in a tie group of n, is negative hypergeometric. Its expected
weight falls with j. After one that is too small to change the sum, the rest of the m are skipped. Without this, a
million tied documents with 10,000 relevant ones took over 25 s.

ideal_labels    (n_best,)         float64, labels of the ideal ranking: falling, labels below 0 last
ideal_offsets   (n_queries + 1,)  int64
p              probability to go on from one rank to the next
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.kernels.metrics.tie_groups import count_positive

NEGLIGIBLE = 1e-18  # relative to the sum of all weights: below its last digit
MAX_TERMS = 1 << 20  # terms of a tail that are added one by one
BLOCK = 256  # ranks whose tails are added up from the last of them


class RankedLabels(NamedTuple):
    """Hits of all queries: documents with a higher score, sizes of tie groups, labels, and offsets of queries."""

    above: np.ndarray
    tie_sizes: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray


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
    hits = RankedLabels(hit_above, hit_ties, hit_labels, hit_offsets)
    n_matched = np.empty(deepest + 1, np.int32)
    match_labels(hits, ideal_labels, ideal_offsets, tails, n_matched, out)
    for q in range(out.shape[0]):
        n_ideal = count_positive(ideal_labels, ideal_offsets[q], ideal_offsets[q + 1])
        out[q] = min(out[q] / ideal_overlaps[n_ideal], 1.0) if n_ideal > 0 else np.nan


@inline
def match_labels(hits, ideal_labels, ideal_offsets, tails, out_n_matched, out):
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
        for h in range(hits.offsets[q], hits.offsets[q + 1]):
            first = find_first_place(ideal_labels, start, n_ideal, hits.labels[h])
            if hits.tie_sizes[h] > 1:
                j += 1
                if j > m:
                    j = 1
                    m = count_same_label(hits, h, hits.offsets[q + 1])
                    is_negligible = False
            if first < n_ideal and hits.labels[h] > 0.0:
                out_n_matched[first] += 1
                rank = first + out_n_matched[first]
                if rank <= n_ideal and hits.tie_sizes[h] == 1:
                    out[q] += tails[max(rank, hits.above[h] + 1)]
                elif rank <= n_ideal and not is_negligible:
                    weight = expected_tail_weight(tails, rank, hits.above[h], hits.tie_sizes[h], m, j)
                    out[q] += weight
                    is_negligible = weight <= NEGLIGIBLE * out[q]


@inline
def count_same_label(hits, h, stop):
    """Return the number of hits from `h` on that have its label and tie with it."""
    m = 1
    while h + m < stop and hits.above[h + m] == hits.above[h] and hits.labels[h + m] == hits.labels[h]:
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
        if probability < NEGLIGIBLE:
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
    n = np.log(NEGLIGIBLE) / np.log(p)
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
