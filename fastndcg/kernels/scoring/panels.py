"""
Instructions for the product of panels of users and items: see product.py.

Elements of operands have one of two kinds. Floats are multiplied, or the squares of their differences are taken off. A
uint64 holds 64 bits, of which those that differ are counted.

Each instruction is defined here in Python. Kernels get the machine instructions of kernels/intrinsics.py.
"""

import platform

import numpy as np

from fastndcg.kernels.jit import instruction
from fastndcg.kernels.machine_code import vector_bytes

IS_X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "x86")
VECTOR_BYTES = vector_bytes()
HAS_MANY_REGISTERS = VECTOR_BYTES == 64 or not IS_X86
USER_PANEL = 12 if HAS_MANY_REGISTERS else 6  # rows: 24 of 32 registers hold sums, or 12 of 16; the rest, operands
ITEM_VECTORS = 2
ITEM_PANEL_BYTES = ITEM_VECTORS * VECTOR_BYTES  # of one column


@instruction
def multiply_panels(users, items, places, n_columns, out, out_width, is_distance):
    """
    Write the scores of a panel of users for a panel of items.

    users, items  packed operands
    places        where the panels begin in `users` and `items`, and where their first score is in `out`
    n_columns     number of columns, 1 or more
    out           tile with rows of out_width scores
    is_distance   None for the product of floats, True for their negative squared distance
    """
    user_place, item_place, out_place = places
    width = ITEM_PANEL_BYTES // users.itemsize
    rows = users[user_place : user_place + n_columns * USER_PANEL].reshape(n_columns, USER_PANEL, 1)
    columns = items[item_place : item_place + n_columns * width].reshape(n_columns, 1, width)
    sums = np.zeros((USER_PANEL, width), users.dtype if users.dtype.kind == "f" else np.int64)
    for user, item in zip(rows, columns, strict=True):
        sums = add_term(sums, user, item, is_distance)
    for row in range(USER_PANEL):
        start = out_place + row * out_width
        out[start : start + width] = sums[row]


@instruction
def add_term(total, user, item, is_distance):
    """Return a sum with the terms of one more column, rounded as in `multiply_panels`."""
    if user.dtype.kind == "u":
        return total - count_bits(user ^ item)
    if is_distance is not None:
        item = user - item
        user = -item
    return np.add(np.multiply(user, item, dtype=np.float64), total).astype(user.dtype)  # products of float32 are exact


def count_bits(words):
    """Return the number of bits that are set in each uint64, as int64."""
    return np.unpackbits(words[..., None].view("u1"), axis=-1).sum(axis=-1, dtype=np.int64)
