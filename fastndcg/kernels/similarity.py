"""
Compatibility: the highest rank-biased overlap of a ranking with an ideal one.

hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels     (n_hits,)         float64
hit_offsets    (n_queries + 1,)  int64
best_labels    (n_best,)         float64, of the best order: falling; labels below 0 last
best_offsets   (n_queries + 1,)  int64
only_label     the label that all of these have, NaN if they differ
out            (n_queries,)      float64
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, part
from fastndcg.kernels.stopping import end_of_group

UNLIMITED = 2**31 - 1  # a cutoff that is none
LEAST = 1e-18  # the share of all weight that changes no digit
MOST = 1 << 20  # ranks that are added up one by one
BLOCK = 256  # ranks whose rests are added up from the last of them on


@allocating_kernel
def compatibility(
    hit_queries, hit_above, hit_ties, hit_labels, hit_offsets, best_labels, best_offsets, only_label, p, k, out
):  # fmt: skip
    """
    Overlap with the ideal order that comes nearest, over that of this order with itself.

    Of the ideal orders, in which labels fall, the nearest has documents of one label as they are ranked: the j-th hit
    of a label has the j-th of this label's places. It is in both of the first d from the larger of its two ranks on.
    """
    deepest = 0
    for q in range(out.shape[0]):
        deepest = max(deepest, best_offsets[q + 1] - best_offsets[q])
        out[q] = 0.0
    for h in range(hit_offsets[-1]):
        deepest = max(deepest, hit_above[h] + hit_ties[h])
    n_ranks = (deepest + BLOCK - 1) // BLOCK * BLOCK
    rests, bests = np.empty(n_ranks + 1), np.zeros(n_ranks + 1)
    add_up_rests(p, k, rests)
    for rank in range(1, deepest + 1):
        bests[rank] = bests[rank - 1] + rests[rank]
    if only_label > 0.0:
        meet_one_label(hit_queries, hit_above, hit_ties, best_offsets, rests, out)
    else:
        meet_labels(hit_above, hit_ties, hit_labels, hit_offsets, best_labels, best_offsets, deepest, rests, out)
    for q in range(out.shape[0]):
        n_ideal = count_positive(best_labels, best_offsets[q], best_offsets[q + 1])
        out[q] = min(out[q] / bests[n_ideal], 1.0) if n_ideal > 0 else np.nan


@part
def meet_one_label(hit_queries, hit_above, hit_ties, best_offsets, rests, out):
    """Overlaps where all labels are the same: the j-th hit has the j-th place."""
    end, n_met = 0, 0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        n_met = n_met if query == last_query else 0
        last_query = query
        if hit_ties[h] == 1:
            n_met += 1
            inside = n_met <= best_offsets[query + 1] - best_offsets[query]
            out[query] += rests[np.uint32(hit_above[h] + 1)] if inside else 0.0
        elif h >= end:
            end = end_of_group(hit_queries, hit_above, h)
            for j in range(1, min(end - h, best_offsets[query + 1] - best_offsets[query] - n_met) + 1):
                out[query] += expected_rest(rests, n_met + j, hit_above[h], hit_ties[h], end - h, j)
            n_met += end - h


@part
def meet_labels(hit_above, hit_ties, hit_labels, hit_offsets, best_labels, best_offsets, deepest, rests, out):
    """Overlaps where labels differ."""
    met = np.empty(deepest + 1, np.int32)
    for q in range(out.shape[0]):
        start = best_offsets[q]
        n_ideal = count_positive(best_labels, start, best_offsets[q + 1])
        met[:n_ideal] = 0
        j, m = 0, 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            place = first_place(best_labels, start, n_ideal, hit_labels[h])
            if hit_ties[h] > 1:  # the j-th of m of this label in its tie group
                j += 1
                if j > m:
                    j, m = 1, 1
                    while h + m < hit_offsets[q + 1] and (
                        hit_above[h + m] == hit_above[h] and hit_labels[h + m] == hit_labels[h]
                    ):
                        m += 1
            if place < n_ideal and hit_labels[h] > 0.0:
                met[place] += 1
                rank = place + met[place]
                if rank <= n_ideal and hit_ties[h] == 1:
                    out[q] += rests[max(rank, hit_above[h] + 1)]
                elif rank <= n_ideal:
                    out[q] += expected_rest(rests, rank, hit_above[h], hit_ties[h], m, j)


@part
def count_positive(labels, start, stop):
    """How many labels of one query, which fall, are above 0."""
    while stop > start and labels[stop - 1] <= 0.0:
        stop -= 1
    return stop - start


@part
def expected_rest(rests, rank, above, n_ties, m, j):
    """
    The mean of the rest from the larger of two ranks on: an ideal rank, and that of the j-th of m among n_ties.

    It is at place x of the group with the chance C(x − 1, j − 1) · C(n_ties − x, m − j) / C(n_ties, m), a negative
    hypergeometric distribution, which is followed from about its middle by the ratios of neighbours.
    """
    middle = min(max(j * (n_ties + 1) // (m + 1), j), n_ties - m + j)
    total, value = 1.0, rests[max(rank, above + middle)]
    chance = 1.0
    for x in range(middle, n_ties - m + j):
        chance *= x / (x - j + 1) * ((n_ties - x - m + j) / (n_ties - x))
        total += chance
        value += chance * rests[max(rank, above + x + 1)]
        if chance < LEAST:
            break
    chance = 1.0
    for x in range(middle, j, -1):
        chance *= (x - j) / (x - 1) * ((n_ties - x + 1) / (n_ties - x + 1 - m + j))
        total += chance
        value += chance * rests[max(rank, above + x - 1)]
        if chance == 0.0:
            break
    return value / total


@part
def first_place(labels, start, n, label):
    """The first of n places, from 0, whose label is not above this one."""
    place, size = 0, n
    while size > 0 and labels[start + place] > label:
        half = size // 2
        above = labels[start + place + half] > label
        place += half + 1 if above else 0
        size = size - half - 1 if above else half
    return place


@part
def add_up_rests(p, k, out_rests):
    """Sums of p^(d − 1) / d over d from each rank on, up to rank k: the same bits however many ranks there are."""
    for end in range(BLOCK, out_rests.shape[0], BLOCK):
        rest = rest_after(p, k, end)
        for rank in range(end, end - BLOCK, -1):
            if rank <= k:
                rest += p ** (rank - 1) / rank
            out_rests[rank] = rest


@part
def rest_after(p, k, last):
    """The sum over the ranks below `last`, as far as it changes a digit; in closed form if that is far."""
    n = np.log(LEAST) / np.log(p)
    rest = 0.0
    if n > MOST and k >= UNLIMITED:
        rest = -np.log1p(-p)
        for rank in range(1, last + 1):
            rest -= p**rank / rank
        return max(rest / p, 0.0)
    weight = p**last
    for rank in range(last + 1, min(k, last + 1 + np.int64(min(n, UNLIMITED))) + 1):
        rest += weight / rank
        weight *= p
    return rest
