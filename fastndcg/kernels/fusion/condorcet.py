"""
Count the majorities of each document: how many documents more runs rank below it than above it.

ranks    (n_runs, n_documents) int32, from 1, equal for documents of a tie group that share ranks, 0 where absent
weights  (n_runs,) float64, the votes of each run
offsets  (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
out      (n_documents,) float64, 1 + the number of majorities + half the number of draws
"""

from fastndcg.kernels.jit import kernel


@kernel
def condorcet(ranks, weights, offsets, first, stop, out):
    """Write the scores of the queries `first` up to `stop`. A run ranks its documents above all others."""
    for q in range(first, stop):
        start = offsets[q]
        end = offsets[q + 1]
        out[start:end] = 1.0
        for d in range(start, end):
            for other in range(d + 1, end):
                votes = 0.0
                for r in range(ranks.shape[0]):
                    rank = ranks[r, d]
                    rival = ranks[r, other]
                    if rank != rival:
                        is_above = rank != 0 and (rival == 0 or rank < rival)
                        votes += weights[r] if is_above else -weights[r]
                if votes > 0.0:
                    out[d] += 1.0
                elif votes < 0.0:
                    out[other] += 1.0
                else:
                    out[d] += 0.5
                    out[other] += 0.5
