"""
Compute correlations of two rankings of the same documents: Kendall's tau_b, Spearman's rho, AP correlation.

Arguments first_… and second_… belong to the two rankings: `above`, `ties` and `order` as in ranks.py.

n_concordant_above        (n_documents,)  int32, number of documents above this one in both rankings
n_tied_in_first           (n_documents,)  int32, number of documents above it in the second ranking that tie with it in
                          the first
first_n_concordant_above  (n_documents,)  int32, `n_concordant_above` with the rankings exchanged
offsets       (n_queries + 1,)  int64, query q owns documents offsets[q] up to offsets[q + 1]
out           (n_queries,)      float64, NaN if undefined
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel


@kernel
def tau_b(first_ties, second_above, second_ties, n_concordant_above, n_tied_in_first, offsets, out):
    """
    Compute Kendall's tau_b (Kendall 1945).

    tau_b = (concordant − discordant) / sqrt(n_1 · n_2), where n_1 and n_2 count the pairs that each ranking orders.
    """
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        n_concordant = 0
        n_discordant = 0
        twice_tied_first = 0
        twice_tied_second = 0
        for d in range(offsets[q], offsets[q + 1]):
            n_concordant += n_concordant_above[d]
            n_discordant += second_above[d] - n_concordant_above[d] - n_tied_in_first[d]
            twice_tied_first += first_ties[d] - 1
            twice_tied_second += second_ties[d] - 1
        twice_pairs = n * (n - 1)
        product = float((twice_pairs - twice_tied_first) // 2) * float((twice_pairs - twice_tied_second) // 2)
        out[q] = (n_concordant - n_discordant) / np.sqrt(product) if product > 0 else np.nan


@kernel
def spearman(first_above, first_ties, second_above, second_ties, offsets, out):
    """
    Compute Spearman's rho: the correlation of ranks, where tied documents have the mean of their ranks.

    Twice the ranks are whole numbers, so that the sums are exact.
    """
    for q in range(out.shape[0]):
        n = offsets[q + 1] - offsets[q]
        covariance = 0.0
        first_variance = 0.0
        second_variance = 0.0
        for d in range(offsets[q], offsets[q + 1]):
            x = float(2 * first_above[d] + first_ties[d] - n)
            y = float(2 * second_above[d] + second_ties[d] - n)
            covariance += x * y
            first_variance += x * x
            second_variance += y * y
        product = first_variance * second_variance
        out[q] = covariance / np.sqrt(product) if product > 0 else np.nan


@kernel
def tau_ap(second_order, second_ties, n_concordant_above, n_tied_in_first, offsets, out):
    """
    Compute the expectation of AP correlation over all orders of tied documents, in either ranking.

    A document of the second ranking adds a share: of the documents above it, those that are also above it in the first
    ranking. A pair that ties in a ranking counts 1/2 (tau_AP,a of Urbano and Marrero 2017).
    """
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        i = 0
        while i < n:
            size = second_ties[start + second_order[start + i]]
            twice_right = 0
            for j in range(i, i + size):
                d = start + second_order[start + j]
                twice_right += 2 * n_concordant_above[d] + n_tied_in_first[d]
            total += expected_share(i, size, twice_right)
            i += size
        out[q] = 2.0 * total / (n - 1) - 1.0 if n > 1 else np.nan


@inline
def expected_share(n_above, size, twice_right):
    """
    Return the expected sum of shares of a tie group of `size` documents below `n_above` others.

    `twice_right` is twice the number of right pairs of a document above the group and one in it. A document of the
    group is at each of its ranks with equal probability.
    """
    if n_above == 0:
        return 0.5 * (size - 1)
    if size == 1:
        return twice_right / (2.0 * n_above)
    reciprocals = 0.0
    tied_shares = 0.0
    for i in range(size):
        reciprocals += 1.0 / (n_above + i)
        tied_shares += i / (n_above + i)
    return 0.5 * (twice_right * reciprocals / size + tied_shares)


@kernel
def tau_ap_b(
    first_order, first_ties, first_n_concordant_above, second_order, second_ties, n_concordant_above, offsets, out
):
    """
    Compute tau_AP,b (Urbano and Marrero 2017): the mean of AP correlation in both directions.

    Each direction skips the documents of its ranking's first tie group.
    """
    for q in range(out.shape[0]):
        start = offsets[q]
        n = offsets[q + 1] - start
        total = 0.0
        for order, ties, n_concordant in (
            (first_order, first_ties, first_n_concordant_above),
            (second_order, second_ties, n_concordant_above),
        ):
            top = ties[start + order[start]] if n > 0 else 0
            shares = 0.0
            i = top
            while i < n:
                size = ties[start + order[start + i]]
                n_right = 0
                for j in range(i, i + size):
                    n_right += n_concordant[start + order[start + j]]
                shares += n_right / i
                i += size
            total += 2.0 * shares / (n - top) - 1.0 if n > top else np.nan
        out[q] = total / 2.0
