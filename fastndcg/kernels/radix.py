"""
Sorting by digits, the lowest first: for so many numbers that merging them would wait for memory at every step.

values         (n or more,)  float64, finite or infinite
codes          (n or more,)  uint64, the bits of `values`, in the same memory
places         (n or more,)  int32, moved along with the codes; or none
counts         (N_DIGITS,)   int64, overwritten
spare_codes, spare_places    room for as many codes and places, overwritten
"""

import numpy as np

from fastndcg.kernels.jit import part, unit

LARGE = 1 << 13  # numbers: fewer are sooner merged
DIGIT_BITS = 11  # whose counts the processor's first cache holds
N_DIGITS = 1 << DIGIT_BITS
DIGIT = np.uint64(N_DIGITS - 1)
SIGN = np.uint64(1 << 63)


@part
def encode(codes, n):
    """Turn the bits of n floats into codes that rise as the floats fall; both zeros have the same."""
    for i in range(n):
        bits = codes[i]
        codes[i] = bits if bits > SIGN else ~(bits | SIGN)


@part
def decode(codes, n):
    """Turn the codes of n floats into their bits."""
    for i in range(n):
        code = codes[i]
        codes[i] = code if code > SIGN else ~code ^ SIGN


@unit
def sort_codes(codes, places, n, counts, spare_codes, spare_places):
    """Order n codes, the lowest first, equal ones as they were; places go with them if there are any."""
    n_passes = 0
    for low_bit in range(0, 64, DIGIT_BITS):
        shift = np.uint64(low_bit)
        if count_digits(codes, n, shift, counts):
            move(codes, places, n, shift, counts, spare_codes, spare_places)
            codes, spare_codes = spare_codes, codes
            places, spare_places = spare_places, places
            n_passes += 1
    if n_passes % 2 == 1:
        for i in range(n):
            spare_codes[i] = codes[i]
        for i in range(min(n, places.shape[0])):
            spare_places[i] = places[i]


@part
def count_digits(codes, n, shift, counts):
    """Where codes with each digit begin; says whether they differ in it: the lowest bits of float32 do not."""
    counts[:] = 0
    for i in range(n):
        counts[codes[i] >> shift & DIGIT] += 1
    start = 0
    for digit in range(N_DIGITS):
        start += counts[digit]
        counts[digit] = start - counts[digit]
    first = codes[0] >> shift & DIGIT
    return counts[first] > 0 or (first + np.uint64(1) < N_DIGITS and counts[first + np.uint64(1)] < n)


@part
def move(codes, places, n, shift, counts, out_codes, out_places):
    """Put the codes where those with their digit begin, one behind the other."""
    has_places = places.shape[0] > 0
    for i in range(n):
        digit = codes[i] >> shift & DIGIT
        target = counts[digit]
        counts[digit] += 1
        out_codes[target] = codes[i]
        if has_places:
            out_places[target] = places[i]
