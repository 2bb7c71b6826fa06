"""Scores from vectors in memory or in files, in tiles: operands of some users and some items in a worker's buffers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from itertools import product as combine
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.messages import Options
from fastndcg.inputs.streams import parse_memory
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_stopped, check_threads, run_all
from fastndcg.scoring.consumers import CandidateColumns, Consumer, Source

MEMORY = 1 << 26  # bytes of the buffers of all workers
MOST_ITEMS = 2048  # of a tile, whose scores then stay in the processor's second cache. CHUNK of the kernels
LEAST_ITEMS = 64
ROW_PANELS = 4  # panels of users in a tile
MOST_TERMS = 15 << 30  # of one kernel call, some 0.3 s: Ctrl-C is handled between calls
LABEL_TERMS = 3  # that take as long as comparing a score with a label's
TILES_OF_PART = 16  # other users are packed again for each part, which takes 0.2 % of its time
PARTS_OF_THREAD = 8  # at least, if there are so many tiles: threads then end at about the same time
MOST_PAIR_BYTES = 1 << 22  # of operands of single pairs
LEAST_SLICE = 96  # rows that are copied to an operand at once, a multiple of the rows of a panel
LINE = 64  # bytes of a line of the processor's cache, and of its longest vectors
EXACT = {4: 1 << 24, 8: 1 << 53}  # whole numbers up to these are exact in a float of this number of bytes
OPERANDS = {"float16": "f4", "bfloat16": "f4", "float32": "f4", "float64": "f8", "int8": "f8", "uint8": "f8"}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}  # of whole numbers

Part = tuple[tuple[int, int], tuple[int, int]]  # rows from the first up to a stop, and columns
Work = TypeVar("Work")


class Factors(NamedTuple):
    """The vectors and biases of embeddings. `users` and `items` have the dtypes that the user gave."""

    users: Array
    items: Array
    similarity: str
    user_biases: Array | None
    item_biases: Array | None


class Operands:
    """
    Copies of vectors of floats that kernels multiply: for the dot product, cosine and euclidean distance.

    The bias of an item is one more column, whose number is 1 for all users. A euclidean score is the negative squared
    distance, which ranks items like the negative distance. See kernels/scoring/product.py. Operands of torch are
    tensors in place of arrays.
    """

    def __init__(self, factors: Factors, *, has_roots: bool = False) -> None:
        self._factors = factors
        self.score_dtype: np.dtype[Any] = find_float_dtype(factors, has_roots=has_roots)
        self.operand_dtype = self.score_dtype  # or uint64 for packed bits
        self.is_distance = True if factors.similarity == "euclidean" else None  # as kernels take it
        self._has_bias = factors.item_biases is not None
        self.n_columns = int(factors.users.shape[1]) + self._has_bias

    def take_users(self, users: Any, out: Any) -> None:
        """Write the rows of some users to the first rows of an operand."""
        rows = self._take(self._factors.users[users], out)
        if self._has_bias:
            rows[:, -1] = 1

    def take_items(self, items: Any, out: Any) -> None:
        """Write the rows of some items to the first rows of an operand."""
        rows = self._take(self._factors.items[items], out)
        if self._factors.item_biases is not None:
            rows[:, -1] = self._factors.item_biases[items]

    def _take(self, values: Any, out: Any) -> Any:
        """Copy vectors to the first rows of an operand, scaled to length 1 for cosine. Return these rows."""
        rows = out[: len(values)]
        own = rows[:, : values.shape[1]]
        own[:] = values
        if self._factors.similarity == "cosine":
            with np.errstate(all="ignore"):  # of vectors that another thread overwrites meanwhile
                own /= np.sqrt(compute_squares(own))[:, None].astype(own.dtype)
        return rows


class BitOperands(Operands):
    """Operands for the Hamming distance of packed bits: the score is the negative number of bits that differ."""

    def __init__(self, factors: Factors) -> None:
        super().__init__(factors)
        self.operand_dtype = np.dtype("u8")
        self.n_columns = -(-int(factors.users.shape[1]) // 8)

    def _take(self, values: Any, out: Any) -> Any:
        """Copy packed bits to the first rows of an operand, padded with 0."""
        words = out[: len(values)].view("u1")
        words[:, : values.shape[1]] = values
        words[:, values.shape[1] :] = 0
        return words


def finish_scores(factors: Factors, users: Array, scores: Array) -> Array:
    """Return scores of the similarity, with the biases of users, for those that rank items. There is one row a user."""
    if factors.similarity == "euclidean":
        scores = -np.sqrt(np.maximum(-scores, 0))
    if factors.user_biases is not None:
        scores = (scores + factors.user_biases[users][:, None]).astype(scores.dtype)
    return scores


def compute_squares(vectors: Array) -> Array:
    """
    Return the squared length of each vector in float64.

    A kernel adds in the order of the columns: sums of NumPy depend on the number of rows.
    """
    rows = read_only(np.ascontiguousarray(vectors, "f8" if vectors.dtype == np.float64 else "f4"))
    squares = np.empty(len(rows))
    load_kernels("scoring.product").sum_squares(rows, squares)
    return squares


def name_dtype(vectors: Any) -> str:
    """Return the name of the dtype of an array or a tensor."""
    return getattr(vectors.dtype, "name", None) or str(vectors.dtype).removeprefix("torch.")


def find_float_dtype(factors: Factors, *, has_roots: bool = False) -> np.dtype[Any]:
    """
    Return the dtype of scores: float64 for vectors of float64, and for whole numbers whose sums float32 would round.

    `has_roots` is True if items are ranked by the roots of squared distances, which float32 rounds to equal numbers.
    """
    names = name_dtype(factors.users), name_dtype(factors.items)
    if factors.similarity == "hamming":
        return np.dtype("f4" if 8 * factors.users.shape[1] <= EXACT[4] else "f8")
    if all(name in LIMITS for name in names) and factors.item_biases is None:
        is_rounded = find_largest_sum(factors, names) > EXACT[4] or (has_roots and factors.similarity == "euclidean")
        return np.dtype("f8" if is_rounded else "f4")
    is_cosine = factors.similarity == "cosine"
    return np.dtype(max("f4" if is_cosine and name in LIMITS else OPERANDS[name] for name in names))  # f8 if one is


def find_largest_sum(factors: Factors, names: tuple[str, str]) -> int:
    """Return a bound of the magnitude of sums of whole numbers. Cosines are no sums."""
    (lowest_user, highest_user), (lowest_item, highest_item) = (LIMITS[name] for name in names)
    n_columns = int(factors.users.shape[1])
    if factors.similarity == "euclidean":
        return n_columns * max(highest_user - lowest_item, highest_item - lowest_user) ** 2
    if factors.similarity == "cosine":
        return 0
    return n_columns * max(-lowest_user, highest_user) * max(-lowest_item, highest_item)


@contextlib.contextmanager
def follow(
    parts: Sequence[Work], n_users: int, options: Options
) -> Iterator[tuple[Iterable[Work], Callable[[], None]]]:
    """
    Yield parts, which a bar counts when they are taken, and a function to call when one has ended.

    It tells the user's function the number of users that are done. Any thread may call it.
    """
    n_done = count(1)
    lock = threading.Lock()

    def end_part() -> None:
        if options.progress is not None:
            with lock:
                options.progress(n_users * next(n_done) // len(parts), n_users)

    with track(parts, "scoring users", len(parts)) as tracked:
        yield tracked, end_part


def iterate(parts: Sequence[Work], n_users: int, options: Options) -> Iterator[Work]:
    """Yield parts with progress. Each has ended when the next one is taken."""
    with follow(parts, n_users, options) as (tracked, end_part):
        for part in tracked:
            yield part
            end_part()


def read_memory(options: Options) -> int:
    """Return the number of bytes for buffers."""
    return MEMORY if options.memory is None else parse_memory(options.memory)


def cut(n: int, size: int) -> list[tuple[int, int]]:
    """Return spans of at most `size` of n rows or columns."""
    return [(first, min(first + size, n)) for first in range(0, n, max(size, 1))]


def make_aligned(n: int, dtype: np.dtype[Any]) -> Array:
    """Return zeros that begin at a multiple of LINE bytes."""
    buffer = np.zeros(n * dtype.itemsize + LINE, "u1")
    start = -buffer.ctypes.data % LINE
    return buffer[start : start + n * dtype.itemsize].view(dtype)


class VectorSource(Source):
    """Gives the scores of vectors, by the kernels' product."""

    def __init__(self, factors: Factors) -> None:
        self.factors = factors
        self._operands = (BitOperands if factors.similarity == "hamming" else Operands)(factors)
        self.score_dtype = self._operands.score_dtype

    def give(self, consumer: Consumer, users: Array, columns: CandidateColumns, options: Options) -> None:
        """Give a consumer the scores of users, which rise, for columns."""
        tiling = Tiling(self._operands, users, columns, options, consumer)

        def make_worker() -> Callable[[Part], None]:
            worker = TileWorker(tiling)

            def work(part: Part) -> None:
                (first, stop), (start, end) = part
                worker.load_users(first, stop)
                state = consumer.begin(first, stop, None)
                for column in range(start, end, tiling.n_tile_columns):
                    check_stopped()
                    block = worker.load_items(column, min(column + tiling.n_tile_columns, end))
                    consumer.take(state, block, worker.scratch)
                consumer.end(state)
                end_part()

            return work

        parts = tiling.list_parts()
        with follow(parts, len(users), options) as (tracked, end_part):
            run_all(tracked, make_worker, min(tiling.threads, max(len(parts), 1)))

    def score_pairs(self, users: Array, items: Array) -> Array:
        """Return the score of each user for one item, to the bit as in tiles."""
        operands = self._operands
        out: Any = np.empty(len(users), operands.score_dtype)
        kernel = load_kernels("scoring.product").score_pairs
        dtype = operands.operand_dtype
        zero = 0.0 if dtype.kind == "f" else 0
        n_rows = max(min(len(users), MOST_ITEMS, MOST_PAIR_BYTES // (operands.n_columns * dtype.itemsize)), 1)
        user_rows = np.empty((n_rows, operands.n_columns), dtype)
        item_rows = np.empty((n_rows, operands.n_columns), dtype)
        for start in range(0, len(users), n_rows):
            span = slice(start, start + n_rows)
            operands.take_users(users[span], user_rows)
            operands.take_items(items[span], item_rows)
            kernel(user_rows, item_rows, zero, len(users[span]), operands.is_distance, out[span])
        return np.asarray(out)

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores of the similarity for those that rank items: distances for their squares, user biases added."""
        return finish_scores(self.factors, users, scores)


class Tiling:
    """Tiles of the scores of some users for some columns, within a number of bytes, which changes no score."""

    def __init__(
        self, operands: Operands, users: Array, columns: CandidateColumns, options: Options, consumer: Consumer
    ) -> None:
        self.operands = operands
        self.users = users
        self.columns = columns
        self.threads = check_threads(options.threads)
        self._consumer = consumer
        self._fit(read_memory(options), is_default=options.memory is None)

    def _fit(self, memory: int, *, is_default: bool) -> None:
        """
        Set the largest number of rows and of columns of a tile. The default memory grows to the least that works.

        An eighth of a worker's share is for the columns of a tile, which it has twice: as operand and packed. The rest
        is for rows, packed and on their way there, with their results. The least has a few panels of rows.
        """
        column_bytes = self.operands.n_columns * self.operands.operand_dtype.itemsize
        panel = load_kernels("scoring.panels").USER_PANEL
        row_bytes = 2 * column_bytes + self._consumer.row_bytes
        least = 2 * LEAST_ITEMS * column_bytes + ROW_PANELS * panel * row_bytes
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
        n_rows = (share - 2 * self.n_tile_columns * column_bytes) // row_bytes
        n_rows = min(n_rows, max(len(self.users), 1))
        while n_rows > panel and self._count_terms(n_rows) > MOST_TERMS:
            n_rows = -(-n_rows // 2)
        n_tiles = -(-self.columns.n_columns // self.n_tile_columns)
        self._n_part_tiles = min(max(n_tiles // (PARTS_OF_THREAD * self.threads), 1), TILES_OF_PART)
        if self._consumer.has_whole_rows or n_tiles < 2 * self.threads:  # else threads share items: each packs some
            n_rows = min(n_rows, -(-len(self.users) // self.threads))
        self.n_rows = max(-(-n_rows // panel) * panel, panel)

    def _count_terms(self, n_rows: int) -> int:
        """Return the number of terms of the largest tile with a number of rows."""
        offsets = self._consumer.label_offsets
        n_labels = 0 if offsets is None else int((offsets[n_rows:] - offsets[: len(offsets) - n_rows]).max(initial=0))
        return self.n_tile_columns * (n_rows * self.operands.n_columns + LABEL_TERMS * n_labels)

    def list_parts(self) -> list[Part]:
        """Return the parts of the work. Parts of the same items follow each other, which reads a file once for all."""
        n_columns = self.columns.n_columns
        width = n_columns if self._consumer.has_whole_rows else self.n_tile_columns * self._n_part_tiles
        return [(rows, columns) for columns, rows in combine(cut(n_columns, width), cut(len(self.users), self.n_rows))]


class TileWorker:
    """The buffers of one thread: packed operands, and a tile."""

    def __init__(self, tiling: Tiling) -> None:
        panels = load_kernels("scoring.panels")
        operands = tiling.operands
        self._tiling = tiling
        self._pack = load_kernels("scoring.product").pack
        self._user_panel = panels.USER_PANEL
        self._item_panel = panels.ITEM_PANEL_BYTES // operands.operand_dtype.itemsize
        dtype = operands.operand_dtype
        n_rows = max(LEAST_SLICE, tiling.n_tile_columns)  # rows on their way to a panel: users in slices
        self._operand = np.empty((n_rows, operands.n_columns), dtype)
        self._operand_rows = n_rows // self._user_panel * self._user_panel
        self._users = np.zeros(tiling.n_rows * operands.n_columns, dtype)
        self._items = make_aligned((tiling.n_tile_columns + LEAST_ITEMS) * operands.n_columns, dtype)
        self._no_scores = np.empty((0, 0), operands.score_dtype)
        tile = make_aligned(ROW_PANELS * self._user_panel * tiling.n_tile_columns, operands.score_dtype)
        self.scratch = tile, np.zeros(tiling.n_tile_columns, operands.score_dtype)
        self._span = (0, 0)

    def load_users(self, first: int, stop: int) -> None:
        """Pack the users of some rows, unless they are packed."""
        if self._span == (first, stop):
            return
        self._span = (first, stop)
        n_columns = self._operand.shape[1]
        for start in range(first, stop, self._operand_rows):
            end = min(start + self._operand_rows, stop)
            self._tiling.operands.take_users(self._tiling.users[start:end], self._operand)
            place = (start - first) * n_columns
            self._pack(self._operand, end - start, self._user_panel, self._users[place:])

    def load_items(self, first: int, stop: int) -> tuple[Any, ...]:
        """Pack the items of some columns, and return the block of them and the users as kernels take it."""
        items = self._tiling.columns.items
        operands = self._tiling.operands
        operands.take_items(slice(first, stop) if items is None else items[first:stop], self._operand)
        self._pack(self._operand, stop - first, self._item_panel, self._items)
        n_rows = self._span[1] - self._span[0]
        sizes = n_rows, stop - first, first, operands.n_columns
        return self._users, self._items, self._no_scores, *sizes, operands.is_distance
