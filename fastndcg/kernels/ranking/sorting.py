"""Sort small arrays of indices stably."""

from fastndcg.kernels.jit import helper, inline

RUN = 16  # length of the runs that are sorted by insertion and then merged


@helper
def sort_descending(keys, n, spare, out):
    """
    Sort the first n indices of `out` stably by falling key, and return the number of inversions.

    An inversion is a pair of indices whose order changes.

    keys   array of any number type without NaN, indexed by the entries of `out`
    spare  (n or more,) int32, scratch
    out    (n or more,) int32
    """
    n_inversions = 0
    for start in range(0, n, RUN):
        n_inversions += insert_descending(keys, start, min(start + RUN, n), out)
    width = RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            n_inversions += merge_descending(keys, start, start + width, min(start + 2 * width, n), spare, out)
        width *= 2
    return n_inversions


@inline
def insert_descending(keys, start, stop, out):
    """Sort out[start:stop] by insertion, and return the number of inversions."""
    n_inversions = 0
    for i in range(start + 1, stop):
        index = out[i]
        key = keys[index]
        j = i
        while j > start and keys[out[j - 1]] < key:
            out[j] = out[j - 1]
            j -= 1
        out[j] = index
        n_inversions += i - j
    return n_inversions


@inline
def merge_descending(keys, start, middle, stop, spare, out):
    """Merge the sorted runs out[start:middle] and out[middle:stop], and return the number of inversions."""
    n_inversions = 0
    if keys[out[middle - 1]] >= keys[out[middle]]:
        return n_inversions
    for i in range(start, middle):
        spare[i] = out[i]
    left = start
    right = middle
    for i in range(start, stop):
        if left == middle:
            break
        if right < stop and keys[out[right]] > keys[spare[left]]:
            out[i] = out[right]
            right += 1
            n_inversions += middle - left
        else:
            out[i] = spare[left]
            left += 1
    return n_inversions
