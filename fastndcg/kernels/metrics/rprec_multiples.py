"""
Count relevant documents at several multiples of R, the number of relevant documents of the query.

R-precision at a multiple m looks at the first floor(m · R + 0.9) ranks (trec_eval's `Rprec_mult`). One pass over the
tie groups of a query serves all multiples.

multiples   (n_points,)            float64, rising
out         (n_points, n_queries)  float64, expected number of relevant documents in the first ranks
"""

import math

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.precision_recall import count_found_in_group
from fastndcg.kernels.metrics.tie_groups import count_relevant_hits
from fastndcg.kernels.ranking.tie_groups import find_group_end_in_query


@inline
def multiple_cutoff(multiples, point, n_relevant, k):
    """Return the number of ranks that count at a multiple of R, at most k, and infinity after the last multiple."""
    return min(math.floor(multiples[point] * n_relevant + 0.9), float(k)) if point < multiples.shape[0] else math.inf


@kernel
def count_found_at_multiples(hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, multiples, k, out):
    """Count the expected relevant documents in the first ranks of each query, for each multiple."""
    for q in range(out.shape[1]):
        n_before = 0.0
        point = 0
        cutoff = multiple_cutoff(multiples, point, n_relevant[q], k)
        h = hit_offsets[q]
        while h < hit_offsets[q + 1] and cutoff < math.inf:
            above = hit_above[h]
            size = hit_ties[h]
            while cutoff <= above:
                out[point, q] = n_before
                point += 1
                cutoff = multiple_cutoff(multiples, point, n_relevant[q], k)
            end = find_group_end_in_query(hit_above, h, hit_offsets[q + 1])
            n_tied_relevant = count_relevant_hits(hit_labels, h, end, rel)
            while cutoff < above + size:
                out[point, q] = n_before + count_found_in_group(size, above, cutoff, n_tied_relevant)
                point += 1
                cutoff = multiple_cutoff(multiples, point, n_relevant[q], k)
            n_before += n_tied_relevant
            h = end
        for i in range(point, multiples.shape[0]):
            out[i, q] = n_before
