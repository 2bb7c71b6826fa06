"""
Who stands where: the hits of each query, found without sorting its documents. The one kernel that reads the scores.

Candidates become hits, in rank order: score falling, among equal scores label falling, then as given. Each gets the
number of documents that score higher (`above`, the rank less one) and of those that score the same (`ties`, 1 for a
document alone). Three ways lead to the same numbers:

count   compare every document with each candidate, sixteen at once: for up to sixteen candidates
select  find the documents that may stand in the first ranks, and forget the rest: for a small cutoff
sort    order the candidates, then search every document's place among them: for all others

scores       (n_documents,)         float32 or float64; sixteen or more, so that one vector fits
offsets      (n_all_queries + 1,)   int64; this call works on n_queries of them, from query `first`
candidates   documents, labels, offsets, marks, before: see candidates.py
depth        how many ranks any metric looks at; hits that begin below it are left out
strategy     AUTO, or one of the three
out_hits     documents int32, labels float64, above int32, ties int32; each (n_candidates,)
out_offsets  (n_queries + 1,)       int64, query q owns hits out_offsets[q] up to out_offsets[q + 1]
out_counts   (2,)                   int64: queries in which equal scores have different labels; those with NaN scores
"""

import numpy as np

from fastndcg.kernels.count import count_hits, has_nan
from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.levels import sort_hits
from fastndcg.kernels.select import MOST_SURVIVORS, SELECT_DEPTH, select_hits
from fastndcg.kernels.vectors import LANES

AUTO, COUNT, SELECT, SORT = 0, 1, 2, 3


@kernel
def rank(scores, offsets, first, candidates, depth, strategy, out_hits, out_offsets, out_counts):
    """Hits of each query in rank order."""
    candidate_offsets = candidates[2]
    kind = scores.dtype
    most = 0
    for q in range(out_offsets.shape[0] - 1):
        most = max(most, candidate_offsets[q + 1] - candidate_offsets[q])
    near = (np.empty(MOST_SURVIVORS + 1, kind), np.empty(MOST_SURVIVORS + 1), np.empty(MOST_SURVIVORS + 1, np.int32))
    survivors = (np.empty(LANES, kind), np.empty(MOST_SURVIVORS, kind), np.empty(MOST_SURVIVORS, np.int32))
    order = (np.empty(most), np.empty(most, np.int32), np.empty(most, np.int32))
    levels = (np.empty(most, kind), np.empty(most, np.int32), np.empty(most, np.int32))
    n_hits = 0
    out_offsets[0] = 0
    out_counts[0] = 0
    out_counts[1] = 0
    for q in range(out_offsets.shape[0] - 1):
        start = offsets[first + q]
        stop = offsets[first + q + 1]
        c = candidate_offsets[q]
        n_candidates = candidate_offsets[q + 1] - c
        way = choose(stop - start, n_candidates, depth) if strategy == AUTO else strategy
        n_new = 0
        mixed = False
        if has_nan(scores, start, stop):
            out_counts[1] += 1
        elif n_candidates > 0:
            n_new = -1
        if n_new < 0 and way == SELECT and depth <= SELECT_DEPTH:
            base = start - offsets[first]
            n_new, mixed = select_hits(scores, start, stop, base, candidates, survivors, near, depth, n_hits, out_hits)
        if n_new < 0 and way == COUNT and n_candidates <= LANES:
            n_new, mixed = count_hits(scores, start, stop, candidates, c, n_candidates, near, depth, n_hits, out_hits)
        if n_new < 0:
            n_new, mixed = sort_hits(
                scores, start, stop, candidates, c, n_candidates, order, levels, depth, n_hits, out_hits
            )
        n_hits += n_new
        out_offsets[q + 1] = n_hits
        out_counts[0] += mixed


@part
def choose(n_documents, n_candidates, depth):
    """The cheapest way, by the work of each in units of one document looked at."""
    if n_candidates <= 8:
        return COUNT
    select = 100.0 + n_documents * 0.1
    count = n_candidates * (10.0 + n_documents * 0.1)
    if depth <= SELECT_DEPTH and n_documents >= 2 * LANES and select < count:
        return SELECT
    return COUNT if n_candidates <= LANES else SORT
