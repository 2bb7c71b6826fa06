"""Find the items with the highest scores, tile by tile. Of equal scores, the item with the lower number is first."""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sorting import sort_descending
from fastndcg.kernels.scoring.panels import USER_PANEL
from fastndcg.kernels.scoring.product import fill_tile
from fastndcg.kernels.scoring.tiles import ROW_PANELS, Extent, Lists, select_candidates
from fastndcg.kernels.simd import NONE, ONE, WIDE, lowest_bit, mask_at_least


class Leaders(NamedTuple):
    """
    The best items of each row so far, and items that may replace them.

    scores  (n_rows, size)  float32 or float64, size is above k
    items   (n_rows, size)  int32
    counts  (n_rows,)       int64, number of entries in use
    levels  (n_rows,)       the lowest score that is added, -inf until k items are known
    """

    scores: np.ndarray
    items: np.ndarray
    counts: np.ndarray
    levels: np.ndarray


class SortBuffers(NamedTuple):
    """Scratch arrays to sort the entries of a row: indices, spare indices, scores and items."""

    order: np.ndarray
    spare: np.ndarray
    scores: np.ndarray
    items: np.ndarray


@kernel
def find_top(users, items, extent, lists, k, scratch, out):
    """
    Add the best of some items to the leaders of some rows.

    users, items  packed operands: see product.py
    extent        `Extent` as a tuple
    lists         `Lists` as a tuple
    scratch       the scores of a tile, those of a row, and `SortBuffers` as a tuple
    out           `Leaders` as a tuple, whose first row is the extent's first row
    """
    extent = Extent(*extent)
    lists = Lists(*lists)
    leaders = Leaders(*out)
    tile, row_scratch, sort_arrays = scratch
    buffers = SortBuffers(*sort_arrays)
    row_width = (extent.n_items + WIDE - 1) // WIDE * WIDE
    n_panels = (extent.n_rows + USER_PANEL - 1) // USER_PANEL
    for first_panel in range(0, n_panels, ROW_PANELS):
        fill_tile(users, first_panel, min(ROW_PANELS, n_panels - first_panel), items, extent, row_width, tile)
        first_row = first_panel * USER_PANEL
        for r in range(min(ROW_PANELS * USER_PANEL, extent.n_rows - first_row)):
            row = first_row + r
            select_candidates(tile, r * row_width, row_width, extent, lists, extent.first_row + row, row_scratch)
            add_leaders(tile, r * row_width, row_width, extent.first_item, row, k, buffers, leaders)


@kernel
def find_row_tops(scores, first_row, lists, k, scratch, out):
    """
    Write the leaders of rows of scores that a model returned.

    scores     (n_rows, n_items) float32 or float64
    first_row  number of the first row among all rows
    scratch    (row_width,) of the dtype of the scores twice, and `SortBuffers` as a tuple
    """
    lists = Lists(*lists)
    leaders = Leaders(*out)
    chunk, row_scratch, sort_arrays = scratch
    buffers = SortBuffers(*sort_arrays)
    n_items = scores.shape[1]
    row_width = (n_items + WIDE - 1) // WIDE * WIDE
    for r in range(scores.shape[0]):
        for i in range(n_items):
            chunk[i] = scores[r, i]
        extent = Extent(1, 0, n_items, 0, 0, None)
        select_candidates(chunk, 0, row_width, extent, lists, first_row + r, row_scratch)
        add_leaders(chunk, 0, row_width, 0, r, k, buffers, leaders)


@kernel
def sort_leaders(k, buffers, out):
    """Sort the leaders of all rows, and keep k of them."""
    leaders = Leaders(*out)
    buffers = SortBuffers(*buffers)
    for row in range(leaders.counts.shape[0]):
        shrink(row, k, buffers, leaders)


@inline
def add_leaders(tile, start, row_width, first_item, row, k, buffers, leaders):
    """Add the scores of a tile's row that reach the level of the row."""
    for block in range(0, row_width, WIDE):
        mask = mask_at_least(tile, start + block, leaders.levels[row])
        while mask != NONE:
            i = block + lowest_bit(mask)
            mask &= mask - ONE
            if tile[start + i] >= leaders.levels[row]:  # the level may have risen since
                n = leaders.counts[row]
                leaders.scores[row, n] = tile[start + i]
                leaders.items[row, n] = first_item + i
                leaders.counts[row] = n + 1
                if n + 1 == leaders.scores.shape[1]:
                    shrink(row, k, buffers, leaders)


@inline
def shrink(row, k, buffers, leaders):
    """
    Keep the best k entries of a row in order, and raise its level.

    Items come in rising order, so a stable sort puts the lower number of equal scores first.
    """
    n = leaders.counts[row]
    scores = leaders.scores[row]
    items = leaders.items[row]
    for i in range(n):
        buffers.order[i] = i
    sort_descending(scores, n, buffers.spare, buffers.order)
    n_best = min(n, k)
    for i in range(n_best):
        buffers.scores[i] = scores[buffers.order[i]]
        buffers.items[i] = items[buffers.order[i]]
    for i in range(n_best):
        scores[i] = buffers.scores[i]
        items[i] = buffers.items[i]
    leaders.counts[row] = n_best
    if n_best == k:
        leaders.levels[row] = np.nextafter(scores[k - 1], leaders.levels.dtype.type(np.inf))
