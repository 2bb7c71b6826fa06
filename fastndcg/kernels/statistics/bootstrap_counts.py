"""
Multinomial counts of the bootstrap: how often each unit is drawn, in n draws with replacement from n units.

Single draws would each write to a random place in memory. Instead, every unit gets an independent Poisson count, which
takes a few vector comparisons. Given their sum, independent Poisson counts are distributed like the counts of that
number of draws, for any mean. Then the sum is corrected to n: missing draws are added one by one, and surplus draws
are removed, each with the same probability. Both corrections keep the distribution exact.

A count comes from a 16-bit number by comparison with `TAILS`. Rounding the probabilities to 16 bits leaves 5 of the
65,536 numbers without a count. For these, 32 bits of another number are compared with `RARE_TAILS`.

key             uint64, the key of the random numbers, from which each replicate makes its stream
first           the first replicate of the call; row r of `out` is replicate first + r
stratum_offsets (n_strata + 1,)          int64, stratum s owns units stratum_offsets[s] up to stratum_offsets[s + 1]
words           (n_words,)               uint64 scratch, read as four uint16 each, the lowest bits first
out             (n_replicates, n_units)  int8; a unit is drawn 128 times with a probability of 1 in 128!
"""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.statistics.random import HALF, LOW_HALF, ONE, draw, scale_to_range

# removing a draw costs more than adding one; with a mean of 0.99, 10,000 units have a surplus in 1 of 6 replicates
MEAN = Fraction(99, 100)
MAX_COUNT = 16  # larger counts have a probability below 1e-15
PARTS = 4  # per word, each a uint16
SUM_BLOCK = 512  # units whose counts, at most 16 each, have a sum below 2**15

POISSON_TERMS = [MEAN**count / math.factorial(count) for count in range(MAX_COUNT + 1)]
PROBABILITIES = [2**16 * term / sum(POISSON_TERMS) for term in POISSON_TERMS]  # of each count, times 2**16
ROUNDED = [Fraction(math.floor(probability)) for probability in PROBABILITIES]
REMAINDERS = [probability - rounded for probability, rounded in zip(PROBABILITIES, ROUNDED, strict=True)]

# the probabilities of counts of at least 1, at least 2, …
TAILS = tuple(np.uint16(tail) for tail in list(accumulate(ROUNDED[:0:-1]))[::-1] if tail)
RARE_TAILS = tuple(
    np.uint64(round(2**32 * tail / sum(REMAINDERS))) for tail in list(accumulate(REMAINDERS[:0:-1]))[::-1]
)
FIRST_RARE = np.uint16(sum(ROUNDED))


@kernel
def draw_counts(key, first, stratum_offsets, words, out):
    """Draw the count of each unit. In every stratum, the number of draws equals the number of its units."""
    n_units = out.shape[1]
    parts = words.view(np.uint16)
    for r in range(out.shape[0]):
        stream = draw(key, np.uint64(first + r))
        for start in range(0, n_units, parts.shape[0]):
            counts = out[r, start : start + parts.shape[0]]
            for i in range((counts.shape[0] + PARTS - 1) // PARTS):
                words[i] = draw(stream, np.uint64(start // PARTS + i))
            largest = np.uint16(0)
            for i in range(counts.shape[0]):
                counts[i] = count_from_bits(parts[i], TAILS)
                largest = max(largest, parts[i])
            if largest >= FIRST_RARE:
                for i in range(counts.shape[0]):
                    if parts[i] >= FIRST_RARE:
                        bits = draw(stream, np.uint64(n_units + start + i)) >> HALF
                        counts[i] = count_from_bits(bits, RARE_TAILS)
        counter = np.uint64(2 * n_units)
        for s in range(stratum_offsets.shape[0] - 1):
            counter = correct_total(stream, counter, out[r, stratum_offsets[s] : stratum_offsets[s + 1]])


@inline
def count_from_bits(bits, tails):
    """Return the count of a unit: the number of tail probabilities that exceed the random bits."""
    count = np.int8(0)
    for tail in tails:
        count += np.int8(bits < tail)
    return count


@inline
def correct_total(stream, counter, counts):
    """Add or remove draws until their number equals the number of units. Return the counter of the next number."""
    size = np.uint64(counts.shape[0])
    surplus = -counts.shape[0]
    for start in range(0, counts.shape[0], SUM_BLOCK):
        block = counts[start : start + SUM_BLOCK]
        total = np.int16(0)  # int16 sums vectorise better: drawing takes 10 % less time than with int64
        for u in range(block.shape[0]):
            total = np.int16(total + block[u])
        surplus += np.int64(total)
    for _ in range(surplus, 0):
        counts[scale_to_range(draw(stream, counter) >> HALF, size)] += np.int8(1)
        counter += ONE
    if surplus > 0:
        highest = counts[0]
        for u in range(counts.shape[0]):
            highest = max(highest, counts[u])
        limit = np.uint64(highest)
        while surplus > 0:  # rejection sampling: a unit is accepted with a probability proportional to its count
            bits = draw(stream, counter)
            counter += ONE
            place = scale_to_range(bits >> HALF, size)
            if scale_to_range(bits & LOW_HALF, limit) < np.uint64(counts[place]):
                counts[place] -= np.int8(1)
                surplus -= 1
    return counter
