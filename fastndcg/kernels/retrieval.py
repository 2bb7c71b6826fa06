"""
Metrics of one query in a single call, for functions that are called once a query, where every call between counts.

Hits are found as in single.py, and the catalogue's kernels read them: an array of one query is the engine's case too.

labels       address of n_documents uint8, int32, int64 or float32, as `label_kind` says: its place in LABEL_KINDS
scores       address of n_documents float32
which        one of the numbers below; labels are 0 and 1 where it is not NDCG
k            how many ranks count, 1 or more; ALL for all
"""

import math

import numpy as np

from fastndcg.kernels import cascade, precision
from fastndcg.kernels.addresses import array_at
from fastndcg.kernels.jit import allocating_kernel, part
from fastndcg.kernels.single import ALL, discounted, find_hits, highest, read

NDCG, AP, RR, P, P_OF_RANKED, R, SUCCESS, RPREC = range(8)
BY_NAME = {"nDCG": NDCG, "AP": AP, "RR": RR, "P": P, "P of ranked": P_OF_RANKED, "R": R, "Success": SUCCESS}
BY_NAME["Rprec"] = RPREC
LABEL_KINDS = ("u1", "i4", "i8", "f4")
LABEL_SIZES = (1, 4, 8, 4)
SCORE_SIZE = 4
ALL_RANKS = ALL


@allocating_kernel
def value_at(labels, label_kind, scores, n_documents, which, k):
    """
    The metric's value, 0 where nothing is relevant.

    NaN where there is nothing to read, or not where numbers of that size can be, or a number is none that it takes.
    """
    if n_documents == 0 or labels == 0 or scores == 0 or labels % LABEL_SIZES[label_kind] or scores % SCORE_SIZE:
        return math.nan
    documents, candidates, values, is_right = read_at(labels, label_kind, array_at(scores, n_documents, np.float32))
    if which != NDCG:
        for c in range(len(candidates)):
            is_right &= candidates[c] == 1.0
    if not is_right:
        return math.nan
    n_ranks = n_documents if k == ALL and which in (P, R) else k
    return value_of_read(documents, candidates, values, n_documents, which, n_ranks)


@part
def read_at(labels, label_kind, scores):
    """What `read` says of the labels at an address."""
    n = len(scores)
    if label_kind == 0:
        return read(array_at(labels, n, np.uint8), scores)
    if label_kind == 1:
        return read(array_at(labels, n, np.int32), scores)
    if label_kind == 2:
        return read(array_at(labels, n, np.int64), scores)
    return read(array_at(labels, n, np.float32), scores)


@allocating_kernel
def value_of_read(documents, candidates, values, n_documents, which, k):
    """The value of candidates, which are relevant documents or, for NDCG, have graded labels."""
    n_relevant = len(candidates)
    if n_relevant == 0:
        return 0.0
    cutoff = n_relevant if which == RPREC else k
    above, ties, labels = find_hits(documents, candidates, values, n_documents, cutoff)
    if which == NDCG:
        return min(discounted(above, ties, labels, k) / highest(candidates, k), 1.0)
    queries, offsets = np.zeros(len(above), np.int32), np.array([0, len(above)])
    counts, out = np.full(1, float(n_relevant)), np.empty(1)
    if which == AP:
        precision.average_precision_of_hits(queries, above, ties, labels, offsets, 1.0, counts, k, out)
    elif which == RR:
        cascade.reciprocal_rank(above, ties, labels, offsets, 1.0, k, out)
    elif which == SUCCESS:
        cascade.success(above, ties, labels, offsets, 1.0, k, out)
    else:
        precision.count_found(queries, above, ties, labels, 1.0, np.full(1, float(cutoff)), out)
        n_ranks = min(k, n_documents) if which == P_OF_RANKED else k
        out[0] /= n_relevant if which in (R, RPREC) else n_ranks
    return out[0]
