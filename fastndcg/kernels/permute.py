"""
Randomisation by whole enumeration, and by exchanging systems within units.

differences   (n_units,)                    float64, whole numbers whose sums stay below 2**53
values        (n_metrics, n_units, n_systems)  float64, likewise
order, sums   scratch: (n_systems,) int64, (n_metrics, n_systems) float64
"""

import numpy as np

from fastndcg.kernels.counters import HALF, below, draw
from fastndcg.kernels.jit import kernel


@kernel
def count_extreme(differences, observed, rounding, signs, out):
    """
    Over all signs of the differences, how many sums are at least `observed`, and how many are in size.

    In Gray's order one sign changes at a time, that of the lowest bit of the step's number. Sums that fall short of
    `observed` by no more than `rounding` are equal to it.
    """
    out[:] = 0
    total = 0.0
    for u in range(differences.shape[0]):
        signs[u] = -1.0
        total -= differences[u]
    for step in range(1, 2 ** differences.shape[0] + 1):
        out[0] += total >= observed - rounding
        out[1] += abs(total) >= abs(observed) - rounding
        u = 0
        while u + 1 < differences.shape[0] and (step >> u) & 1 == 0:
            u += 1
        total -= 2.0 * signs[u] * differences[u]
        signs[u] = -signs[u]


@kernel
def permuted_ranges(key, first, values, order, sums, out):
    """The largest less the smallest sum of a system, for each replicate and metric, systems exchanged in every unit."""
    n_metrics, n_units, n_systems = values.shape
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        sums[:, :] = 0.0
        for u in range(n_units):
            for i in range(n_systems):
                order[i] = i
            for i in range(n_systems - 1, 0, -1):
                j = np.int64(below(draw(stream, np.uint64(u * n_systems + i)) >> HALF, np.uint64(i + 1)))
                order[i], order[j] = order[j], order[i]
            for m in range(n_metrics):
                for i in range(n_systems):
                    sums[m, i] += values[m, u, order[i]]
        for m in range(n_metrics):
            lowest = highest = sums[m, 0]
            for i in range(1, n_systems):
                lowest = min(lowest, sums[m, i])
                highest = max(highest, sums[m, i])
            out[r, m] = highest - lowest
