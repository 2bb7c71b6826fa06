"""
Stable sorts of small index arrays.

keys   (n or more,)  any number type without NaN
spare  (n or more,)  int32, overwritten
out    (n or more,)  int32, indices into keys: given in some order, left in order of their keys, equal keys as they were
"""

from fastndcg.kernels.jit import part, unit

RUN = 16  # below it insertion wins over merging


@unit
def sort_descending(keys, n, spare, out):
    """Order n indices by key, highest first: runs by insertion, then merged bottom-up."""
    for start in range(0, n, RUN):
        insert_descending(keys, start, min(start + RUN, n), out)
    width = RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            merge_descending(keys, start, start + width, min(start + 2 * width, n), spare, out)
        width *= 2


@part
def insert_descending(keys, start, stop, out):
    """Order out[start:stop] by insertion."""
    for i in range(start + 1, stop):
        moving = out[i]
        key = keys[moving]
        j = i
        while j > start and keys[out[j - 1]] < key:
            out[j] = out[j - 1]
            j -= 1
        out[j] = moving


@part
def merge_descending(keys, start, middle, stop, spare, out):
    """Merge the ordered runs out[start:middle] and out[middle:stop]."""
    if keys[out[middle - 1]] >= keys[out[middle]]:
        return
    for i in range(start, middle):
        spare[i] = out[i]
    left = start
    right = middle
    for i in range(start, stop):
        if left == middle:
            return
        if right < stop and keys[out[right]] > keys[spare[left]]:
            out[i] = out[right]
            right += 1
        else:
            out[i] = spare[left]
            left += 1
