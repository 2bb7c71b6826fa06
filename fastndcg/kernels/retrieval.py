"""
Metrics of one query in a single call, for functions that are called once a query, where every call between counts.

Hits are found as in single.py, and the catalogue's kernels read them: an array of one query is the engine's case too.

labels   (n_documents,)  uint8, int32, int64 or float32; 0 and 1 where `which` is not NDCG
scores   (n_documents,)  float32
which    one of the numbers below
k        how many ranks count, 1 or more; ALL for all
"""

import math

import numpy as np

from fastndcg.kernels import cascade, precision
from fastndcg.kernels.jit import allocating_kernel
from fastndcg.kernels.single import ALL, discounted, find_hits, highest, read

NDCG, AP, RR, P, P_OF_RANKED, R, SUCCESS, RPREC = range(8)
BY_NAME = {"nDCG": NDCG, "AP": AP, "RR": RR, "P": P, "R": R, "Success": SUCCESS, "Rprec": RPREC}
ALL_RANKS = ALL


@allocating_kernel
def value_of(labels, scores, which, k):
    """The metric's value, 0 where nothing is relevant; NaN where a label or a score is none that it takes."""
    documents, candidates, values, is_right = read(labels, scores)
    if which != NDCG:
        for c in range(len(candidates)):
            is_right &= candidates[c] == 1.0
    if not is_right:
        return math.nan
    n_documents = len(scores)
    return value_of_read(documents, candidates, values, which, n_documents if k == ALL and which in (P, R) else k)


@allocating_kernel
def value_of_read(documents, candidates, values, which, k):
    """The value of candidates, which are relevant documents or, for NDCG, have graded labels."""
    n_relevant = len(candidates)
    if n_relevant == 0:
        return 0.0
    above, ties, labels = find_hits(documents, candidates, values, n_relevant if which == RPREC else k)
    queries, offsets = np.zeros(len(above), np.int32), np.array([0, len(above)])
    counts, out = np.full(1, float(n_relevant)), np.empty(1)
    if which == NDCG:
        return min(discounted(above, ties, labels, k) / highest(candidates, k), 1.0)
    if which == AP:
        precision.average_precision_of_hits(queries, above, ties, labels, offsets, 1.0, counts, k, out)
    elif which == RR:
        cascade.reciprocal_rank(above, ties, labels, offsets, 1.0, k, out)
    elif which == SUCCESS:
        cascade.success(above, ties, labels, offsets, 1.0, k, out)
    else:
        cutoff = n_relevant if which == RPREC else k
        precision.count_found(queries, above, ties, labels, 1.0, np.full(1, float(cutoff)), out)
        n_ranks = min(k, len(values)) if which == P_OF_RANKED else k
        out[0] /= n_relevant if which in (R, RPREC) else n_ranks
    return out[0]
