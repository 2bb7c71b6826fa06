"""Write hits whose ranks and ties are known."""

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.ranking.arrays import N_TIED, Candidates, Hits


@kernel
def write_hits(above, ties, hit_offsets, first, candidates, depth, out_hits):
    """
    Write the hits of queries whose candidates are in rank order.

    above        (n_all_hits,) int32, number of documents above each hit of all queries
    ties         (n_all_hits,) int32, number of documents with the same rank
    hit_offsets  (n_all_queries + 1,) int64
    candidates   `Candidates` as a tuple
    out_hits     `Hits` as a tuple
    """
    candidates = Candidates(*candidates)
    hits = Hits(*out_hits)
    start = hit_offsets[first]
    n_hits = 0
    hits.offsets[0] = 0
    hits.counts[:] = 0
    for q in range(hits.offsets.shape[0] - 1):
        is_tied = False
        for c in range(candidates.offsets[q], candidates.offsets[q + 1]):
            place = start + candidates.documents[c]
            if above[place] < depth:
                hits.documents[n_hits] = above[place]
                hits.labels[n_hits] = candidates.labels[c]
                hits.above[n_hits] = above[place]
                hits.ties[n_hits] = ties[place]
                hits.queries[n_hits] = q
                is_tied |= ties[place] > 1
                n_hits += 1
        hits.counts[N_TIED] += is_tied
        hits.offsets[q + 1] = n_hits
