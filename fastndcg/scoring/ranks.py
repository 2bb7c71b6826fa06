"""Count the ranks of labelled items over tiles of scores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import RankTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.known_ranks import RankCounts
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_stopped, run_all
from fastndcg.scoring.part_progress import follow
from fastndcg.scoring.products import Product
from fastndcg.scoring.tiles import Columns, Part, TileWorker, Tiling, score_pairs, select_columns


class LabelledRows(NamedTuple):
    """
    The rows with labelled candidates.

    Row r ranks the candidates of user ``users[r]``. It owns the entries ``offsets[r]`` up to ``offsets[r + 1]`` of
    `items` and of `columns`.
    """

    users: Array
    items: Array
    offsets: Array
    columns: Columns
    labelled_columns: Array


def read_labelled_rows(task: RankTask, n_items: int) -> LabelledRows:
    """Return the rows to count, by default those with labelled candidates: others need no scores."""
    matched = task.matched
    sizes = np.diff(matched.offsets)
    rows = np.flatnonzero(sizes)
    items = matched.liked.items[matched.is_candidate].astype("i4")
    if task.rows is not None:
        items = items[np.isin(np.repeat(np.arange(len(sizes)), sizes), task.rows)]
        rows = task.rows
    columns = select_columns(matched, rows, n_items)
    offsets = count_before(sizes[rows])
    places = items if columns.items is None else np.searchsorted(columns.items, items).astype("i4")
    if task.item_order is not None:
        columns, new_places = columns.sort(task.item_order)
        places = new_places[places]
    return LabelledRows(task.users[rows], items, read_only(offsets), columns, read_only(places))


def count_ranks(product: Product, n_items: int, task: RankTask, options: Options) -> RankCounts:
    """Count the candidates above and at the place of each labelled candidate."""
    rows = read_labelled_rows(task, n_items)
    tiling = Tiling(product, rows.users, rows.columns, options, label_offsets=rows.offsets)
    scores = score_pairs(product, np.repeat(rows.users, np.diff(rows.offsets)), rows.items)
    labelled = rows.labelled_columns, rows.offsets, read_only(scores)
    counts = RankCounts(*(np.zeros(len(scores), "i4") for _ in range(3)))
    lock = threading.Lock()
    kernel = load_kernels("scoring.count").count_ranks

    def make_worker() -> Callable[[Part], None]:
        worker = TileWorker(tiling)

        def count(part: Part) -> None:
            (first, stop), (start, end) = part
            worker.load_users(first, stop)
            entries = slice(rows.offsets[first], rows.offsets[stop])
            own = RankCounts(*(np.zeros_like(array[entries]) for array in counts))
            for column in range(start, end, tiling.n_tile_columns):
                check_stopped()
                extent = worker.load_items(column, min(column + tiling.n_tile_columns, end))
                lists = rows.columns.kernel_lists
                kernel(worker.users, worker.items, extent, lists, labelled, (worker.tile, worker.row), tuple(own))
            with lock:
                for total, new in zip(counts, own, strict=True):
                    total[entries] += new
            followed.end_part()

        return count

    parts = tiling.list_parts()
    with follow(parts, len(rows.users), options) as followed:
        run_all(followed.parts, make_worker, min(tiling.threads, max(len(parts), 1)))
    return RankCounts(*map(read_only, counts))
