"""Find the items with the highest scores over tiles of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.item_lists import PADDING
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_stopped, run_all
from fastndcg.scoring.part_progress import follow
from fastndcg.scoring.products import Product
from fastndcg.scoring.tiles import Columns, Part, TileWorker, Tiling

LEAST_SPARE = 64  # entries of a row for items that may replace the best


class TopScores(NamedTuple):
    """The best candidates of each user in rank order: (n_users, k) items and scores, padded with -1 and NaN."""

    items: Array
    scores: Array


class Leaders:
    """The best items of some rows so far, as kernels/scoring/top.py describes them."""

    def __init__(self, n_rows: int, k: int, dtype: np.dtype[Any]) -> None:
        size = k + count_spare(k)
        self.k = k
        self.arrays = (
            np.empty((n_rows, size), dtype), np.empty((n_rows, size), "i4"), np.zeros(n_rows, "i8"),
            np.full(n_rows, -np.inf, dtype),
        )  # fmt: skip
        self.sort_buffers = (
            np.empty(size, "i4"), np.empty(size, "i4"), np.empty(size, dtype), np.empty(size, "i4"),
        )  # fmt: skip

    def write(self, items: Array, scores: Array) -> None:
        """Write the leaders in rank order."""
        load_kernels("scoring.top").sort_leaders(self.k, self.sort_buffers, self.arrays)
        own_scores, own_items, counts, _ = self.arrays
        is_used = np.arange(self.k) < counts[:, None]
        items[:] = np.where(is_used, own_items[:, : self.k], PADDING)
        scores[:] = np.where(is_used, own_scores[:, : self.k], np.nan)


def count_spare(k: int) -> int:
    """Return the number of entries of a row for items that may replace the best."""
    return max(k, LEAST_SPARE)


def make_top_scores(n_rows: int, k: int, dtype: np.dtype[Any]) -> TopScores:
    """Return arrays for the best candidates of some rows."""
    return TopScores(np.empty((n_rows, k), "i4"), np.empty((n_rows, k), dtype))


def find_top(product: Product, users: Array, columns: Columns, k: int, options: Options) -> TopScores:
    """Return the k best candidates of each user. Of equal scores, the item with the lower number is first."""
    k = min(k, columns.n_columns)
    row_bytes = (k + count_spare(k)) * (product.score_dtype.itemsize + 4)
    tiling = Tiling(product, users, columns, options, row_bytes, has_whole_rows=True)
    best = make_top_scores(len(users), k, product.score_dtype)
    kernel = load_kernels("scoring.top").find_top

    def make_worker() -> Callable[[Part], None]:
        worker = TileWorker(tiling)

        def find(part: Part) -> None:
            (first, stop), (start, end) = part
            worker.load_users(first, stop)
            leaders = Leaders(stop - first, k, product.score_dtype)
            scratch = worker.tile, worker.row, leaders.sort_buffers
            for column in range(start, end, tiling.n_tile_columns):
                check_stopped()
                extent = worker.load_items(column, min(column + tiling.n_tile_columns, end))
                lists = columns.kernel_lists
                kernel(worker.users, worker.items, extent, lists, k, scratch, leaders.arrays)
            leaders.write(best.items[first:stop], best.scores[first:stop])
            followed.end_part()

        return find

    parts = tiling.list_parts()
    with follow(parts, len(users), options) as followed:
        run_all(followed.parts, make_worker, min(tiling.threads, max(len(parts), 1)))
    columns.restore_items(best.items)
    return best
