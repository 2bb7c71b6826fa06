"""
Metrics of the set of retrieved documents.

sizes        (n_queries,)  int64, how many documents are ranked
n_relevant   (n_queries,)  float64, retrieved or not
n_found      (n_queries,)  float64, relevant ones among those ranked
out          (n_queries,)  float64
"""

import math

from fastndcg.kernels.jit import kernel


@kernel
def precision_times_recall(n_found, n_relevant, sizes, out):
    """Precision times recall, 0 where nothing is ranked."""
    for q in range(out.shape[0]):
        found = n_found[q] * n_found[q] / max(sizes[q] * n_relevant[q], 1.0)
        out[q] = found if n_relevant[q] > 0 else math.nan


@kernel
def utility(n_found, n_relevant, sizes, a, b, c, d, documents, out):
    """What the four parts of the collection are worth."""
    for q in range(out.shape[0]):
        rest = documents + n_found[q] - sizes[q] - n_relevant[q]
        out[q] = a * n_found[q] + b * (sizes[q] - n_found[q]) + c * (n_relevant[q] - n_found[q]) + d * rest
