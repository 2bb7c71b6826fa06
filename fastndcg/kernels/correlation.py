"""
Correlations of two rankings of the same documents.

first_…, second_…  (n_documents,)  `above`, `ties` and `order` of either ranking, see pairs.py
alike, level       (n_documents,)  int32: of the documents above one in the second ranking, how many are above it in the
                                   first, too, and how many tie with it there
first_alike        (n_documents,)  the same as `alike` with the rankings exchanged
offsets            (n_queries + 1,) int64
out                (n_queries,)    float64, NaN where the metric is undefined
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part


@kernel
def tau_b(first_ties, second_above, second_ties, alike, level, offsets, out):
    """Pairs in the same order less those in opposite orders, over the geometric mean of those not tied in each."""
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        n_alike, n_opposite, tied_first, tied_second = 0, 0, 0, 0
        for d in range(offsets[q], offsets[q + 1]):
            n_alike += alike[d]
            n_opposite += second_above[d] - alike[d] - level[d]
            tied_first += first_ties[d] - 1
            tied_second += second_ties[d] - 1
        n_pairs = n * (n - 1)
        ordered = float((n_pairs - tied_first) // 2) * float((n_pairs - tied_second) // 2)
        out[q] = (n_alike - n_opposite) / np.sqrt(ordered) if ordered > 0 else np.nan


@kernel
def spearman(first_above, first_ties, second_above, second_ties, offsets, out):
    """The correlation of ranks, of which tied documents have the mean; twice the ranks are whole numbers."""
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        both, of_first, of_second = 0.0, 0.0, 0.0
        for d in range(offsets[q], offsets[q + 1]):
            x = float(2 * first_above[d] + first_ties[d] - n)
            y = float(2 * second_above[d] + second_ties[d] - n)
            both += x * y
            of_first += x * x
            of_second += y * y
        ordered = of_first * of_second
        out[q] = both / np.sqrt(ordered) if ordered > 0 else np.nan


@kernel
def tau_ap(second_order, second_ties, alike, level, offsets, out):
    """
    The expectation over all orders of tied documents, in either ranking.

    A document at rank r of the second ranking counts the share of the r − 1 above it that the first ranking puts above
    it, too. Of a pair that ties in either ranking one half is in the right order. In a group of t documents below p
    others, these are met at ranks p + 1 … p + t, each as likely.
    """
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        i = 0
        while i < n:
            t = second_ties[start + second_order[start + i]]
            halves = 0
            for j in range(i, i + t):
                d = start + second_order[start + j]
                halves += 2 * alike[d] + level[d]
            total += expected_share(i, t, halves)
            i += t
        out[q] = 2.0 * total / (n - 1) - 1.0 if n > 1 else np.nan


@part
def expected_share(p, t, halves):
    """What a group of t documents below p others adds, where `halves` is twice how often those are rightly above."""
    if p == 0:
        return 0.5 * (t - 1)
    if t == 1:
        return halves / (2.0 * p)
    inverse, within = 0.0, 0.0
    for s in range(t):
        inverse += 1.0 / (p + s)
        within += s / (p + s)
    return 0.5 * (halves * inverse / t + within)


@kernel
def tau_ap_b(first_order, first_ties, first_alike, second_order, second_ties, alike, offsets, out):
    """The mean of both directions, each over the documents that are not in its ranking's first tie group."""
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        for order, ties, above_too in ((first_order, first_ties, first_alike), (second_order, second_ties, alike)):
            top = ties[start + order[start]] if n > 0 else 0
            shares = 0.0
            i = top
            while i < n:
                t = ties[start + order[start + i]]
                n_alike = 0
                for j in range(i, i + t):
                    n_alike += above_too[start + order[start + j]]
                shares += n_alike / i
                i += t
            total += 2.0 * shares / (n - top) - 1.0 if n > top else np.nan
        out[q] = total / 2.0
