"""
Compute metrics from the hits of queries, one value a query.

A hit is a document that a metric looks at: mostly one with a label above 0, with its rank. The queries of a chunk share
flat arrays. The functions of engine/compute pass them on. The same name means the same in every file:

hit_queries        (n_hits,)         int32    query of the hit, numbered from 0 in the chunk; rising
hit_above          (n_hits,)         int32    number of documents with a higher score; rising within a query
hit_ties           (n_hits,)         int32    size of the tie group: documents with the same score, the hit included
hit_labels         (n_hits,)         float64  label of the hit
hit_gains          (n_hits,)         float64  gain of the hit
hit_offsets        (n_queries + 1,)  int64    query q owns hits hit_offsets[q] up to hit_offsets[q + 1]
ideal_above        (n_ideal,)        int32    the ideal ranking as hits, with ideal_labels, ideal_gains, ideal_offsets
discounts          (k_max + 1,)      float64  discounts[r] belongs to rank r = 1 … k_max
discount_sums      (k_max + 1,)      float64  sum of the first r discounts
discount_rests     (k_max + 1,)      float64  rounding error of that sum: sums + rests is exact to twice the digits
sizes              (n_queries,)      int64    number of ranked documents
n_relevant         (n_queries,)      float64  number of relevant documents, retrieved or not
n_relevant_ranked  (n_queries,)      float64  number of relevant documents that are ranked
n_judged           (n_queries,)      float64  number of judged documents, retrieved or not
n_relevant_found   (n_queries,)      float64  expected number of relevant documents in the first k ranks
cutoffs            (n_cutoffs,)      int64    rising; `out` has the values at the first of them, at the next one, …
dcg                (n_queries,)      float64  DCG@k
idcg               (n_queries,)      float64  IDCG@k
..._denominators   (n_queries,)      float64  divisor of a metric, by the convention
rel                float64                    lowest label that is relevant
k                  int64                      cutoff; 2**31 - 1 without one
out_...                                       buffer that the kernel overwrites
out                (n_queries,)      float64  value of each query, NaN if undefined

A tie group of m documents below `above` others has the ranks above + 1 … above + m. Each of its documents is at each of
these ranks with probability 1 / m. A value is the expectation over all orders of tied documents (McSherry and Najork,
ECIR 2008). The engine breaks the ties before a kernel that has no such expectation.
"""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
