"""
Find the places of items in the item lists of users.

items, offsets            (n_items,) int32 and (n_users + 1,) int64; user u looks for items[offsets[u] : offsets[u + 1]]
list_items, list_offsets  (n_list_items,) int32, rising in each list, and int64 offsets of the lists
step                      1 if each user has a list, 0 if all users share the first
"""

from fastndcg.kernels.jit import inline, kernel


@kernel
def find_places(items, offsets, list_items, list_offsets, step, first, stop, out):
    """
    Write the place of each item in the list of its user, for users `first` up to `stop`.

    out  (n_items,) int32, the place p of an item in the list, and -1 - p of an item before which it would stand
    """
    for u in range(first, stop):
        begin = list_offsets[u * step]
        end = list_offsets[u * step + 1]
        for i in range(offsets[u], offsets[u + 1]):
            place = find_first_at_least(list_items, begin, end, items[i])
            is_in_list = place < end and list_items[place] == items[i]
            out[i] = place - begin if is_in_list else begin - place - 1


@inline
def find_first_at_least(values, begin, end, value):
    """Return the first place from `begin` on whose value is at least `value`, or `end`."""
    size = end - begin
    while size > 0:
        half = size // 2
        if values[begin + half] < value:
            begin += half + 1
            size -= half + 1
        else:
            size = half
    return begin
