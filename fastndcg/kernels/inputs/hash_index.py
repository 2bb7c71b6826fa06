"""
A hash index with open addressing: it holds numbers, and finds them by the hash of a key.

slots  (a power of two,)  uint32, all 0 at first
base   uint32: an entry is alive if it is above `base`, and entry - base - 1 is its number

Raising `base` by the number of entries empties the index without a pass over its slots. Keys are not stored: the
caller compares the key of each live entry, from `first_slot` on to the first slot that is not alive.

The loops over slots are written out in each kernel. Numba counts references to arrays at each step of a loop that
passes them to a function. That takes 5 times as long in a kernel that allocates.
"""

import numpy as np

from fastndcg.kernels.jit import inline

ONE = np.uint64(1)
MAX_ENTRY = 2**32 - 1
MIN_SLOTS = 8
SLOTS_PER_KEY = 8


@inline
def count_slots(n_keys):
    """Return the number of slots for n keys: at most an eighth are alive, so that few are compared in vain."""
    n_slots = MIN_SLOTS
    while n_slots < SLOTS_PER_KEY * n_keys:
        n_slots *= 2
    return n_slots


@inline
def make_mask(n_slots):
    """Return the mask that maps hashes to slots."""
    return np.uint64(n_slots - 1)


@inline
def first_slot(hashed, mask):
    """Return the first slot to look at for a hash."""
    return hashed & mask


@inline
def next_slot(slot, mask):
    """Return the slot to look at after another."""
    return (slot + ONE) & mask


@inline
def make_entry(number, base):
    """Return the entry of a number."""
    return np.uint32(np.int64(base) + number + 1)


@inline
def is_alive(entry, base):
    """Return True if a slot holds a number."""
    return entry > base


@inline
def get_number(entry, base):
    """Return the number that a live entry holds."""
    return np.int64(entry) - np.int64(base) - 1
