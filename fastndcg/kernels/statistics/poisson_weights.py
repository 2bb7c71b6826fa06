"""
Weights of the Poisson bootstrap: how often each query counts in each replicate, distributed as Poisson with mean 1.

A weight is a function of the seed, the replicate and the hash of the query's id. No other query matters, so that
replicates of parts of the data can be added up.

Four replicates share one random number, 16 bits each. A weight comes from its bits by comparison with `TAILS`. Rounding
the probabilities to 16 bits leaves some numbers without a weight. For these, 32 bits of another random number are
compared with `RARE_TAILS`.

key         uint64, the key of the random numbers, from which every four replicates make their stream
rare_key    uint64, the key of the other random numbers, from which each replicate makes its stream
first       the first replicate of the call, a multiple of 4; row r of `out` is replicate first + r
hashes      (n_queries,)                uint64
words       (n_words,)                  uint64 scratch
bits        (n_values,)                 uint64, the bits of finite float64 values
first_limb  the number of the first limb; limb i counts multiples of 2^(32 i - 1074), as in exact_sum.py
"""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.statistics.bootstrap_counts import count_from_bits
from fastndcg.kernels.statistics.exact_sum import FRACTION, LOW, SPECIAL
from fastndcg.kernels.statistics.random import HALF, draw

MAX_WEIGHT = 16  # larger weights have a probability below 1e-14
PARTS = 4  # replicates per random number
PART_BITS = 16
PART = np.uint64(0xFFFF)

POISSON_TERMS = [Fraction(1, math.factorial(weight)) for weight in range(MAX_WEIGHT + 1)]
PROBABILITIES = [2**16 * term / sum(POISSON_TERMS) for term in POISSON_TERMS]  # of each weight, times 2**16
ROUNDED = [Fraction(math.floor(probability)) for probability in PROBABILITIES]
REMAINDERS = [probability - rounded for probability, rounded in zip(PROBABILITIES, ROUNDED, strict=True)]

# the probabilities of weights of at least 1, at least 2, …
TAILS = tuple(np.uint16(tail) for tail in list(accumulate(ROUNDED[:0:-1]))[::-1] if tail)
RARE_TAILS = tuple(
    np.uint64(round(2**32 * tail / sum(REMAINDERS))) for tail in list(accumulate(REMAINDERS[:0:-1]))[::-1]
)
FIRST_RARE = np.uint16(sum(ROUNDED))


@kernel
def draw_weights(key, rare_key, first, hashes, words, out):
    """Draw the weight of each query in each replicate. The number of replicates is a multiple of 4."""
    for start in range(0, out.shape[0], PARTS):
        stream = draw(key, np.uint64((first + start) // PARTS))
        for begin in range(0, hashes.shape[0], words.shape[0]):
            some = hashes[begin : begin + words.shape[0]]
            for i in range(some.shape[0]):
                words[i] = draw(stream, some[i])
            for part in range(PARTS):
                weights = out[start + part, begin : begin + words.shape[0]]
                shift = np.uint64(PART_BITS * part)
                largest = np.uint16(0)
                for i in range(some.shape[0]):
                    bits = np.uint16((words[i] >> shift) & PART)
                    weights[i] = count_from_bits(bits, TAILS)
                    largest = max(largest, bits)
                if largest >= FIRST_RARE:
                    rare_stream = draw(rare_key, np.uint64(first + start + part))
                    for i in range(some.shape[0]):
                        if np.uint16((words[i] >> shift) & PART) >= FIRST_RARE:
                            weights[i] = count_from_bits(draw(rare_stream, some[i]) >> HALF, RARE_TAILS)


@kernel
def split_into_limbs(bits, first_limb, out):
    """Write the parts of each value, which are whole numbers below 2^32: out[i, v] belongs to limb first_limb + i."""
    out[:, :] = 0.0
    for v in range(bits.shape[0]):
        exponent = np.int64((bits[v] >> np.uint64(52)) & np.uint64(SPECIAL))
        mantissa = np.int64(bits[v] & np.uint64(FRACTION))
        sign = 1 - 2 * np.int64(bits[v] >> np.uint64(63))
        if exponent > 0:
            mantissa += FRACTION + 1
            exponent -= 1
        if mantissa == 0:
            continue
        limb = (exponent >> 5) - first_limb
        lower = (mantissa & LOW) << (exponent & 31)
        upper = (mantissa >> 32) << (exponent & 31)
        middle = (lower >> 32 & LOW) + (upper & LOW)
        out[limb, v] = np.float64(sign * (lower & LOW))
        out[limb + 1, v] = np.float64(sign * (middle & LOW))
        out[limb + 2, v] = np.float64(sign * ((upper >> 32) + (middle >> 32)))
