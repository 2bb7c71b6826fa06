"""
Replicates (random numbers, bootstrap counts, sums weighted by counts or signs, randomisation tests), and exact sums.

Random numbers are counter-based: number `counter` of a stream is the SplitMix64 hash of both. A stream is a uint64 made
from the seed and the number of the replicate. There is no state, so every thread, chunk and machine draws the same
numbers. G. L. Steele, D. Lea and C. H. Flood, 2014, doi:10.1145/2660193.2660195.

Bootstrap counts are multinomial: how often each unit is drawn, in n draws with replacement from n units. Single draws
would each write to a random place in memory. Instead, every unit gets an independent Poisson count, which takes a few
vector comparisons. Given their sum, independent Poisson counts are distributed like the counts of that number of draws,
for any mean. Then the sum is corrected to n: missing draws are added one by one, and surplus draws are removed, each
with the same probability. Both corrections keep the distribution exact.

A count comes from a 16-bit number by comparison with `TAILS`. Rounding the probabilities to 16 bits leaves 5 of the
65,536 numbers without a count. For these, 32 bits of another number are compared with `RARE_TAILS`.

Float64 values are summed exactly with a superaccumulator (U. Kulisch): a fixed-point number of 2,240 bits, in limbs of
32 bits, that holds every sum.

key              uint64, the key of the random numbers, from which each replicate makes its stream
first            the first replicate of the call; row r of `out` or `weights` is replicate first + r
stratum_offsets  (n_strata + 1,)          int64, stratum s owns units stratum_offsets[s] up to stratum_offsets[s + 1]
words            (n_words,)               uint64 scratch, read as four uint16 each, the lowest bits first
out of counts    (n_replicates, n_units)  int8; a unit is drawn 128 times with a probability of 1 in 128!
weights          (n_replicates, n_units)  int8, signs or counts of the units; n_replicates is a multiple of 4
values           (n_rows, n_units)        float64, integers whose sums stay below 2**53; n_rows is a multiple of 4
                 (n_metrics, n_units, n_systems)  in `permuted_ranges`
differences      (n_units,)               float64, integers whose sums stay below 2**53
order            (n_systems,)             int64 scratch
sums             (n_metrics, n_systems)   float64 scratch
bits             (n,)                     uint64, the bits of float64 values
limbs            (N_LIMBS,)               int64, limb i counts multiples of 2^(32 i - 1074); after 2^31 additions it may
                                          overflow
counts           (3,)                     int64, the numbers of NaN, +inf and -inf
"""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from fastndcg.kernels.jit import IS_JIT_OFF, inline, kernel

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


N_LIMBS = 70
LOW = (1 << 32) - 1
FRACTION = (1 << 52) - 1
SPECIAL = 0x7FF
# places in `counts`
NAN = 0
INFINITE = 1
MINUS_INFINITE = 2


@kernel
def add_up(bits, out_limbs, out_counts):
    """Add finite values to the limbs, and count the others."""
    for i in range(bits.shape[0]):
        exponent = np.int64((bits[i] >> np.uint64(52)) & np.uint64(SPECIAL))
        mantissa = np.int64(bits[i] & np.uint64(FRACTION))
        sign = 1 - 2 * np.int64(bits[i] >> np.uint64(63))
        if exponent == SPECIAL:
            out_counts[NAN if mantissa != 0 else INFINITE if sign > 0 else MINUS_INFINITE] += 1
            continue
        if exponent > 0:
            mantissa += FRACTION + 1
            exponent -= 1
        limb = exponent >> 5
        lower = (mantissa & LOW) << (exponent & 31)
        upper = (mantissa >> 32) << (exponent & 31)
        out_limbs[limb] += sign * (lower & LOW)
        out_limbs[limb + 1] += sign * ((lower >> 32 & LOW) + (upper & LOW))
        out_limbs[limb + 2] += sign * (upper >> 32)


@kernel
def carry(out_limbs):
    """Propagate carries: every limb is then from 0 to 2^32 − 1, except the last limb, which has the sign."""
    for i in range(out_limbs.shape[0] - 1):
        over = out_limbs[i] >> 32
        out_limbs[i] -= over << 32
        out_limbs[i + 1] += over
