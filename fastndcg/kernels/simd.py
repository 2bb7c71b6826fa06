"""
Single machine instructions: compare 16 or 64 entries of an array at once, load several bytes, multiply 64-bit numbers.

A vector has LANES or WIDE lanes. A mask is a uint64 with one bit a lane, lane i in bit i. `place` is the first entry of
a vector: all its lanes must be within the array. Words of bytes are uint64, because Numba makes a float of a uint64 and
an int64.

Each instruction is defined here in Python, with checks of its bounds. Kernels get the machine instructions of
intrinsics.py.
"""

import numpy as np

from fastndcg.kernels.jit import instruction

LANES = 16
WIDE = 64
NONE = np.uint64(0)  # masks
ONE = np.uint64(1)
ALL = ~np.uint64(0)


def load_lanes(values, place, n_lanes):
    """Return the entries of a vector. Raise if machine code would read beyond the array."""
    if not 0 <= place <= len(values) - n_lanes:
        raise IndexError(f"{n_lanes} lanes from {place} on must be within the array, but its length is {len(values)}")
    return values[place : place + n_lanes]


@instruction
def compare(values, place, level):
    """Return the masks of 16 entries that are above a level and of those equal to it."""
    return compare_lanes(values, place, level, LANES)


@instruction
def compare_wide(values, place, level):
    """Return the masks of 64 entries that are above a level and of those equal to it."""
    return compare_lanes(values, place, level, WIDE)


def compare_lanes(values, place, level, n_lanes):
    """Return the masks of the lanes of a vector that are above a level and of those equal to it."""
    lanes = load_lanes(values, place, n_lanes)
    return make_mask(lanes > level), make_mask(lanes == level)


@instruction
def mask_at_least(values, place, level):
    """Return the mask of 64 entries that are at least a level."""
    return make_mask(load_lanes(values, place, WIDE) >= level)


@instruction
def mask_nan(values, place):
    """Return the mask of 64 entries that are NaN."""
    return make_mask(np.isnan(load_lanes(values, place, WIDE)))


@instruction
def raise_maxima(maxima, values, place, counted_lanes):
    """Raise the first 16 entries of `maxima` to those of `values`, in the lanes of a mask."""
    raise_lanes(maxima, values, place, counted_lanes, LANES)


@instruction
def raise_maxima_wide(maxima, values, place, counted_lanes):
    """Raise the first 64 entries of `maxima` to those of `values`, in the lanes of a mask."""
    raise_lanes(maxima, values, place, counted_lanes, WIDE)


def raise_lanes(maxima, values, place, counted_lanes, n_lanes):
    """Raise the first lanes of `maxima` to those of `values`, in the lanes of a mask."""
    lanes = load_lanes(values, place, n_lanes)
    is_counted = [int(counted_lanes) >> lane & 1 == 1 for lane in range(n_lanes)]
    maxima[:n_lanes] = np.where(is_counted, np.fmax(load_lanes(maxima, 0, n_lanes), lanes), maxima[:n_lanes])


@instruction
def copy_wide(values, place, out, out_place):
    """Copy 64 entries of an array to another array of the same dtype."""
    load_lanes(out, out_place, WIDE)[:] = load_lanes(values, place, WIDE)


@instruction
def mask_nonzero(values, place):
    """Return the mask of 64 entries that are not 0. NaN is not 0."""
    return make_mask(load_lanes(values, place, WIDE) != 0)


@instruction
def mask_positive(values, place):
    """Return the mask of 64 entries that are above 0. NaN is not."""
    return make_mask(load_lanes(values, place, WIDE) > 0)


def make_mask(lanes):
    """Return the mask of an array of booleans."""
    return sum(1 << lane for lane in np.flatnonzero(lanes).tolist())


@instruction
def make_wide_like(array):
    """Return an uninitialised array of 64 entries on the stack of the kernel, with the dtype of an array."""
    return np.empty(WIDE, array.dtype)


@instruction
def prefetch(values, place):
    """
    Load what comes PREFETCH_BYTES behind 64 entries into the processor's cache.

    Processors do this by themselves within a query, but not from one query to the next.
    """


@instruction
def mask_first(n):
    """Return the mask of the first n lanes, of all lanes from 64 on."""
    return np.uint64((1 << int(min(n, WIDE))) - 1)


@instruction
def min_int64(first, second):
    """Return the lower of two integers. Numba compiles `min` again for each pair of types."""
    return min(first, second)


@instruction
def popcount(mask):
    """Return the number of lanes in a mask."""
    return int(mask).bit_count()


@instruction
def lowest_bit(mask):
    """Return the first lane in a mask that is not 0."""
    return (int(mask) & -int(mask)).bit_length() - 1


BYTES = 8
WINDOW = 64


@instruction
def load_word(data, place):
    """Return the 8 bytes from `place` on as one number, the first byte lowest."""
    if not 0 <= place <= len(data) - BYTES:
        raise IndexError(f"{BYTES} bytes from {place} on must be within the array, but its length is {len(data)}")
    return np.uint64(int.from_bytes(data[place : place + BYTES].tobytes(), "little"))


@instruction
def store_word(data, place, word):
    """Store a number as the 8 bytes from `place` on, the lowest byte first."""
    if not 0 <= place <= len(data) - BYTES:
        raise IndexError(f"{BYTES} bytes from {place} on must be within the array, but its length is {len(data)}")
    data[place : place + BYTES] = np.frombuffer(int(word).to_bytes(BYTES, "little"), "u1")


@instruction
def mask_separators(data, place):
    """Return the mask of the blanks, tabs and line ends among 64 bytes from `place` on, bit i for byte i."""
    if not 0 <= place <= len(data) - WINDOW:
        raise IndexError(f"{WINDOW} bytes from {place} on must be within the array, but its length is {len(data)}")
    window = data[place : place + WINDOW].tolist()
    return np.uint64(sum(1 << lane for lane, byte in enumerate(window) if byte in b"\t\n\v\f\r "))


@instruction
def multiply_wide(left, right):
    """Return the high and the low 64 bits of a product."""
    product = int(left) * int(right)
    return np.uint64(product >> 64), np.uint64(product & (2**64 - 1))


@instruction
def count_leading_zeros(word):
    """Return the number of zero bits above the highest bit that is set."""
    return np.uint64(64 - int(word).bit_length())


@instruction
def bits_to_float(bits):
    """Return the float64 that has the same bits."""
    return np.uint64(bits).view("f8")


@instruction
def swap_bytes(word):
    """Return the number with its 8 bytes in reverse order."""
    return np.uint64(int.from_bytes(int(word).to_bytes(BYTES, "little"), "big"))
