"""
Kernels that compute the ranks of documents.

candidates   collect the documents with a label other than 0, order tied hits, and define the arrays that kernels share
rank         compute the hits of each query by counting, selecting or sorting
rank_matrix  compute the hits of users from rows of a score matrix, and hits of candidates whose ranks are known
sort         sort short runs by insertion and merging, many documents by radix; compute the ideal ranking
"""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
