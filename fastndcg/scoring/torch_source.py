"""
Scores from vectors in tensors of torch, on their device: products, comparisons and sums by operations of torch.

All tiles of a device have the same shape, filled with 0, so that scores do not depend on the users and items around
them. Ranks and the best items alone come back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.messages import Options
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.scoring.consumers import CandidateColumns, RankCounter, RowWriter, Source, TopFinder
from fastndcg.scoring.sources import Factors, Operands, cut, find_float_dtype, finish_scores, iterate, read_memory

SHAPES: dict[str, tuple[int, int]] = {"cpu": (256, 4096)}  # of a tile by the type of the device
LARGE_SHAPE = (1024, 16384)  # of other devices, where a call takes longer than a small tile
COPIES = 3  # of a tile: its scores, selected rows, and booleans
BYTE_BITS = 8


def load_torch() -> Any:
    """Return the module torch."""
    return optional_import("torch", "evaluating tensors", "torch")


@contextlib.contextmanager
def full_precision(device: Any) -> Iterator[None]:
    """Multiply float32 as float32, whatever autocast and precision the user has set."""
    torch = load_torch()
    precision = torch.get_float32_matmul_precision()
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)


class TorchOperands(Operands):
    """
    The operands of vectors in torch, as float32 or float64.

    Whole numbers are exact where their sums are exact in float32, else they are float64. Packed bits are -1 and 1.
    """

    def __init__(self, factors: Factors) -> None:
        super().__init__(factors, has_roots=True)
        self._torch = load_torch()
        self.device: Any = factors.users.device
        self.dtype = self._torch.float64 if self.score_dtype == np.float64 else self._torch.float32
        self._is_packed = factors.similarity == "hamming"
        if self._is_packed:
            self.n_columns *= BYTE_BITS
        if factors.item_biases is not None:
            self._factors = factors._replace(item_biases=self.move(factors.item_biases))

    def make(self, rows: slice | Array, n_rows: int, *, are_users: bool) -> Any:
        """Return an operand with the rows of some users or items, filled with 0 up to a number of rows."""
        operand = self._torch.zeros((n_rows, self.n_columns), dtype=self.dtype, device=self.device)
        places = rows if isinstance(rows, slice) else self.move(rows)
        (self.take_users if are_users else self.take_items)(places, operand)
        return operand

    def multiply(self, users: Any, items: Any) -> Any:
        """
        Return the scores of all rows of two operands.

        Distances are added up from differences, which loses no digits where vectors are far from 0.
        """
        if self.is_distance:
            return -self._torch.cdist(users, items, compute_mode="donot_use_mm_for_euclid_dist")
        return users @ items.T

    def move(self, array: Array) -> Any:
        """Return an array as a tensor on the device of the vectors."""
        copied = np.array(array, "f4" if array.dtype.kind == "f" and self.score_dtype.itemsize == 4 else None)
        return self._torch.from_numpy(copied).to(self.device)

    def _take(self, values: Any, out: Any) -> Any:
        """
        Copy vectors to the first rows of an operand, scaled to length 1 for cosine. Return these rows.

        Lengths are taken of operands of one shape and layout: torch adds in another order for others.
        """
        if self._is_packed:
            shifts = self._torch.arange(BYTE_BITS, device=self.device, dtype=self._torch.uint8)
            values = ((values.unsqueeze(2) >> shifts) & 1).reshape(len(values), -1).to(self.dtype) * 2 - 1
        own = out[:, : values.shape[1]]
        own[: len(values)] = values
        if self._factors.similarity == "cosine":
            lengths = self._torch.linalg.vector_norm(own, dim=1, keepdim=True)
            own /= lengths.clamp_(min=self._torch.finfo(self.dtype).tiny)  # 0 of rows that fill the operand
        return out[: len(values)]


class Listed(NamedTuple):
    """Places of a block of rows in rising order of columns: rows from 0, columns, and where tiles begin."""

    rows: Any
    columns: Any
    starts: Array


class TorchBlock:
    """The scores of some rows, tile after tile."""

    def __init__(
        self, operands: TorchOperands, users: Array, columns: CandidateColumns, shape: tuple[int, int]
    ) -> None:
        self.torch = load_torch()
        self.operands = operands
        self.columns = columns
        self.n_rows, self.n_columns = shape
        self.n_users = len(users)
        self._users = operands.make(users, self.n_rows, are_users=True)

    def iterate(self, lists: Listed | None) -> Iterator[tuple[int, int, Any]]:
        """Yield the tiles: the first column, a stop, and scores, which are -inf for items that do not count."""
        items = self.columns.items
        for number, (start, end) in enumerate(cut(self.columns.n_columns, self.n_columns)):
            own_items = slice(start, end) if items is None else items[start:end]
            item_operand = self.operands.make(own_items, self.n_columns, are_users=False)
            scores = self.operands.multiply(self._users, item_operand)[: self.n_users]
            scores[:, end - start :] = -np.inf
            if lists is not None:
                span = slice(lists.starts[number], lists.starts[number + 1])
                scores = self._select(scores, (lists.rows[span], lists.columns[span] - start))
            yield start, end, scores

    def score_pairs(self, rows: Array, items: Array) -> Any:
        """Return the score of each row for one item, from tiles of the same shape."""
        scores = []
        for first, stop in cut(len(rows), self.n_columns):
            item_operand = self.operands.make(items[first:stop], self.n_columns, are_users=False)
            places = self.operands.move(rows[first:stop].astype("i8"))
            columns = self.torch.arange(len(places), device=self.operands.device)
            scores.append(self.operands.multiply(self._users, item_operand)[places, columns])
        return self.torch.cat(scores)

    def sort_places(self, rows: Array, columns: Array) -> Listed:
        """Return places in rising order of columns."""
        order = np.argsort(columns, kind="stable")
        edges = np.arange(0, self.columns.n_columns + self.n_columns, self.n_columns)
        starts = np.searchsorted(columns[order], edges)
        move = self.operands.move
        return Listed(move(rows[order].astype("i8")), move(columns[order].astype("i8")), starts)

    def read_lists(self, first: int, stop: int) -> Listed | None:
        """Return the listed columns of the rows from `first` up to `stop`, None if no row has a list."""
        listed, offsets, _ = self.columns.take_lists(first, stop)
        if len(offsets) == 1:
            return None
        return self.sort_places(np.repeat(np.arange(stop - first), np.diff(offsets)), listed[offsets[0] : offsets[-1]])

    def _select(self, scores: Any, places: Any) -> Any:
        """Return scores with -inf where an item is no candidate."""
        if not self.columns.is_shown:
            scores[places] = -np.inf
            return scores
        selected = self.torch.full_like(scores, -np.inf)
        selected[places] = scores[places]
        return selected


class TorchCounter(RankCounter):
    """Counts on the device. Each labelled candidate is left out by its number."""

    def begin(self, first: int, stop: int, block: Any) -> Any:
        """Return the labelled candidates of a block of rows, with their scores and counts."""
        rows = self._rows
        offsets = rows.offsets[first : stop + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        own_rows = np.repeat(np.arange(stop - first), np.diff(offsets))
        levels = block.score_pairs(own_rows, rows.items[entries])
        counts = tuple(block.torch.zeros(len(levels), dtype=block.torch.int64, device=levels.device) for _ in range(3))
        move = block.operands.move
        places = rows.places[entries]
        order = move(np.argsort(places, kind="stable"))
        labelled = block.sort_places(own_rows, places), order, move(places.astype("i8")), levels
        return block, labelled, entries, counts, list_groups(block, offsets - offsets[0])

    def take(self, state: Any, tile: Any, number: Any) -> None:
        """Add the counts of a tile."""
        block, (labelled, order, columns, levels), _, (above, ties, before), groups = state
        torch = block.torch
        start, end, scores = tile
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
            for part in torch.split(torch.arange(len(entries), device=levels.device), block.n_rows):
                own = scores.index_select(0, labelled.rows[here][part])
                is_before = torch.arange(own.shape[1], device=own.device) < places[part][:, None]
                before[entries[part]] += ((own == levels[entries[part]][:, None]) & is_before).sum(1)

    def end(self, state: Any) -> None:
        """Write the counts of a block of rows."""
        for total, own in zip(self.counts, state[3], strict=True):
            total[state[2]] = own.cpu().numpy()


def list_groups(block: TorchBlock, offsets: Array) -> list[tuple[Any, Any]]:
    """Return for each n the rows that have an n-th labelled candidate, None for all rows, and these entries."""
    sizes = np.diff(offsets)
    groups = []
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        has_all = len(rows) == len(sizes)
        groups.append((None if has_all else block.operands.move(rows), block.operands.move(offsets[rows] + place)))
    return groups


class TorchTopFinder(TopFinder):
    """Finds the best candidates on the device: their scores and columns, padded with -inf and -1."""

    def begin(self, first: int, stop: int, block: Any) -> Any:
        """Return empty leaders of a block of rows."""
        torch = block.torch
        device = block.operands.device
        shape = stop - first, self.k
        scores = torch.full(shape, -np.inf, dtype=block.operands.dtype, device=device)
        columns = torch.full(shape, -1, dtype=torch.int64, device=device)
        return slice(first, stop), scores, columns, torch.arange(stop - first, device=device)

    def take(self, state: Any, tile: Any, number: Any) -> None:
        """Add the best items of a tile."""
        del number
        _, best, columns, row_numbers = state
        start, _, scores = tile
        torch = load_torch()
        k = self.k
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
        ranks = torch.arange(len(owners), device=scores.device) - firsts[owners]
        is_best = ranks < k
        best[owners[is_best], ranks[is_best]] = values[order][is_best]
        columns[owners[is_best], ranks[is_best]] = numbers[order][is_best]

    def end(self, state: Any) -> None:
        """Write the leaders of a block of rows."""
        rows, scores, columns, _ = state
        self.items[rows] = columns.cpu().numpy()
        self.scores[rows] = np.where(self.items[rows] >= 0, scores.cpu().numpy(), np.nan)


class TorchRowWriter(RowWriter):
    """Writes whole rows."""

    def begin(self, first: int, stop: int, block: Any) -> Any:
        """Return the rows."""
        del block
        return self.out[first:stop]

    def take(self, state: Any, tile: Any, number: Any) -> None:
        """Write a tile."""
        del number
        start, end, scores = tile
        state[:, start:end] = scores[:, : end - start].cpu().numpy()


class TorchSource(Source):
    """Gives the scores of tensors, in tiles of one shape."""

    counter = TorchCounter
    top_finder = TorchTopFinder
    row_writer = TorchRowWriter

    def __init__(self, factors: Factors) -> None:
        self.factors = factors
        self.score_dtype = find_float_dtype(factors, has_roots=True)

    def give(self, consumer: Any, users: Array, columns: CandidateColumns, options: Options) -> None:
        """Give a consumer the scores of users for columns."""
        operands = TorchOperands(self.factors)
        shape = SHAPES.get(operands.device.type, LARGE_SHAPE)
        least = self.score_dtype.itemsize * (COPIES * shape[0] * shape[1] + operands.n_columns * sum(shape))
        if options.memory is not None and read_memory(options) < least:
            raise InvalidInputError(
                f"`memory` must be at least {least} bytes for these vectors in torch, but is {options.memory}"
            )
        with full_precision(operands.device):
            for first, stop in iterate(cut(len(users), shape[0]), len(users), options):
                block = TorchBlock(operands, users[first:stop], columns, shape)
                state = consumer.begin(first, stop, block)
                for number, tile in enumerate(block.iterate(block.read_lists(first, stop))):
                    consumer.take(state, tile, number)
                consumer.end(state)

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores of the similarity. Products of packed bits become negative numbers of bits that differ."""
        if self.factors.similarity == "hamming":
            scores = (scores - BYTE_BITS * self.factors.users.shape[1]) / 2
        own = self.factors if self.factors.similarity != "euclidean" else self.factors._replace(similarity="dot")
        return finish_scores(own, users, scores)
