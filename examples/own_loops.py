"""
Your own loops in Numba: metrics of single queries inside compiled functions, on all CPUs by Numba's `prange`.

Kernels of fastndcg take one query: labels and scores, which may be slices, and a cutoff. They share nothing, so that a
loop over queries may run in parallel, with whatever else it has to do for a query.

Run: python examples/own_loops.py
"""

import numba
import numpy as np

import fastndcg as fn
from fastndcg.kernels import ndcg, reciprocal_rank


@numba.njit(parallel=True)
def gains_of_reranking(labels, scores, boosts, offsets, k):
    """How much nDCG@k each query gains when its documents' scores are boosted, and the rank of what it looks for."""
    n_queries = len(offsets) - 1
    gained, ranks = np.empty(n_queries), np.empty(n_queries)
    for q in numba.prange(n_queries):
        documents = slice(offsets[q], offsets[q + 1])
        boosted = scores[documents] + boosts[documents]
        gained[q] = ndcg(labels[documents], boosted, k) - ndcg(labels[documents], scores[documents], k)
        ranks[q] = 1 / reciprocal_rank(labels[documents], boosted)
    return gained, ranks


def main():
    """Compare with what `evaluate` says of the same rankings."""
    random = np.random.default_rng(0)
    offsets = np.arange(0, 100_001, 50)
    labels = random.integers(1, 4, offsets[-1]) * (random.random(offsets[-1]) < 0.2)
    labels[offsets[:-1]] = 1  # something to find in every query
    scores, boosts = random.random((2, offsets[-1]))
    gained, ranks = gains_of_reranking(labels, scores, boosts, offsets, 10)

    before = fn.ndcg(labels, scores, offsets, k=10)
    after = fn.ndcg(labels, scores + boosts, offsets, k=10)
    np.testing.assert_allclose(gained, after - before, atol=1e-14)
    np.testing.assert_allclose(ranks, 1 / fn.reciprocal_rank(labels, scores + boosts, offsets))
    print(f"boosting gains {gained.mean():+.4f} of nDCG@10; the first relevant document is at rank {ranks.mean():.2f}")


if __name__ == "__main__":
    main()
