"""Count the ranks of labelled items over tiles of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import RankTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.counted import RankCounts
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.progress import track
from fastndcg.scoring.products import Product
from fastndcg.scoring.tiles import ITEM_ROWS, USER_ROWS


def count_ranks(product: Product, n_items: int, task: RankTask, options: Options) -> RankCounts:
    """Count the candidates above and at the place of each labelled candidate."""
    matched = task.matched
    items = read_only(matched.liked.items[matched.is_candidate].astype("i4"))
    offsets = matched.offsets
    n_labels = len(items)
    counts = RankCounts(*(np.zeros(n_labels, "i4") for _ in range(3)))
    rows = np.flatnonzero(np.diff(offsets))  # users without truth need no scores
    own_offsets = read_only(np.concatenate([[0], offsets[rows + 1]]))
    users = task.users[rows]
    kernels = load_kernels("scoring.count_tile")
    user_operand = np.zeros((USER_ROWS, product.n_columns), product.operand_dtype)
    item_operand = np.zeros((ITEM_ROWS, product.n_columns), product.operand_dtype)
    tile = np.empty((USER_ROWS, ITEM_ROWS), product.score_dtype)
    scores = np.empty(n_labels, product.score_dtype)
    gaps = matched.gaps
    with track(range(0, len(rows), USER_ROWS), "scoring users", -(-len(rows) // USER_ROWS)) as blocks:
        for first in blocks:
            stop = min(first + USER_ROWS, len(rows))
            user_operand[:] = 0
            product.take_users(users[first:stop], user_operand)
            begin, end = own_offsets[first].item(), own_offsets[stop].item()
            columns = np.zeros(n_labels, "i4")
            labelled = (items, own_offsets, read_only(scores))
            for part in range(begin, end, ITEM_ROWS):
                part_stop = min(part + ITEM_ROWS, end)
                item_operand[:] = 0
                product.take_items(items[part:part_stop], item_operand)
                product.multiply(user_operand, item_operand, tile)
                columns[part:part_stop] = np.arange(part_stop - part)
                kernels.read_scores(
                    tile.reshape(-1), ITEM_ROWS, first, (part, part_stop), labelled, columns, scores
                )
            for item in range(0, n_items, ITEM_ROWS):
                item_stop = min(item + ITEM_ROWS, n_items)
                item_operand[item_stop - item :] = 0
                product.take_items(slice(item, item_stop), item_operand)
                product.multiply(user_operand, item_operand, tile)
                tile[:, item_stop - item :] = -np.inf
                kernels.count_tile(
                    tile.reshape(-1), ITEM_ROWS, item, first, (0, stop - first), labelled, tuple(counts)
                )
    return RankCounts(*map(read_only, counts))
