"""
Random numbers without a state: number `counter` of a stream, by the hash of SplitMix64.

A stream is a uint64 that the seed and the replicate make; its numbers depend on nothing else, so that every thread,
chunk and machine draws the same. G. L. Steele, D. Lea and C. H. Flood, 2014, doi:10.1145/2660193.2660195.
"""

import numba
import numpy as np

from fastndcg.kernels.jit import part

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONE, SHIFT_30, SHIFT_27, SHIFT_31 = np.uint64(1), np.uint64(30), np.uint64(27), np.uint64(31)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


@part
def draw(stream, counter):
    """64 random bits."""
    z = stream + (counter + ONE) * STEP
    z = (z ^ (z >> SHIFT_30)) * FIRST_FACTOR
    z = (z ^ (z >> SHIFT_27)) * SECOND_FACTOR
    return z ^ (z >> SHIFT_31)


if numba.config.DISABLE_JIT:  # NumPy warns of what machine code wraps around
    draw = np.errstate(over="ignore")(draw)


@part
def below(half, size):
    """
    A whole number from 0 to `size` − 1 from 32 random bits.

    Chances differ by 2**-32 at most, which moves the mean of 10**8 values by less than 1 % of its standard error.
    """
    return (half * size) >> HALF
