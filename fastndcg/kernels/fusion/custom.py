"""
Fuse by a user's function of one document's scores and ranks.

function  (scores, ranks) -> float: scores (n_runs,) float64, NaN where absent; ranks (n_runs,) int64, 0 where absent
scores    (n_runs, n_documents) float64
ranks     (n_runs, n_documents) int32
out_at    (1,) int64, the document of the current call, which names it if the function raises
out       (n_documents,) float64
"""

import numpy as np

from fastndcg.kernels.jit import kernel


@kernel(allocates=True, takes_functions=True)
def fuse_by_function(function, scores, ranks, first, stop, out_at, out):
    """Write what the function returns for each document."""
    own_scores = np.empty(scores.shape[0])
    own_ranks = np.empty(scores.shape[0], np.int64)
    for d in range(first, stop):
        out_at[0] = d
        for r in range(scores.shape[0]):
            own_scores[r] = scores[r, d]
            own_ranks[r] = ranks[r, d]
        out[d] = function(own_scores, own_ranks)
