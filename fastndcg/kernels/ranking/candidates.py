"""
Collect the documents that can matter to a metric, and count the relevant ones among them.

`collect` is the only kernel that reads the user's labels.
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.arrays import Candidates
from fastndcg.kernels.simd import (
    ALL,
    NONE,
    ONE,
    WIDE,
    lowest_bit,
    mask_first,
    mask_nonzero,
    mask_positive,
    popcount,
    prefetch,
)


@kernel
def collect(labels, offsets, first, lowest_dropped, out_candidates, out_summary):
    """
    Collect the candidates of each query: documents with a label above 0, or below `lowest_dropped`.

    labels          (n_documents,) array of any dtype of labels
    lowest_dropped  0.0 to collect all negative labels, minus infinity to collect none
    out_candidates  `Candidates` as a tuple, with room for every document
    out_summary     (4,) float64: the number of NaN labels, the minimum of all labels and 0, and the lowest and
                    highest label of the candidates (infinity and minus infinity without candidates)

    The kernel reads 64 labels at once, whatever queries they belong to, because most labels are 0.
    """
    candidates = Candidates(*out_candidates)
    n_queries = candidates.offsets.shape[0] - 1
    start = offsets[first]
    stop = offsets[first + n_queries]
    block = start
    lowest = 0.0
    min_candidate = np.inf
    max_candidate = -np.inf
    n_nan = 0
    n_candidates = 0
    for b in range(candidates.bitmask.shape[0]):
        prefetch(labels, block)
        mask, negative = mask_labels(labels, block, stop)  # NaN labels are in the second mask, too
        while negative != 0:
            label = float(labels[block + lowest_bit(negative)])
            if label < lowest:
                lowest = label
            n_nan += label != label
            if label < lowest_dropped:
                mask |= ONE << np.uint64(lowest_bit(negative))
            negative &= negative - ONE
        candidates.bitmask[b] = mask
        candidates.n_before_block[b] = n_candidates
        if mask == ALL:
            min_candidate, max_candidate = write_block(
                labels, block, start, n_candidates, min_candidate, max_candidate, candidates
            )
            n_candidates += WIDE
        else:
            while mask != 0:
                d = block + lowest_bit(mask)
                label = float(labels[np.uint64(d)])
                candidates.documents[np.uint64(n_candidates)] = d - start
                candidates.labels[np.uint64(n_candidates)] = label
                if label > max_candidate:  # `max` would also compare with NaN
                    max_candidate = label
                if label < min_candidate:
                    min_candidate = label
                n_candidates += 1
                mask &= mask - ONE
        block += WIDE
    write_offsets(offsets, first, n_candidates, candidates)
    out_summary[0] = n_nan
    out_summary[1] = lowest
    out_summary[2] = min_candidate
    out_summary[3] = max_candidate


@inline
def mask_labels(labels, block, stop):
    """Return the masks of the labels above 0 and of the labels below 0 or NaN, from `block` on and before `stop`."""
    if block + WIDE <= stop:
        positive = mask_positive(labels, block)
        return positive, mask_nonzero(labels, block) & ~positive
    positive = NONE
    negative = NONE
    for d in range(block, stop):
        bit = ONE << np.uint64(d - block)
        if labels[d] > 0:
            positive |= bit
        elif labels[d] != 0:
            negative |= bit
    return positive, negative


@inline
def write_block(labels, block, start, n_candidates, min_candidate, max_candidate, candidates):
    """Write a block of 64 candidates with vector instructions, and return the lowest and the highest label so far."""
    block_labels = labels[block : block + WIDE]
    out_documents = candidates.documents[n_candidates : n_candidates + WIDE]
    out_labels = candidates.labels[n_candidates : n_candidates + WIDE]
    low = block_labels[0]
    high = block_labels[0]
    for i in range(WIDE):
        low = block_labels[i] if block_labels[i] < low else low
        high = block_labels[i] if block_labels[i] > high else high
    for i in range(WIDE):
        out_documents[i] = block - start + i
        out_labels[i] = block_labels[i]
    return (low if low < min_candidate else min_candidate), (high if high > max_candidate else max_candidate)


@inline
def write_offsets(offsets, first, n_candidates, candidates):
    """Write the candidate offsets of the queries. Queries without a later document get the number of candidates."""
    n_queries = candidates.offsets.shape[0] - 1
    n_documents = offsets[first + n_queries] - offsets[first]
    for q in range(n_queries + 1):
        d = offsets[first + q] - offsets[first]
        candidates.offsets[q] = n_candidates
        if d < n_documents:
            n_in_block = popcount(candidates.bitmask[d // WIDE] & mask_first(d % WIDE))
            candidates.offsets[q] = candidates.n_before_block[d // WIDE] + n_in_block


@kernel
def count_relevant(labels, label_offsets, rel, out):
    """Count the candidates of each query with a label of at least `rel`."""
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(label_offsets[q], label_offsets[q + 1]):
            n_relevant += labels[c] >= rel
        out[q] = n_relevant
