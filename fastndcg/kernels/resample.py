"""
Replicates of sums: signs drawn for each replicate and unit, and all the sums that signs or counts weigh.

key       uint64, of which each replicate makes its stream of random numbers
first     the call's first replicate; row r of `out` or `weights` belongs to replicate first + r
weights   (n_replicates, n_units)  int8: how often a unit was drawn, or its sign; n_replicates a multiple of 4
values    (n_rows, n_units)        float64, whole numbers whose sums stay below 2**53; n_rows a multiple of 4
"""

import numpy as np

from fastndcg.kernels.counters import ONE, draw
from fastndcg.kernels.jit import exact_kernel, kernel, part

TILE = 4  # replicates by rows whose sums stay in registers: 16 sums for 8 loads
NEAR = 2048  # units whose weights, of 32 replicates, and values, of 4 rows, stay in the nearer caches


@kernel
def draw_signs(key, first, out):
    """A sign for each unit, 64 of them from one number."""
    n_units = out.shape[1]
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        for start in range(0, n_units, 64):
            bits = draw(stream, np.uint64(start // 64))
            signs = out[r, start : start + 64]
            for i in range(signs.shape[0]):
                signs[i] = np.int8(1) - np.int8((bits >> np.uint64(i)) & ONE) * np.int8(2)


@exact_kernel
def weighted_sums(weights, values, out):
    """Each row's sum over the units under each replicate's weights: out[r, c] = Σ weights[r, u] · values[c, u]."""
    n_replicates, n_units = weights.shape
    out[:, :] = 0.0
    for start in range(0, n_units, NEAR):
        stop = min(start + NEAR, n_units)
        for c in range(0, values.shape[0], TILE):
            for r in range(0, n_replicates, TILE):
                add_tile(weights, values, r, c, start, stop, out)


@part
def add_tile(weights, values, r, c, start, stop, out):
    """The sums of four replicates by four rows, over some units."""
    w0, w1, w2, w3 = (
        weights[r, start:stop],
        weights[r + 1, start:stop],
        weights[r + 2, start:stop],
        weights[r + 3, start:stop],
    )
    v0, v1, v2, v3 = (
        values[c, start:stop],
        values[c + 1, start:stop],
        values[c + 2, start:stop],
        values[c + 3, start:stop],
    )
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
    for u in range(stop - start):
        s00, s01, s02, s03 = s00 + w0[u] * v0[u], s01 + w0[u] * v1[u], s02 + w0[u] * v2[u], s03 + w0[u] * v3[u]
        s10, s11, s12, s13 = s10 + w1[u] * v0[u], s11 + w1[u] * v1[u], s12 + w1[u] * v2[u], s13 + w1[u] * v3[u]
        s20, s21, s22, s23 = s20 + w2[u] * v0[u], s21 + w2[u] * v1[u], s22 + w2[u] * v2[u], s23 + w2[u] * v3[u]
        s30, s31, s32, s33 = s30 + w3[u] * v0[u], s31 + w3[u] * v1[u], s32 + w3[u] * v2[u], s33 + w3[u] * v3[u]
    for i, sums in enumerate(((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))):
        for j in range(TILE):
            out[r + i, c + j] += sums[j]
