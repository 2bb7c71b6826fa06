"""
Metrics of each user's recommended items.

A user's list has items[starts[u]] up to, but not with, items[starts[u] + sizes[u]]; its first k count.

items      (n_recommended,)  int32 or int64, from 0, no item twice in a list
starts     (n_users,)        int64
sizes      (n_users,)        int32, without padding
out        (n_users,)        float64, NaN where there are too few items
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel
from fastndcg.kernels.vectors import popcount

PADDING = -1
FINE, REPEATED, GAP, UNKNOWN = 0, 1, 2, 3


@kernel
def check_lists(items, starts, n_items, out_seen, out_sizes, out_problem):
    """
    How long each list is before it is padded, and the first thing that is wrong: its kind, the user, the place.

    `out_sizes` begins as the lengths with padding; `out_seen` has −1 for each item, and then who got it last.
    """
    out_problem[0] = FINE
    for u in range(starts.shape[0]):
        size = out_sizes[u]
        while size > 0 and items[starts[u] + size - 1] == PADDING:
            size -= 1
        out_sizes[u] = size
        for i in range(size):
            item = items[starts[u] + i]
            if item < 0 or item >= n_items:
                out_problem[0], out_problem[1], out_problem[2] = GAP if item < 0 else UNKNOWN, u, i
                return
            if out_seen[item] == u:
                out_problem[0], out_problem[1], out_problem[2] = REPEATED, u, i
                return
            out_seen[item] = u


@kernel
def mean_of_items(items, starts, sizes, weights, k, out):
    """The mean of what each item weighs."""
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total = 0.0
        for i in range(starts[u], starts[u] + n):
            total += weights[items[i]]
        out[u] = total / n if n > 0 else np.nan


@kernel
def serendipity(
    items, starts, sizes, liked, liked_labels, liked_offsets, rel, more_popular, as_popular, k, out_marks, out
):  # fmt: skip
    """
    The share of items that the user likes and that are not among as many most popular ones.

    Of items that are equally popular where that list ends, each is as likely to be in it. `out_marks` begins as −1 for
    each item.
    """
    for u in range(out.shape[0]):
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            if liked_labels[i] >= rel and liked[i] < out_marks.shape[0]:
                out_marks[liked[i]] = u
        n = min(sizes[u], k)
        total = 0.0
        for i in range(starts[u], starts[u] + n):
            item = items[i]
            if out_marks[item] == u:
                total += 1.0 - min(max((n - more_popular[item]) / as_popular[item], 0.0), 1.0)
        out[u] = total / n if n > 0 else np.nan


@allocating_kernel
def cosine_diversity(items, starts, sizes, vectors, k, out):
    """1 less the mean cosine of all pairs, by way of the sum of all vectors, which are of length 1."""
    n_dimensions = vectors.shape[1]
    total = np.empty(n_dimensions)
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total[:] = 0.0
        for i in range(starts[u], starts[u] + n):
            for j in range(n_dimensions):
                total[j] += vectors[items[i], j]
        square = 0.0
        for j in range(n_dimensions):
            square += total[j] * total[j]
        pairs = n * (n - 1.0)
        out[u] = max(1.0 - (square - n) / pairs, 0.0) if n > 1 else np.nan  # the same vectors, but for rounding


@kernel
def jaccard_diversity(items, starts, sizes, sets, k, out):
    """The mean over all pairs of 1 less the categories that both have, over those that one has; 0 if none has any."""
    n_words = sets.shape[1]
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total = 0.0
        for i in range(starts[u], starts[u] + n):
            for j in range(starts[u], i):
                both, one = 0, 0
                for w in range(n_words):
                    x, y = sets[items[i], w], sets[items[j], w]
                    both += popcount(x & y)
                    one += popcount(x | y)
                total += (one - both) / one if one > 0 else 0.0
        out[u] = total / (n * (n - 1.0) / 2.0) if n > 1 else np.nan


@kernel
def hamming_diversity(items, starts, sizes, sets, k, out):
    """The mean over all pairs of how many categories one item has and the other has not."""
    n_words = sets.shape[1]
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total = 0
        for i in range(starts[u], starts[u] + n):
            for j in range(starts[u], i):
                for w in range(n_words):
                    total += popcount(sets[items[i], w] ^ sets[items[j], w])
        out[u] = total / (n * (n - 1.0) / 2.0) if n > 1 else np.nan
