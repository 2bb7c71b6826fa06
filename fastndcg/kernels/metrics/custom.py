"""
Compute metrics that users register: call their function for one query after the other.

function     (labels, above, ties, ideal_labels, n_relevant, n_documents, k, *parameters) -> float, see
             `fastndcg.register`
parameters   tuple of float64, in the order of the metric's record
out_at       (1,)  int64, query of the current call: names the query if the function raises
"""

from fastndcg.kernels.jit import inline, kernel


@inline
def count_in_first_ranks(above, start, stop, k):
    """Return the number of documents in the first k ranks, of those from `start` up to `stop` in rank order."""
    end = start
    while end < stop and above[end] < k:
        end += 1
    return end - start


@kernel(allocates=True, takes_functions=True)
def evaluate_custom_metric(
    function, hit_labels, hit_above, hit_ties, hit_offsets, ideal_labels, ideal_above, ideal_offsets, n_relevant,
    sizes, k, parameters, out_at, out,
):  # fmt: skip
    """Write the value that the function returns for each query."""
    for q in range(out.shape[0]):
        out_at[0] = q
        start = hit_offsets[q]
        stop = start + count_in_first_ranks(hit_above, start, hit_offsets[q + 1], k)
        first = ideal_offsets[q]
        last = first + count_in_first_ranks(ideal_above, first, ideal_offsets[q + 1], k)
        out[q] = function(
            hit_labels[start:stop], hit_above[start:stop], hit_ties[start:stop], ideal_labels[first:last],
            n_relevant[q], sizes[q], k, *parameters,
        )  # fmt: skip
