"""
Metrics that users register: their function, called for one query after the other.

function     (labels, above, ties, ideal, n_relevant, n_documents, k, *parameters) -> float, see `fastndcg.register`
hit_above, hit_ties, hit_labels, hit_offsets   hits in rank order, as for all metrics: gain.py
ideal_above, ideal_labels, ideal_offsets       the same of the best order
n_relevant   (n_queries,)  float64
sizes        (n_queries,)  int64, how many documents a query has
parameters   tuple of float64, those of the metric in the order of its record
out_at       (1,)          int64, the query at hand, for the message if the function raises
out          (n_queries,)  float64
"""

from fastndcg.kernels.jit import part, uncached_kernel


@part
def n_within(above, start, stop, k):
    """How many of a query's documents in rank order stand in the first k ranks."""
    end = start
    while end < stop and above[end] < k:
        end += 1
    return end - start


@uncached_kernel
def of_user(
    function, hit_labels, hit_above, hit_ties, hit_offsets, ideal_labels, ideal_above, ideal_offsets, n_relevant,
    sizes, k, parameters, out_at, out,
):  # fmt: skip
    """What the function says of each query."""
    for q in range(out.shape[0]):
        out_at[0] = q
        start = hit_offsets[q]
        stop = start + n_within(hit_above, start, hit_offsets[q + 1], k)
        first = ideal_offsets[q]
        last = first + n_within(ideal_above, first, ideal_offsets[q + 1], k)
        out[q] = function(
            hit_labels[start:stop], hit_above[start:stop], hit_ties[start:stop], ideal_labels[first:last],
            n_relevant[q], sizes[q], k, *parameters,
        )  # fmt: skip
