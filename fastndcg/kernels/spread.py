"""
How all users' recommended items are spread over the catalogue, and how different the users' lists are.

items, starts, sizes, k  see items.py
counts         (n_items,)  int64, how many users have an item among their first k
sorted_counts  the same, the smallest first
out            (1,)        float64, NaN where the metric is undefined
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel


@kernel
def count_items(items, starts, sizes, k, out_counts):
    """Add every user's first k items to the counts."""
    for u in range(starts.shape[0]):
        for i in range(starts[u], starts[u] + min(sizes[u], k)):
            out_counts[items[i]] += 1


@kernel
def coverage(counts, out):
    """The share of items that some user has."""
    n_covered = 0
    for i in range(counts.shape[0]):
        n_covered += counts[i] > 0
    out[0] = n_covered / counts.shape[0] if counts.shape[0] > 0 else np.nan


@kernel
def gini(sorted_counts, out):
    """The Gini index of the counts, those of 0 among them."""
    n = sorted_counts.shape[0]
    total, weighted = 0, 0
    for i in range(n):
        total += sorted_counts[i]
        weighted += (2 * i + 1 - n) * sorted_counts[i]
    out[0] = weighted / (float(n) * total) if total > 0 else np.nan


@kernel
def entropy(sorted_counts, out):
    """The entropy of the items' shares, in bits."""
    total = 0
    for i in range(sorted_counts.shape[0]):
        total += sorted_counts[i]
    bits = 0.0
    for i in range(sorted_counts.shape[0]):
        if sorted_counts[i] > 0:
            share = sorted_counts[i] / total
            bits -= share * np.log2(share)
    out[0] = bits + 0.0 if total > 0 else np.nan  # 0 and not −0 of one item


@allocating_kernel
def personalisation(items, starts, sizes, shortest_first, n_items, k, out):
    """
    The mean distance of all pairs of lists.

    Users come in order of the lengths of their lists: each item of a list of n, which c users before have, adds c items
    in common to pairs whose longer list has n.
    """
    longest, n_users = 0, 0
    for u in range(sizes.shape[0]):
        longest = max(longest, min(sizes[u], k))
        n_users += sizes[u] > 0
    counts, in_common = np.zeros(n_items, np.int32), np.zeros(longest + 1, np.int64)
    for place in range(shortest_first.shape[0]):
        u = shortest_first[place]
        n = min(sizes[u], k)
        common = 0
        for i in range(starts[u], starts[u] + n):
            common += counts[items[i]]
            counts[items[i]] += 1
        in_common[n] += common
    alike = 0.0
    for n in range(1, longest + 1):
        alike += in_common[n] / n
    pairs = n_users * (n_users - 1.0) / 2.0
    out[0] = 1.0 - alike / pairs if n_users > 1 else np.nan
