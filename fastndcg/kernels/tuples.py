"""
A list of tuples (query, document, score) into arrays, the documents of each query one after the other.

See dicts.py for judgments, `relevant`, `kinds`, `small` and what is written. Here a query's rows have to be together,
and no document may be there twice: else, and where a row is no such tuple of texts and a number, Python reads them.

rows       address of a list of n_rows; `kind` that of the type that all its tuples must have
places     address of a dict from the queries that have judgments to their number in `judgments`
keys, hashes    (n_rows,)       int64, overwritten: texts of a query's documents, and what stands for each in a dict
slots           (a power of two, twice n_rows or more,) int32, overwritten
out_starts, out_places  (n_rows,)  int64: of each query with judgments its first row, and its number
out_offsets     (n_rows + 1,)   int64
out_counts      (2,)            int64: how many of these queries there are, and how many rows were read
"""

import numpy as np

from fastndcg.kernels.dicts import TEXT, ask_each, score_of
from fastndcg.kernels.jit import object_kernel, part
from fastndcg.kernels.objects import (
    ITEM_PLACE,
    ITEM_SIZE,
    SIZE_PLACE,
    are_alike,
    find,
    hash_of,
    listed,
    type_of,
    whole_of,
    word_of,
)

DOCUMENT_PLACE = ITEM_PLACE + ITEM_SIZE
SCORE_PLACE = ITEM_PLACE + 2 * ITEM_SIZE
FREE = np.int32(-1)


@object_kernel
def read_tuples(
    rows, kind, places, judgments, relevant, kinds, small, is_each_asked, keys, hashes, slots, out_starts, out_places,
    out_offsets, out_scores, out_labels, out_judged, out_counts,
):  # fmt: skip
    """Scores and labels of the queries that have judgments, up to a row that is for Python."""
    n_rows = min(keys.shape[0], word_of(rows, SIZE_PLACE))  # whoever asked for it before did not hold the lock since
    q = 0
    row = 0
    d = 0
    out_offsets[0] = 0
    while row < n_rows and is_row(listed(rows, row), kind, kinds):
        n = scan_query(rows, row, n_rows, kind, kinds, d, keys, out_scores)
        number = find(places, word_of(listed(rows, row), ITEM_PLACE))
        if number != 0:
            mask = number_texts(keys, n, hashes, slots)
            if mask == 0:
                break
            judgment = whole_of(number)[0]
            if is_each_asked:
                ask_each(judgments[judgment], keys, n, kinds, small, d, out_labels, out_judged)
            else:
                place_relevant(judgment, relevant, keys, n, hashes, slots, mask, d, out_labels)
            out_starts[q] = row
            out_places[q] = judgment
            q += 1
            d += n
            out_offsets[q] = d
        row += n
    out_counts[0] = q
    out_counts[1] = row


@part
def is_row(row, kind, kinds):
    """Whether this is a tuple of that type, of two texts and a number."""
    if type_of(row) != kind or word_of(row, SIZE_PLACE) < 3:
        return False
    if type_of(word_of(row, ITEM_PLACE)) != kinds[TEXT] or type_of(word_of(row, DOCUMENT_PLACE)) != kinds[TEXT]:
        return False
    return score_of(word_of(row, SCORE_PLACE), kinds)[1]


@part
def scan_query(rows, first, n_rows, kind, kinds, d, keys, out_scores):
    """The documents and scores of the query that a row begins; says how many there are."""
    query = word_of(listed(rows, first), ITEM_PLACE)
    n = 0
    while first + n < n_rows:
        row = listed(rows, first + n)
        if not is_row(row, kind, kinds):
            break
        other = word_of(row, ITEM_PLACE)
        if other != query and not are_alike(other, query):
            break
        keys[n] = word_of(row, DOCUMENT_PLACE)
        out_scores[d + n] = score_of(word_of(row, SCORE_PLACE), kinds)[0]
        n += 1
    return n


@part
def number_texts(keys, n, hashes, slots):
    """Put texts in slots by what stands for them; the mask of the slots, 0 if two texts may be the same."""
    n_slots = 4
    while n_slots < 2 * n:
        n_slots *= 2
    mask = n_slots - 1
    for slot in range(n_slots):
        slots[slot] = FREE
    for i in range(n):
        hashes[i] = hash_of(keys[i])
        slot = hashes[i] & mask
        while slots[slot] != FREE:
            if hashes[slots[slot]] == hashes[i]:
                return 0
            slot = (slot + 1) & mask
        slots[slot] = i
    return mask


@part
def place_relevant(judgment, relevant, keys, n, hashes, slots, mask, d, out_labels):
    """The labels of a query's relevant documents, 0 for all others."""
    relevant_keys, relevant_labels, relevant_offsets = relevant
    for i in range(n):
        out_labels[d + i] = 0
    for r in range(relevant_offsets[judgment], relevant_offsets[judgment + 1]):
        key = relevant_keys[r]
        wanted = hash_of(key)
        slot = wanted & mask
        while slots[slot] != FREE:
            i = slots[slot]
            if hashes[i] == wanted and (keys[i] == key or are_alike(keys[i], key)):
                out_labels[d + i] = relevant_labels[r]
                break
            slot = (slot + 1) & mask
