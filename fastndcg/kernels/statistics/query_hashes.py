"""
Hashes of query ids: XXH64, by Y. Collet, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.

ids     IdBytes       the canonical bytes of the ids
seed    uint64        the type of the ids, so that a number and a text with the same bytes have different hashes
out     (n,)  uint64
"""

import numpy as np

from fastndcg.kernels.inputs.id_hashing import find_bounds, load_bytes
from fastndcg.kernels.jit import IS_JIT_OFF, inline, kernel

PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)
WORD = 8  # bytes
STRIPE = 32  # bytes that the four accumulators read at a time


@kernel
def hash_ids(ids, seed, out):
    """Compute the XXH64 hash of each id."""
    for i in range(out.shape[0]):
        begin, end = find_bounds(ids, i)
        out[i] = hash_bytes(ids.data, begin, end, seed)


@inline
def hash_bytes(data, begin, end, seed):
    """Return the hash of the bytes from `begin` up to `end`."""
    size = np.uint64(end - begin)
    if end - begin >= STRIPE:
        hashed = hash_stripes(data, begin, end, seed)
        begin += (end - begin) // STRIPE * STRIPE
    else:
        hashed = seed + PRIME_5
    hashed += size
    while end - begin >= WORD:
        hashed ^= mix_word(np.uint64(0), load_bytes(data, begin, WORD))
        hashed = rotate(hashed, np.uint64(27)) * PRIME_1 + PRIME_4
        begin += WORD
    if end - begin >= WORD // 2:
        hashed ^= load_bytes(data, begin, WORD // 2) * PRIME_1
        hashed = rotate(hashed, np.uint64(23)) * PRIME_2 + PRIME_3
        begin += WORD // 2
    while end > begin:
        hashed ^= load_bytes(data, begin, 1) * PRIME_5
        hashed = rotate(hashed, np.uint64(11)) * PRIME_1
        begin += 1
    hashed = (hashed ^ (hashed >> np.uint64(33))) * PRIME_2
    hashed = (hashed ^ (hashed >> np.uint64(29))) * PRIME_3
    return hashed ^ (hashed >> np.uint64(32))


@inline
def hash_stripes(data, begin, end, seed):
    """Return the hash of all whole stripes, read by four accumulators."""
    first = seed + PRIME_1 + PRIME_2
    second = seed + PRIME_2
    third = seed
    fourth = seed - PRIME_1
    while end - begin >= STRIPE:
        first = mix_word(first, load_bytes(data, begin, WORD))
        second = mix_word(second, load_bytes(data, begin + WORD, WORD))
        third = mix_word(third, load_bytes(data, begin + 2 * WORD, WORD))
        fourth = mix_word(fourth, load_bytes(data, begin + 3 * WORD, WORD))
        begin += STRIPE
    hashed = rotate(first, np.uint64(1)) + rotate(second, np.uint64(7))
    hashed += rotate(third, np.uint64(12)) + rotate(fourth, np.uint64(18))
    for accumulator in (first, second, third, fourth):
        hashed = (hashed ^ mix_word(np.uint64(0), accumulator)) * PRIME_1 + PRIME_4
    return hashed


@inline
def mix_word(accumulator, word):
    """Return the accumulator after one word."""
    return rotate(accumulator + word * PRIME_2, np.uint64(31)) * PRIME_1


@inline
def rotate(word, n_bits):
    """Return the word with its highest bits moved to its low end."""
    return (word << n_bits) | (word >> (np.uint64(64) - n_bits))


if IS_JIT_OFF:  # NumPy warns of integer overflow, compiled code does not
    hash_bytes = np.errstate(over="ignore")(hash_bytes)
