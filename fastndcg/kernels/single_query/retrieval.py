"""
Compute one metric of one query from arrays in memory, for drop-ins that are called once per query.

A tensor is read at its address: the way through NumPy arrays and the engine takes 42 µs a call, this one 8 µs
(`pytest benchmarks -k drop_in`, the row of torchmetrics, one query a call). The caller keeps the memory alive.

labels       address of n_documents uint8, int32, int64 or float32, as LABEL_TYPES[label_type] says
scores       address of n_documents float32
metric       one of the numbers below; labels are 0 and 1 for all but NDCG
k            cutoff, 1 or more; MAX_RANK for none
"""

import math

import numpy as np

from fastndcg.kernels.bytes import view_memory
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.kernels.metrics import first_relevant, precision_recall
from fastndcg.kernels.single_query.single import add_discounted, find_hits, ideal_dcg, read

NDCG, AP, RR, P, P_OF_RANKED, R, SUCCESS, RPREC = range(8)
METRICS = {
    "nDCG": NDCG, "AP": AP, "RR": RR, "P": P, "P of ranked": P_OF_RANKED, "R": R, "Success": SUCCESS, "Rprec": RPREC,
}  # fmt: skip
LABEL_TYPES = ("u1", "i4", "i8", "f4")
LABEL_SIZES = (1, 4, 8, 4)
SCORE_SIZE = 4


@kernel(allocates=True)
def evaluate_at(labels, label_type, scores, n_documents, metric, k):
    """
    Return the value of a metric, 0 for a query without relevant documents.

    Return NaN for empty or misaligned memory, and for labels or scores that the metric does not take.
    """
    if n_documents == 0 or labels == 0 or scores == 0 or labels % LABEL_SIZES[label_type] or scores % SCORE_SIZE:
        return math.nan
    documents, candidates, values, is_valid = read_at(labels, label_type, view_memory(scores, n_documents, np.float32))
    if metric != NDCG:
        for c in range(len(candidates)):
            is_valid &= candidates[c] == 1.0
    if not is_valid:
        return math.nan
    n_ranks = n_documents if k == MAX_RANK and metric in (P, R) else k
    return evaluate_candidates(documents, candidates, values, n_documents, metric, n_ranks)


@inline
def read_at(labels, label_type, scores):
    """Read the labels at an address as `read` does."""
    n = len(scores)
    if label_type == 0:
        return read(view_memory(labels, n, np.uint8), scores)
    if label_type == 1:
        return read(view_memory(labels, n, np.int32), scores)
    if label_type == 2:
        return read(view_memory(labels, n, np.int64), scores)
    return read(view_memory(labels, n, np.float32), scores)


@kernel(allocates=True)
def evaluate_candidates(documents, candidates, values, n_documents, metric, k):
    """Return the value of a metric from the labels of the candidates, which are 1 for all metrics but NDCG."""
    n_relevant = len(candidates)
    if n_relevant == 0:
        return 0.0
    cutoff = n_relevant if metric == RPREC else k
    hits = find_hits(documents, candidates, values, n_documents, cutoff)
    if metric == NDCG:
        return min(add_discounted(hits, k) / ideal_dcg(candidates, k), 1.0)
    queries = np.zeros(len(hits.above), np.int32)
    offsets = np.array([0, len(hits.above)])
    counts = np.full(1, float(n_relevant))
    out = np.empty(1)
    if metric == AP:
        precision_recall.average_precision_over_hits(
            queries, hits.above, hits.tie_sizes, hits.labels, offsets, 1.0, counts, k, out
        )
    elif metric == RR:
        first_relevant.reciprocal_rank(hits.above, hits.tie_sizes, hits.labels, offsets, 1.0, k, out)
    elif metric == SUCCESS:
        first_relevant.success(hits.above, hits.tie_sizes, hits.labels, offsets, 1.0, k, out)
    else:
        cutoffs = np.full(1, float(cutoff))
        precision_recall.count_found(queries, hits.above, hits.tie_sizes, hits.labels, 1.0, cutoffs, out)
        n_ranks = min(k, n_documents) if metric == P_OF_RANKED else k
        out[0] /= n_relevant if metric in (R, RPREC) else n_ranks
    return out[0]
