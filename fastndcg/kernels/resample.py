"""
Replicates of sums: weights drawn for each replicate and unit, and all the sums that they weigh.

key       uint64, of which each replicate makes its stream of random numbers
first     the call's first replicate; row r of `out` or `weights` belongs to replicate first + r
strata    (n_strata + 1,)              int64, stratum s owns units strata[s] up to strata[s + 1]
places    scratch of some hundreds     int64
weights   (n_replicates, n_units)      int8: how often a unit was drawn, or its sign
values    (n_rows, n_units)            float64, whole numbers whose sums stay below 2**53; n_rows a multiple of 4
block     (n_replicates, some)         float64 scratch; n_replicates a multiple of 4
"""

import numpy as np

from fastndcg.kernels.counters import ONE, below, draw
from fastndcg.kernels.jit import exact_kernel, kernel, part

TILE = 4  # replicates by rows whose sums stay in registers: 16 sums for 8 loads


@kernel
def draw_counts(key, first, strata, places, out):
    """How often each unit is drawn: in every stratum as many draws, with replacement, as it has units."""
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        out[r, :] = 0
        for s in range(strata.shape[0] - 1):
            size = np.uint64(strata[s + 1] - strata[s])
            for start in range(strata[s], strata[s + 1], places.shape[0]):
                n_draws = min(places.shape[0], strata[s + 1] - start)
                for i in range(n_draws):  # apart from the counting, so that it vectorises
                    places[i] = below(draw(stream, np.uint64(start + i)), size)
                for i in range(n_draws):
                    out[r, strata[s] + places[i]] += 1


@kernel
def draw_signs(key, first, out):
    """A sign for each unit, 64 of them from one number."""
    n_units = out.shape[1]
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        for start in range(0, n_units, 64):
            bits = draw(stream, np.uint64(start // 64))
            for i in range(min(64, n_units - start)):
                out[r, start + i] = 1 - 2 * np.int8((bits >> np.uint64(i)) & ONE)


@exact_kernel
def weighted_sums(weights, values, block, out):
    """Each row's sum over the units under each replicate's weights: out[r, c] = Σ weights[r, u] · values[c, u]."""
    n_replicates, n_units = weights.shape
    out[:, :] = 0.0
    for start in range(0, n_units, block.shape[1]):
        stop = min(start + block.shape[1], n_units)
        for r in range(n_replicates):
            for u in range(start, stop):
                block[r, u - start] = weights[r, u]
        for c in range(0, values.shape[0], TILE):
            for r in range(0, n_replicates, TILE):
                add_tile(block, values, r, c, start, stop, out)


@part
def add_tile(block, values, r, c, start, stop, out):
    """The sums of four replicates by four rows, over some units."""
    w0, w1, w2, w3 = block[r], block[r + 1], block[r + 2], block[r + 3]
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
