"""
Add up gains, precisions and relevant documents down to several cutoffs, in one pass over the hits.

Each sum has the same terms in the same order as in the kernels for one cutoff, and therefore the same bits: see dcg.py
and precision_recall.py. Hits are in rank order and cutoffs rise. Each hit writes its running sums to the row of the
first cutoff that includes it. A row without a hit is then filled from the row before. Hits below the last cutoff go to
one more row, because that takes less time than a branch.

There are three kinds of sums. A caller passes an empty array in place of the output of a kind that it does not need.
One pass for three kinds takes as long as two separate passes: the additions of one kind do not wait for those of
another. Queries with tied hits are computed again by `sum_at_cutoffs_with_ties`.

queries          (n_tied,)    int32, queries in which hits tie
cutoffs          (n_points,)  int64, rising
deepest          last cutoff; no discount behind the next rank is read
rows             (n,)         uint32, rows[x] is the first cutoff that includes a hit with x documents above, n_points
                              without such a cutoff. The last entry also belongs to all larger x
merges_labels    True if different labels may have equal gains
out_dcg      ((n_points + 1) · n_queries,)  float64, sums of discounted gains, one row for each cutoff; or empty
out_precisions   the same shape, sums of the precisions at relevant documents; or empty
out_found        the same shape, numbers of relevant documents; or empty
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.dcg import Discounts, group_dcg, group_discount
from fastndcg.kernels.metrics.precision_recall import count_found_in_group, expected_precision_sum
from fastndcg.kernels.metrics.tie_groups import GainHits, count_tied_relevant


@inline
def mark_missing(out):
    """Write NaN to all sums, to find those that no hit has written."""
    for i in range(out.shape[0]):
        out[i] = math.nan


@inline
def fill_missing(n_queries, out):
    """Fill each missing sum from the cutoff before: no hit lies between the two cutoffs."""
    for row in range(0, out.shape[0], n_queries):
        for i in range(row, row + n_queries):
            before = out[i - n_queries] if row > 0 else 0.0
            out[i] = before if out[i] != out[i] else out[i]


@kernel
def sum_at_cutoffs(
    hit_queries, hit_above, hit_labels, hit_gains, rel, discounts, deepest, rows, n_queries,
    out_dcg, out_precisions, out_found,
):  # fmt: skip
    """Compute the sums of each query's first ranks where no hits tie."""
    mark_missing(out_dcg)
    mark_missing(out_precisions)
    mark_missing(out_found)
    has_dcg = out_dcg.shape[0] > 0
    has_precisions = out_precisions.shape[0] > 0
    has_found = out_found.shape[0] > 0
    deepest = np.uint32(deepest)
    last_row = np.uint32(rows.shape[0] - 1)
    dcg = 0.0
    precision_sum = 0.0
    n_relevant_found = 0
    last_query = -1
    for h in range(hit_above.shape[0]):
        query = hit_queries[h]
        above = min(np.uint32(hit_above[h]), deepest)
        dcg = dcg if query == last_query else 0.0
        precision_sum = precision_sum if query == last_query else 0.0
        n_relevant_found = n_relevant_found if query == last_query else 0
        last_query = query
        place = rows[min(above, last_row)] * np.uint64(n_queries) + np.uint64(np.uint32(query))
        is_relevant = hit_labels[h] >= rel
        n_relevant_found += is_relevant
        if has_dcg:
            dcg += hit_gains[h] * discounts[above + np.uint32(1)]
            out_dcg[place] = dcg
        if has_precisions:
            precision_sum += n_relevant_found / (hit_above[h] + 1) if is_relevant else 0.0
            out_precisions[place] = precision_sum
        if has_found:
            out_found[place] = n_relevant_found
    fill_missing(n_queries, out_dcg)
    fill_missing(n_queries, out_precisions)
    fill_missing(n_queries, out_found)


@inline
def add_group_dcg(hits, h, end, discounts, merges_labels, cutoff, dcg):
    """Return a DCG and the expected part of the tie group from hit `h` up to `end`, down to a cutoff."""
    above = hits.above[h]
    size = hits.tie_sizes[h]
    if size == 1:
        return dcg + hits.gains[h] * discounts.values[above + 1]
    if merges_labels:
        _, group_part = group_dcg(hits, h, discounts, cutoff)
        return dcg + group_part
    discount = group_discount(discounts, above, min(above + size, cutoff), size)
    for member in range(h, end):
        dcg += hits.gains[member] * discount
    return dcg


@kernel
def sum_at_cutoffs_with_ties(
    queries, hit_queries, hit_above, hit_ties, hit_labels, hit_gains, hit_offsets, rel, discounts, discount_sums,
    discount_rests, cutoffs, merges_labels, out_dcg, out_precisions, out_found,
):  # fmt: skip
    """Compute the expected sums of the first ranks of the queries with tied hits, and of no other queries."""
    hits = GainHits(hit_queries, hit_above, hit_ties, hit_gains)
    all_discounts = Discounts(discounts, discount_sums, discount_rests)
    n_queries = hit_offsets.shape[0] - 1
    for i_query in range(queries.shape[0]):
        query = queries[i_query]
        h = hit_offsets[query]
        stop = hit_offsets[query + 1]
        dcg = 0.0
        precision_sum = 0.0
        n_relevant_found = 0.0
        for i in range(cutoffs.shape[0]):
            sums = (dcg, precision_sum, n_relevant_found)
            while h < stop and hit_above[h] < cutoffs[i]:
                above = hit_above[h]
                size = hit_ties[h]
                last = min(above + size, cutoffs[i])
                end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
                sums = (
                    add_group_dcg(hits, h, end, all_discounts, merges_labels, last, dcg),
                    precision_sum + expected_precision_sum(above, size, last, n_tied_relevant, n_relevant_found),
                    n_relevant_found + count_found_in_group(size, above, last, n_tied_relevant),
                )
                if last < above + size:
                    break  # the next cutoff may include more of the group
                dcg, precision_sum, n_relevant_found = sums
                h = end
            place = i * n_queries + query
            if out_dcg.shape[0] > 0:
                out_dcg[place] = sums[0]
            if out_precisions.shape[0] > 0:
                out_precisions[place] = sums[1]
            if out_found.shape[0] > 0:
                out_found[place] = sums[2]
