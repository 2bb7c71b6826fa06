"""
Counter-based random numbers: number `counter` of a stream is the SplitMix64 hash of both.

A stream is a uint64 made from the seed and the number of the replicate. There is no state, so every thread, chunk and
machine draws the same numbers. G. L. Steele, D. Lea and C. H. Flood, 2014, doi:10.1145/2660193.2660195.
"""

import numpy as np

from fastndcg.kernels.jit import IS_JIT_OFF, inline

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)
SHIFT_30 = np.uint64(30)
SHIFT_27 = np.uint64(27)
SHIFT_31 = np.uint64(31)
HALF = np.uint64(32)  # bits in half a number
LOW_HALF = np.uint64(0xFFFFFFFF)


@inline
def draw(stream, counter):
    """Return 64 random bits."""
    z = stream + (counter + ONE) * STEP
    z = (z ^ (z >> SHIFT_30)) * FIRST_FACTOR
    z = (z ^ (z >> SHIFT_27)) * SECOND_FACTOR
    return z ^ (z >> SHIFT_31)


if IS_JIT_OFF:  # NumPy warns of integer overflow, compiled code does not
    draw = np.errstate(over="ignore")(draw)


@inline
def scale_to_range(half, size):
    """
    Return a whole number from 0 to `size` − 1, made from 32 random bits.

    Probabilities differ by at most 2**-32. That moves the mean of 10**8 values by less than 1 % of its standard error.
    """
    return (half * size) >> HALF
