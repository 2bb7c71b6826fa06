"""
Dicts of dicts into arrays: what they hold, and each document of one looked up in another.

The one place where Python's objects are read by machine code: see objects.py for what that asks for. A row whose keys
are not exactly texts, or whose values are no numbers of the types below, is left open; Python code reads it, or says
what is wrong with it.

rows         (n_queries,)      int64, addresses of dicts
judgments    (n_judgments,)    int64, addresses of dicts that were read without one left open
kinds        (6,)              int64, addresses of types: dict, text, float, NumPy's float64, whole number, truth
small        (2,)              int64, address of 0, and how many bits of that of 1 less it are 0; those of others up to
                               255 follow, or there are none such if it is 0
offsets      (n_queries + 1,)  int64, row q has places offsets[q] up to offsets[q + 1] in what is written
places       (n_queries,)      int64, number of a row's judgments
relevant     addresses of the documents with a label other than 0, int64; their labels, float64; (n_judgments + 1,)
             offsets, int64
held         address of a list
keys, values (longest,)        int64, overwritten
out_values, out_scores         (n_documents,) float64
out_ends     (n_documents,)    int64, where each key ends among the bytes of all
out_data     (n_bytes,)        uint8, the keys in UTF-8, as far as there is room
out_labels   (n_documents,)    uint8 or float64, 0 for a document without a judgment
out_judged   (n_documents,)    bool, whether it has one
out_open     (n_queries,)      bool
out_about    (4,)              float64: lowest and highest value, how many are no whole numbers, how many rows are open
out_relevant  as `relevant`, with room for all documents
"""

import numpy as np

from fastndcg.kernels.jit import object_kernel, part
from fastndcg.kernels.objects import append, copy_bytes, find, float_of, next_item, text_of, type_of, whole_of

DICT, TEXT, FLOAT, FLOAT64, WHOLE, TRUTH = range(6)
EXACT = 2**53  # above it float64 leaves out whole numbers
N_SMALL = 256  # whole numbers from 0 on that Python makes once, side by side
ASKING = 80  # documents of a row can be compared in the time in which a dict is asked for one


@object_kernel
def read_items(rows, kinds, small, offsets, out_values, out_ends, out_data, out_about):
    """The values of dicts, and their keys; says how many bytes these have."""
    lowest = np.inf
    highest = -np.inf
    n_fractions = 0
    n_open = 0
    end = 0
    for q in range(rows.shape[0]):
        d = offsets[q]
        place = np.int64(0)
        while type_of(rows[q]) == kinds[DICT]:
            found, place, key, value = next_item(rows[q], place)
            if found == 0 or d == offsets[q + 1] or type_of(key) != kinds[TEXT]:
                break
            number, is_exact, is_whole = number_of(value, kinds, small)
            if not is_exact:
                break
            start, size = text_of(key)
            if start == 0:
                break
            if end + size <= out_data.shape[0]:
                copy_bytes(start, size, out_data, end)
            end += size
            out_ends[d] = end
            out_values[d] = number
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += d < offsets[q + 1]
    out_about[0] = lowest
    out_about[1] = highest
    out_about[2] = n_fractions
    out_about[3] = n_open
    return end


@object_kernel
def read_judgments(rows, kinds, small, offsets, held, out_values, out_relevant, out_about):
    """The values of dicts, and whose is not 0: these are held, so that they stay where they are."""
    out_keys, out_labels, out_offsets = out_relevant
    lowest = np.inf
    highest = -np.inf
    n_fractions = 0
    n_open = 0
    n_relevant = 0
    out_offsets[0] = 0
    for q in range(rows.shape[0]):
        d = offsets[q]
        place = np.int64(0)
        while type_of(rows[q]) == kinds[DICT]:
            found, place, key, value = next_item(rows[q], place)
            if found == 0 or d == offsets[q + 1] or type_of(key) != kinds[TEXT]:
                break
            number, is_exact, is_whole = number_of(value, kinds, small)
            if not is_exact:
                break
            out_values[d] = number
            if number != 0.0:
                if not append(held, key):
                    break
                out_keys[n_relevant] = key
                out_labels[n_relevant] = number
                n_relevant += 1
            lowest = min(lowest, number)
            highest = max(highest, number)
            n_fractions += not is_whole
            d += 1
        n_open += d < offsets[q + 1]
        out_offsets[q + 1] = n_relevant
    out_about[0] = lowest
    out_about[1] = highest
    out_about[2] = n_fractions
    out_about[3] = n_open


@object_kernel
def read_rows(
    rows, judgments, places, relevant, kinds, small, offsets, is_each_asked, keys, values, out_scores, out_labels,
    out_judged, out_open,
):  # fmt: skip
    """
    The values of dicts, and those that the same keys have in others.

    Unless `is_each_asked`, only documents with a label other than 0 are looked for where they are few: the others have
    0 then, and are left as they were in `out_judged`.
    """
    for q in range(rows.shape[0]):
        d = offsets[q]
        n = scan_row(rows[q], kinds, offsets[q + 1] - d, d, keys, values, out_scores)
        out_open[q] = n < offsets[q + 1] - d
        if out_open[q]:
            continue
        judgment = places[q]
        n_relevant = relevant[2][judgment + 1] - relevant[2][judgment]
        is_sooner = not is_each_asked and n_relevant * (ASKING + n) < ASKING * n
        if not is_sooner or not find_relevant(rows[q], judgment, relevant, n, values, d, out_labels):
            ask_each(judgments[judgment], keys, n, kinds, small, d, out_labels, out_judged)


@part
def ask_each(judgments, keys, n, kinds, small, d, out_labels, out_judged):
    """The label of each document of a row, and whether it has one."""
    for i in range(n):
        label = find(judgments, keys[i])
        out_labels[d + i] = number_of(label, kinds, small)[0] if label != 0 else 0.0
        out_judged[d + i] = label != 0


@part
def scan_row(row, kinds, size, d, keys, values, out_scores):
    """A dict's scores, and where its texts and numbers are; says how many come before one that is none."""
    n = 0
    place = np.int64(0)
    while type_of(row) == kinds[DICT] and n < size:
        found, place, key, value = next_item(row, place)
        if found == 0 or type_of(key) != kinds[TEXT]:
            break
        score, is_number = score_of(value, kinds)
        if not is_number:
            break
        keys[n] = key
        values[n] = value
        out_scores[d + n] = score
        n += 1
    return n


@part
def find_relevant(row, judgment, relevant, n, values, d, out_labels):
    """
    The labels of a row's relevant documents. A dict says which value a text has, and not at which place.

    False if two texts have one value, the same object: then this does not tell which of them is meant.
    """
    relevant_keys, relevant_labels, relevant_offsets = relevant
    for i in range(n):
        out_labels[d + i] = 0
    for r in range(relevant_offsets[judgment], relevant_offsets[judgment + 1]):
        value = find(row, relevant_keys[r])
        n_same = 0
        at = 0
        for i in range(n):
            is_it = values[i] == value
            n_same += is_it
            at += i * is_it
        if n_same > 1:
            return False
        if n_same == 1:
            out_labels[d + at] = relevant_labels[r]
    return True


@part
def number_of(value, kinds, small):
    """A number as float64, whether it is that exactly, and whether it is whole; NaN for what is no number."""
    place = value - small[0]
    if 0 <= place < N_SMALL << small[1]:
        return np.float64(place >> small[1]), True, True
    kind = type_of(value)
    if kind == kinds[FLOAT] or kind == kinds[FLOAT64]:
        number = float_of(value)
        return number, True, False
    if kind == kinds[WHOLE] or kind == kinds[TRUTH]:
        whole, beyond = whole_of(value)
        return np.float64(whole), beyond == 0 and -EXACT <= whole <= EXACT, True
    return np.nan, False, False


@part
def score_of(value, kinds):
    """A number as the nearest float64, and whether it is one that fits int64 or float64."""
    kind = type_of(value)
    if kind == kinds[FLOAT] or kind == kinds[FLOAT64]:
        return float_of(value), True
    if kind == kinds[WHOLE]:
        whole, beyond = whole_of(value)
        return np.float64(whole), beyond == 0
    return np.nan, False
