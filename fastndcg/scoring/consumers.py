"""
What reads scores: counts of ranks, the best items, and whole rows. What gives them: `Source`.

A source gives the scores of consecutive rows in blocks. A consumer reads the blocks in parts of the work: it begins a
part, takes its blocks, and ends the part. Several threads work on parts at the same time.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.messages import Options
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import RankCounts
from fastndcg.rankings.validation import Array, count_before, mask_offsets, read_only
from fastndcg.recommenders.interactions import PADDING
from fastndcg.recommenders.item_selection import MatchedItems, take_lists
from fastndcg.recommenders.models import RankTask

LEAST_SPARE = 64  # entries of a row for items that may replace the best
NO_LISTS = read_only(np.empty(0, "i4")), read_only(np.zeros(1, "i8"))


class CandidateColumns(NamedTuple):
    """
    The columns of blocks, and which of them count in a row.

    Column c has the scores of item ``items[c]``, or of item c if `items` is None. `listed` and `offsets` have columns
    of each row: those that count if `is_shown` is True, else those that do not count. Without lists, `offsets` is [0].
    """

    items: Array | None
    n_columns: int
    listed: Array
    offsets: Array
    is_shown: bool

    def take_lists(self, first: int, stop: int) -> tuple[Array, Array, int]:
        """Return the lists of some rows as kernels take them."""
        offsets = self.offsets if len(self.offsets) == 1 else self.offsets[first : stop + 1]
        return self.listed, offsets, int(self.is_shown)

    def sort(self, item_order: Array) -> tuple[CandidateColumns, Array]:
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


def make_all_columns(n_items: int) -> CandidateColumns:
    """Return columns of all items, which all count."""
    return CandidateColumns(None, n_items, *NO_LISTS, is_shown=False)


def select_columns(matched: MatchedItems, rows: Array, n_items: int) -> CandidateColumns:
    """Return the columns of the candidates of some rows."""
    gaps = take_lists(matched.gaps, rows)
    lists = matched.candidates
    columns = make_all_columns(n_items)
    if len(lists.offsets) == 1 or lists.is_shared:
        if len(gaps.items):
            columns = columns._replace(listed=gaps.items, offsets=gaps.offsets)
        return columns._replace(items=lists.items, n_columns=len(lists.items)) if lists.is_shared else columns
    lists = take_lists(lists, rows)
    is_candidate = np.ones(len(lists.items), bool)
    is_candidate[np.repeat(lists.offsets[:-1], np.diff(gaps.offsets)) + gaps.items] = False
    offsets = mask_offsets(is_candidate, lists.offsets)
    return columns._replace(listed=read_only(lists.items[is_candidate]), offsets=read_only(offsets), is_shown=True)


class LabelledRows(NamedTuple):
    """
    The rows with labelled candidates, in rising order of users.

    Row r ranks the candidates of user ``users[r]``. It owns the entries ``offsets[r]`` up to ``offsets[r + 1]`` of
    `items` and of `places`, the columns of the items. Entry e is the entry ``order[e]`` of the task, or e if `order` is
    None.
    """

    users: Array
    items: Array
    offsets: Array
    columns: CandidateColumns
    places: Array
    order: Array | None


def read_labelled_rows(task: RankTask, n_items: int) -> LabelledRows:
    """Return the rows to count, by default those with labelled candidates: others need no scores."""
    matched = task.matched
    sizes = np.diff(matched.offsets)
    rows = np.flatnonzero(sizes) if task.rows is None else task.rows
    items = matched.liked.items[matched.is_candidate].astype("i4")
    if task.rows is not None:
        items = items[np.isin(np.repeat(np.arange(len(sizes)), sizes), rows)]
    users = task.users[rows]
    order = None
    if (np.diff(users) < 0).any():
        by_user = np.argsort(users, kind="stable")
        order = np.argsort(np.repeat(np.argsort(by_user), sizes[rows]), kind="stable")
        rows = rows[by_user]
        users = users[by_user]
        items = items[order]
    columns = select_columns(matched, rows, n_items)
    places = items if columns.items is None else np.searchsorted(columns.items, items).astype("i4")
    if task.item_order is not None:
        columns, new_places = columns.sort(task.item_order)
        places = new_places[places]
    return LabelledRows(users, items, read_only(count_before(sizes[rows])), columns, read_only(places), order)


class Consumer(ABC):
    """What reads the blocks of some rows."""

    row_bytes = 0  # of a row's result while its part is read
    has_whole_rows = False  # True if a part has all columns of its rows
    label_offsets: Array | None = None  # row r is compared with the labelled candidates of label_offsets[r] on

    @abstractmethod
    def begin(self, first: int, stop: int, scores: Any) -> Any:
        """Return the state of a part with the rows from `first` up to `stop`, whose whole scores a function gave."""

    @abstractmethod
    def take(self, state: Any, block: Any, scratch: Any) -> None:
        """Read a block of a part, as kernels/scoring/consume.py describes it."""

    @abstractmethod
    def end(self, state: Any) -> None:
        """Write the result of a part."""


class RankCounter(Consumer):
    """Counts the candidates above and at the place of each labelled candidate, whose scores are `levels`."""

    def __init__(self, rows: LabelledRows, levels: Array | None) -> None:
        self.label_offsets = rows.offsets
        self.counts = RankCounts(*np.zeros((3, len(rows.items)), "i4"))
        self._rows = rows
        self._levels = levels
        self._lock = threading.Lock()
        self._count = load_kernels("scoring.consume").count_ranks

    def begin(self, first: int, stop: int, scores: Any) -> Any:
        """Return the lists of the rows, their labelled candidates, these entries and counts."""
        rows = self._rows
        offsets = rows.offsets[first : stop + 1]
        entries = slice(int(offsets[0]), int(offsets[-1]))
        places = rows.places[entries]
        if scores is not None:
            levels = scores[np.repeat(np.arange(stop - first), np.diff(offsets)), places]
        elif self._levels is not None:
            levels = self._levels[entries]
        own = tuple(np.zeros((3, len(places)), "i4"))
        return rows.columns.take_lists(first, stop), (places, read_only(levels), offsets), entries, own

    def take(self, state: Any, block: Any, scratch: Any) -> None:
        """Add the counts of a block."""
        lists, labelled, _, own = state
        self._count(block, lists, labelled, scratch, own)

    def end(self, state: Any) -> None:
        """Add the counts of a part, which other parts of the same rows may share."""
        with self._lock:
            for total, new in zip(self.counts, state[3], strict=True):
                total[state[2]] += new

    def finish(self) -> RankCounts:
        """Return the counts in the order of the task."""
        order = self._rows.order
        if order is not None:
            for array in self.counts:
                array[order] = array.copy()
        return RankCounts(*map(read_only, self.counts))


class TopFinder(Consumer):
    """Finds the k best candidates of each row. Of equal scores, the item with the lower number is first."""

    has_whole_rows = True

    def __init__(self, n_rows: int, columns: CandidateColumns, k: int, dtype: np.dtype[Any]) -> None:
        self.k = min(k, columns.n_columns)
        self._size = self.k + max(self.k, LEAST_SPARE)
        self.row_bytes = self._size * (dtype.itemsize + 4)
        self.items = np.empty((n_rows, self.k), "i4")
        self.scores = np.empty((n_rows, self.k), dtype)
        self._columns = columns
        self._kernels = load_kernels("scoring.consume")

    def begin(self, first: int, stop: int, scores: Any) -> Any:
        """Return the rows, their lists, leaders and buffers to sort these."""
        dtype = self.scores.dtype if scores is None else scores.dtype
        shape = stop - first, self._size
        levels = np.full(shape[0], -np.inf, dtype)
        leaders = np.empty(shape, dtype), np.empty(shape, "i4"), np.zeros(shape[0], "i8"), levels
        buffers = tuple([np.empty(self._size, kind) for kind in ("i4", "i4", dtype, "i4")])
        return slice(first, stop), self._columns.take_lists(first, stop), leaders, buffers

    def take(self, state: Any, block: Any, scratch: Any) -> None:
        """Add the best items of a block."""
        _, lists, leaders, buffers = state
        self._kernels.find_top(block, lists, self.k, scratch, buffers, leaders)

    def end(self, state: Any) -> None:
        """Write the leaders in rank order."""
        rows, _, leaders, buffers = state
        self._kernels.sort_leaders(self.k, buffers, leaders)
        own_scores, own_items, counts, _ = leaders
        is_used = np.arange(self.k) < counts[:, None]
        self.items[rows] = np.where(is_used, own_items[:, : self.k], PADDING)
        self.scores[rows] = np.where(is_used, own_scores[:, : self.k], np.nan)

    def finish(self) -> tuple[Array, Array]:
        """Return the items and scores of each row in rank order: (n_rows, k), padded with -1 and NaN."""
        if self._columns.items is not None:
            self.items = np.where(self.items == PADDING, PADDING, self._columns.items[self.items])
        return self.items, self.scores


class TopAndPairs(Consumer):
    """Finds the best candidates of each row by `finder`, and reads `levels`, the scores of its labelled candidates."""

    has_whole_rows = True

    def __init__(self, finder: TopFinder, rows: LabelledRows, levels: Array | None) -> None:
        self.row_bytes = finder.row_bytes
        self.levels = np.empty(len(rows.items), finder.scores.dtype) if levels is None else levels
        self._finder = finder
        self._rows = rows
        self._is_read = levels is not None

    def begin(self, first: int, stop: int, scores: Any) -> Any:
        """Read the scores of the part, of whole rows or of a block of tensors. Return the state of the finder."""
        if not self._is_read:
            offsets = self._rows.offsets[first : stop + 1]
            own = slice(int(offsets[0]), int(offsets[-1]))
            places = np.repeat(np.arange(stop - first), np.diff(offsets))
            if isinstance(scores, np.ndarray):
                self.levels[own] = scores[places, self._rows.places[own]]
            elif len(places):
                self.levels[own] = scores.score_pairs(places, self._rows.items[own]).cpu().numpy()
        return self._finder.begin(first, stop, scores)

    def take(self, state: Any, block: Any, scratch: Any) -> None:
        """Add the best items of a block."""
        self._finder.take(state, block, scratch)

    def end(self, state: Any) -> None:
        """Write the leaders in rank order."""
        self._finder.end(state)


class RowWriter(Consumer):
    """Writes whole rows."""

    def __init__(self, n_rows: int, n_items: int, dtype: np.dtype[Any]) -> None:
        self.out = np.empty((n_rows, n_items), dtype)
        self._write = load_kernels("scoring.consume").write_rows

    def begin(self, first: int, stop: int, scores: Any) -> Any:
        """Return the rows, None if scores of a function have filled them."""
        if scores is not None:
            self.out[first:stop] = scores
        return self.out[first:stop] if scores is None else None

    def take(self, state: Any, block: Any, scratch: Any) -> None:
        """Write a block."""
        if state is not None:
            self._write(block, scratch[0], state)

    def end(self, state: Any) -> None:
        """Do nothing, as the rows are written."""


class Source(ABC):
    """What gives the scores of users for items, with the consumers that read its blocks."""

    score_dtype: np.dtype[Any]  # of whole rows and of the best items
    counter: Any = RankCounter
    top_finder: Any = TopFinder
    row_writer: Any = RowWriter

    @abstractmethod
    def give(self, consumer: Any, users: Array, columns: CandidateColumns, options: Options) -> None:
        """Give a consumer the scores of users, which rise, for columns."""

    def score_pairs(self, users: Array, items: Array) -> Array | None:
        """Return the score of each user for one item, to the bit as in blocks, None if blocks are whole rows."""
        del users, items
        return None

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores as users see them, for scores that rank items. There is one row a user."""
        del users
        return scores
