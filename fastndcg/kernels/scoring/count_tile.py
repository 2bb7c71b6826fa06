"""
Count the scores of a tile above and equal to those of labelled items.

A tile has the scores of some users for consecutive items, one row a user. Scores of items that are no candidates are
-inf, which no candidate's is.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.simd import WIDE, compare_wide, popcount


class Labelled(NamedTuple):
    """
    The labelled candidates of all users, user after user.

    items    (n_labels,)     int32
    offsets  (n_rows + 1,)   int64, row u owns the entries offsets[u] up to offsets[u + 1]
    scores   (n_labels,)     float32 or float64
    """

    items: np.ndarray
    offsets: np.ndarray
    scores: np.ndarray


class Counts(NamedTuple):
    """Sums over the tiles so far: int32 numbers above, equal, and equal with a lower item number."""

    above: np.ndarray
    ties: np.ndarray
    before: np.ndarray


@kernel
def count_tile(tile, n_columns, first_item, first_row, span, labelled, counts):
    """
    Add the counts of a tile for the rows of a span, which count from the first row of the tile.

    tile        (n_rows * n_columns,) float32 or float64, row after row
    n_columns   number of items of the tile, a multiple of 64
    first_item  item of the first column
    first_row   row of the first row of the tile among all users
    labelled    `Labelled` as a tuple
    counts      `Counts` as a tuple
    """
    labelled = Labelled(*labelled)
    counts = Counts(*counts)
    for r in range(span[0], span[1]):
        start = r * n_columns
        for e in range(labelled.offsets[first_row + r], labelled.offsets[first_row + r + 1]):
            level = labelled.scores[e]
            above, ties = count_row(tile, start, n_columns, level)
            column = labelled.items[e] - first_item
            if 0 <= column < n_columns:  # the item itself is one of the ties, whatever its score here
                own = tile[start + column]
                above -= own > level
                ties += 1 - (own == level)
            if ties > 0:
                counts.before[e] += count_before(tile, start, min(max(column, 0), n_columns), level)
            counts.above[e] += above
            counts.ties[e] += ties


@inline
def count_row(tile, start, n_columns, level):
    """Return the numbers of scores of a row above a level and equal to it."""
    above = 0
    ties = 0
    for i in range(start, start + n_columns, WIDE):
        higher, same = compare_wide(tile, i, level)
        above += popcount(higher)
        ties += popcount(same)
    return above, ties


@inline
def count_before(tile, start, stop, level):
    """Return the number of scores of the first columns of a row that equal a level."""
    n = 0
    for i in range(start, start + stop):
        n += tile[i] == level
    return n


@kernel
def read_scores(tile, n_columns, first_row, span, labelled, columns, out):
    """
    Read the scores of labelled items from a tile that has these items.

    span     first and last of the entries in the tile
    columns  (n_labels,) int32, column of each labelled item
    out      (n_labels,) the scores
    """
    labelled = Labelled(*labelled)
    row = first_row
    for e in range(span[0], span[1]):
        while labelled.offsets[row + 1] <= e:
            row += 1
        out[e] = tile[(row - first_row) * n_columns + columns[e]]


@kernel
def hide_columns(tile, n_columns, first_item, first_row, n_rows, items, offsets):
    """
    Replace the scores of items that are no candidates of a row by -inf.

    items    (n_hidden,) int32, rising in a row
    offsets  (n_all_rows + 1,) int64
    """
    for r in range(n_rows):
        start = r * n_columns
        for place in range(offsets[first_row + r], offsets[first_row + r + 1]):
            column = items[place] - first_item
            if 0 <= column < n_columns:
                tile[start + column] = -np.inf
