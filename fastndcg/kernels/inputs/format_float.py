"""
The shortest decimal number that is read back as the same float64, as Python's repr writes it.

A number is mantissa * 2**exponent. Times ten to a power it is mantissa * 5**power, shifted, which 128 bits hold. Its
nearest whole number has the digits. Fifteen digits are tried, then sixteen. Seventeen always suffice.

words  uint64, the bits of float64 numbers that are 0, or from LEAST up to MOST in absolute value
out    uint8, text in ASCII
"""

import numpy as np

from fastndcg.kernels.bytes import multiply_wide
from fastndcg.kernels.inputs.parse_float import ALL_BITS, DIGIT_0, FRACTION, MINUS, ONE, POINT, SMALL_E, ZERO
from fastndcg.kernels.jit import helper

LEAST = 1e-10
MOST = 1e16  # excluded
LONGEST = 32  # bytes that a number takes at most
FIVES = np.array([5**power for power in range(28)], "u8")
LEAST_FIXED = -4  # the least decimal exponent that repr writes without an e
HIDDEN = np.uint64(1 << 52)
QUARTER = np.uint64(1 << 62)  # twice a number below it fits 63 bits
HALF = np.uint64(1 << 63)  # twice a number below it fits 64 bits
MOST_17 = np.uint64(10**17)


@helper
def write_float(word, place, out):
    """Write the number that has these bits from out[place] on, and return the place behind it."""
    if word >> np.uint64(63) != ZERO:
        out[place] = MINUS
        place += 1
        word = word & (ALL_BITS >> ONE)
    if word == ZERO:
        out[place] = DIGIT_0
        out[place + 1] = POINT
        out[place + 2] = DIGIT_0
        return place + 3
    mantissa = word & FRACTION | HIDDEN
    exponent = np.int64(word >> np.uint64(52)) - 1075
    decimal = (exponent + 52) * 1233 >> 12  # the logarithm to base 10 of the highest bit, rounded down
    whole, _ = round_decimal(mantissa, exponent, 16 - decimal)
    if whole >= MOST_17:
        decimal += 1
        whole, _ = round_decimal(mantissa, exponent, 16 - decimal)
    n_digits = 17
    for n_tried in range(15 if decimal < 15 else 16, 17):
        shorter, is_same = round_decimal(mantissa, exponent, n_tried - 1 - decimal)
        if is_same:
            whole = shorter
            n_digits = n_tried
            break
    digits = np.int64(whole)
    if digits == (10**15 if n_digits == 15 else 10**16 if n_digits == 16 else 10**17):  # the next power of ten
        n_digits += 1
        decimal += 1
    while digits % 10 == 0:
        digits //= 10
        n_digits -= 1
    return place_digits(digits, n_digits, decimal, place, out)


@helper
def round_decimal(mantissa, exponent, power):
    """Return a number times ten to a power as the nearest whole number, and whether that gives the same float64."""
    five = FIVES[power]
    high, low = multiply_wide(mantissa, five)
    shift = -(exponent + power)
    if shift <= 0:
        return low << np.uint64(-shift), True
    if shift >= 64:
        shift_high = np.uint64(shift - 64)
        whole = high >> shift_high
        rest_high = high & ((ONE << shift_high) - ONE)
        rest = low
        other_high = (ONE << shift_high) - rest_high
        other = ZERO
        if rest != ZERO:
            other_high -= ONE
            other = ALL_BITS - rest + ONE
    else:
        shift_low = np.uint64(shift)
        whole = high << np.uint64(64 - shift) | low >> shift_low
        rest_high = ZERO
        rest = low & ((ONE << shift_low) - ONE)
        other_high = ZERO
        other = (ONE << shift_low) - rest
    is_above = rest_high > other_high or (rest_high == other_high and rest > other)
    is_tie = rest_high == other_high and rest == other
    is_up = is_above or (is_tie and whole & ONE == ONE)
    if is_up:
        return whole + ONE, is_close(other_high, other, five, mantissa)
    if mantissa != HIDDEN:
        return whole, is_close(rest_high, rest, five, mantissa)
    # a power of two: the float64 below is half as far as the one above
    if rest_high == ZERO and rest < QUARTER and is_close(ZERO, rest << ONE, five, mantissa):
        return whole, True
    return whole + ONE, is_close(other_high, other, five, mantissa)


@helper
def is_close(distance_high, distance, five, mantissa):
    """Return True if a distance is less than half of that between two float64, or equal to it by an even mantissa."""
    if distance_high != ZERO or distance >= HALF:
        return False
    return distance << ONE < five or (distance << ONE == five and mantissa & ONE == ZERO)


@helper
def place_digits(digits, n_digits, decimal, place, out):
    """Write digits, of which the first counts ten to the power `decimal`, and return the place behind them."""
    if decimal < LEAST_FIXED:
        return place_exponent(-decimal, place_whole(digits, n_digits, 1, place, out), out)
    if decimal < 0:
        for i in range(place, place - decimal + 1):
            out[i] = DIGIT_0
        out[place + 1] = POINT
        end = place - decimal + 1 + n_digits
        write_digits(digits, n_digits, end, out)
        return end
    place = place_whole(digits, n_digits, decimal + 1, place, out)
    if n_digits > decimal + 1:
        return place
    out[place] = POINT
    out[place + 1] = DIGIT_0
    return place + 2


@helper
def place_whole(digits, n_digits, n_whole, place, out):
    """Write digits with a point behind `n_whole` of them, or zeros where they are fewer. Return the place behind."""
    if n_digits > n_whole:
        write_digits(digits, n_digits, place + n_digits + 1, out)
        for i in range(place, place + n_whole):
            out[i] = out[i + 1]
        out[place + n_whole] = POINT
        return place + n_digits + 1
    write_digits(digits, n_digits, place + n_digits, out)
    for i in range(place + n_digits, place + n_whole):
        out[i] = DIGIT_0
    return place + n_whole


@helper
def write_digits(number, n_digits, end, out):
    """Write the lowest digits of a number up to out[end]."""
    for i in range(1, n_digits + 1):
        out[end - i] = DIGIT_0 + number % 10
        number //= 10


@helper
def place_exponent(exponent, place, out):
    """Write a negative exponent of two digits, and return the place behind it."""
    out[place] = SMALL_E
    out[place + 1] = MINUS
    out[place + 2] = DIGIT_0 + exponent // 10
    out[place + 3] = DIGIT_0 + exponent % 10
    return place + 4
