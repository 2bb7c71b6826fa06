"""
Compute popularity, novelty and diversity of recommended items for each user, and coverage and concentration for all.

User u has the items items[starts[u]] up to items[starts[u] + sizes[u]]. The first k count.

items      (n_recommended,)   int32 or int64, from 0, each item once in a list
starts     (n_users,)         int64
sizes      (n_users,)         int32, without padding
weights    (n_items,)         float64
vectors    (n_items, n)       float64, of length 1
sets       (n_items, n)       uint64, bit sets of categories
counts     (n_items,)         int64, number of users with the item among their first k
sorted_counts  (n_items,)     int64, the counts in rising order
out        (n_users,) or (1,) for all users  float64, NaN where there are too few items or users
"""

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.simd import popcount

PADDING = -1
# problems of a list
VALID = 0
REPEATED = 1
GAP = 2
UNKNOWN = 3


@kernel
def check_lists(items, starts, n_items, out_seen, out_sizes, out_problem):
    """
    Write the length of each list without padding, and the first problem: its kind, the user and the place.

    On entry, `out_sizes` holds the lengths with padding, and `out_seen` is −1 for each item. Then `out_seen` holds the
    last user with the item.
    """
    out_problem[0] = VALID
    for u in range(starts.shape[0]):
        size = out_sizes[u]
        while size > 0 and items[starts[u] + size - 1] == PADDING:
            size -= 1
        out_sizes[u] = size
        for i in range(size):
            item = items[starts[u] + i]
            if item < 0 or item >= n_items:
                out_problem[0] = GAP if item < 0 else UNKNOWN
                out_problem[1] = u
                out_problem[2] = i
                return
            if out_seen[item] == u:
                out_problem[0] = REPEATED
                out_problem[1] = u
                out_problem[2] = i
                return
            out_seen[item] = u


@kernel
def mean_over_items(items, starts, sizes, weights, k, out):
    """Compute the mean weight of the items."""
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
    Compute the share of a user's n items that they like and that are not among the n most popular items.

    Items with equal popularity at place n are among the n most popular with equal probability. On entry, `out_marks` is
    −1 for each item.
    """
    for u in range(out.shape[0]):
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            item = liked[i]
            if liked_labels[i] >= rel and 0 <= item < out_marks.shape[0]:
                out_marks[item] = u
        n = min(sizes[u], k)
        total = 0.0
        for i in range(starts[u], starts[u] + n):
            item = items[i]
            if out_marks[item] == u:
                total += 1.0 - min(max((n - more_popular[item]) / as_popular[item], 0.0), 1.0)
        out[u] = total / n if n > 0 else np.nan


@kernel(allocates=True)
def cosine_diversity(items, starts, sizes, vectors, k, out):
    """
    Compute 1 less the mean cosine of all pairs.

    The sum of the cosines comes from the squared length of the sum of all vectors, which have length 1.
    """
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
        twice_pairs = n * (n - 1.0)
        out[u] = max(1.0 - (square - n) / twice_pairs, 0.0) if n > 1 else np.nan  # equal vectors: rounding errors


@kernel
def jaccard_diversity(items, starts, sizes, sets, k, out):
    """
    Compute the mean Jaccard distance of all pairs.

    The distance is 1 less the number of common categories over the number of categories of the pair, 0 without any.
    """
    n_words = sets.shape[1]
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total = 0.0
        for i in range(starts[u], starts[u] + n):
            for j in range(starts[u], i):
                n_common = 0
                n_all = 0
                for w in range(n_words):
                    x = sets[items[i], w]
                    y = sets[items[j], w]
                    n_common += popcount(x & y)
                    n_all += popcount(x | y)
                total += (n_all - n_common) / n_all if n_all > 0 else 0.0
        out[u] = total / (n * (n - 1.0) / 2.0) if n > 1 else np.nan


@kernel
def hamming_diversity(items, starts, sizes, sets, k, out):
    """Compute the mean over all pairs of the number of categories that only one of the two items has."""
    n_words = sets.shape[1]
    for u in range(out.shape[0]):
        n = min(sizes[u], k)
        total = 0
        for i in range(starts[u], starts[u] + n):
            for j in range(starts[u], i):
                for w in range(n_words):
                    total += popcount(sets[items[i], w] ^ sets[items[j], w])
        out[u] = total / (n * (n - 1.0) / 2.0) if n > 1 else np.nan


@kernel
def count_items(items, starts, sizes, k, out_counts):
    """Add the first k items of every user to the counts."""
    for u in range(starts.shape[0]):
        for i in range(starts[u], starts[u] + min(sizes[u], k)):
            out_counts[items[i]] += 1


@kernel
def coverage(counts, out):
    """Compute the share of the items that are recommended to a user."""
    n_covered = 0
    for i in range(counts.shape[0]):
        n_covered += counts[i] > 0
    out[0] = n_covered / counts.shape[0] if counts.shape[0] > 0 else np.nan


@kernel
def gini(sorted_counts, out):
    """Compute the Gini index of the counts, including those of 0."""
    n = sorted_counts.shape[0]
    total = 0
    weighted = 0
    for i in range(n):
        total += sorted_counts[i]
        weighted += (2 * i + 1 - n) * sorted_counts[i]
    out[0] = weighted / (float(n) * total) if total > 0 else np.nan


@kernel
def entropy(sorted_counts, out):
    """Compute the Shannon entropy of the items' shares, in bits."""
    total = 0
    for i in range(sorted_counts.shape[0]):
        total += sorted_counts[i]
    bits = 0.0
    for i in range(sorted_counts.shape[0]):
        if sorted_counts[i] > 0:
            share = sorted_counts[i] / total
            bits -= share * np.log2(share)
    out[0] = bits + 0.0 if total > 0 else np.nan  # + 0.0 makes 0 of −0, the entropy of one item


@kernel(allocates=True)
def personalisation(items, starts, sizes, shortest_first, n_items, k, out):
    """
    Compute the mean distance of all pairs of lists: 1 less the common items over the longer list's length.

    Users are read in the order of their list lengths. If c earlier users have an item of a list of length n, it is
    common to c pairs whose longer list has length n.
    """
    longest = 0
    n_users = 0
    for u in range(sizes.shape[0]):
        longest = max(longest, min(sizes[u], k))
        n_users += sizes[u] > 0
    counts = np.zeros(n_items, np.int32)
    common_by_length = np.zeros(longest + 1, np.int64)
    for place in range(shortest_first.shape[0]):
        u = shortest_first[place]
        n = min(sizes[u], k)
        n_common = 0
        for i in range(starts[u], starts[u] + n):
            n_common += counts[items[i]]
            counts[items[i]] += 1
        common_by_length[n] += n_common
    similarity = 0.0
    for n in range(1, longest + 1):
        similarity += common_by_length[n] / n
    n_pairs = n_users * (n_users - 1.0) / 2.0
    out[0] = 1.0 - similarity / n_pairs if n_users > 1 else np.nan
