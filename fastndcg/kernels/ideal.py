"""
The best order of each query: candidates by falling label, as hits without ties.

`best_order` ends at the first query whose labels have to be sorted, and `sort_rest` goes on from there: most data sets
have no such labels, and its compilation takes as long as that of all else which nDCG needs.

labels, label_offsets   the candidates of the documents, or of the pool
offsets      (n_all_queries + 1,) int64, of all documents (or pool entries); this call works on n_queries, from `first`
depth        how many ranks any metric looks at
but_ones     whether queries whose labels are all 1 get no hits: what these add up to is known without
counts       room for how many labels there are of each grade, all 0
out_labels   (n_candidates,)    float64, labels above 0, then those below 0
out_above    (n_candidates,)    int32, their ranks less one: labels below 0 stand after all the zeros
out_offsets  (n_queries + 1,)   int64, -1 behind the queries that are done
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part, unit
from fastndcg.kernels.sorting import sort_descending
from fastndcg.kernels.vectors import wide_like

GRADES = 32  # whole labels below it are counted; most data sets have nothing else
FEW_GRADES, MOST_COUNTED = 8, 255  # those below it in the bytes of a word, of so many labels at the most
ONE, BYTE = np.uint64(1), np.uint64(255)


@kernel
def best_order(labels, label_offsets, offsets, first, depth, but_ones, out_labels, out_above, out_offsets):
    """The ideal hits of each query, down to `depth`."""
    counts = wide_like(label_offsets)
    counts[:] = 0
    n_hits = 0
    out_offsets[:] = -1
    out_offsets[0] = 0
    for q in range(out_offsets.shape[0] - 1):
        c = label_offsets[q]
        m = label_offsets[q + 1] - c
        size = offsets[first + q + 1] - offsets[first + q]
        n_new = place(labels, c, m, size, depth, but_ones, counts, n_hits, out_labels, out_above)
        if n_new < 0:
            break
        n_hits += n_new
        out_offsets[q + 1] = n_hits


@allocating_kernel
def sort_rest(labels, label_offsets, offsets, first, depth, but_ones, out_labels, out_above, out_offsets):
    """The same for the queries that are left, whose labels are sorted where need be."""
    most = 0
    for q in range(out_offsets.shape[0] - 1):
        most = max(most, label_offsets[q + 1] - label_offsets[q])
    room = (np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most))
    fill_rest(labels, label_offsets, offsets, first, depth, but_ones, room, out_labels, out_above, out_offsets)


@unit
def fill_rest(labels, label_offsets, offsets, first, depth, but_ones, room, out_labels, out_above, out_offsets):
    """Go through all queries, in a function of its own: here no references are counted."""
    counts = wide_like(label_offsets)
    counts[:] = 0
    order, spare, ordered = room
    n_hits = 0
    for q in range(out_offsets.shape[0] - 1):
        if out_offsets[q + 1] >= 0:
            n_hits = out_offsets[q + 1]
            continue
        c = label_offsets[q]
        m = label_offsets[q + 1] - c
        size = offsets[first + q + 1] - offsets[first + q]
        n_new = place(labels, c, m, size, depth, but_ones, counts, n_hits, out_labels, out_above)
        if n_new < 0:
            for i in range(m):
                order[i] = c + i
            sort_descending(labels, m, spare, order)
            for i in range(m):
                ordered[i] = labels[order[i]]
            n_new = place_falling(ordered, 0, m, size, depth, n_hits, out_labels, out_above)
        n_hits += n_new
        out_offsets[q + 1] = n_hits


@part
def place(labels, c, m, size, depth, but_ones, counts, n_hits, out_labels, out_above):
    """Write the hits among the m labels from `c` on, those of a query; says how many, -1 if they have to be sorted."""
    if but_ones and m > 0 and labels[np.uint64(c)] == 1.0 and are_ones(labels, c, m):
        return 0
    counted = count_few(labels, c, m)
    if counted != 0:
        place_few(labels, c, m, counted, n_hits, out_labels, out_above)
        return min(m, depth)
    if is_falling(labels, c, m):  # as where all are alike: sooner seen than counted one by one
        return place_falling(labels, c, m, size, depth, n_hits, out_labels, out_above)
    highest = count_grades(labels, c, m, counts)
    return emit_grades(counts, highest, min(m, depth), n_hits, out_labels, out_above) if highest > 0 else -1


@part
def are_ones(labels, c, m):
    """Whether the m labels from `c` on are all 1."""
    n_others = 0
    for i in range(np.uint64(c), np.uint64(c + m)):
        n_others += labels[i] != 1.0
    return n_others == 0


@part
def place_falling(labels, c, m, size, depth, n_hits, out_labels, out_above):
    """Write the m labels from `c` on, which are in order, down to `depth`; says how many."""
    n_new = 0
    for i in range(m):
        label = labels[c + i]
        above = i if label > 0.0 else size - m + i
        if above >= depth:
            break
        out_labels[n_hits + n_new] = label
        out_above[n_hits + n_new] = above
        n_new += 1
    return n_new


@part
def count_few(labels, c, m):
    """Count the m labels from `c` on in a word, byte i those of i; 0 unless all are whole and from 1 to 7."""
    counted = np.uint64(0)
    n_others = m // (MOST_COUNTED + 1)
    for i in range(np.uint64(c), np.uint64(c + min(m, MOST_COUNTED))):
        label = labels[i]
        grade = np.int32(min(max(label, 0.0), FEW_GRADES - 1.0))
        n_others += (grade != label) | (grade == 0)
        counted += ONE << np.uint64(grade << 3)
    return counted if n_others == 0 else np.uint64(0)


@part
def place_few(labels, c, m, counted, n_hits, out_labels, out_above):
    """Write all m counted labels in order: no step depends on how many there are of each, which takes half the time."""
    left = counted  # in byte i, in the end: how many that are not above i have no place yet
    for n_bits in (8, 16, 32):
        left += left << np.uint64(n_bits)
    stop = np.uint64(n_hits + m)
    for i in range(np.uint64(m)):
        label = labels[np.uint64(c) + i]
        shift = np.uint64(np.int32(label) << 3)
        out_labels[stop - (left >> shift & BYTE)] = label
        out_above[np.uint64(n_hits) + i] = i
        left -= ONE << shift


@part
def count_grades(labels, c, m, counts):
    """Count the m labels from `c` on by their value; the highest, or 0 unless all are whole from 1 to GRADES − 1."""
    n_others = 0
    highest = 0
    for i in range(c, c + m):
        grade = int(min(max(labels[i], 0.0), GRADES - 1.0))
        n_others += grade != labels[i] or grade == 0
        highest = max(highest, grade)
        counts[grade] += 1
    if n_others > 0:
        counts[:] = 0
        return 0
    return highest


@part
def emit_grades(counts, highest, n_wanted, n_hits, out_labels, out_above):
    """Write the first `n_wanted` of the counted labels, the highest first, and forget them; says how many."""
    n_new = 0
    for grade in range(highest, 0, -1):
        for _ in range(min(counts[grade], n_wanted - n_new)):
            out_labels[n_hits + n_new] = grade
            out_above[n_hits + n_new] = n_new
            n_new += 1
        counts[grade] = 0
    return n_new


@part
def is_falling(labels, c, m):
    """Whether the m labels from `c` on are in order as they are."""
    i = 1
    while i < m and labels[c + i] <= labels[c + i - 1]:
        i += 1
    return i >= m
