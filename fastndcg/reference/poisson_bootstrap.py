"""
Replicates of the Poisson bootstrap, in plain Python and whole numbers.

The hash of an id is XXH64 of its bytes, with its type as the seed. A weight is the number of tail probabilities that
exceed 16 bits of a SplitMix64 number. Sums are fractions, which are rounded once.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

MASK = 2**64 - 1
PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
MAX_WEIGHT = 16
PURPOSE = 3
RARE_PURPOSE = 4
EPOCH = datetime.datetime(1970, 1, 1)


def compute_replicate_means(
    values: Sequence[float], ids: Sequence[Any], replicates: int, *, seed: int = 0
) -> list[float]:
    """
    Return the weighted mean of values in each replicate, NaN where all weights are 0.

    Parameters
    ----------
    values : sequence of float
        One a query. NaN does not count.
    ids : sequence
        The ids of the queries.
    replicates : int
        The number of replicates.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    list of float
        One a replicate.

    Examples
    --------
    >>> from fastndcg.reference.poisson_bootstrap import compute_replicate_means
    >>> compute_replicate_means([0.0, 1.0], ["q1", "q2"], 2)
    [0.0, 0.25]
    """
    hashes = [hash_id(value) for value in ids]
    means: list[float] = []
    for replicate in range(replicates):
        total = Fraction(0)
        n_draws = 0
        for value, hashed in zip(values, hashes, strict=True):
            if not math.isnan(value):
                weight = draw_weight(seed, replicate, hashed)
                total += weight * Fraction(value)
                n_draws += weight
        means.append(float(total) / n_draws if n_draws else math.nan)
    return means


def draw_weight(seed: int, replicate: int, hashed: int) -> int:
    """Return the weight of the query with this hash in a replicate."""
    whole, lost = split_probabilities()
    stream = draw(find_key(seed, PURPOSE), replicate // 4)
    bits = (draw(stream, hashed) >> 16 * (replicate % 4)) & 0xFFFF
    if bits < sum(whole):
        return sum(bits < sum(whole[least:]) for least in range(1, MAX_WEIGHT + 1))
    rare_bits = draw(draw(find_key(seed, RARE_PURPOSE), replicate), hashed) >> 32
    tails = [round(2**32 * sum(lost[least:]) / sum(lost)) for least in range(1, MAX_WEIGHT + 1)]
    return sum(rare_bits < tail for tail in tails)


def split_probabilities() -> tuple[list[int], list[Fraction]]:
    """Return the probabilities of the weights 0, 1, …, times 2^16, as whole numbers and what they lack."""
    terms = [Fraction(1, math.factorial(weight)) for weight in range(MAX_WEIGHT + 1)]
    probabilities = [2**16 * term / sum(terms) for term in terms]
    return [math.floor(probability) for probability in probabilities], [p - math.floor(p) for p in probabilities]


def find_key(seed: int, purpose: int) -> int:
    """Return the key of a seed's random numbers for one purpose."""
    return draw((draw(seed, 0) + purpose) & MASK, 0)


def draw(stream: int, counter: int) -> int:
    """Return number `counter` of a stream of SplitMix64."""
    z = (stream + (counter + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def hash_id(value: Any) -> int:
    """Return the hash of an id."""
    if isinstance(value, str):
        return compute_xxh64(value.encode(errors="surrogatepass"), 1)
    if isinstance(value, bool):
        return compute_xxh64(bytes([value]), 4)
    if isinstance(value, int):
        return compute_xxh64(value.to_bytes(8 if value < 2**63 else 16, "little", signed=True), 2)
    if isinstance(value, float):
        return compute_xxh64(struct.pack("<d", value + 0.0), 3)
    if isinstance(value, bytes):
        return compute_xxh64(value, 5)
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    elapsed = moment - EPOCH
    seconds = elapsed.days * 86_400 + elapsed.seconds
    return compute_xxh64(struct.pack("<qi", seconds, 1000 * elapsed.microseconds), 6)


def compute_xxh64(content: bytes, seed: int) -> int:
    """Return the hash of bytes, as the specification of XXH64 has it."""
    first, second, third, _, fifth = PRIMES
    place = 0
    if len(content) >= 32:
        accumulators = [seed + first + second, seed + second, seed, seed - first]
        while place + 32 <= len(content):
            for lane in range(4):
                word = int.from_bytes(content[place : place + 8], "little")
                accumulators[lane] = mix(accumulators[lane], word)
                place += 8
        hashed = sum(rotate(accumulator & MASK, n) for accumulator, n in zip(accumulators, (1, 7, 12, 18), strict=True))
        for accumulator in accumulators:
            hashed = ((hashed ^ mix(0, accumulator)) * first + PRIMES[3]) & MASK
    else:
        hashed = seed + fifth
    hashed = (hashed + len(content)) & MASK
    while place + 8 <= len(content):
        hashed ^= mix(0, int.from_bytes(content[place : place + 8], "little"))
        hashed = (rotate(hashed, 27) * first + PRIMES[3]) & MASK
        place += 8
    if place + 4 <= len(content):
        hashed ^= int.from_bytes(content[place : place + 4], "little") * first & MASK
        hashed = (rotate(hashed, 23) * second + third) & MASK
        place += 4
    for byte in content[place:]:
        hashed = rotate(hashed ^ (byte * fifth & MASK), 11) * first & MASK
    hashed = (hashed ^ (hashed >> 33)) * second & MASK
    hashed = (hashed ^ (hashed >> 29)) * third & MASK
    return hashed ^ (hashed >> 32)


def mix(accumulator: int, word: int) -> int:
    """Return the accumulator after one word."""
    return rotate((accumulator + word * PRIMES[1]) & MASK, 31) * PRIMES[0] & MASK


def rotate(word: int, n_bits: int) -> int:
    """Return the word with its highest bits moved to its low end."""
    return ((word << n_bits) | (word >> (64 - n_bits))) & MASK
