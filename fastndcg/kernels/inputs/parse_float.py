"""
Decimal numbers, correctly rounded to float64, unless they are too hard for the two methods below.

The digits must fit 64 bits. The result is exact if they fit 53 bits and the power of ten is exact (Clinger, 1990).
Otherwise it is a product with 128 bits of the power (Lemire, Number parsing at a gigabyte per second, 2021,
doi:10.1002/spe.2984). Hard numbers go to Python's float(): halfway cases, more digits, infinity, NaN, other texts.

text          uint8, with eight bytes or more behind every number; what follows a number is no digit
exact_powers  (23,)     float64, 10 to the power 0 … 22
powers        (696, 2)  uint64, the highest 128 bits of 10 to the power -348 … 347: the high half, the low half
"""

import numpy as np

from fastndcg.kernels.bytes import bits_to_float, count_leading_zeros, load_word, multiply_wide
from fastndcg.kernels.jit import helper
from fastndcg.kernels.simd import lowest_bit

LOWEST_POWER = -348
N_POWERS = 696
PLUS = 43
MINUS = 45
POINT = 46
NINE = 57
SMALL_E = 101
LARGE_E = 69
DIGIT_0 = 48
ZERO = np.uint64(0)
ONE = np.uint64(1)
EIGHT = np.uint64(8)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
NINE_BITS = np.uint64(0x1FF)
FRACTION = np.uint64((1 << 52) - 1)
DIGITS = np.uint64(0x3030303030303030)  # in each byte: the digit 0,
TO_TOP = np.uint64(0x7676767676767676)  # what lifts more than 9 to the top bit,
TOPS = np.uint64(0x8080808080808080)  # and that bit


@helper
def parse_number(text, start, stop, exact_powers, powers):
    """Return the value of text[start:stop], and whether it was parsed."""
    negative = text[start] == MINUS
    first = start + 1 if negative or text[start] == PLUS else start
    digits, place, is_parsed = parse_digits(text, first, ZERO, exact_powers)
    n_digits = place - first
    power = 0
    if is_parsed and text[place] == POINT:
        first = place + 1
        digits, place, is_parsed = parse_digits(text, first, digits, exact_powers)
        power = first - place
        n_digits -= power
    if is_parsed and place < stop:
        exponent, is_parsed = parse_exponent(text, place, stop)
        power += exponent
    value = 0.0
    row = power - LOWEST_POWER
    if n_digits == 0 or not is_parsed or not 0 <= row < N_POWERS:
        is_parsed = False
    elif digits >> np.uint64(53) == ZERO and -22 <= power <= 22:
        value = np.float64(digits)
        value = value * exact_powers[power] if power >= 0 else value / exact_powers[-power]
    else:
        value, is_parsed = product(digits, power, powers[row, 0], powers[row, 1])
    return -value if negative else value, is_parsed


@helper
def parse_digits(text, place, digits, exact_powers):
    """Append the digits from `place` on, 8 at a time, and return the number, the end, and whether it fits 64 bits."""
    while True:
        each = load_word(text, place) ^ DIGITS
        non_digits = ((each & ~TOPS) + TO_TOP | each) & TOPS
        n_new = 8 if non_digits == 0 else lowest_bit(non_digits) >> 3
        if n_new == 0:
            return digits, place, True
        new = eight_digits(each << np.uint64(64 - 8 * n_new))
        high, digits = multiply_wide(digits, np.uint64(exact_powers[n_new]))
        if high != 0 or digits > ALL_BITS - new:
            return digits, place, False
        digits += new
        place += n_new
        if n_new < 8:
            return digits, place, True


@helper
def eight_digits(each):
    """Return the number of 8 digits, one per byte, the first lowest: add pairs, then groups of 4, then all."""
    pairs = (each << ONE) + (each << np.uint64(3)) + (each >> EIGHT)
    lower = multiply_wide(pairs & np.uint64(0x000000FF000000FF), np.uint64(0x000F424000000064))[1]
    upper = multiply_wide(pairs >> np.uint64(16) & np.uint64(0x000000FF000000FF), np.uint64(0x0000271000000001))[1]
    return add(lower, upper)[0] >> np.uint64(32)


@helper
def parse_exponent(text, place, stop):
    """Return the exponent in text[place:stop], and whether it is one of at most 5 digits."""
    is_parsed = text[place] == SMALL_E or text[place] == LARGE_E
    negative = text[place + 1] == MINUS
    place += 2 if negative or text[place + 1] == PLUS else 1
    is_parsed = is_parsed and place < stop <= place + 5
    exponent = 0
    for i in range(place, stop if is_parsed else place):
        is_parsed = is_parsed and DIGIT_0 <= text[i] <= NINE
        exponent = 10 * exponent + int(text[i]) - DIGIT_0
    return -exponent if negative else exponent, is_parsed


@helper
def product(digits, power, high_power, low_power):
    """Return the float64 nearest to digits times ten to a power, and whether it is known."""
    if digits == ZERO:
        return 0.0, True
    zeros = count_leading_zeros(digits)
    digits <<= zeros
    high, low = multiply_wide(digits, high_power)
    if high & NINE_BITS == NINE_BITS and low > ALL_BITS - digits:  # the 64 bits left out may carry
        more_high, more_low = multiply_wide(digits, low_power)
        low, carry = add(low, more_high)
        high += carry
        if high & NINE_BITS == NINE_BITS and low == ALL_BITS and more_low > ALL_BITS - digits:
            return 0.0, False
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    if low == ZERO and high & NINE_BITS == ZERO and mantissa & np.uint64(3) == ONE:  # halfway, or nearly so
        return 0.0, False
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    exponent = (217706 * power >> 16) + 63 - np.int64(zeros) + np.int64(top) + np.int64(mantissa >> np.uint64(53))
    if not -1022 <= exponent <= 1023:  # beyond float64, or among its subnormal numbers
        return 0.0, False
    mantissa >>= mantissa >> np.uint64(53)
    return bits_to_float(np.uint64(exponent + 1023) << np.uint64(52) | mantissa & FRACTION), True


@helper
def add(left, right):
    """Return the sum of two 64-bit numbers, and its carry."""
    if left > ALL_BITS - right:
        return left - (ALL_BITS - right) - ONE, ONE
    return left + right, ZERO
