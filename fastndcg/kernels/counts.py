"""
Metrics that are counts.

sizes        (n_queries,)  int64, how many documents a query has
n_relevant   (n_queries,)  float64, retrieved or not
out          (n_queries,)  float64
"""

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.precision import found


@kernel
def n_retrieved(sizes, k, out):
    """Documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = min(sizes[q], k)


@kernel
def n_relevant(n_relevant, k, out):
    """Relevant documents that the first k ranks of the best order hold."""
    for q in range(out.shape[0]):
        out[q] = min(n_relevant[q], float(k))


@kernel
def n_relevant_retrieved(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Expected number of relevant documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = found(hit_above, hit_ties, hit_labels, hit_offsets[q], hit_offsets[q + 1], rel, k)
