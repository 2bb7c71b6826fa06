"""
What hits add up to at several cutoffs in one walk over them: discounted gains, precisions, relevant documents found.

Each value is the sum of the same numbers in the same order as in the kernels for one cutoff, to the bit: see
precision.py and gain.py. Hits come in rank order and cutoffs rise: a cutoff has the sum as far as the last hit above
it, which each hit writes over in the row of the first cutoff that counts it; rows that nothing is written to take that
of the cutoff before. What stands below all cutoffs is written to a row of its own: to ask about it takes longer.

One loop goes over the hits of all queries: see gain.py. In it the additions of one query wait for one another, those of
one kind of sum not for those of another, so that three kinds take as long as two walks. Who has no use for a kind gives
None for its sums, and a kernel without it is compiled. Queries where scores tie are walked over once more.

queries               (n_tied,)               int32, those where scores tie
hit_queries, hit_above, hit_ties   (n_hits,)  int32
hit_labels, hit_gains (n_hits,)               float64
hit_offsets           (n_queries + 1,)        int64
rel                   a document is relevant if its label is at least this
discounts, discount_sums, discount_rests      see gain.py; there is a discount of the rank below the last cutoff
cutoffs, deepest      (n_points,)             int64, how many ranks count; the last of them, and at most any rank
rows                  (n,)                    uint32, by how many ranks are above, the last for all others: which cutoff
                                              is the first below, n_points for none
merges_labels         whether different labels may have the same gain
out_reached, out_precisions, out_found   ((n_points + 1) · n_queries,) float64, a row for each cutoff, or None
"""

import math

import numpy as np

from fastndcg.kernels.gain import group_share
from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.precision import group_of, precisions


@part
def clear(out):
    """Mark all sums as missing."""
    for i in range(out.shape[0]):
        out[i] = math.nan


@part
def carry(n_queries, out):
    """Fill in each sum that is missing: nothing stands between its cutoff and the one before."""
    for row in range(0, out.shape[0], n_queries):
        for i in range(row, row + n_queries):
            before = out[i - n_queries] if row > 0 else 0.0
            out[i] = before if out[i] != out[i] else out[i]


@kernel
def add_up(
    hit_queries, hit_above, hit_labels, hit_gains, rel, discounts, deepest, rows, n_queries,
    out_reached, out_precisions, out_found,
):  # fmt: skip
    """Sums of each query's first ranks where no scores tie."""
    if out_reached is not None:
        clear(out_reached)
    if out_precisions is not None:
        clear(out_precisions)
    if out_found is not None:
        clear(out_found)
    deepest, last_row = np.uint32(deepest), np.uint32(rows.shape[0] - 1)
    reached = total = 0.0
    found = 0
    last_query = -1
    for h in range(hit_above.shape[0]):
        query = hit_queries[h]
        above = min(np.uint32(hit_above[h]), deepest)
        reached = reached if query == last_query else 0.0
        total = total if query == last_query else 0.0
        found = found if query == last_query else 0
        last_query = query
        place = rows[min(above, last_row)] * np.uint64(n_queries) + np.uint64(np.uint32(query))
        relevant = hit_labels[h] >= rel
        found += relevant
        if out_reached is not None:
            reached += hit_gains[h] * discounts[above + np.uint32(1)]
            out_reached[place] = reached
        if out_precisions is not None:
            total += found / (hit_above[h] + 1) if relevant else 0.0
            out_precisions[place] = total
        if out_found is not None:
            out_found[place] = found
    if out_reached is not None:
        carry(n_queries, out_reached)
    if out_precisions is not None:
        carry(n_queries, out_precisions)
    if out_found is not None:
        carry(n_queries, out_found)


@part
def share_of(ties, above, cutoff, n_inside):
    """The expected number of relevant documents of a tie group above a cutoff."""
    ranks = min(max(cutoff - above, 0.0), float(ties))
    return float(n_inside) if ranks == ties else n_inside * (ranks / ties)


@part
def add_group(
    hit_queries, hit_above, hit_ties, hit_gains, h, end, discounts, discount_sums, discount_rests, merges_labels,
    cutoff, reached,
):  # fmt: skip
    """A sum of discounted gains and those of the tie group from hit `h` up to `end`, as far as a cutoff."""
    above, ties = hit_above[h], hit_ties[h]
    if ties == 1:
        return reached + hit_gains[h] * discounts[above + 1]
    if merges_labels:
        _, share = group_share(
            hit_queries, hit_above, hit_ties, hit_gains, h, discounts, discount_sums, discount_rests, cutoff
        )
        return reached + share
    last = min(above + ties, cutoff)
    rest = discount_rests[last] - discount_rests[above]
    discount = (discount_sums[last] - discount_sums[above] + rest) / ties
    for member in range(h, end):
        reached += hit_gains[member] * discount
    return reached


@kernel
def add_up_tied(
    queries, hit_queries, hit_above, hit_ties, hit_labels, hit_gains, hit_offsets, rel, discounts, discount_sums,
    discount_rests, cutoffs, merges_labels, out_reached, out_precisions, out_found,
):  # fmt: skip
    """Expected sums of the first ranks of the queries where scores tie, one group after the other; others stay."""
    n_queries = hit_offsets.shape[0] - 1
    for tied in range(queries.shape[0]):
        query = queries[tied]
        h, stop = hit_offsets[query], hit_offsets[query + 1]
        reached = total = found = 0.0
        for i in range(cutoffs.shape[0]):
            sums = reached, total, found
            while h < stop and hit_above[h] < cutoffs[i]:
                above, ties = hit_above[h], hit_ties[h]
                last = min(above + ties, cutoffs[i])
                end, n_inside = group_of(hit_queries, hit_above, hit_labels, h, rel)
                sums = (
                    add_group(
                        hit_queries, hit_above, hit_ties, hit_gains, h, end, discounts, discount_sums, discount_rests,
                        merges_labels, last, reached,
                    ),
                    total + precisions(above, ties, last, n_inside, found),
                    found + share_of(ties, above, last, n_inside),
                )  # fmt: skip
                if last < above + ties:
                    break  # the rest of the group may be above the next cutoff
                reached, total, found = sums
                h = end
            place = i * n_queries + query
            if out_reached is not None:
                out_reached[place] = sums[0]
            if out_precisions is not None:
                out_precisions[place] = sums[1]
            if out_found is not None:
                out_found[place] = sums[2]
