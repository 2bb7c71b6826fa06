"""
The documents that can matter to a metric: those whose label is not 0. The one kernel that reads the user's labels.

labels         (n_documents,)      any dtype of labels
offsets        (n_all_queries + 1,) int64; this call works on n_queries of them, from query `first`
floor          negative labels below it are kept: 0.0 keeps them all, -inf none
out_documents  (n_documents,)      int32, place of a candidate among the documents of the call
out_labels     (n_documents,)      float64
out_offsets    (n_queries + 1,)    int64, query q owns candidates out_offsets[q] up to out_offsets[q + 1]
out_marks      (n_blocks,)         uint64, bit i of entry b is set if document 64 b + i of the call is a candidate
out_before     (n_blocks,)         int64, how many candidates stand before block b
out_about      (4,)                float64: how many labels are NaN, the lowest of them all and 0, and of candidates the
                                   least label and the most, infinite and minus infinite if there is none
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.vectors import (
    ALL,
    NONE,
    ONE,
    WIDE,
    fetch_ahead,
    lanes_below,
    lesser,
    lowest_bit,
    nonzero,
    popcount,
    positive,
)

GROUP = 3  # candidates written at once


@kernel
def collect(
    labels, offsets, first, floor, out_documents, out_labels, out_offsets, out_marks, out_before, out_about
):  # fmt: skip
    """
    Documents with a label above 0 (or below `floor`) of each query, in the order given.

    Sixty-four labels at once, across queries, since most are 0. Behind the first candidate they are written in groups,
    the last one again where a group is not full, and what comes next is written over it, or nothing comes and there may
    be no other place: a loop that ends with them ends where no processor expects it, which takes as long as all else.
    """
    n_queries = out_offsets.shape[0] - 1
    start = block = offsets[first]
    stop = offsets[first + n_queries]
    last = out_documents.shape[0] - 1
    lowest, least, most = 0.0, np.inf, -np.inf  # the last two of the candidates
    n_nan = n_found = 0
    for b in range(out_marks.shape[0]):
        fetch_ahead(labels, block)
        marked, others = mark(labels, block, stop)
        while others != 0:
            label = float(labels[block + lowest_bit(others)])
            if label < lowest:
                lowest = label
            n_nan += label != label
            if label < floor:
                marked |= ONE << np.uint64(lowest_bit(others))
            others &= others - ONE
        out_marks[b] = marked
        out_before[b] = n_found
        c = n_found
        n_found += popcount(marked)
        if marked == ALL:
            least, most = put_all(labels, block, start, c, least, most, out_documents, out_labels)
            c = n_found
        if c < n_found:
            least, most = put(labels, block, marked, start, c, least, most, out_documents, out_labels)
            c += 1
        while c < n_found:
            for _ in range(GROUP):
                marked = marked & (marked - ONE) or marked
                place = lesser(c, last)
                least, most = put(labels, block, marked, start, place, least, most, out_documents, out_labels)
                c += 1
        block += WIDE
    cut(offsets, first, n_found, out_marks, out_before, out_offsets)
    out_about[0] = n_nan
    out_about[1] = lowest
    out_about[2] = least
    out_about[3] = most


@part
def mark(labels, block, stop):
    """Masks of labels above 0, and of others that are not 0, among the sixty-four from `block` on; fewer at `stop`."""
    if block + WIDE <= stop:
        above = positive(labels, block)
        return above, nonzero(labels, block) & ~above
    above = NONE
    others = NONE
    for d in range(block, stop):
        bit = ONE << np.uint64(d - block)
        if labels[d] > 0:
            above |= bit
        elif labels[d] != 0:
            others |= bit
    return above, others


@part
def put(labels, block, marked, start, c, least, most, out_documents, out_labels):
    """Write the first marked candidate of a block; the least and the most of its label and what they were."""
    d = block + lowest_bit(marked)
    label = float(labels[np.uint64(d)])
    out_documents[np.uint64(c)] = d - start
    out_labels[np.uint64(c)] = label
    if label > most:  # `max` asks for NaN, too, which takes twice as long as all else here
        most = label
    if label < least:
        least = label
    return least, most


@part
def put_all(labels, block, start, c, least, most, out_documents, out_labels):
    """The same of a block that has nothing but candidates, in vectors."""
    given, documents, found = labels[block : block + WIDE], out_documents[c : c + WIDE], out_labels[c : c + WIDE]
    low = high = given[0]
    for i in range(WIDE):
        low = given[i] if given[i] < low else low
        high = given[i] if given[i] > high else high
    for i in range(WIDE):
        documents[i] = block - start + i
        found[i] = given[i]
    return (low if low < least else least), (high if high > most else most)


@part
def cut(offsets, first, n_found, marks, before, out_offsets):
    """How many candidates stand before each query; before one that has no document behind it, all of them."""
    n_queries = out_offsets.shape[0] - 1
    n_documents = offsets[first + n_queries] - offsets[first]
    for q in range(n_queries + 1):
        d = offsets[first + q] - offsets[first]
        out_offsets[q] = n_found
        if d < n_documents:
            out_offsets[q] = before[d // WIDE] + popcount(marks[d // WIDE] & lanes_below(d % WIDE))


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """How many candidates of each query have a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant
