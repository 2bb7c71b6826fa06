"""
Randomisation tests: sums for all signs of the differences, and sums after exchanges of systems within units.

differences   (n_units,)                       float64, integers whose sums stay below 2**53
values        (n_metrics, n_units, n_systems)  float64, integers whose sums stay below 2**53
order         (n_systems,)                     int64 scratch
sums          (n_metrics, n_systems)           float64 scratch
"""

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.statistics.random import HALF, draw, scale_to_range


@kernel
def count_extreme(differences, observed, rounding, signs, out):
    """
    Count the signs of the differences whose sum is at least `observed`, and those whose absolute sum is.

    Sums that are smaller by at most `rounding` count too. In the order of the Gray code, one sign changes at a time:
    the sign at the position of the lowest set bit of the step.
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
    """
    Compute the range of the systems' sums for each replicate and metric, after exchanges of systems in every unit.

    `key` is the key of the random numbers. Row r of `out` is replicate first + r.
    """
    n_metrics, n_units, n_systems = values.shape
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        sums[:, :] = 0.0
        for u in range(n_units):
            for i in range(n_systems):
                order[i] = i
            for i in range(n_systems - 1, 0, -1):
                bits = draw(stream, np.uint64(u * n_systems + i))
                j = np.int64(scale_to_range(bits >> HALF, np.uint64(i + 1)))
                order[i], order[j] = order[j], order[i]
            for m in range(n_metrics):
                for i in range(n_systems):
                    sums[m, i] += values[m, u, order[i]]
        for m in range(n_metrics):
            lowest = sums[m, 0]
            highest = sums[m, 0]
            for i in range(1, n_systems):
                lowest = min(lowest, sums[m, i])
                highest = max(highest, sums[m, i])
            out[r, m] = highest - lowest
