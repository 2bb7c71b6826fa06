"""
Load and compare several bytes at once, multiply 64-bit numbers, and view memory, with single machine instructions.

All numbers are uint64, because Numba makes a float of a uint64 and an int64. Each instruction is defined here in
Python. Kernels get the machine instructions of kernels/llvm/bytes.py.
"""

import numpy as np

from fastndcg.kernels.jit import instruction

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
