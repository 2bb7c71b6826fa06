"""
Recommended items meet the items that each user likes: by marks of their low bits, or in a small hash table.

items          (n_users · …,) int32 or int64, in rank order; -1 where a row is padded
item_offsets   (n_users + 1,) int64, which of them each user has
liked, labels  items of the same type, and their labels; user u has those from liked_offsets[u] on
found, places  room for a row: (n_words,) uint64, all 0, and (n_items,) int64
out_above      (n_liked,) int32, the places from 0 of liked items in rows, of one user after the other, rising
out_labels     (n_liked,) the labels of these
out_found_offsets, out_offsets   (n_users + 1,) int64, which of these belong to each of users `first` up to `stop`, and
               which of the items that were recommended, those that pad a row left out
out_problem    the kind of the first thing that is wrong, the user, the place in its row, and how many items had stood
               in their rows before, which is wrong unless `once` is true: then only the first of them has its label
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.vectors import ONE, WIDE, fetch_ahead, lowest_bit
from fastndcg.kernels.words import multiply

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
BLOCK = 4096
PADDING = -1
N_MARKS = 1 << 14  # bytes: half of the processor's first cache
LOW_BITS = np.uint64(N_MARKS - 1)
MOST_MARK = np.uint8(254)  # behind which there may be no two others
FINE, REPEATED, GAP, UNKNOWN = 0, 1, 2, 3


@kernel
def find_by_mark(
    items, item_offsets, liked, labels, liked_offsets, n_items, once, first, stop, marks, found, places,
    out_above, out_labels, out_found_offsets, out_offsets, out_problem,
):  # fmt: skip
    """
    Find liked items in short rows by marks that rule out most items which do not stand in a row.

    `marks` (N_MARKS,) uint8 has a number of the user where the low bits of an item of its row say, and is cleared where
    that no longer fits a byte. It lies in the processor's first cache, as a table of all items does not; where a mark
    says that an item may stand in a row, the row is searched. Items are below `n_items`, which is uint64.
    """
    n_found = 0
    out_found_offsets[0], out_offsets[0], out_problem[0], out_problem[3] = 0, 0, FINE, 0
    mark = MOST_MARK
    for u in range(first, stop):
        begin = item_offsets[u]
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):  # else memory is waited for, which takes as long as all the rest
            fetch_ahead(items, i)
        row = items[begin : begin + size]
        if mark >= MOST_MARK:
            marks[:] = 0
            mark = np.uint8(0)
        mark = np.uint8(mark + 1)
        are_known = all_known(row, n_items)
        n_again = 0
        if are_known and mark_all(row, marks, mark) > 0:
            mark = np.uint8(mark + 1)
            n_again = count_again(row, marks, mark)
        if not are_known or (n_again > 0 and not once):
            out_problem[0], out_problem[2] = first_wrong(row, n_items, once)
            out_problem[1] = u
            return
        out_problem[3] += n_again
        n_new, start = 0, liked_offsets[u]
        of_user = liked[start : liked_offsets[u + 1]]
        for i in range(of_user.shape[0]):
            if marks[low_bits(of_user[i])] == mark:
                n_new += note(first_place(row, of_user[i]), start + i, size, found, places)
        if n_new > 0:
            n_found = put(labels, size, n_found, found, places, out_above, out_labels)
        out_found_offsets[u - first + 1] = n_found
        out_offsets[u - first + 1] = out_offsets[u - first] + size


@allocating_kernel
def find_by_hash(
    items, item_offsets, liked, labels, liked_offsets, n_items, once, first, stop, found, places,
    out_above, out_labels, out_found_offsets, out_offsets, out_problem,
):  # fmt: skip
    """
    Find liked items in long rows by a small hash table of those recommended to a user.

    Its slots are uint64: the user's number plus one in the high half, a rank less one in the low half, so that nothing
    has to be cleared between users.
    """
    longest = 0
    for u in range(first, stop):
        longest = max(longest, item_offsets[u + 1] - item_offsets[u])
    slots = np.zeros(table_size(longest), np.uint64)
    n_found = 0
    out_found_offsets[0], out_offsets[0], out_problem[0], out_problem[3] = 0, 0, FINE, 0
    for u in range(first, stop):
        begin, stamp = item_offsets[u], np.uint64(u - first + 1)
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):
            fetch_ahead(items, i)
        row = items[begin : begin + size]
        for i in range(size):
            if np.uint64(row[i]) >= n_items:
                out_problem[0], out_problem[1], out_problem[2] = GAP if row[i] < 0 else UNKNOWN, u, i
                return
            slot = slot_of(slots, stamp, row, row[i])
            if slots[slot] >> HALF != stamp:
                slots[slot] = stamp << HALF | np.uint64(i)
            elif once:
                out_problem[3] += 1
            else:
                out_problem[0], out_problem[1], out_problem[2] = REPEATED, u, i
                return
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            slot = slot_of(slots, stamp, row, liked[i])
            if slots[slot] >> HALF == stamp:
                note(np.int64(slots[slot] & LOW), i, size, found, places)
        n_found = put(labels, size, n_found, found, places, out_above, out_labels)
        out_found_offsets[u - first + 1] = n_found
        out_offsets[u - first + 1] = out_offsets[u - first] + size


@kernel
def are_rising(items, offsets, first, stop):
    """Whether users `first` up to `stop` have items from 0 on in rising order."""
    given = items[offsets[first] : offsets[stop]]
    after = given[1:]
    n_falls, both = np.int32(0), items.dtype.type(0)
    for i in range(after.shape[0]):  # across users, in vectors: most are not at the end of one
        n_falls = np.int32(n_falls + (after[i] <= given[i]))
        both |= after[i]  # negative if any is
    if given.shape[0] > 0:
        both |= given[0]
    for u in range(first, stop):
        begin = offsets[u] - offsets[first]
        if 0 < begin < offsets[u + 1] - offsets[first]:
            n_falls = np.int32(n_falls - (given[np.uint64(begin)] <= given[np.uint64(begin - 1)]))
    return n_falls == 0 and both >= 0


@kernel
def as_small(labels, out):
    """Labels as int8, up to the first block of them in which one is none; says whether all are."""
    for start in range(0, labels.shape[0], BLOCK):
        given = labels[start : start + BLOCK]
        small = out[start : start + BLOCK]
        n_others = 0
        for i in range(given.shape[0]):
            whole = np.int32(given[i] if -128 <= given[i] <= 127 else 0)  # what int8 lacks would be anything
            small[i] = whole
            n_others += whole != given[i]
        if n_others:
            return False
    return True


@part
def low_bits(item):
    """Where the mark of an item is."""
    return np.uint64(item) & LOW_BITS


@part
def mark_all(row, marks, mark):
    """Mark the items of a row; how many found their place marked already."""
    n_fresh = 0
    for i in range(row.shape[0]):
        place = low_bits(row[i])
        n_fresh += marks[place] < mark  # takes fewer steps than counting those that are equal
        marks[place] = mark
    return row.shape[0] - n_fresh


@part
def count_again(row, marks, mark):
    """The same, with how many of the items stand in the row before."""
    n_again = 0
    for i in range(row.shape[0]):
        place = low_bits(row[i])
        if marks[place] == mark:
            n_again += first_place(row, row[i]) < i
        marks[place] = mark
    return n_again


@part
def note(place, i, size, found, places):
    """Note that the liked item `i` stands in a place of a row, unless that is none of its places; says how many do."""
    if place >= size:
        return 0
    found[place // WIDE] |= ONE << np.uint64(place % WIDE)
    places[place] = i
    return 1


@part
def put(labels, size, n_found, found, places, out_above, out_labels):
    """Write what was noted of a row behind what was found before, in the order of its places, and forget it."""
    for word in range(-(-size // WIDE)):
        left = found[word]
        found[word] = 0
        while left != 0:
            place = word * WIDE + lowest_bit(left)
            out_above[n_found] = place
            out_labels[n_found] = labels[places[place]]
            n_found += 1
            left &= left - ONE
    return n_found


@part
def all_known(row, n_items):
    """Whether all items are from 0 to below `n_items`, in vectors of their own type."""
    lowest = row.dtype.type(0)
    highest = row.dtype.type(0)
    for i in range(row.shape[0]):
        lowest = min(lowest, row[i])
        highest = max(highest, row[i])
    return lowest == 0 and (np.uint64(highest) < n_items or row.shape[0] == 0)


@part
def first_wrong(row, n_items, once):
    """What is wrong with the first item that is, and its place, in a short row of which one is."""
    for i in range(row.shape[0]):
        if np.uint64(row[i]) >= n_items:
            return (GAP if row[i] < 0 else UNKNOWN), i
        for j in range(i):
            if row[j] == row[i] and not once:
                return REPEATED, i
    return FINE, 0


@part
def first_place(row, item):
    """Where an item of a row stands first, in vectors."""
    first = np.int32(row.shape[0])
    for i in range(row.shape[0]):
        first = min(first, np.int32(i) if row[i] == item else np.int32(row.shape[0]))
    return first


@part
def row_size(items, begin, end):
    """How many items a row has before it is padded."""
    while end > begin and items[end - 1] == PADDING:
        end -= 1
    return end - begin


@part
def slot_of(slots, stamp, row, item):
    """The slot that has an item of a row, or the one that it would have."""
    mask = np.uint64(slots.shape[0] - 1)
    high, low = multiply(np.uint64(item), FACTOR)
    slot = (high ^ low >> HALF) & mask
    while slots[slot] >> HALF == stamp and row[slots[slot] & LOW] != item:
        slot = (slot + ONE) & mask
    return slot


@part
def table_size(n):
    """How many slots the items of a user take: a power of two, at most an eighth full."""
    size = 8
    while size < 8 * n:
        size *= 2
    return size
