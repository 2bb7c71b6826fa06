"""
Kernels that compute the ranks of documents.

candidates       collect the documents with a label other than 0, and define the arrays that these kernels share
rank             compute the hits of each query by counting or selecting, and check that ranks agree with one another
many_candidates  compute the hits of the queries that `rank` leaves open, by counting or sorting
rank_matrix      compute the hits of users from rows of a score matrix
known_ranks      write the hits of candidates whose ranks are known
ties             order tied documents by label, by key or by input order
sort             sort short runs by insertion and merging, many documents by radix
ideal            compute the hits of the ideal ranking
"""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
