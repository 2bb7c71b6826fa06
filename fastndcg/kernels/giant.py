"""
The steps of radix.py, a call for each, for a query so large that Ctrl-C would wait too long for all of them in one.

scores, start, n         the query's documents, n from `start` on
base, documents, c, n_candidates   see radix.py
keys, candidates         (n,) uint64 and int32
counts                   (VALUES,) int32
out_above, out_ties      (n_candidates + 1,) int32: how many documents score higher, and how many the same
"""

from fastndcg.kernels import radix
from fastndcg.kernels.jit import kernel


@kernel
def key_each(scores, start, n, base, documents, c, n_candidates, out_keys, out_candidates):
    """Make the keys of all documents; the bits in which any two differ."""
    return radix.key_each(scores, start, n, base, documents, c, n_candidates, out_keys, out_candidates)


@kernel
def pass_on(keys, candidates, shift, counts, out_keys, out_candidates):
    """Order them by the byte that begins `shift` bits from the right, as given where it is the same."""
    radix.pass_on(keys, candidates, keys.shape[0], shift, counts, out_keys, out_candidates)


@kernel
def number(keys, candidates, out_above, out_ties):
    """Count documents above each candidate, and those that tie."""
    radix.number(keys, candidates, keys.shape[0], (out_above, out_ties))
