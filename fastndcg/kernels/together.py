"""
What hits add up to at several cutoffs in one walk over them.

Each value is the sum of the same numbers in the same order as in the kernels for one cutoff, to the bit: see
precision.py and gain.py. Hits come in rank order and cutoffs rise: a cutoff has the sum as far as the last hit above
it, which each hit writes over in the row of the first cutoff that counts it; rows that nothing is written to take that
of the cutoff before. One loop goes over the hits of all queries: see gain.py.

cutoffs       (n_points,)             int64, how many ranks count
rows          (last cutoff but one + 1,)  int64, by how many ranks are above: the row of the first cutoff below
out           (n_points, n_queries)   float64
"""

import math

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of, precisions
from fastndcg.kernels.stopping import end_of_group


@part
def clear(out):
    """Mark all sums as missing."""
    for i in range(out.shape[0]):
        for q in range(out.shape[1]):
            out[i, q] = math.nan


@part
def carry(out):
    """Fill in each sum that is missing: nothing stands between its cutoff and the one before."""
    for i in range(out.shape[0]):
        for q in range(out.shape[1]):
            before = out[i - 1, q] if i > 0 else 0.0
            out[i, q] = before if out[i, q] != out[i, q] else out[i, q]


@part
def share_of(ties, above, cutoff, n_inside):
    """The expected number of relevant documents of a tie group above a cutoff."""
    ranks = min(max(cutoff - above, 0.0), float(ties))
    return float(n_inside) if ranks == ties else n_inside * (ranks / ties)


@kernel
def count_found(hit_queries, hit_above, hit_ties, hit_labels, rel, cutoffs, rows, out):
    """Expected number of relevant documents in each query's first ranks."""
    clear(out)
    deepest = cutoffs[-1]
    end = 0
    total = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        total = total if query == last_query else 0.0
        last_query = query
        last = hit_above[h]
        if hit_ties[h] == 1:
            total += 1.0 if hit_labels[h] >= rel else 0.0
        elif h >= end:
            above, ties = hit_above[h], hit_ties[h]
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            for i in range(cutoffs.shape[0]):
                if above < cutoffs[i] < above + ties:
                    out[i, query] = total + share_of(ties, above, float(cutoffs[i]), n_inside)
            total += n_inside
            last = above + ties - 1
        else:
            last = deepest  # the group has been added up
        if last < deepest:
            out[rows[np.uint32(min(last, rows.shape[0] - 1))], query] = total
    carry(out)


@part
def mean_discount(discount_sums, discount_rests, above, ties, cutoff):
    """The mean discount of the ranks of a tie group, 0 of those below a cutoff."""
    last = min(above + ties, max(above, cutoff))
    rest = discount_rests[last] - discount_rests[above]
    return (discount_sums[last] - discount_sums[above] + rest) / ties


@kernel
def add_discounted(
    hit_queries, hit_above, hit_ties, hit_gains, discounts, discount_sums, discount_rests, cutoffs, rows, out
):  # fmt: skip
    """Discounted gain of each query's first ranks, where different labels have different gains or no scores tie."""
    clear(out)
    deepest = cutoffs[-1]
    end = 0
    total = 0.0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        total = total if query == last_query else 0.0
        last_query = query
        last = hit_above[h]
        if hit_ties[h] == 1:
            total += hit_gains[h] * discounts[np.uint32(last) + np.uint32(1)]
        elif h >= end:
            above, ties = hit_above[h], hit_ties[h]
            end = end_of_group(hit_queries, hit_above, h)
            for i in range(cutoffs.shape[0]):
                if above < cutoffs[i] < above + ties:
                    discount = mean_discount(discount_sums, discount_rests, above, ties, cutoffs[i])
                    reached = total
                    for member in range(h, end):
                        reached += hit_gains[member] * discount
                    out[i, query] = reached
            discount = mean_discount(discount_sums, discount_rests, above, ties, above + ties)
            for member in range(h, end):
                total += hit_gains[member] * discount
            last = above + ties - 1
        else:
            last = deepest
        if last < deepest:
            out[rows[np.uint32(min(last, rows.shape[0] - 1))], query] = total
    carry(out)


@kernel
def add_precisions(hit_queries, hit_above, hit_ties, hit_labels, rel, cutoffs, rows, out):
    """Expected sum of the precisions at the ranks of relevant documents, down to each cutoff."""
    clear(out)
    deepest = cutoffs[-1]
    end = 0
    total = 0.0
    n_before = 0
    last_query = np.uint32(0xFFFFFFFF)
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        total = total if query == last_query else 0.0
        n_before = n_before if query == last_query else 0
        last_query = query
        last = hit_above[h]
        if hit_ties[h] == 1:
            relevant = hit_labels[h] >= rel
            n_before += relevant
            total += n_before / (last + 1) if relevant else 0.0
        elif h >= end:
            above, ties = hit_above[h], hit_ties[h]
            end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
            for i in range(cutoffs.shape[0]):
                if above < cutoffs[i] < above + ties:
                    out[i, query] = total + precisions(above, ties, cutoffs[i], n_inside, n_before)
            total += precisions(above, ties, above + ties, n_inside, n_before)
            n_before += n_inside
            last = above + ties - 1
        else:
            last = deepest
        if last < deepest:
            out[rows[np.uint32(min(last, rows.shape[0] - 1))], query] = total
    carry(out)
