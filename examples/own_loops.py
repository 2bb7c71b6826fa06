"""
Call fastndcg's kernels inside your own loops in Numba, on all CPUs by Numba's `prange`.

A kernel takes one query: labels and scores, which may be slices, and a cutoff. Kernels share no data, so a loop over
queries can run in parallel.

Run: python examples/own_loops.py
"""

import numba
import numpy as np

import fastndcg as fn
from fastndcg.kernels import ndcg, reciprocal_rank


@numba.njit(parallel=True)
def compare_boosted(labels, scores, boosts, offsets, k):
    """Return each query's gain in nDCG@k when scores are boosted, and the rank of its first relevant document."""
    n_queries = len(offsets) - 1
    gains = np.empty(n_queries)
    ranks = np.empty(n_queries)
    for q in numba.prange(n_queries):
        documents = slice(offsets[q], offsets[q + 1])
        boosted = scores[documents] + boosts[documents]
        gains[q] = ndcg(labels[documents], boosted, k) - ndcg(labels[documents], scores[documents], k)
        ranks[q] = 1 / reciprocal_rank(labels[documents], boosted)
    return gains, ranks


def main():
    """Check that the loop and the public functions return the same values."""
    random = np.random.default_rng(0)
    offsets = np.arange(0, 100_001, 50)
    labels = random.integers(1, 4, offsets[-1]) * (random.random(offsets[-1]) < 0.2)
    labels[offsets[:-1]] = 1  # at least one relevant document in every query
    scores, boosts = random.random((2, offsets[-1]))
    gains, ranks = compare_boosted(labels, scores, boosts, offsets, 10)

    before = fn.ndcg(labels, scores, offsets, k=10)
    after = fn.ndcg(labels, scores + boosts, offsets, k=10)
    np.testing.assert_allclose(gains, after - before, atol=1e-14)
    np.testing.assert_allclose(ranks, 1 / fn.reciprocal_rank(labels, scores + boosts, offsets))
    print(f"boosting gains {gains.mean():+.4f} of nDCG@10; the first relevant document is at rank {ranks.mean():.2f}")


if __name__ == "__main__":
    main()
