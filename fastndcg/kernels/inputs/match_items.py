"""
Find the items that each user likes in the lists of items recommended to them.

recommended  a tuple: items (n_items,) int32 or int64 in rank order, padded with -1 at the end of a row;
             offsets (n_users + 1,) int64, user u owns items[offsets[u] : offsets[u + 1]]
liked        a tuple: items of the same dtype, their labels, and offsets (n_users + 1,) int64
n_items      uint64, the size of the catalogue: items are below it
once         True counts only the first of several equal items in a row; False makes them a problem
scratch      a tuple of buffers for a row: bits (n_words,) uint64, all 0, and numbers (longest,) int64
out          a tuple, the fields of `Matches`, for users `first` up to `stop`:
  above         (n_liked,) int32, the 0-based places of liked items in rows, rising within a user
  labels        (n_liked,) their labels
  found_offsets (n_users + 1,) int64, user u owns above[found_offsets[u] : found_offsets[u + 1]]
  offsets       (n_users + 1,) int64, offsets of the recommended items without padding
  problem       (4,) int64: the kind of the first problem, the user, the place in the row, and the number of items that
                occur in their row again
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.bytes import multiply_wide
from fastndcg.kernels.inputs.hash_index import (
    MAX_ENTRY,
    count_slots,
    first_slot,
    get_number,
    is_alive,
    make_entry,
    make_mask,
    next_slot,
)
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.simd import ONE, WIDE, lowest_bit, prefetch

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
BLOCK = 4096
PADDING = -1
FINE, REPEATED, GAP, UNKNOWN = range(4)
KIND, USER, PLACE, N_REPEATED = range(4)


class Matches(NamedTuple):
    """The output of `find_items`."""

    above: np.ndarray
    labels: np.ndarray
    found_offsets: np.ndarray
    offsets: np.ndarray
    problem: np.ndarray


@kernel(allocates=True)
def find_items(recommended, liked, n_items, once, first, stop, scratch, out):
    """Find liked items by a hash index of the items recommended to a user."""
    items, item_offsets = recommended
    liked_items, liked_labels, liked_offsets = liked
    bits, numbers = scratch
    out = Matches(*out)
    longest = 0
    for u in range(first, stop):
        longest = max(longest, item_offsets[u + 1] - item_offsets[u])
    slots = np.zeros(count_slots(longest), np.uint32)
    n_indexed = 0
    n_found = 0
    clear_output(out)
    for u in range(first, stop):
        begin = item_offsets[u]
        size = count_items(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):
            prefetch(items, i)
        row = items[begin : begin + size]
        if n_indexed + size > MAX_ENTRY:
            slots[:] = 0
            n_indexed = 0
        base = np.uint32(n_indexed)
        n_indexed += size
        mask = make_mask(count_slots(size))
        for i in range(size):
            if np.uint64(row[i]) >= n_items:
                report(out.problem, GAP if row[i] < 0 else UNKNOWN, u, i)
                return
            slot = first_slot(hash_item(row[i]), mask)
            while is_alive(slots[slot], base) and row[get_number(slots[slot], base)] != row[i]:
                slot = next_slot(slot, mask)
            if not is_alive(slots[slot], base):
                slots[slot] = make_entry(i, base)
            elif once:
                out.problem[N_REPEATED] += 1
            else:
                report(out.problem, REPEATED, u, i)
                return
        n_new = 0
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            slot = first_slot(hash_item(liked_items[i]), mask)
            while is_alive(slots[slot], base) and row[get_number(slots[slot], base)] != liked_items[i]:
                slot = next_slot(slot, mask)
            if is_alive(slots[slot], base):
                n_new += note(get_number(slots[slot], base), i, size, bits, numbers)
        if n_new > 0:
            n_found = write_notes(liked_labels, size, n_found, bits, numbers, out.above, out.labels)
        out.found_offsets[u - first + 1] = n_found
        out.offsets[u - first + 1] = out.offsets[u - first] + size


@kernel
def are_rising(items, offsets, first, stop):
    """Return True if users `first` up to `stop` have items of 0 or more in rising order."""
    user_items = items[offsets[first] : offsets[stop]]
    after = user_items[1:]
    n_falls = np.int32(0)
    all_bits = items.dtype.type(0)
    for i in range(after.shape[0]):  # vectorised across users: few pairs cross the end of a user
        n_falls = np.int32(n_falls + (after[i] <= user_items[i]))
        all_bits |= after[i]  # negative if any item is
    if user_items.shape[0] > 0:
        all_bits |= user_items[0]
    for u in range(first, stop):
        begin = offsets[u] - offsets[first]
        if 0 < begin < offsets[u + 1] - offsets[first]:
            n_falls = np.int32(n_falls - (user_items[np.uint64(begin)] <= user_items[np.uint64(begin - 1)]))
    return n_falls == 0 and all_bits >= 0


@kernel
def as_small(labels, out):
    """Write labels as int8 up to the first block with a label that int8 lacks, and return True if all fit."""
    for start in range(0, labels.shape[0], BLOCK):
        block = labels[start : start + BLOCK]
        small = out[start : start + BLOCK]
        n_others = 0
        for i in range(block.shape[0]):
            number = np.int32(block[i] if -128 <= block[i] <= 127 else 0)  # a cast beyond int8 is undefined
            small[i] = number
            n_others += number != block[i]
        if n_others:
            return False
    return True


@inline
def clear_output(out):
    """Begin the output: no user, and no problem."""
    out.found_offsets[0] = 0
    out.offsets[0] = 0
    out.problem[KIND] = FINE
    out.problem[N_REPEATED] = 0


@inline
def report(problem, kind, user, place):
    """Write the kind of a problem, the user and the place in the row."""
    problem[KIND] = kind
    problem[USER] = user
    problem[PLACE] = place


@inline
def note(place, i, size, bits, numbers):
    """Note that liked item `i` is at a place of the row, and return 1, or 0 if there is no such place."""
    if place >= size:
        return 0
    bits[place // WIDE] |= ONE << np.uint64(place % WIDE)
    numbers[place] = i
    return 1


@inline
def write_notes(labels, size, n_found, bits, numbers, out_above, out_labels):
    """Write the noted places of a row in rising order, and clear the notes, and return the new number of matches."""
    for word in range(-(-size // WIDE)):
        remaining = bits[word]
        bits[word] = 0
        while remaining != 0:
            place = word * WIDE + lowest_bit(remaining)
            out_above[n_found] = place
            out_labels[n_found] = labels[numbers[place]]
            n_found += 1
            remaining &= remaining - ONE
    return n_found


@inline
def count_items(items, begin, end):
    """Return the number of items of a row before its padding."""
    while end > begin and items[end - 1] == PADDING:
        end -= 1
    return end - begin


@inline
def hash_item(item):
    """Return a hash of an item."""
    high, low = multiply_wide(np.uint64(item), FACTOR)
    return high ^ low >> HALF
