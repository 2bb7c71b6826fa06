"""
Replicates of sums: random signs of the units, and sums weighted by signs or bootstrap counts.

key       uint64, the key of the random numbers, from which each replicate makes its stream
first     the first replicate of the call; row r of `out` or `weights` is replicate first + r
weights   (n_replicates, n_units)  int8, signs or counts of the units; n_replicates is a multiple of 4
values    (n_rows, n_units)        float64, integers whose sums stay below 2**53; n_rows is a multiple of 4
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.statistics.random import ONE, draw

TILE = 4  # replicates by rows whose sums stay in registers: 16 sums for 8 loads
BLOCK = 2048  # units per block: the weights of 32 replicates and the values of 4 rows take 128 KiB of cache


@kernel
def draw_signs(key, first, out):
    """Draw the sign of each unit, 64 signs from one random number."""
    n_units = out.shape[1]
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        for start in range(0, n_units, 64):
            bits = draw(stream, np.uint64(start // 64))
            signs = out[r, start : start + 64]
            for i in range(signs.shape[0]):
                signs[i] = np.int8(1) - np.int8((bits >> np.uint64(i)) & ONE) * np.int8(2)


@kernel(reorders_sums=True)
def weighted_sums(weights, values, out):
    """Compute out[r, c] = Σ weights[r, u] · values[c, u] over the units u, for each replicate r and row c."""
    n_replicates, n_units = weights.shape
    out[:, :] = 0.0
    for start in range(0, n_units, BLOCK):
        stop = min(start + BLOCK, n_units)
        for c in range(0, values.shape[0], TILE):
            for r in range(0, n_replicates, TILE):
                add_tile(weights, values, r, c, start, stop, out)


@inline
def add_tile(weights, values, r, c, start, stop, out):
    """Add the sums of four replicates by four rows over the units from `start` to `stop`."""
    w0 = weights[r, start:stop]
    w1 = weights[r + 1, start:stop]
    w2 = weights[r + 2, start:stop]
    w3 = weights[r + 3, start:stop]
    v0 = values[c, start:stop]
    v1 = values[c + 1, start:stop]
    v2 = values[c + 2, start:stop]
    v3 = values[c + 3, start:stop]
    s00 = s01 = s02 = s03 = 0.0
    s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = 0.0
    s30 = s31 = s32 = s33 = 0.0
    for u in range(stop - start):
        s00 += w0[u] * v0[u]
        s01 += w0[u] * v1[u]
        s02 += w0[u] * v2[u]
        s03 += w0[u] * v3[u]
        s10 += w1[u] * v0[u]
        s11 += w1[u] * v1[u]
        s12 += w1[u] * v2[u]
        s13 += w1[u] * v3[u]
        s20 += w2[u] * v0[u]
        s21 += w2[u] * v1[u]
        s22 += w2[u] * v2[u]
        s23 += w2[u] * v3[u]
        s30 += w3[u] * v0[u]
        s31 += w3[u] * v1[u]
        s32 += w3[u] * v2[u]
        s33 += w3[u] * v3[u]
    for i, sums in enumerate(((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))):
        for j in range(TILE):
            out[r + i, c + j] += sums[j]
