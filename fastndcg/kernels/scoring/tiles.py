"""
Tiles of scores: some users times some items, read while the processor's cache holds them.

A tile has one row a user. Scores of items that are no candidates are NaN, which is neither above nor equal to a score.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.candidate_places import find_first_at_least
from fastndcg.kernels.jit import inline

ROW_PANELS = 4  # panels of users in a tile


class Extent(NamedTuple):
    """
    The users and items of a pair of operands.

    first_row counts the first user among all rows, first_item the first item among all items. If is_distance is None,
    floats are multiplied. If it is True, they are compared by their distance. Its type selects the loop.
    """

    n_rows: int
    first_row: int
    n_items: int
    first_item: int
    n_columns: int  # of the operands
    is_distance: bool | None


class Lists(NamedTuple):
    """
    Items that are no candidates of a row, or the only candidates.

    items     (n_listed,)     int32, rising in a row
    offsets   (n_rows + 1,)   int64, or [0] if no row has a list
    is_shown  1 if the listed items are the candidates, 0 if they are none
    """

    items: np.ndarray
    offsets: np.ndarray
    is_shown: int


@inline
def select_candidates(tile, start, row_width, extent, lists, row, scratch):
    """
    Replace the scores of a tile's row by NaN where the item is no candidate.

    start    of the row in `tile`
    row      number of the row among all rows
    scratch  (row_width,) of the dtype of `tile`
    """
    for i in range(start + extent.n_items, start + row_width):
        tile[i] = np.nan
    if lists.offsets.shape[0] > 1:
        end = lists.offsets[row + 1]
        place = find_first_at_least(lists.items, lists.offsets[row], end, extent.first_item)
        first_place = place
        while place < end and lists.items[place] < extent.first_item + extent.n_items:
            column = start + lists.items[place] - extent.first_item
            if lists.is_shown:
                scratch[place - first_place] = tile[column]
            else:
                tile[column] = np.nan
            place += 1
        if lists.is_shown:
            for i in range(start, start + row_width):
                tile[i] = np.nan
            for i in range(first_place, place):
                tile[start + lists.items[i] - extent.first_item] = scratch[i - first_place]
