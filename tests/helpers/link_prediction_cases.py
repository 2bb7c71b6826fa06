"""Link prediction with ties: triples of a head, a relation and a tail, and a score of each tail."""

import numpy as np

N_HEADS = 30
N_TAILS = 60
CUTOFFS = (1, 3, 5, 10)


def draw_case(seed=5):
    """Return a (n_heads, n_tails) mask of true tails and their scores, of few values, in float32."""
    random = np.random.default_rng(seed)
    is_true = random.random((N_HEADS, N_TAILS)) < random.choice([0.03, 0.15], (N_HEADS, 1))
    is_true[np.arange(N_HEADS), random.integers(0, N_TAILS, N_HEADS)] = True
    scores = random.integers(0, random.choice([2, 8, 400], (N_HEADS, 1)), (N_HEADS, N_TAILS)) + 2 * is_true
    return is_true, scores.astype("f4")
