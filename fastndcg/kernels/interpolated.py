"""
Interpolated precision: between two relevant documents P@r only falls, so the highest is at one of them.

Every hit has a rank of its own: tied scores of different labels come here in an order. See together.py.

interpolated         (n_queries,)             float64, highest precision at the recall or beyond it
of_recalls           (n_recalls, n_queries)   float64, the same at each of several
n_relevant           (n_queries,)             float64, retrieved or not
out                  (n_queries,)             float64
"""

import math

from fastndcg.kernels.jit import kernel


@kernel
def precision_at_recall(interpolated, n_relevant, out):
    """Highest precision at the recall or beyond it."""
    for q in range(out.shape[0]):
        out[q] = interpolated[q] if n_relevant[q] > 0 else math.nan


@kernel
def average_over_recalls(of_recalls, n_relevant, out):
    """Mean of the same over several recalls; added up a recall at a time, as they lie in memory."""
    for q in range(out.shape[0]):
        out[q] = 0.0
    for i in range(of_recalls.shape[0]):
        for q in range(out.shape[0]):
            out[q] += of_recalls[i, q]
    for q in range(out.shape[0]):
        out[q] = out[q] / of_recalls.shape[0] if n_relevant[q] > 0 else math.nan
