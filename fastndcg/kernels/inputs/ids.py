"""
Kernels on ids as bytes: number them, gather their rows, find duplicates, order ids of tied documents, join tables.

ids      a NamedTuple: data uint8 (8 bytes or more), offsets (n_ids + 1,) int64, width. Id i is
         data[offsets[i] : offsets[i + 1]], or the i-th `width` bytes if `width` is not 0. Ids are equal if all their
         bytes are
offsets  (n_queries + 1,) int64, query q owns rows offsets[q] up to offsets[q + 1]

A hash index with open addressing holds numbers, and finds them by the hash of a key:

slots    (a power of two,) uint32, all 0 at first
base     uint32: an entry is alive if it is above `base`, and entry - base - 1 is its number

Raising `base` by the number of entries empties the index without a pass over its slots. Keys are not stored: the
caller compares the key of each live entry, from `first_slot` on to the first slot that is not alive.

The loops over slots are written out in each kernel. Numba counts references to arrays at each step of a loop that
passes them to a function. That takes 5 times as long in a kernel that allocates.
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.simd import load_word, multiply_wide, store_word, swap_bytes

ONE = np.uint64(1)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
FACTOR = np.uint64(0x9E3779B97F4A7C15)
START = np.uint64(0xD6E8FEB86659FD93)
MAX_ENTRY = 2**32 - 1
MAX_ASCII = 127
WORD = 8
MIN_SLOTS = 8
SLOTS_PER_KEY = 8
FIRST_SLOTS = 1024
NO_BASE = np.uint32(0)


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


@kernel
def find_runs(ids, first, stop, out):
    """Write the rows from `first` up to `stop` whose id differs from the row before, and return their number."""
    n_runs = 0
    last_size = -1
    last_word = ONE
    if 0 < first < stop:
        begin, end = find_bounds(ids, first - 1)
        last_size = end - begin
        last_word = load_bytes(ids.data, begin, last_size)
    for i in range(first, stop):
        begin, end = find_bounds(ids, i)
        size = end - begin
        word = load_bytes(ids.data, begin, size)
        out[n_runs] = i
        n_runs += size != last_size or word != last_word or (size > 8 and not is_equal(ids, i, ids, i - 1))
        last_size = size
        last_word = word
    return n_runs


@kernel(allocates=True)
def factorize(ids, rows, out_codes, out_firsts):
    """Number the ids of some rows in order of appearance, write the first row of each, and return how many differ."""
    slots = np.zeros(FIRST_SLOTS, np.uint32)
    mask = make_mask(FIRST_SLOTS)
    n_codes = 0
    for i in range(rows.shape[0]):
        slot = first_slot(hash_id(ids, rows[i]), mask)
        code = -1
        while code < 0 and is_alive(slots[slot], NO_BASE):
            candidate = get_number(slots[slot], NO_BASE)
            if is_equal(ids, rows[i], ids, out_firsts[candidate]):
                code = candidate
            else:
                slot = next_slot(slot, mask)
        if code < 0:
            code = n_codes
            slots[slot] = make_entry(code, NO_BASE)
            out_firsts[code] = rows[i]
            n_codes += 1
            if 2 * n_codes > slots.shape[0]:
                slots = np.zeros(4 * slots.shape[0], np.uint32)
                mask = make_mask(slots.shape[0])
                for old_code in range(n_codes):
                    slot = first_slot(hash_id(ids, out_firsts[old_code]), mask)
                    while is_alive(slots[slot], NO_BASE):
                        slot = next_slot(slot, mask)
                    slots[slot] = make_entry(old_code, NO_BASE)
        out_codes[i] = code
    return n_codes


@kernel
def group_runs(codes, starts, out_next, out_offsets, out_rows):
    """
    Write the rows of each code in their order. Run r of rows with code codes[r] begins in row starts[r].

    out_next     (n_codes,) int64, the place behind the rows of each code
    out_offsets  (n_codes + 1,) int64, code c owns out_rows[out_offsets[c] : out_offsets[c + 1]]
    """
    n_rows = out_rows.shape[0]
    n_runs = codes.shape[0]
    out_offsets[:] = 0
    for r in range(n_runs):
        stop = starts[r + 1] if r + 1 < n_runs else n_rows
        out_offsets[codes[r] + 1] += stop - starts[r]
    for c in range(out_next.shape[0]):
        out_offsets[c + 1] += out_offsets[c]
        out_next[c] = out_offsets[c]
    for r in range(n_runs):
        stop = starts[r + 1] if r + 1 < n_runs else n_rows
        place = out_next[codes[r]]
        for row in range(starts[r], stop):
            out_rows[place + row - starts[r]] = row
        out_next[codes[r]] = place + stop - starts[r]


@kernel
def index(ids, n_ids, slots):
    """Fill a hash index, of more slots, with the rows of ids, which differ."""
    mask = make_mask(slots.shape[0])
    for i in range(n_ids):
        slot = first_slot(hash_id(ids, i), mask)
        while is_alive(slots[slot], NO_BASE):
            slot = next_slot(slot, mask)
        slots[slot] = make_entry(i, NO_BASE)


@kernel
def look_up(ids, others, slots, out):
    """Write the row of each id in others, of which `slots` is the hash index, or -1."""
    mask = make_mask(slots.shape[0])
    for i in range(out.shape[0]):
        slot = first_slot(hash_id(ids, i), mask)
        row = -1
        while row < 0 and is_alive(slots[slot], NO_BASE):
            other = get_number(slots[slot], NO_BASE)
            if is_equal(ids, i, others, other):
                row = other
            else:
                slot = next_slot(slot, mask)
        out[i] = row


@kernel(allocates=True)
def find_firsts(ids, offsets, first, stop, out):
    """Write the first row with the id of each row in its query, for the queries from `first` up to `stop`."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    slots = np.zeros(count_slots(longest), np.uint32)
    begin = offsets[first]
    for q in range(first, stop):
        base = np.uint32(offsets[q] - begin)
        mask = make_mask(count_slots(offsets[q + 1] - offsets[q]))
        for i in range(offsets[q], offsets[q + 1]):
            slot = first_slot(hash_id(ids, i), mask)
            row = i
            while row == i and is_alive(slots[slot], base):
                other = offsets[q] + get_number(slots[slot], base)
                if is_equal(ids, i, ids, other):
                    row = other
                else:
                    slot = next_slot(slot, mask)
            if row == i:
                slots[slot] = make_entry(i - offsets[q], base)
            out[i - begin] = row


@kernel
def find_best(codes, values, places, out):
    """Write the row of each code with the highest value, NaN being the lowest, and of equal ones the lowest place."""
    out[:] = -1
    for i in range(codes.shape[0]):
        best = out[codes[i]]
        if best < 0:
            out[codes[i]] = i
            continue
        value = values[i]
        highest = values[best]
        is_equal_value = value == highest or (value != value and highest != highest)
        if value > highest or (highest != highest and value == value) or (is_equal_value and places[i] < places[best]):
            out[codes[i]] = i


@kernel
def differ(left, right, rows, out):
    """Write True for each id of `left` that is not the id of `right` in the given row."""
    for i in range(rows.shape[0]):
        out[i] = not is_equal(left, i, right, rows[i])


@kernel
def mix_hashes(ids, out):
    """Mix the hash of each id into its entry of `out`. Files keep sums of these: no value may ever change."""
    for i in range(out.shape[0]):
        high, low = multiply_wide(out[i] ^ hash_id(ids, i), FACTOR)
        out[i] = high ^ low


@kernel
def read_ascii(codes, out_offsets, out_data):
    """Write the bytes of texts of as many codes each, with 0 behind their ends. Return -1 if one is not ASCII."""
    n = 0
    width = codes.shape[0] // max(out_offsets.shape[0] - 1, 1)
    for row in range(out_offsets.shape[0] - 1):
        first = row * width
        stop = first + width
        while stop > first and codes[stop - 1] == 0:
            stop -= 1
        for i in range(first, stop):
            if codes[i] > MAX_ASCII:
                return -1
            out_data[n] = codes[i]
            n += 1
        out_offsets[row + 1] = n
    return n


@kernel
def take(ids, rows, offsets, first, stop, out_data):
    """
    Copy the bytes of the rows from `first` up to `stop`: row i fills out_data[offsets[i] : offsets[i + 1]].

    Words take 0.06 s for 500,000 rows of 20 bytes in no order, bytes 0.16 s. A word may pass the end of its row, where
    the next row follows, but not the end of the last, where another thread writes.
    """
    last_word = offsets[stop] - WORD
    for i in range(first, stop):
        begin, end = find_bounds(ids, rows[i])
        target = offsets[i]
        while end - begin > WORD:
            store_word(out_data, target, load_word(ids.data, begin))
            begin += WORD
            target += WORD
        if target <= last_word:
            store_word(out_data, target, load_bytes(ids.data, begin, end - begin))
        else:
            for j in range(begin, end):
                out_data[target + j - begin] = ids.data[j]


@kernel(allocates=True)
def rank_ties(ids, scores, offsets, first, stop, out):
    """Write the rank of each id's bytes among the documents with the same score in float32."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    order = np.empty(longest, np.int64)
    spare = np.empty(longest, np.int64)
    for q in range(first, stop):
        begin = offsets[q]
        is_sorted = True
        for d in range(begin + 1, offsets[q + 1]):
            if not np.float32(scores[d]) <= np.float32(scores[d - 1]):  # so that NaN counts as unsorted
                is_sorted = False
        while begin < offsets[q + 1]:
            end = offsets[q + 1]
            if is_sorted:
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


@inline
def find_bounds(ids, row):
    """Return the indices of the first byte of an id and of the byte after it."""
    if ids.width > 0:
        return row * ids.width, (row + 1) * ids.width
    return ids.offsets[row], ids.offsets[row + 1]


@inline
def load_bytes(data, start, size):
    """Return up to 8 bytes from `start` on as one number, the first byte lowest. Bytes beyond `size` count as 0."""
    begin = min(start, data.shape[0] - 8)  # stays inside the array without a branch
    word = load_word(data, begin) >> np.uint64(8 * (start - begin))
    return word & (ALL_BITS >> np.uint64(8 * (8 - min(size, 8)))) if size > 0 else np.uint64(0)


@inline
def hash_id(ids, row):
    """Return a hash of the bytes of an id."""
    begin, end = find_bounds(ids, row)
    hashed = START ^ np.uint64(end - begin)
    while end - begin > 8:
        high, low = multiply_wide(hashed ^ load_word(ids.data, begin), FACTOR)
        hashed = high ^ low
        begin += 8
    high, low = multiply_wide(hashed ^ load_bytes(ids.data, begin, end - begin), FACTOR)
    return high ^ low


@inline
def is_equal(left, i, right, j):
    """Return True if two ids have the same bytes."""
    begin, end = find_bounds(left, i)
    other, other_end = find_bounds(right, j)
    same = end - begin == other_end - other
    while same and begin < end:
        same = load_bytes(left.data, begin, end - begin) == load_bytes(right.data, other, end - begin)
        begin += 8
        other += 8
    return same


@inline
def is_before(ids, i, j):
    """Return True if the bytes of one id come before those of another, as in C's strcmp."""
    begin, end = find_bounds(ids, i)
    other, other_end = find_bounds(ids, j)
    for place in range(0, min(end - begin, other_end - other), 8):
        left = swap_bytes(load_bytes(ids.data, begin + place, end - begin - place))
        right = swap_bytes(load_bytes(ids.data, other + place, other_end - other - place))
        if left != right:
            return left < right
    return end - begin < other_end - other


@inline
def sort_rows(ids, order, spare):
    """Order rows by their ids with a bottom-up merge sort."""
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


@kernel(allocates=True)
def match(judged, retrieved, pairs, offsets, first, stop, out):
    """
    Join judgments and a run: look up the label of each retrieved document of the queries `first` up to `stop`.

    judged      a NamedTuple of the judgments: ids, offsets, labels
    retrieved   a NamedTuple of the run: ids, offsets
    pairs       (n_queries, 2) int64: the query's number in the judgments and in the run, or -1
    offsets     (n_queries + 1,) int64, which documents of the output each query owns
    out.labels  (n_documents,) the dtype of judged.labels, 0 for a document without a judgment
    out.judged  (n_documents,) bool
    """
    longest = 0
    for q in range(first, stop):
        if pairs[q, 0] >= 0:
            longest = max(longest, judged.offsets[pairs[q, 0] + 1] - judged.offsets[pairs[q, 0]])
    slots = np.zeros(count_slots(2 * longest), np.uint32)
    base = np.uint32(0)
    n_indexed = 0
    for q in range(first, stop):
        begin = 0
        end = 0
        if pairs[q, 0] >= 0 and offsets[q + 1] > offsets[q]:
            begin = judged.offsets[pairs[q, 0]]
            end = judged.offsets[pairs[q, 0] + 1]
        if n_indexed + end - begin > MAX_ENTRY:
            slots[:] = 0
            n_indexed = 0
        base = np.uint32(n_indexed)
        n_indexed += end - begin
        mask = make_mask(count_slots(2 * (end - begin)))
        for i in range(begin, end):
            slot = first_slot(hash_id(judged.ids, i), mask)
            while is_alive(slots[slot], base):
                slot = next_slot(slot, mask)
            slots[slot] = make_entry(i - begin, base)
        shift = retrieved.offsets[pairs[q, 1]] - offsets[q]
        out.labels[offsets[q] : offsets[q + 1]] = 0
        out.judged[offsets[q] : offsets[q + 1]] = False
        for d in range(offsets[q], offsets[q + 1]):
            slot = first_slot(hash_id(retrieved.ids, d + shift), mask)
            while is_alive(slots[slot], base):  # most documents are unjudged; rare work inside the loop halves the time
                row = begin + get_number(slots[slot], base)
                if is_equal(retrieved.ids, d + shift, judged.ids, row):
                    out.labels[d] = judged.labels[row]
                    out.judged[d] = True
                    break
                slot = next_slot(slot, mask)


@kernel
def copy_segments(values, starts, offsets, out):
    """Copy segments: entries offsets[q] up to offsets[q + 1] of `out` are those of `values` from starts[q] on."""
    for q in range(starts.shape[0]):
        for d in range(offsets[q + 1] - offsets[q]):
            out[offsets[q] + d] = values[starts[q] + d]
