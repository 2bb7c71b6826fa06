"""
Recommended items meet the items that each user likes: a small hash table of the recommended ones, made for each user.

items          (n_users · …,) int32 or int64, in rank order; below 0 where a row is padded
item_offsets   (n_users + 1,) int64, which of them each user has
liked, labels  items of the same type, and their labels; user u has those from liked_offsets[u] on
slots          (a power of two,) uint64: the user's number plus one in the high half, a rank less one in the low half,
               so that nothing has to be cleared between users
"""

import numpy as np

from fastndcg.kernels.jit import kernel, part
from fastndcg.kernels.words import multiply

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
ONE = np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
FINE, REPEATED, GAP, UNKNOWN = 0, 1, 2, 3


@kernel
def label_items(
    items, item_offsets, liked, labels, liked_offsets, n_items, once, first, stop,
    out_labels, out_judged, out_scores, out_offsets, out_problem,
):  # fmt: skip
    """
    The recommended items of users `first` up to `stop` with their labels, scored by rank; padding is left out.

    `out_problem` has the kind of the first thing that is wrong, the user, the place in its row, and how many items had
    stood in their rows before, which is wrong unless `once` is true: then only the first of them has its label.
    """
    longest = 0
    for u in range(first, stop):
        longest = max(longest, item_offsets[u + 1] - item_offsets[u])
    slots = np.zeros(table_size(longest), np.uint64)
    mask = np.uint64(slots.shape[0] - 1)
    n = 0
    out_offsets[0], out_problem[0], out_problem[3] = 0, FINE, 0
    for u in range(first, stop):
        begin = item_offsets[u]
        start = n
        stamp = np.uint64(u - first + 1)
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(size):
            item = items[begin + i]
            if item < 0 or item >= n_items:
                out_problem[0], out_problem[1], out_problem[2] = GAP if item < 0 else UNKNOWN, u, i
                return
            slot = first_slot(item) & mask
            while slots[slot] >> HALF == stamp and items[begin + np.int64(slots[slot] & LOW)] != item:
                slot = (slot + ONE) & mask
            if slots[slot] >> HALF != stamp:
                slots[slot] = stamp << HALF | np.uint64(i)
            elif once:
                out_problem[3] += 1
            else:
                out_problem[0], out_problem[1], out_problem[2] = REPEATED, u, i
                return
            out_labels[n], out_judged[n], out_scores[n] = 0, False, -i
            n += 1
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            item = liked[i]
            slot = first_slot(item) & mask
            while slots[slot] >> HALF == stamp and items[begin + np.int64(slots[slot] & LOW)] != item:
                slot = (slot + ONE) & mask
            if slots[slot] >> HALF == stamp:
                d = start + np.int64(slots[slot] & LOW)
                out_labels[d] = labels[i]
                out_judged[d] = True
        out_offsets[u - first + 1] = n


@part
def row_size(items, begin, end):
    """How many items a row has before it is padded."""
    while end > begin and items[end - 1] < 0:
        end -= 1
    return end - begin


@part
def first_slot(item):
    """Where to look for an item first, before it is masked."""
    high, low = multiply(np.uint64(item), FACTOR)
    return high ^ low >> HALF


@part
def table_size(n):
    """How many slots the items of a user take: a power of two, at most an eighth full."""
    size = 8
    while size < 8 * n:
        size *= 2
    return size
