"""
Ids as bytes: numbering them, bringing their rows together, finding one that stands twice, ordering those that tie.

A hash only says where to look: ids are equal where all of their bytes are.

ids      data uint8, offsets (n_ids + 1,) int64, width: id i is data[offsets[i] : offsets[i + 1]], or, where `width` is
         not 0, the i-th `width` bytes; `data` has eight bytes or more
slots    (a power of two,) uint64: 0, or the high half of an id's hash and, in the low half, its number plus one; or
         uint32: a number that grows from query to query, so that nothing has to be cleared

Loops over slots stand in the kernels themselves: a part with arrays as arguments counts references at each step, which
takes five times as long as the rest.
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part
from fastndcg.kernels.vectors import WIDE, changes, fetch_ahead, lowest_bit
from fastndcg.kernels.words import load_word, multiply, swapped

FREE, ONE = np.uint64(0), np.uint64(1)
HIGH = np.uint64(0xFFFFFFFF00000000)
LOW = np.uint64(0x00000000FFFFFFFF)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
FACTOR = np.uint64(0x9E3779B97F4A7C15)
START = np.uint64(0xD6E8FEB86659FD93)
FEWEST_SLOTS = 1024


@kernel
def find_word_runs(words, first, stop, out):
    """Among rows `first` up to `stop`, those whose number is another than that of the row before; says how many."""
    n_runs = 0
    if first == 0 and stop > 0:
        out[0] = 0
        n_runs, first = 1, 1
    n_blocks = (stop - first) // WIDE
    for block in range(n_blocks):
        fetch_ahead(words, first + block * WIDE)
        marks = changes(words, first + block * WIDE)
        while marks != FREE:
            out[n_runs] = first + block * WIDE + lowest_bit(marks)
            n_runs += 1
            marks &= marks - ONE
    for i in range(first + n_blocks * WIDE, stop):
        if words[i] != words[i - 1]:
            out[n_runs] = i
            n_runs += 1
    return n_runs


@kernel
def find_runs(ids, first, stop, out):
    """Among rows `first` up to `stop`, those whose id is another than that of the row before; says how many."""
    n_runs = 0
    last_size, last_word = -1, ONE
    if 0 < first < stop:
        begin, end = bounds(ids, first - 1)
        last_size, last_word = end - begin, word_at(ids.data, begin, end - begin)
    for i in range(first, stop):
        begin, end = bounds(ids, i)
        size, word = end - begin, word_at(ids.data, begin, end - begin)
        out[n_runs] = i
        n_runs += size != last_size or word != last_word or (size > 8 and not are_equal(ids, i, ids, i - 1))
        last_size, last_word = size, word
    return n_runs


@allocating_kernel
def number(ids, rows, out_numbers, out_firsts):
    """Number the ids of some rows in order of first appearance; says how many there are, and in which rows first."""
    slots = np.zeros(FEWEST_SLOTS, np.uint64)
    n_known = 0
    for i in range(rows.shape[0]):
        hashed = hash_of(ids, rows[i])
        slot = first_slot(hashed, slots.shape[0])
        while slots[slot] != FREE and not (
            has_hash(slots[slot], hashed) and are_equal(ids, rows[i], ids, out_firsts[number_in(slots[slot])])
        ):
            slot = next_slot(slot, slots.shape[0])
        if slots[slot] != FREE:
            out_numbers[i] = number_in(slots[slot])
            continue
        slots[slot] = entry_of(hashed, n_known)
        out_firsts[n_known] = rows[i]
        out_numbers[i] = n_known
        n_known += 1
        if 2 * n_known > slots.shape[0]:
            slots = np.zeros(4 * slots.shape[0], np.uint64)
            for known in range(n_known):
                hashed = hash_of(ids, out_firsts[known])
                slot = first_slot(hashed, slots.shape[0])
                while slots[slot] != FREE:
                    slot = next_slot(slot, slots.shape[0])
                slots[slot] = entry_of(hashed, known)
    return n_known


@allocating_kernel
def gather_runs(numbers, firsts, n_rows, out_offsets, out_rows):
    """The rows of each number, one number after the other, as given; run r has one number, from row firsts[r] on."""
    out_offsets[:] = 0
    for r in range(numbers.shape[0]):
        stop = firsts[r + 1] if r + 1 < numbers.shape[0] else n_rows
        out_offsets[numbers[r] + 1] += stop - firsts[r]
    for i in range(1, out_offsets.shape[0]):
        out_offsets[i] += out_offsets[i - 1]
    places = out_offsets[:-1].copy()
    for r in range(numbers.shape[0]):
        stop = firsts[r + 1] if r + 1 < numbers.shape[0] else n_rows
        for row in range(firsts[r], stop):
            out_rows[places[numbers[r]]] = row
            places[numbers[r]] += 1


@allocating_kernel
def find_repeat(ids, offsets, first, stop, out):
    """The rows of the first id that stands twice in one of the queries `first` up to `stop`; -1 where there is none."""
    slots = np.zeros(slots_for(offsets, first, stop), np.uint32)
    start = offsets[first]
    out[:] = -1
    for q in range(first, stop):
        known = np.uint32(offsets[q] - start)  # slots hold rows, from 1: this query's are beyond
        mask = np.uint64(n_slots(offsets[q + 1] - offsets[q]) - 1)
        for i in range(offsets[q], offsets[q + 1]):
            slot = hash_of(ids, i) & mask
            while slots[slot] > known:
                other = start + np.int64(slots[slot]) - 1
                if are_equal(ids, i, ids, other):
                    out[0], out[1] = other, i
                    return
                slot = (slot + ONE) & mask
            slots[slot] = i - start + 1


@kernel
def spread(ids, n_parts, out):
    """A part from 0 to n_parts - 1 for each id, the same for equal ids."""
    for i in range(out.shape[0]):
        out[i] = np.int64(hash_of(ids, i) % np.uint64(n_parts))


@kernel
def take(ids, rows, offsets, out_data):
    """Copy the bytes of some rows; `offsets` says where to."""
    for i in range(rows.shape[0]):
        begin = bounds(ids, rows[i])[0]
        for place in range(offsets[i + 1] - offsets[i]):
            out_data[offsets[i] + place] = ids.data[begin + place]


@allocating_kernel
def rank_ties(ids, scores, offsets, first, stop, out):
    """For documents whose scores are equal in float32, their places in the order of their ids' bytes."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    order = np.empty(longest, np.int64)
    spare = np.empty(longest, np.int64)
    for q in range(first, stop):
        begin = offsets[q]
        sorted_already = True
        for d in range(begin + 1, offsets[q + 1]):
            if not np.float32(scores[d]) <= np.float32(scores[d - 1]):  # so that NaN counts as unsorted
                sorted_already = False
        while begin < offsets[q + 1]:
            end = offsets[q + 1]
            if sorted_already:
                end = begin + 1
                while end < offsets[q + 1] and np.float32(scores[end]) == np.float32(scores[begin]):
                    end += 1
            out[begin] = 0
            if end - begin > 1:
                for i in range(end - begin):
                    order[i] = begin + i
                sort_rows(ids, order[: end - begin], spare)
                for i in range(end - begin):
                    out[order[i]] = i
            begin = end


@part
def bounds(ids, row):
    """Where the bytes of an id begin and end."""
    if ids.width > 0:
        return row * ids.width, (row + 1) * ids.width
    return ids.offsets[row], ids.offsets[row + 1]


@part
def word_at(data, start, size):
    """Up to eight bytes from `start` on as one number, the first byte lowest; those beyond `size` count as 0."""
    begin = min(start, data.shape[0] - 8)  # no load beside the array, and no branch
    word = load_word(data, begin) >> np.uint64(8 * (start - begin))
    return word & (ALL_BITS >> np.uint64(8 * (8 - min(size, 8)))) if size > 0 else np.uint64(0)


@part
def hash_of(ids, row):
    """A hash of the bytes of an id."""
    begin, end = bounds(ids, row)
    hashed = START ^ np.uint64(end - begin)
    while end - begin > 8:
        high, low = multiply(hashed ^ load_word(ids.data, begin), FACTOR)
        hashed = high ^ low
        begin += 8
    high, low = multiply(hashed ^ word_at(ids.data, begin, end - begin), FACTOR)
    return high ^ low


@part
def are_equal(left, i, right, j):
    """Whether two ids have the same bytes."""
    begin, end = bounds(left, i)
    other, other_end = bounds(right, j)
    same = end - begin == other_end - other
    while same and begin < end:
        same = word_at(left.data, begin, end - begin) == word_at(right.data, other, end - begin)
        begin += 8
        other += 8
    return same


@part
def first_slot(hashed, size):
    """Where to look for a hash first."""
    return hashed & np.uint64(size - 1)


@part
def next_slot(slot, size):
    """Where to look next."""
    return (slot + ONE) & np.uint64(size - 1)


@part
def entry_of(hashed, number):
    """What a slot holds for an id: half of its hash, and its number."""
    return (hashed & HIGH) | np.uint64(number + 1)


@part
def has_hash(entry, hashed):
    """Whether an entry may be that of an id with this hash: only its bytes tell."""
    return (entry ^ hashed) & HIGH == FREE


@part
def number_in(entry):
    """The number that an entry holds."""
    return np.int64(entry & LOW) - 1


@part
def n_slots(n):
    """How many slots n ids take: a power of two, at most an eighth full, so that few are looked at in vain."""
    size = 8
    while size < 8 * n:
        size *= 2
    return size


@part
def slots_for(offsets, first, stop):
    """How many slots the longest of some queries takes."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return n_slots(longest)


@part
def is_before(ids, i, j):
    """Whether the bytes of one id come before those of another, as strcmp has it."""
    begin, end = bounds(ids, i)
    other, other_end = bounds(ids, j)
    for place in range(0, min(end - begin, other_end - other), 8):
        left = swapped(word_at(ids.data, begin + place, end - begin - place))
        right = swapped(word_at(ids.data, other + place, other_end - other - place))
        if left != right:
            return left < right
    return end - begin < other_end - other


@part
def sort_rows(ids, order, spare):
    """Order rows by their ids: merged bottom-up."""
    n = order.shape[0]
    width = 1
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle = start + width
            stop = min(middle + width, n)
            for i in range(start, middle):
                spare[i] = order[i]
            left = start
            right = middle
            for i in range(start, stop):
                if left == middle:
                    break
                if right < stop and is_before(ids, order[right], spare[left]):
                    order[i] = order[right]
                    right += 1
                else:
                    order[i] = spare[left]
                    left += 1
        width *= 2
