"""
Metrics of a classifier that takes the documents in the first k ranks for relevant: accuracy, fall-out.

n_found    (n_queries,)  float64, expected number of relevant documents in the first k ranks
n_relevant, n_relevant_ranked   (n_queries,)  float64, all relevant documents, and those that are ranked
sizes      (n_queries,)  int64, how many documents are ranked
out        (n_queries,)  float64
"""

import math

from fastndcg.kernels.jit import kernel


@kernel
def accuracy(n_found, n_relevant, n_relevant_ranked, sizes, k, out):
    """Share of the documents, ranked or relevant, that are taken for what they are."""
    for q in range(out.shape[0]):
        n_others = sizes[q] - n_relevant_ranked[q]
        n = n_others + n_relevant[q]
        n_wrong = min(sizes[q], k) - n_found[q]  # of the others
        out[q] = (n_found[q] + (n_others - n_wrong)) / n if n > 0 else math.nan


@kernel
def fall_out(n_found, n_relevant_ranked, sizes, k, out):
    """Share of the documents that are not relevant which is in the first k ranks."""
    for q in range(out.shape[0]):
        n_others = sizes[q] - n_relevant_ranked[q]
        out[q] = (min(sizes[q], k) - n_found[q]) / n_others if n_others > 0 else math.nan
