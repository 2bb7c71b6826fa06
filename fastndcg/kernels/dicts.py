"""
Dicts of dicts into arrays: what they hold, and each document of one looked up in another.

The one place where Python's objects are read by machine code: see objects.py for what that asks for. A row whose keys
are not exactly texts, or whose values are no numbers of the types below, is left open; Python code reads it, or says
what is wrong with it.

rows         (n_queries,)      int64, addresses of dicts
judgments    (n_queries,)      int64, addresses of dicts that were read without one left open
kinds        (6,)              int64, addresses of types: dict, text, float, NumPy's float64, whole number, truth
offsets      (n_queries + 1,)  int64, row q has places offsets[q] up to offsets[q + 1] in what is written
out_values, out_scores         (n_documents,) float64
out_ends     (n_documents,)    int64, where each key ends among the bytes of all; (0,) where keys are not asked for
out_data     (n_bytes,)        uint8, the keys in UTF-8, as far as there is room
out_labels   (n_documents,)    uint8 or float64, 0 for a document without a judgment
out_judged   (n_documents,)    bool, whether it has one
out_open     (n_queries,)      bool
out_about    (4,)              float64: lowest and highest value, how many are no whole numbers, how many rows are open
"""

import numpy as np

from fastndcg.kernels.jit import object_kernel, part
from fastndcg.kernels.objects import copy_bytes, find, float_of, next_item, text_of, type_of, whole_of

DICT, TEXT, FLOAT, FLOAT64, WHOLE, TRUTH = range(6)
EXACT = 2**53  # above it float64 leaves out whole numbers


@object_kernel
def read_items(rows, kinds, offsets, out_values, out_ends, out_data, out_about):
    """The values of dicts, and their keys if asked for; says how many bytes these have."""
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
            number, is_exact, is_whole = number_of(value, kinds)
            if not is_exact:
                break
            if out_ends.shape[0] > 0:
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
def read_rows(rows, judgments, kinds, offsets, out_scores, out_labels, out_judged, out_open):
    """The values of dicts, and those that the same keys have in others."""
    for q in range(rows.shape[0]):
        d = offsets[q]
        place = np.int64(0)
        while type_of(rows[q]) == kinds[DICT]:
            found, place, key, value = next_item(rows[q], place)
            if found == 0 or d == offsets[q + 1] or type_of(key) != kinds[TEXT]:
                break
            score, is_number = score_of(value, kinds)
            if not is_number:
                break
            label = find(judgments[q], key)
            out_scores[d] = score
            out_labels[d] = number_of(label, kinds)[0] if label != 0 else 0.0
            out_judged[d] = label != 0
            d += 1
        out_open[q] = d < offsets[q + 1]


@part
def number_of(value, kinds):
    """A number as float64, whether it is that exactly, and whether it is whole; NaN for what is no number."""
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
