"""
Recommended items meet the items that each user likes: by marks, in a table of all items, or in a small hash table.

items          (n_users · …,) int32 or int64, in rank order; -1 where a row is padded
item_offsets   (n_users + 1,) int64, which of them each user has
liked, labels  items of the same type, and their labels; user u has those from liked_offsets[u] on
out_labels, out_judged, out_offsets
               the recommended items of users `first` up to `stop`; padding is left out
out_problem    the kind of the first thing that is wrong, the user, the place in its row, and how many items had stood
               in their rows before, which is wrong unless `once` is true: then only the first of them has its label
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.vectors import WIDE, fetch_ahead
from fastndcg.kernels.words import multiply

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
ONE = np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
BLOCK = 4096
PADDING = -1
N_MARKS = 1 << 14  # bytes: half of the processor's first cache
LOW_BITS = np.uint64(N_MARKS - 1)
MOST_USERS = np.uint8(255)  # that marks tell apart
FINE, REPEATED, GAP, UNKNOWN = 0, 1, 2, 3


@kernel
def label_by_mark(
    items, item_offsets, liked, labels, liked_offsets, n_items, once, first, stop, marks,
    out_labels, out_judged, out_offsets, out_problem,
):  # fmt: skip
    """
    Label the items of short rows by marks that rule out most items which do not stand in a row.

    `marks` (N_MARKS,) uint8 has a user's number where the low bits of an item of its row say, and is cleared where
    that no longer fits a byte. It lies in the processor's first cache, as a table of all items does not; where a mark
    says that an item may stand in a row, the row is searched. Items are below `n_items`, which is uint64.
    """
    n = 0
    out_offsets[0], out_problem[0], out_problem[3] = 0, FINE, 0
    clear(item_offsets[stop] - item_offsets[first], out_labels, out_judged)
    mark = MOST_USERS
    for u in range(first, stop):
        begin = item_offsets[u]
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):  # else memory is waited for, which takes as long as all the rest
            fetch_ahead(items, i)
        row = items[begin : begin + size]
        if mark == MOST_USERS:
            marks[:] = 0
            mark = np.uint8(0)
        mark += np.uint8(1)
        n_again = 0
        are_known = all_known(row, n_items)
        if are_known:
            for i in range(size):
                place = np.uint64(row[i]) & LOW_BITS
                if marks[place] == mark:
                    n_again += first_place(row, row[i]) < i
                marks[place] = mark
        if not are_known or (n_again > 0 and not once):
            out_problem[0], out_problem[2] = first_wrong(row, n_items, once)
            out_problem[1] = u
            return
        out_problem[3] += n_again
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            if marks[np.uint64(liked[i]) & LOW_BITS] == mark:
                place_in_row = first_place(row, liked[i])
                if place_in_row < size:
                    out_labels[n + place_in_row] = labels[i]
                    out_judged[n + place_in_row] = True
        n += size
        out_offsets[u - first + 1] = n


@kernel
def label_by_table(
    items, item_offsets, liked, labels, liked_offsets, once, first, stop, places, n_before,
    out_labels, out_judged, out_offsets, out_problem,
):  # fmt: skip
    """
    Label the items of long rows by a table that has a place for each of them.

    `places` (n_items,) int32 has 0, or in which document, counted from 1, an item stood last: one of this user's if
    that is beyond all that came before, of which `n_before` are from calls before. So nothing has to be cleared.
    """
    n_items = np.uint64(places.shape[0])
    n = 0
    out_offsets[0], out_problem[0], out_problem[3] = 0, FINE, 0
    clear(item_offsets[stop] - item_offsets[first], out_labels, out_judged)
    for u in range(first, stop):
        begin = item_offsets[u]
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):
            fetch_ahead(items, i)
        row = items[begin : begin + size]
        known = np.int32(n_before + n)
        for i in range(size):
            item = np.uint64(row[i])
            if item >= n_items:
                out_problem[0], out_problem[1], out_problem[2] = GAP if row[i] < 0 else UNKNOWN, u, i
                return
            if places[item] <= known:
                places[item] = known + i + 1
            elif once:
                out_problem[3] += 1
            else:
                out_problem[0], out_problem[1], out_problem[2] = REPEATED, u, i
                return
        for i in range(liked_offsets[u], liked_offsets[u + 1]):
            item = np.uint64(liked[i])
            if item < n_items and places[item] > known:
                d = n + places[item] - known - 1
                out_labels[d] = labels[i]
                out_judged[d] = True
        n += size
        out_offsets[u - first + 1] = n


@allocating_kernel
def label_by_hash(
    items, item_offsets, liked, labels, liked_offsets, highest, once, first, stop,
    out_labels, out_judged, out_offsets, out_problem,
):  # fmt: skip
    """
    Label items by a small hash table of those recommended to a user, where a table of all would be too large.

    Its slots are uint64: the user's number plus one in the high half, a rank less one in the low half, so that nothing
    has to be cleared between users.
    """
    longest = 0
    for u in range(first, stop):
        longest = max(longest, item_offsets[u + 1] - item_offsets[u])
    slots = np.zeros(table_size(longest), np.uint64)
    mask = np.uint64(slots.shape[0] - 1)
    n = 0
    out_offsets[0], out_problem[0], out_problem[3] = 0, FINE, 0
    for u in range(first, stop):
        begin, start, stamp = item_offsets[u], n, np.uint64(u - first + 1)
        size = row_size(items, begin, item_offsets[u + 1])
        for i in range(begin, begin + size, WIDE):
            fetch_ahead(items, i)
        for i in range(size):
            item = items[begin + i]
            if item < 0 or item > highest:
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
            out_labels[n], out_judged[n] = 0, False
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


@kernel
def score_by_rank(offsets, out):
    """Scores that fall by 1 from 0 on in each user's row."""
    for u in range(offsets.shape[0] - 1):
        row = out[offsets[u] : offsets[u + 1]]
        for i in range(row.shape[0]):
            row[i] = -i


@kernel
def are_rising(items, offsets, first, stop):
    """Whether users `first` up to `stop` have items from 0 on in rising order."""
    given = items[offsets[first] : offsets[stop]]
    n_falls, lowest = 0, items.dtype.type(0)
    for i in range(given.shape[0] - 1):  # across users, in vectors: most are not at the end of one
        n_falls += given[i + 1] <= given[i]
    for i in range(given.shape[0]):
        lowest = min(lowest, given[i])
    for u in range(first, stop):
        begin = offsets[u] - offsets[first]
        if 0 < begin < offsets[u + 1] - offsets[first]:
            n_falls -= given[begin] <= given[begin - 1]
    return n_falls == 0 and lowest == 0


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
def clear(n, out_labels, out_judged):
    """Give n items no label: at once, since calls for each row take longer."""
    out_labels[:n] = 0
    out_judged[:n] = False


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
