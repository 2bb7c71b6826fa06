"""
Metrics that are counts.

sizes        (n_queries,)  int64, how many documents a query has
n_relevant   (n_queries,)  float64, retrieved or not
n_found      (n_queries,)  float64, expected number of relevant documents in the first k ranks
out          (n_queries,)  float64
"""

from fastndcg.kernels.jit import kernel


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
def n_relevant_retrieved(n_found, out):
    """Expected number of relevant documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = n_found[q]
