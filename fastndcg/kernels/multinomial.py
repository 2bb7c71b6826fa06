"""
Counts of a bootstrap: how often each unit is drawn, in as many draws with replacement as there are units.

Draws one by one would cost a random place in memory each. Here every unit has a Poisson count of its own, which takes
a few comparisons of vectors. Given their sum, such counts are those of so many draws, whatever their mean. What the sum
lacks is then drawn one by one; of what it has too much, each draw is as likely to be taken back. Both leave the counts
those of draws, exactly.

A count comes from 16 bits: 65,531 of their 65,536 values stand for it by their size, `TAILS`. The other 5 are what is
lost where chances are cut to 16 bits: for them 32 bits of another number decide by `RARE_TAILS`.

key       uint64, of which each replicate makes its stream of random numbers
first     the call's first replicate; row r of `out` belongs to replicate first + r
strata    (n_strata + 1,)          int64, stratum s owns units strata[s] up to strata[s + 1]
words     (some,)                  uint64 scratch, read as four uint16 each, the lowest bits first
out       (n_replicates, n_units)  int8: a unit is drawn 128 times once in 128! tries
"""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from fastndcg.kernels.counters import HALF, LOW_HALF, ONE, below, draw
from fastndcg.kernels.jit import kernel, part

MEAN = Fraction(99, 100)  # below 1: taking back costs more than adding, and with 10,000 units is needed once in 6 times
MOST = 16  # with a chance of 1 in 10**15, the rest counts for nothing
PARTS = 4  # of a word
FEW = 512  # units, with 16 draws each at most, whose sum fits 16 bits

TERMS = [MEAN**count / math.factorial(count) for count in range(MOST + 1)]
CHANCES = [2**16 * term / sum(TERMS) for term in TERMS]
CUT = [Fraction(math.floor(chance)) for chance in CHANCES]
LOST = [chance - cut for chance, cut in zip(CHANCES, CUT, strict=True)]

# the chances of 1 or more, of 2 or more, …
TAILS = tuple(np.uint16(tail) for tail in list(accumulate(CUT[:0:-1]))[::-1] if tail)
RARE_TAILS = tuple(np.uint64(round(2**32 * tail / sum(LOST))) for tail in list(accumulate(LOST[:0:-1]))[::-1])
FIRST_RARE = np.uint16(sum(CUT))


@kernel
def draw_counts(key, first, strata, words, out):
    """How often each unit is drawn: in every stratum as many draws, with replacement, as it has units."""
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
                counts[i] = count_of(parts[i], TAILS)
                largest = max(largest, parts[i])
            if largest >= FIRST_RARE:
                for i in range(counts.shape[0]):
                    if parts[i] >= FIRST_RARE:
                        counts[i] = count_of(draw(stream, np.uint64(n_units + start + i)) >> HALF, RARE_TAILS)
        counter = np.uint64(2 * n_units)
        for s in range(strata.shape[0] - 1):
            counter = even_out(stream, counter, out[r, strata[s] : strata[s + 1]])


@part
def count_of(bits, chances):
    """How many chances the bits fall below."""
    count = np.int8(0)
    for chance in chances:
        count += np.int8(bits < chance)
    return count


@part
def even_out(stream, counter, counts):
    """Add draws, or take some back, until there are as many as units; the next number's counter."""
    size = np.uint64(counts.shape[0])
    surplus = -counts.shape[0]
    for start in range(0, counts.shape[0], FEW):
        few = counts[start : start + FEW]
        total = np.int16(0)  # narrow sums of counts up to 16: drawing takes a tenth less
        for u in range(few.shape[0]):
            total = np.int16(total + few[u])
        surplus += np.int64(total)
    for _ in range(surplus, 0):
        counts[below(draw(stream, counter) >> HALF, size)] += np.int8(1)
        counter += ONE
    if surplus > 0:
        highest = counts[0]
        for u in range(counts.shape[0]):
            highest = max(highest, counts[u])
        most = np.uint64(highest)
        while surplus > 0:  # a unit at random is taken with a chance that is proportional to its count
            bits = draw(stream, counter)
            counter += ONE
            place = below(bits >> HALF, size)
            if below(bits & LOW_HALF, most) < np.uint64(counts[place]):
                counts[place] -= np.int8(1)
                surplus -= 1
    return counter
