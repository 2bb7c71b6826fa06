"""
Read blocks of scores: count ranks, find the best items, or write whole rows.

A block has some rows for some items. Its scores are the product of packed operands, or a function returned them. A
kernel writes them to a tile, as many rows at a time as the processor's cache holds, and reads the tile at once. Tiles
begin at multiples of 64 bytes: comparing takes up to twice as long where vectors lie across two lines of the cache.

block     `Block` as a tuple, whose rows are the first rows of the arrays below
lists     `Lists` as a tuple
scratch   a tile, and one row of it, of the dtype of the scores
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.items import find_first_at_least
from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending
from fastndcg.kernels.scoring.panels import ITEM_PANEL_BYTES, USER_PANEL, multiply_panels
from fastndcg.kernels.shared import RankCounts
from fastndcg.kernels.simd import NONE, ONE, WIDE, compare_wide, lowest_bit, mask_at_least, mask_first, popcount

CHUNK = 2048  # items of a tile. Those of a product are one chunk, a function's rows have several


class Block(NamedTuple):
    """The scores of some rows for the items from `first_item` on."""

    users: np.ndarray  # packed operands of the rows: see product.py. Empty if `scores` are given
    items: np.ndarray  # packed operands of these items
    scores: np.ndarray  # (n_rows, n_all_items) of all items. Empty for a product, which has at most CHUNK items
    n_rows: int
    n_items: int
    first_item: int
    n_columns: int  # of the operands, 0 if `scores` are given
    is_distance: bool | None  # None: product, True: negative squared distance. Its type selects the loop


class Lists(NamedTuple):
    """Items that are no candidates of a row, or the only candidates."""

    items: np.ndarray  # (n_listed,) int32, rising in a row
    offsets: np.ndarray  # (n_rows + 1,) int64, or [0] if no row has a list
    is_shown: int  # 1 if the listed items are the candidates, 0 if they are none


class Labelled(NamedTuple):
    """The labelled candidates of the rows, with their scores."""

    items: np.ndarray  # (n_labels,) int32
    scores: np.ndarray  # (n_labels,) float32 or float64
    offsets: np.ndarray  # (n_rows + 1,) int64, row r owns entries from offsets[r] - offsets[0] on


class Leaders(NamedTuple):
    """The best items of each row so far, and items that may replace them."""

    scores: np.ndarray  # (n_rows, size) float32 or float64, size is above k
    items: np.ndarray  # (n_rows, size) int32
    counts: np.ndarray  # (n_rows,) int64, number of entries in use
    levels: np.ndarray  # (n_rows,) the lowest score that is added, -inf until k items are known


class SortBuffers(NamedTuple):
    """Scratch arrays to sort the entries of a row: indices, spare indices, scores and items."""

    order: np.ndarray
    spare: np.ndarray
    scores: np.ndarray
    items: np.ndarray


@kernel
def count_ranks(block, lists, labelled, scratch, out):
    """
    Add the counts of the rows of a block.

    labelled  `Labelled` as a tuple
    out       `RankCounts` as a tuple, to which the kernel adds
    """
    block = Block(*block)
    lists = Lists(*lists)
    labelled = Labelled(*labelled)
    counts = RankCounts(*out)
    tile, row_scratch = scratch
    n_tile_rows = find_tile_rows(block, tile)
    for first in range(0, block.n_rows, n_tile_rows):
        n_rows = min(n_tile_rows, block.n_rows - first)
        for start in range(0, block.n_items, CHUNK):
            part = take_items(block, start)
            row_width = find_row_width(part)
            fill_tile(part, first, n_rows, row_width, tile)
            for r in range(n_rows):
                select_candidates(tile, r * row_width, row_width, part, lists, first + r, row_scratch)
                count_row(tile, r * row_width, row_width, part, first + r, labelled, counts)


@kernel
def find_top(block, lists, k, scratch, sort_arrays, out):
    """
    Add the best of the items of a block to the leaders of its rows. Of equal scores, the lower item number is better.

    sort_arrays  `SortBuffers` as a tuple
    out          `Leaders` as a tuple
    """
    block = Block(*block)
    lists = Lists(*lists)
    leaders = Leaders(*out)
    buffers = SortBuffers(*sort_arrays)
    tile, row_scratch = scratch
    n_tile_rows = find_tile_rows(block, tile)
    for first in range(0, block.n_rows, n_tile_rows):
        n_rows = min(n_tile_rows, block.n_rows - first)
        for start in range(0, block.n_items, CHUNK):
            part = take_items(block, start)
            row_width = find_row_width(part)
            fill_tile(part, first, n_rows, row_width, tile)
            for r in range(n_rows):
                select_candidates(tile, r * row_width, row_width, part, lists, first + r, row_scratch)
                add_leaders(tile, r * row_width, row_width, part.first_item, first + r, k, buffers, leaders)


@kernel
def sort_leaders(k, buffers, out):
    """Sort the leaders of all rows, and keep k of them."""
    leaders = Leaders(*out)
    buffers = SortBuffers(*buffers)
    for row in range(leaders.counts.shape[0]):
        shrink(row, k, buffers, leaders)


@kernel
def write_rows(block, tile, out):
    """
    Write the scores of a block.

    out  (n_rows, n_all_items) float32 or float64, of which the columns of the block's items are written

    The block is a product: rows that a function returned need no tile.
    """
    block = Block(*block)
    row_width = find_row_width(block)
    n_tile_rows = find_tile_rows(block, tile)
    for first in range(0, block.n_rows, n_tile_rows):
        n_rows = min(n_tile_rows, block.n_rows - first)
        fill_tile(block, first, n_rows, row_width, tile)
        for r in range(n_rows):
            for i in range(block.n_items):
                out[first + r, block.first_item + i] = tile[r * row_width + i]


@inline
def take_items(block, start):
    """Return the part of a block with the items of the chunk that begins at `start`."""
    return Block(
        block.users,
        block.items,
        block.scores,
        block.n_rows,
        min(CHUNK, block.n_items - start),
        block.first_item + start,
        block.n_columns,
        block.is_distance,
    )


@inline
def find_row_width(block):
    """Return the number of scores of a tile's row, with those that fill the last vector."""
    return (block.n_items + WIDE - 1) // WIDE * WIDE


@inline
def find_tile_rows(block, tile):
    """Return the number of rows that a tile holds: whole panels of a product."""
    n_rows = tile.shape[0] // min(find_row_width(block), CHUNK)
    return n_rows - n_rows % USER_PANEL if block.n_columns > 0 else n_rows


@inline
def fill_tile(block, first, n_rows, row_width, tile):
    """Write the scores of the rows from `first` on, row after row. A product fills its last panel of rows."""
    if block.n_columns > 0:
        width = ITEM_PANEL_BYTES // block.items.itemsize
        n_columns = block.n_columns
        for i in range(row_width // width):  # a panel of items stays in the first cache while all users pass by
            for u in range((n_rows + USER_PANEL - 1) // USER_PANEL):
                places = (
                    (first + u * USER_PANEL) * n_columns,
                    i * width * n_columns,
                    u * USER_PANEL * row_width + i * width,
                )
                multiply_panels(block.users, block.items, places, n_columns, tile, row_width, block.is_distance)
    else:
        for r in range(n_rows):
            for i in range(block.n_items):
                tile[r * row_width + i] = block.scores[first + r, block.first_item + i]


@inline
def select_candidates(tile, start, row_width, block, lists, row, scratch):
    """
    Replace the scores of a tile's row by NaN where the item is no candidate. NaN is neither above nor equal to a score.

    start    of the row in `tile`
    scratch  (row_width,) of the dtype of `tile`
    """
    for i in range(start + block.n_items, start + row_width):
        tile[i] = np.nan
    if lists.offsets.shape[0] > 1:
        end = lists.offsets[row + 1]
        place = find_first_at_least(lists.items, lists.offsets[row], end, block.first_item)
        first_place = place
        while place < end and lists.items[place] < block.first_item + block.n_items:
            column = start + lists.items[place] - block.first_item
            if lists.is_shown:
                scratch[place - first_place] = tile[column]
            else:
                tile[column] = np.nan
            place += 1
        if lists.is_shown:
            for i in range(start, start + row_width):
                tile[i] = np.nan
            for i in range(first_place, place):
                tile[start + lists.items[i] - block.first_item] = scratch[i - first_place]


@inline
def count_row(tile, start, row_width, block, row, labelled, counts):
    """
    Add the counts of one row. Each labelled item is left out by its number, not by its score.

    Two comparisons of 16 scores take 0.05 ns a score, on one core of an EPYC with AVX-512.
    """
    for e in range(labelled.offsets[row] - labelled.offsets[0], labelled.offsets[row + 1] - labelled.offsets[0]):
        level = labelled.scores[e]
        above = 0
        ties = 0
        for i in range(start, start + row_width, WIDE):
            higher, same = compare_wide(tile, i, level)
            above += popcount(higher)
            ties += popcount(same)
        column = labelled.items[e] - block.first_item
        is_here = 0 <= column < block.n_items
        before = 0
        if ties > 0 and is_here:
            for i in range(0, column, WIDE):
                _, same = compare_wide(tile, start + i, level)
                before += popcount(same & mask_first(column - i))
        elif column > 0:
            before = ties
        counts.before[e] += before
        if is_here:
            above -= tile[start + column] > level
            ties += 1 - (tile[start + column] == level)
        counts.above[e] += above
        counts.ties[e] += ties


@inline
def add_leaders(tile, start, row_width, first_item, row, k, buffers, leaders):
    """Add the scores of a tile's row that reach the level of the row."""
    for place in range(0, row_width, WIDE):
        mask = mask_at_least(tile, start + place, leaders.levels[row])
        while mask != NONE:
            i = place + lowest_bit(mask)
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
