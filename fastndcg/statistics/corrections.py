"""P-values corrected for their number."""

from __future__ import annotations

import numpy as np

from fastndcg.rankings import Array


def corrected(p_values: Array, correction: str) -> Array:
    """
    P-values that hold for all of them at once; NaN, where there was no test, stays and does not count.

    'holm' (S. Holm 1979) and 'bonferroni' bound the chance of any false discovery, 'bh' (Y. Benjamini and Y. Hochberg
    1995, doi:10.1111/j.2517-6161.1995.tb02031.x) the expected share of them.

    >>> corrected(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, "f8")
    tested = np.flatnonzero(~np.isnan(p_values))
    found = p_values.copy()
    if correction == "none" or not len(tested):
        return found
    n = len(tested)
    order = tested[np.argsort(p_values[tested], kind="stable")]
    rising = p_values[order]
    if correction == "bonferroni":
        raised = rising * n
    elif correction == "holm":
        raised = np.maximum.accumulate(rising * np.arange(n, 0, -1))
    else:
        raised = np.minimum.accumulate((rising * n / np.arange(1, n + 1))[::-1])[::-1]
    found[order] = np.minimum(raised, 1.0)
    return found
