"""
Compute metrics of the recommendations of all users: coverage, concentration, and differences between users.

items, starts, sizes, k   see per_user.py
counts         (n_items,)  int64, number of users with the item among their first k
sorted_counts  (n_items,)  int64, the counts in rising order
out            (1,)        float64, NaN if undefined
"""

import numpy as np

from fastndcg.kernels.jit import kernel


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
