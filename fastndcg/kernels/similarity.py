"""
Compatibility: the highest rank-biased overlap of a ranking with an ideal one.

hit_above, hit_ties   (n_hits,)  int32
hit_labels     (n_hits,)         float64
hit_offsets    (n_queries + 1,)  int64
ideal_labels   (n_ideal,)        float64, falling; labels below 0 last
ideal_offsets  (n_queries + 1,)  int64
out            (n_queries,)      float64
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, part

UNLIMITED = 2**31 - 1  # a cutoff that is none
LEAST = 1e-18  # the share of all weight that changes no digit
MOST = 1 << 20  # ranks that are added up one by one
BLOCK = 256  # ranks whose rests are added up from the last of them on


@allocating_kernel
def compatibility(hit_above, hit_ties, hit_labels, hit_offsets, ideal_labels, ideal_offsets, p, k, out):
    """
    Overlap with the ideal order that comes nearest, over that of this order with itself.

    Of the ideal orders, in which labels fall, the nearest has documents of one label as they are ranked: the j-th hit
    of a label has the j-th of this label's places. It is in both of the first d from the larger of its two ranks on.
    """
    deepest = 0
    for q in range(out.shape[0]):
        deepest = max(deepest, ideal_offsets[q + 1] - ideal_offsets[q])
    for h in range(hit_offsets[-1]):
        deepest = max(deepest, hit_above[h] + hit_ties[h])
    n_ranks = (deepest + BLOCK - 1) // BLOCK * BLOCK
    rests, bests = np.empty(n_ranks + 1), np.zeros(n_ranks + 1)
    add_up_rests(p, k, rests)
    for rank in range(1, deepest + 1):
        bests[rank] = bests[rank - 1] + rests[rank]
    met = np.empty(deepest + 1, np.int32)
    for q in range(out.shape[0]):
        start = ideal_offsets[q]
        n_ideal = ideal_offsets[q + 1] - start
        while n_ideal > 0 and ideal_labels[start + n_ideal - 1] <= 0.0:
            n_ideal -= 1
        met[:n_ideal] = 0
        reached, j, m = 0.0, 0, 0
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            place = first_place(ideal_labels, start, n_ideal, hit_labels[h])
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
                    reached += rests[max(rank, hit_above[h] + 1)]
                elif rank <= n_ideal:
                    reached += expected_rest(rests, rank, hit_above[h], hit_ties[h], m, j)
        out[q] = min(reached / bests[n_ideal], 1.0) if n_ideal > 0 else np.nan


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
def first_place(ideal_labels, start, n, label):
    """The first of n places, from 0, whose label is not above this one."""
    place, size = 0, n
    while size > 0 and ideal_labels[start + place] > label:
        half = size // 2
        above = ideal_labels[start + place + half] > label
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
