"""Tiles of scores: operands of some users and some items in the buffers of a worker."""

from __future__ import annotations

from itertools import product as combine
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.options import Options
from fastndcg.inputs.parquet.truth import parse_memory
from fastndcg.inputs.recommendations.item_lists import PADDING
from fastndcg.inputs.recommendations.item_selection import MatchedItems, take_lists
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_threads
from fastndcg.scoring.products import Product

MEMORY = 1 << 26  # bytes of the buffers of all workers
MOST_ITEMS = 2048  # of a tile, whose scores then stay in the processor's second cache
LEAST_ITEMS = 64
MOST_TERMS = 15 << 30  # of one kernel call, some 0.3 s: Ctrl-C is handled between calls
LABEL_TERMS = 3  # that take as long as comparing a score with a label's
TILES_OF_PART = 16  # other users are packed again for each part, which takes 0.2 % of its time
PARTS_OF_THREAD = 8  # at least, if there are so many tiles: threads then end at about the same time
MOST_PAIR_BYTES = 1 << 22  # of operands of single pairs
SLICE = 1536  # rows that are copied to an operand at once, a multiple of the rows of a panel

Part = tuple[tuple[int, int], tuple[int, int]]  # rows from the first up to a stop, and columns


class Columns(NamedTuple):
    """
    The columns of tiles, and which of them count in a row.

    Column c has the scores of item ``items[c]``, or of item c if `items` is None. `listed` and `offsets` have columns
    of each row: those that count if `is_shown` is True, else those that do not count. Without lists, `offsets` is [0].
    """

    items: Array | None
    n_columns: int
    listed: Array
    offsets: Array
    is_shown: bool

    @property
    def kernel_lists(self) -> tuple[Array, Array, int]:
        """The lists as kernels take them."""
        return self.listed, self.offsets, int(self.is_shown)

    def sort(self, item_order: Array) -> tuple[Columns, Array]:
        """Return the columns in another order of items, and the new place of each column."""
        items = np.arange(self.n_columns) if self.items is None else self.items
        own_order = item_order[np.isin(item_order, items)].astype("i4")
        columns = np.searchsorted(items, own_order)
        places = np.empty(self.n_columns, "i4")
        places[columns] = np.arange(self.n_columns)
        listed = places[self.listed]
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        listed = read_only(listed[np.lexsort((listed, rows))])
        return self._replace(items=read_only(own_order), listed=listed), places

    def take_scores(self, scores: Array) -> Array:
        """Return the columns of scores of all items."""
        return scores if self.items is None else np.ascontiguousarray(scores[:, self.items])

    def restore_items(self, columns: Array) -> None:
        """Replace columns by items, in place. Padding stays."""
        if self.items is not None:
            columns[:] = np.where(columns == PADDING, PADDING, self.items[columns])


def select_columns(matched: MatchedItems, rows: Array, n_items: int) -> Columns:
    """Return the columns of the candidates of some rows."""
    gaps = take_lists(matched.gaps, rows)
    lists = matched.candidates
    no_offsets = read_only(np.zeros(1, "i8"))
    if len(lists.offsets) == 1 or lists.is_shared:
        offsets = gaps.offsets if len(gaps.items) else no_offsets
        if len(lists.offsets) == 1:
            return Columns(None, n_items, gaps.items, offsets, is_shown=False)
        return Columns(lists.items, len(lists.items), gaps.items, offsets, is_shown=False)
    lists = take_lists(lists, rows)
    is_shown = np.ones(len(lists.items), bool)
    is_shown[np.repeat(lists.offsets[:-1], np.diff(gaps.offsets)) + gaps.items] = False
    offsets = count_before(is_shown)[lists.offsets]
    return Columns(None, n_items, read_only(lists.items[is_shown]), read_only(offsets), is_shown=True)


def read_memory(options: Options) -> int:
    """Return the number of bytes for buffers."""
    return MEMORY if options.memory is None else parse_memory(options.memory)


class Tiling:
    """
    Tiles of the scores of some users for some items, within a number of bytes.

    Scores do not depend on the sizes of tiles. `row_bytes` are those of a row's result, beside its operand. A part of
    the work has all columns of its rows if `has_whole_rows` is True. Row r has the labels ``label_offsets[r]`` up to
    ``label_offsets[r + 1]``, with which its scores are compared.
    """

    def __init__(
        self, product: Product, users: Array, columns: Columns, options: Options, row_bytes: int = 0,
        *, has_whole_rows: bool = False, label_offsets: Array | None = None,
    ) -> None:  # fmt: skip
        self.product = product
        self.users = users
        self.columns = columns
        self.threads = check_threads(options.threads)
        self._has_whole_rows = has_whole_rows
        self._label_offsets = np.zeros(len(users) + 1, "i8") if label_offsets is None else label_offsets
        self._fit(read_memory(options), row_bytes, is_default=options.memory is None)

    def _fit(self, memory: int, row_bytes: int, *, is_default: bool) -> None:
        """Set the largest number of rows and of columns of a tile. The default memory grows to the least that works."""
        column_bytes = self.product.n_columns * self.product.operand_dtype.itemsize
        panel = load_kernels("scoring.panels").USER_PANEL
        own_bytes = 2 * column_bytes + row_bytes
        least = 2 * LEAST_ITEMS * column_bytes + 4 * panel * own_bytes
        memory = max(memory, least) if is_default else memory
        self.threads = min(self.threads, max(memory // least, 1))
        share = memory // self.threads
        if share < least:
            raise InvalidInputError(
                f"`memory` must be at least {least} bytes for these vectors, but is {memory}. Give more, or leave it "
                "out for what they need"
            )
        n_columns = min(MOST_ITEMS, share // (8 * column_bytes))
        self.n_tile_columns = max(n_columns // LEAST_ITEMS * LEAST_ITEMS, LEAST_ITEMS)
        n_rows = (share - 2 * self.n_tile_columns * column_bytes) // own_bytes
        n_rows = min(n_rows, max(len(self.users), 1))
        while n_rows > panel and self._count_terms(n_rows) > MOST_TERMS:
            n_rows = -(-n_rows // 2)
        n_tiles = -(-self.columns.n_columns // self.n_tile_columns)
        self._n_part_tiles = min(max(n_tiles // (PARTS_OF_THREAD * self.threads), 1), TILES_OF_PART)
        if self._has_whole_rows or n_tiles < 2 * self.threads:  # else threads share items, which each packs once
            n_rows = min(n_rows, -(-len(self.users) // self.threads))
        self.n_rows = max(-(-n_rows // panel) * panel, panel)

    def _count_terms(self, n_rows: int) -> int:
        """Return the number of terms of the largest tile with a number of rows."""
        labels = self._label_offsets[n_rows:] - self._label_offsets[: len(self._label_offsets) - n_rows]
        n_labels = int(labels.max(initial=0))
        return self.n_tile_columns * (n_rows * self.product.n_columns + LABEL_TERMS * n_labels)

    def list_parts(self) -> list[Part]:
        """Return the parts of the work. Parts of the same items follow each other, which reads a file once for all."""
        n_rows = len(self.users)
        width = self.columns.n_columns if self._has_whole_rows else self.n_tile_columns * self._n_part_tiles
        rows = [(first, min(first + self.n_rows, n_rows)) for first in range(0, n_rows, self.n_rows)]
        n_columns = self.columns.n_columns
        columns = [(first, min(first + width, n_columns)) for first in range(0, n_columns, max(width, 1))]
        return [(own_rows, own_columns) for own_columns, own_rows in combine(columns, rows)]


class TileWorker:
    """The buffers of one thread: packed operands, and a tile."""

    def __init__(self, tiling: Tiling) -> None:
        panels = load_kernels("scoring.panels")
        product = tiling.product
        self._tiling = tiling
        self._pack = load_kernels("scoring.product").pack
        self._user_panel = panels.USER_PANEL
        self._item_panel = panels.ITEM_PANEL_BYTES // product.operand_dtype.itemsize
        dtype = product.operand_dtype
        n_rows = min(max(SLICE // 16, tiling.n_tile_columns), max(SLICE, tiling.n_tile_columns))
        self._operand = np.empty((n_rows, product.n_columns), dtype)
        self._operand_rows = n_rows // self._user_panel * self._user_panel
        self.users = np.zeros(tiling.n_rows * product.n_columns, dtype)
        self.items = np.zeros((tiling.n_tile_columns + LEAST_ITEMS) * product.n_columns, dtype)
        tile_rows = load_kernels("scoring.tiles").ROW_PANELS * self._user_panel
        self.tile = np.zeros(tile_rows * tiling.n_tile_columns, product.score_dtype)
        self.row = np.zeros(tiling.n_tile_columns, product.score_dtype)
        self._span = (0, 0)

    def load_users(self, first: int, stop: int) -> None:
        """Pack the users of some rows, unless they are packed."""
        if self._span == (first, stop):
            return
        self._span = (first, stop)
        n_columns = self._operand.shape[1]
        for start in range(first, stop, self._operand_rows):
            end = min(start + self._operand_rows, stop)
            self._tiling.product.take_users(self._tiling.users[start:end], self._operand)
            place = (start - first) * n_columns
            self._pack(self._operand, end - start, self._user_panel, self.users[place:])

    def load_items(self, first: int, stop: int) -> tuple[int, int, int, int, int, bool | None]:
        """Pack the items of some columns, and return the extent of the tile as kernels take it."""
        items = self._tiling.columns.items
        product = self._tiling.product
        product.take_items(slice(first, stop) if items is None else items[first:stop], self._operand)
        self._pack(self._operand, stop - first, self._item_panel, self.items)
        n_rows = self._span[1] - self._span[0]
        return n_rows, self._span[0], stop - first, first, product.n_columns, product.is_distance


def score_rows(product: Product, users: Array, n_items: int) -> Array:
    """Return the scores of some users for all items, a row a user."""
    columns = Columns(None, n_items, np.empty(0, "i4"), np.zeros(1, "i8"), is_shown=False)
    tiling = Tiling(product, users, columns, Options(threads=1))
    worker = TileWorker(tiling)
    out = np.empty((len(users), n_items), product.score_dtype)
    kernels = load_kernels("scoring.rows")
    for (first, stop), (start, end) in tiling.list_parts():
        worker.load_users(first, stop)
        for column in range(start, end, tiling.n_tile_columns):
            extent = worker.load_items(column, min(column + tiling.n_tile_columns, end))
            kernels.score_rows(worker.users, worker.items, extent, worker.tile, out[first:stop])
    return out


def score_pairs(product: Product, users: Array, items: Array) -> Array:
    """Return the score of each user for one item, to the bit as in tiles."""
    out: Any = np.empty(len(users), product.score_dtype)
    kernel = load_kernels("scoring.product").score_pairs
    dtype = product.operand_dtype
    zero = 0.0 if dtype.kind == "f" else 0
    n_rows = max(min(len(users), MOST_ITEMS, MOST_PAIR_BYTES // (product.n_columns * dtype.itemsize)), 1)
    user_rows = np.empty((n_rows, product.n_columns), dtype)
    item_rows = np.empty((n_rows, product.n_columns), dtype)
    for start in range(0, len(users), n_rows):
        span = slice(start, start + n_rows)
        product.take_users(users[span], user_rows)
        product.take_items(items[span], item_rows)
        kernel(user_rows, item_rows, zero, len(users[span]), product.is_distance, out[span])
    return np.asarray(out)
