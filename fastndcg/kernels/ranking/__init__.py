"""
Kernels that compute the ranks of documents.

candidates       collect the documents with a label other than 0
rank             compute the hits of each query by counting or selecting
count, top_k     count higher scores, and select the documents of the first ranks
many_candidates  compute the hits of the queries that `rank` leaves open, by counting or sorting (radix_sort)
tie_policies     order tied documents by label, by key or by input order
ideal            compute the hits of the ideal ranking
rank_checks      check that ranks agree with one another
arrays           define the arrays that these kernels share: candidates and hits
"""

from fastndcg.runtime.lazy_import import load_submodules

__getattr__ = load_submodules(__name__)
