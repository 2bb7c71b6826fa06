"""
Ranks and best items by torch, on the device of the vectors: products, comparisons and sums.

All tiles of a device have the same shape, filled with 0, so that scores do not depend on the users and items around
them. Ranks alone come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import RankTask
from fastndcg.rankings.known_ranks import RankCounts
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.scoring.part_progress import follow
from fastndcg.scoring.products import Factors
from fastndcg.scoring.ranks import LabelledRows, read_labelled_rows
from fastndcg.scoring.tiles import Columns, read_memory
from fastndcg.scoring.top_k import TopScores
from fastndcg.scoring.torch_product import TorchProduct, full_precision, load_torch

SHAPES: dict[str, tuple[int, int]] = {"cpu": (256, 4096)}  # of a tile by the type of the device
LARGE_SHAPE = (1024, 16384)  # of other devices, where a call takes longer than a small tile
COPIES = 3  # of a tile: its scores, selected rows, and booleans


class Listed(NamedTuple):
    """Places of a block of rows in rising order of columns: rows from 0, columns, and where tiles begin."""

    rows: Any
    columns: Any
    starts: Array


class TorchTiles:
    """Tiles of the scores of some users for some columns."""

    def __init__(self, factors: Factors, users: Array, columns: Columns, options: Options) -> None:
        self.torch = load_torch()
        self.product = TorchProduct(factors)
        self.users = users
        self.columns = columns
        self.n_rows, self.n_columns = SHAPES.get(self.product.device.type, LARGE_SHAPE)
        size = self.product.score_dtype.itemsize
        least = size * (COPIES * self.n_rows * self.n_columns + self.product.n_columns * (self.n_rows + self.n_columns))
        if options.memory is not None and read_memory(options) < least:
            raise InvalidInputError(
                f"`memory` must be at least {least} bytes for these vectors in torch, but is {options.memory}"
            )

    def iterate_rows(self, options: Options) -> Iterator[tuple[int, int]]:
        """Yield blocks of rows with progress: the first row and a stop."""
        n = len(self.users)
        blocks = [(first, min(first + self.n_rows, n)) for first in range(0, n, self.n_rows)]
        with follow(blocks, n, options) as followed:
            yield from followed.iterate()

    def take_users(self, first: int, stop: int) -> Any:
        """Return the operand of a block of rows."""
        return self.product.take_users(self.users[first:stop], self.n_rows)

    def iterate(self, operand: Any, first: int, stop: int) -> Iterator[tuple[int, int, Any]]:
        """Yield the tiles of a block of rows: the first column, a stop, and scores, which are -inf for other items."""
        listed = self._read_lists(first, stop)
        items = self.columns.items
        for number, start in enumerate(range(0, self.columns.n_columns, self.n_columns)):
            end = min(start + self.n_columns, self.columns.n_columns)
            own_items = slice(start, end) if items is None else items[start:end]
            item_operand = self.product.take_items(own_items, self.n_columns)
            scores = self.product.multiply(operand, item_operand)[: stop - first]
            scores[:, end - start :] = -np.inf
            if listed is not None:
                span = slice(listed.starts[number], listed.starts[number + 1])
                places = listed.rows[span], listed.columns[span] - start
                scores = self._select(scores, places)
            yield start, end, scores

    def score_pairs(self, operand: Any, rows: Array, items: Array) -> Any:
        """Return the score of each row of an operand for one item, from tiles of the same shape."""
        scores = []
        for start in range(0, len(rows), self.n_columns):
            span = slice(start, start + self.n_columns)
            item_operand = self.product.take_items(items[span], self.n_columns)
            places = self.product.move(rows[span].astype("i8"))
            columns = self.torch.arange(len(places), device=self.product.device)
            scores.append(self.product.multiply(operand, item_operand)[places, columns])
        return self.torch.cat(scores)

    def sort_places(self, rows: Array, columns: Array) -> Listed:
        """Return places in rising order of columns."""
        order = np.argsort(columns, kind="stable")
        edges = np.arange(0, self.columns.n_columns + self.n_columns, self.n_columns)
        starts = np.searchsorted(columns[order], edges)
        move = self.product.move
        return Listed(move(rows[order].astype("i8")), move(columns[order].astype("i8")), starts)

    def _read_lists(self, first: int, stop: int) -> Listed | None:
        """Return the listed columns of a block of rows, None if no row has a list."""
        columns = self.columns
        if len(columns.offsets) == 1:
            return None
        offsets = columns.offsets[first : stop + 1]
        rows = np.repeat(np.arange(stop - first), np.diff(offsets))
        return self.sort_places(rows, columns.listed[offsets[0] : offsets[-1]])

    def _select(self, scores: Any, places: Any) -> Any:
        """Return scores with -inf where an item is no candidate."""
        if not self.columns.is_shown:
            scores[places] = -np.inf
            return scores
        selected = self.torch.full_like(scores, -np.inf)
        selected[places] = scores[places]
        return selected


def count_ranks(factors: Factors, n_items: int, task: RankTask, options: Options, *, allows_tf32: bool) -> RankCounts:
    """Count the candidates above and at the place of each labelled candidate."""
    rows = read_labelled_rows(task, n_items)
    counts = RankCounts(*(np.zeros(len(rows.items), "i4") for _ in range(3)))
    tiles = TorchTiles(factors, rows.users, rows.columns, options)
    with full_precision(tiles.product.device, allows_tf32=allows_tf32):
        for first, stop in tiles.iterate_rows(options):
            entries = slice(rows.offsets[first], rows.offsets[stop])
            for out, own in zip(counts, count_block(tiles, rows, first, stop), strict=True):
                out[entries] = own.cpu().numpy()
    return RankCounts(*map(read_only, counts))


def count_block(tiles: TorchTiles, rows: LabelledRows, first: int, stop: int) -> tuple[Any, Any, Any]:
    """Return the counts of the labelled candidates of a block of rows. Each is left out by its number."""
    torch = tiles.torch
    operand = tiles.take_users(first, stop)
    offsets = rows.offsets[first : stop + 1]
    span = slice(offsets[0], offsets[-1])
    own_rows = np.repeat(np.arange(stop - first), np.diff(offsets))
    own_columns = rows.labelled_columns[span]
    levels = tiles.score_pairs(operand, own_rows, rows.items[span])
    above, ties, before = (torch.zeros(len(levels), dtype=torch.int64, device=levels.device) for _ in range(3))
    order = tiles.product.move(np.argsort(own_columns, kind="stable"))
    labelled = tiles.sort_places(own_rows, own_columns)
    columns = tiles.product.move(own_columns.astype("i8"))
    groups = list_groups(tiles, offsets - offsets[0])
    for number, (start, end, scores) in enumerate(tiles.iterate(operand, first, stop)):
        for group_rows, entries in groups:
            own = scores if group_rows is None else scores.index_select(0, group_rows)
            level = levels[entries][:, None]
            above[entries] += (own > level).sum(1)
            n_same = (own == level).sum(1)
            ties[entries] += n_same
            before[entries] += n_same * (columns[entries] >= end)
        here = slice(labelled.starts[number], labelled.starts[number + 1])
        if here.stop > here.start:
            entries = order[here]
            places = labelled.columns[here] - start
            score = scores[labelled.rows[here], places]
            above[entries] -= (score > levels[entries]).long()
            ties[entries] += (score != levels[entries]).long()
            for part in torch.split(torch.arange(len(entries), device=levels.device), tiles.n_rows):
                own = scores.index_select(0, labelled.rows[here][part])
                is_before = torch.arange(own.shape[1], device=own.device) < places[part][:, None]
                before[entries[part]] += ((own == levels[entries[part]][:, None]) & is_before).sum(1)
    return above, ties, before


def list_groups(tiles: TorchTiles, offsets: Array) -> list[tuple[Any, Any]]:
    """Return for each n the rows that have an n-th labelled candidate, None for all rows, and these entries."""
    sizes = np.diff(offsets)
    groups = []
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        has_all = len(rows) == len(sizes)
        groups.append((None if has_all else tiles.product.move(rows), tiles.product.move(offsets[rows] + place)))
    return groups


def score_rows(factors: Factors, users: Array, n_items: int, *, allows_tf32: bool) -> Array:
    """Return the scores of some users for all items, a row a user."""
    columns = Columns(None, n_items, np.empty(0, "i4"), np.zeros(1, "i8"), is_shown=False)
    tiles = TorchTiles(factors, users, columns, Options())
    out = np.empty((len(users), n_items), tiles.product.score_dtype)
    with full_precision(tiles.product.device, allows_tf32=allows_tf32):
        for first, stop in tiles.iterate_rows(Options()):
            for start, end, scores in tiles.iterate(tiles.take_users(first, stop), first, stop):
                out[first:stop, start:end] = scores[:, : end - start].cpu().numpy()
    return out


def find_top(
    factors: Factors, users: Array, columns: Columns, k: int, options: Options, *, allows_tf32: bool
) -> TopScores:
    """Return the k best candidates of each user. Of equal scores, the item with the lower number is first."""
    tiles = TorchTiles(factors, users, columns, options)
    k = min(k, columns.n_columns)
    items = np.full((len(users), k), -1, "i4")
    scores = np.full((len(users), k), np.nan, tiles.product.score_dtype)
    with full_precision(tiles.product.device, allows_tf32=allows_tf32):
        for first, stop in tiles.iterate_rows(options):
            best, numbers = find_block_top(tiles, first, stop, k)
            finished = tiles.product.finish_scores(users[first:stop], best)
            items[first:stop] = numbers.cpu().numpy()
            scores[first:stop] = np.where(items[first:stop] >= 0, finished.cpu().numpy(), np.nan)
    columns.restore_items(items)
    return TopScores(items, scores)


def find_block_top(tiles: TorchTiles, first: int, stop: int, k: int) -> tuple[Any, Any]:
    """Return the scores and columns of the best candidates of a block of rows, padded with -inf and -1."""
    torch = tiles.torch
    device = tiles.product.device
    best = torch.full((stop - first, k), -np.inf, dtype=tiles.product.dtype, device=device)
    columns = torch.full((stop - first, k), -1, dtype=torch.int64, device=device)
    row_numbers = torch.arange(stop - first, device=device)
    for start, _, scores in tiles.iterate(tiles.take_users(first, stop), first, stop):
        lowest = scores.topk(min(k, scores.shape[1]), dim=1).values[:, -1:]
        is_better = (scores >= lowest) & (scores > best[:, -1:])
        if int(is_better.sum()) > k * len(scores):  # of many scores at the lowest, k suffice
            is_better &= (scores > lowest) | ((scores == lowest).cumsum(1, dtype=torch.int32) <= k)
        rows, places = torch.nonzero(is_better, as_tuple=True)
        values = torch.cat([best.reshape(-1), scores[rows, places]])
        numbers = torch.cat([columns.reshape(-1), places + start])
        owners = torch.cat([row_numbers.repeat_interleave(k), rows])
        order = torch.sort(values, descending=True, stable=True).indices
        order = order[torch.sort(owners[order], stable=True).indices]
        owners = owners[order]
        firsts = torch.searchsorted(owners, row_numbers)
        ranks = torch.arange(len(owners), device=device) - firsts[owners]
        is_best = ranks < k
        best[owners[is_best], ranks[is_best]] = values[order][is_best]
        columns[owners[is_best], ranks[is_best]] = numbers[order][is_best]
    return best, columns
