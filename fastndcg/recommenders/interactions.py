"""Match recommended items, in rank order, with the items that each user likes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.choices import DuplicateChoice, DuplicateRanks
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.exports import Exportable, PrintedTable
from fastndcg.inputs.arrays import Ragged, read_ragged
from fastndcg.inputs.duplicates import Duplicates, make_duplicates
from fastndcg.inputs.frames import is_frame
from fastndcg.inputs.ids import find_id, join_segments, run_on_spans, split_spans
from fastndcg.inputs.table import Qrels, Run, Table
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.compact import KnownHits, RankedLists
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import (
    Array,
    ReadOnly,
    as_array,
    as_labels,
    as_offsets,
    count_before,
    is_masked_array,
    mask_offsets,
    put,
    read_only,
)

PADDING = -1


class Recommended(NamedTuple):
    """Recommended items in rank order. Row u belongs to user u. `longest` is the largest row size."""

    items: Array
    offsets: Array
    longest: int


class Neighbours(NamedTuple):
    """What a vector index found: items and scores of one shape (n_queries, k). The best one of a row is its first."""

    items: Array
    scores: Array
    are_distances: bool  # lower is better

    @classmethod
    def find(cls, value: Any) -> tuple[Array, Array] | None:
        """Return items and numbers of a pair of two-dimensional arrays, or of usearch's matches. None for others."""
        counts = getattr(value, "counts", None)
        if isinstance(counts, np.ndarray) and hasattr(value, "distances"):
            is_found = np.arange(np.shape(value.distances)[-1]) < counts[:, None]
            value = np.where(is_found, np.asarray(value.keys).astype("i8"), PADDING), value.distances
        if not isinstance(value, list | tuple) or len(value) != 2:
            return None
        if not all(hasattr(array, "dtype") and getattr(array, "ndim", 0) == 2 for array in value):
            return None
        pair = sorted((as_array(array, "the pair") for array in value), key=lambda array: array.dtype.kind == "f")
        return (pair[0], pair[1]) if pair[0].dtype.kind in "iu" and pair[1].dtype.kind == "f" else None

    @classmethod
    def read(cls, value: Any, name: str) -> Neighbours | None:
        """Read what `find` recognises, and check that the scores of all rows fall, or that all rise as distances."""
        found = cls.find(value)
        if found is None:
            return None
        items, scores = found
        if items.shape != scores.shape:
            raise InvalidInputError(
                f"`{name}` must have ids and scores of one shape, (n_queries, k), but theirs are {items.shape} and "
                f"{scores.shape}. Take both from one search"
            )
        is_item = items != PADDING
        fall, row = find_direction(scores[is_item], count_before(np.count_nonzero(is_item, axis=1)))
        if fall is None:
            raise InvalidInputError(
                f"`{name}` must have the best first: scores fall in all rows, or distances rise in all, but row {row} "
                f"has {shorten(scores[row].tolist())}. Sort ids and scores of each row, or give the ids alone"
            )
        return cls(items, scores, not fall)


def find_direction(values: Array, offsets: Array) -> tuple[bool | None, int]:
    """Return True if values fall in each list, False if they rise in each, and else None and a list that differs."""
    falls, rises = values[1:] <= values[:-1], values[1:] >= values[:-1]
    between = offsets[(offsets > 0) & (offsets < len(values))] - 1  # from one list to the next
    falls[between] = rises[between] = True
    if falls.all() or rises.all():
        return bool(falls.all()), 0
    place = max(int(np.argmin(falls)), int(np.argmin(rises)))
    return None, int(np.searchsorted(offsets, place, side="right")) - 1


def drop_scores(value: Any, name: str) -> Any:
    """Return the items alone of what a vector index found, and other values as they are."""
    found = Neighbours.read(value, name)
    return value if found is None else found.items


class Recommendations:
    """
    Recommended items with options.

    Parameters
    ----------
    items : (n_users, k) int array, ragged column, pair of arrays, frame or dict
        Item ids in rank order. Rows of an array may be padded with -1, or masked. Of a pair of items and scores, or
        distances and items, as vector indexes return it, the items count. A frame or dict has users and items,
        numbered from 0, with scores or ranks, as `Run` takes them. Users that it lacks have no recommended item.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"query": "customer", "score": "weight"}``.
    duplicates : {'raise', 'first', 'best', 'sum', 'counted'}, optional
        What to do with an item that occurs in its row again. See `Run`.
    ranks : {'kept', 'closed'}, optional
        Whether a dropped item leaves its rank empty. See `Run`.
    parents : dict, Series, frame or callable, optional
        The items that the recommended ones are parts of. See `Run`.

    Examples
    --------
    >>> liked = fn.Interactions([4], offsets=[0, 1])
    >>> result = fn.evaluate(liked, fn.Recommendations([[4, 4, 1]], duplicates="first"), "p@2")
    >>> result.mean()
    {'P@2': 0.5}
    """

    __slots__ = ("duplicates", "items")

    def __init__(
        self,
        items: Any,
        *,
        columns: Mapping[str, str] | None = None,
        duplicates: DuplicateChoice | None = None,
        ranks: DuplicateRanks | None = None,
        parents: Any = None,
    ) -> None:
        if columns is not None or isinstance(items, Mapping) or is_frame(items):
            run = Run(items, columns=columns, duplicates="counted")  # an item may stand again: see `duplicates`
            order = run.order_by_score()
            rows, offsets = _order_by_user(run, None, "items")
            items = Ragged(run.documents.names()[order[rows]], offsets)
        else:
            items = drop_scores(items, "items")
        self.items = items
        self.duplicates = make_duplicates(duplicates, ranks, parents)

    @property
    def n_users(self) -> int:
        """The number of rows."""
        return len(read_item_rows(self.items).offsets) - 1

    def for_users(self, n_users: int) -> Recommendations:
        """Return the items of this many users: a table has no rows of the last ones, if they have no items."""
        n_more = n_users - self.n_users if isinstance(self.items, Ragged) else 0
        if n_more <= 0:
            return self
        longer = copy.copy(self)
        longer.items = self.items._replace(offsets=np.pad(self.items.offsets, (0, n_more), "edge"))
        return longer

    def __repr__(self) -> str:
        try:
            users = f" of {self.n_users} users"
        except InvalidInputError:  # items are checked when they are evaluated
            users = ""
        return f"Recommendations{users}" + (f": {self.duplicates}" if self.duplicates is not None else "")

    @property
    def has_ids(self) -> bool:
        """True if users or items have ids. Then the items have a method `to_run`."""
        return False


def read_item_rows(items: Any, name: str = "predictions") -> Recommended:
    """Read recommended items from an array with a row per user, or a ragged column."""
    lists = items if isinstance(items, Ragged) else read_ragged(items, name)
    if lists is not None:
        longest = int(np.diff(lists.offsets).max(initial=0))
        return Recommended(as_items(lists.values, name, 1), lists.offsets, longest)
    if is_masked_array(items):
        items = items.filled(PADDING)
    array = as_items(items, name, 2)
    n_users, n_columns = array.shape
    return Recommended(array.reshape(-1), read_only(np.arange(n_users + 1, dtype="i8") * n_columns), n_columns)


def read_unpadded_items(items: Any, name: str = "predictions") -> tuple[Array, Array]:
    """Return recommended items in rank order without padding, and the offsets of the users' rows."""
    rows = read_item_rows(items, name)
    is_item = rows.items != PADDING
    is_gap = rows.items < PADDING
    is_gap[:-1] |= ~is_item[:-1] & is_item[1:]
    ends = rows.offsets[1:-1]
    ends = ends[(ends > 0) & (ends < len(is_gap))] - 1
    is_gap[ends] = rows.items[ends] < PADDING
    if is_gap.any():
        place = int(np.argmax(is_gap))
        user = int(np.searchsorted(rows.offsets, place, side="right")) - 1
        gap = describe_gap(int(rows.items[place]), user, place - int(rows.offsets[user]))
        raise InvalidInputError(f"`{name}` must {gap}")
    return rows.items[is_item], mask_offsets(is_item, rows.offsets)


def describe_gap(item: int, user: int, place: int) -> str:
    """Return the error message for a negative item that is no padding at the end of its row."""
    remedy = "Move it to the end" if item == PADDING else f"Pad rows with {PADDING}"
    return (
        f"hold items of 0 or more, and {PADDING} behind them only, but place {place} of user {user} is {item}. {remedy}"
    )


def as_items(values: Any, name: str, ndim: int) -> Array:
    """Convert item ids to a contiguous array of int32 or int64."""
    array = as_array(values, name)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(
            f"`{name}` must hold item ids, whole numbers, but its dtype is {array.dtype}. Cast it to int, or number "
            "the items, such as by numpy.unique(items, return_inverse=True)"
        )
    if array.ndim != ndim:
        expected = "one row per user" if ndim == 2 else "one dimension"
        raise InvalidInputError(f"`{name}` must have {expected}, but its shape is {array.shape}")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise InvalidInputError(f"`{name}` must fit int64, but one is {array.max()}. Pad rows with {PADDING}")
    small = array.dtype.itemsize < 4 or array.dtype == np.int32
    return np.ascontiguousarray(array, "i4" if small else "i8")


PART = 1 << 20  # items: smaller parts spend more of the time on calls
LEAST_PART = 3 << 17  # items that are worth a thread, and parts that these are made of before others
FEW_PARTS = 16
ANY_ITEM = 2**63  # an exclusive bound of all ids
WORD = 64  # bits of a word
MAX_MARKED_ROW = 256  # items: longer rows are looked up by a hash index


class Interactions(ReadOnly, Exportable):
    """
    The items that each user likes, as whole numbers from 0, with labels.

    ``liked[user]`` is {item: label}, iteration yields users, and ``len(liked)`` counts interactions.

    Parameters
    ----------
    items : int array, ragged column, (n_users, k) int array, pair of arrays, sparse matrix, frame or dict
        The items of all users, one user after the other, with `offsets`; a row or list of items a user, padded with -1
        where it is an array; what an exact vector index found, items and scores or distances of one shape; a
        scipy.sparse matrix of users by items, whose values are labels; or a frame or dict of users, items and,
        optionally, labels, as `Qrels` takes them.
    labels : array of the same shape, optional
        How much the user likes each item. By default 1. Not for a matrix or frame.
    offsets : (n_users + 1,) int array
        User u owns items ``offsets[u]`` up to ``offsets[u + 1]``. For an array of one dimension.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"query": "customer", "label": "clicks"}``.
    n_items : int, optional
        The size of the catalogue: items are below it. By default, any item can be recommended.
    threads : int, optional
        See `evaluate`.

    Raises
    ------
    InvalidInputError
        If offsets do not fit, an item is negative or occurs twice for a user, or a label is not finite.

    Examples
    --------
    >>> liked = Interactions([4, 7, 2], offsets=[0, 2, 3])
    >>> fn.evaluate(liked, [[7, 1, -1], [3, 2, 5]], "rr").mean()
    {'RR': 0.75}
    >>> Interactions([[4, 7], [2, -1]])[0], Interactions({"user": [0, 1], "item": [4, 2], "rating": [5, 3]})[1]
    ({4: 1, 7: 1}, {2: 3})
    """

    __slots__ = ("items", "labels", "n_items", "offsets")

    items: Array
    labels: Array
    n_items: int | None
    offsets: Array

    def __init__(
        self, items: Any, labels: Any = None, offsets: Any = None, *, columns: Mapping[str, str] | None = None,
        n_items: int | None = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        is_matrix = hasattr(items, "tocsr")
        is_table = columns is not None or isinstance(items, Mapping) or is_frame(items)
        if (is_matrix or is_table) and not (labels is None and offsets is None):
            raise InvalidInputError("`labels` and `offsets` must be left out for a matrix or a frame, which have them")
        if is_matrix:
            items, labels, offsets, n_items = _read_matrix(items, threads)
        elif is_table:
            liked = convert_to_interactions(Qrels(items, columns=columns, threads=threads), None, "items")
            items, labels, offsets = liked.items, liked.labels, liked.offsets
        items = drop_scores(items, "items")
        lists = read_ragged(items, "items")
        if lists is None and offsets is None and len(np.shape(items)) == 2:
            items, offsets = read_unpadded_items(items, "items")
        if (lists is None) == (offsets is None):
            raise InvalidInputError(
                "`items` must be cut into users by `offsets`, or have a row or list for each user, and not both"
            )
        values = lists.values if lists is not None else items
        put(self, items=as_items(values, "items", 1), n_items=n_items)
        put(self, offsets=as_offsets(offsets if lists is None else lists.offsets, "offsets", len(self.items)))
        of_labels = None if labels is None else read_ragged(labels, "labels")
        put(self, labels=_convert_labels(labels if of_labels is None else of_labels.values, len(self.items)))
        self._check_labels()
        self._check(of_labels.offsets if of_labels is not None else self.offsets, threads)

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.offsets) - 1

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n_users))

    def __getitem__(self, user: int) -> dict[int, float]:
        place = find_id(range(self.n_users), user, "user", "the interactions")
        own = slice(*self.offsets[place : place + 2].tolist())
        return dict(zip(self.items[own].tolist(), self.labels[own].tolist(), strict=True))

    def _export_columns(self) -> dict[str, Array]:
        users = np.repeat(np.arange(self.n_users), np.diff(self.offsets))
        return {"user": users, "item": self.items, "label": self.labels}

    def _print_table(self) -> PrintedTable:
        return PrintedTable.of_columns(self._export_columns(), ())

    def __repr__(self) -> str:
        return f"Interactions of {self.n_users} users, {len(self.items)} items"

    def _check_restored(self) -> None:
        as_offsets(self.offsets, "offsets", len(self.items))
        _convert_labels(self.labels, len(self.items))

    def _check_labels(self) -> None:
        """Raise for labels that are not finite. Labels in int8 are always finite."""
        if self.labels.dtype.kind == "f" and not np.isfinite(self.labels).all():
            place = int(np.argmax(~np.isfinite(self.labels)))
            user = int(np.searchsorted(self.offsets, place, side="right")) - 1
            raise InvalidInputError(
                f"`labels` must be finite, but that of item {self.items[place]} of user {user} is "
                f"{self.labels[place]}. Leave the item out, or give it the label 0"
            )

    def _check(self, label_offsets: Array, threads: int | None) -> None:
        if len(label_offsets) != len(self.offsets):
            raise InvalidInputError(
                f"`labels` must have one list per user, {self.n_users}, but has {len(label_offsets) - 1}"
            )
        n_items = np.diff(self.offsets)
        n_labels = np.diff(label_offsets)
        if (n_items != n_labels).any():
            user = int(np.argmax(n_items != n_labels))
            raise InvalidInputError(
                f"`labels` and `items` must have lists of the same lengths, but user {user} has {n_items[user]} items "
                f"and {n_labels[user]} labels"
            )
        if are_rising(self.items, self.offsets, threads):
            return  # a matrix has rising items
        if (self.items < 0).any():
            place = int(np.argmax(self.items < 0))
            raise InvalidInputError(f"`items` must be 0 or more, but items[{place}] is {self.items[place]}")
        users = np.repeat(np.arange(self.n_users), np.diff(self.offsets))
        items = self.items.copy()  # NumPy must not sort an array that another thread overwrites
        order = np.lexsort((items, users))
        again = (np.diff(users[order]) == 0) & (np.diff(items[order]) == 0)
        if again.any():
            place = int(order[np.argmax(again) + 1])
            raise InvalidInputError(
                f"`items` must have each item of a user once, but item {items[place]} of user {users[place]} "
                "stands twice. Keep one of them"
            )


def convert_to_interactions(qrels: Qrels, n_users: int | None, name: str = "truth") -> Interactions:
    """Convert judgments to the items that users like, of whom user u is row u of the predictions."""
    rows, offsets = _order_by_user(qrels, n_users, name)
    return Interactions(qrels.documents.names()[rows], qrels.values[rows], offsets)


def _order_by_user(table: Table, n_users: int | None, name: str) -> tuple[Array, Array]:
    """Return the rows of a table by the numbers of users, and the offsets of all users from 0."""
    users, items = table.queries, table.documents
    texts = next((ids for ids in (users, items) if len(ids) and ids.are_texts), None)
    if texts is not None:
        remedy = (
            "where `predictions` is an array, but has {}. Number them, or give recommendations as a frame with scores"
            if name == "truth" else "here, but has {}. Number them, or take fn.Qrels and fn.Run for ids"
        )  # fmt: skip
        raise InvalidTypeError(
            f"`{name}` must have whole numbers for users and items {remedy.format(shorten(texts.name(0)))}"
        )
    numbers = users.numbers()
    n_users = int(numbers.max(initial=-1)) + 1 if n_users is None else n_users
    wrong = np.flatnonzero((numbers < 0) | (numbers >= n_users))
    if len(wrong):
        rule = f"to {n_users - 1}, as `predictions` has one row per user" if name == "truth" else "up"
        raise InvalidInputError(f"`{name}` must have users from 0 {rule}, but one is {users.name(int(wrong[0]))}")
    order = np.argsort(numbers)
    sizes = np.zeros(n_users, "i8")
    sizes[numbers] = np.diff(table.offsets)
    return join_segments(table.offsets[order], sizes[numbers[order]])[1], count_before(sizes)


def _read_matrix(matrix: Any, threads: int | None) -> tuple[Array, Array, Array, int]:
    """Return the items of a matrix of users by items, their labels and offsets, and the number of all items."""
    rows = checked_matrix(matrix).tocsr()
    offsets = as_offsets(rows.indptr, "indptr", len(rows.indices))
    if not are_rising(as_items(rows.indices, "indices", 1), offsets, threads):
        rows.sum_duplicates()  # as in scipy, labels of equal items of a user add up
        offsets = rows.indptr
    return rows.indices, rows.data, offsets, rows.shape[1]


def checked_matrix(matrix: Any) -> Any:
    """
    Return a copy of a sparse matrix whose index arrays fit its shape.

    The machine code of scipy follows index arrays unchecked, and another thread may overwrite those of the caller.
    """
    if getattr(matrix, "format", "") not in ("coo", "csr", "csc", "bsr"):  # others have no index arrays
        return matrix
    try:
        copied = matrix.copy()  # which checks the coordinates of coo, and the lengths of other arrays
        if hasattr(copied, "check_format"):
            if (np.diff(copied.indptr) < 0).any():
                raise ValueError("index pointers must not decrease")
            copied.check_format(full_check=True)
    except ValueError as error:
        raise InvalidInputError(
            f"a sparse matrix must be valid, but this is not: {error}. Build it from its entries"
        ) from None
    return copied


def read_classes(labels: Any, scores: Any) -> Interactions | None:
    """
    Return the class of each row as its only relevant item, if the scores are a matrix of rows by classes.

    A matrix of labels beside what a vector index found has the items of each row.
    """
    if getattr(labels, "ndim", 0) == 2 and Neighbours.find(scores) is not None:
        return Interactions(labels)
    shape = getattr(scores, "shape", None)
    if shape is None and isinstance(scores, list | tuple) and scores and isinstance(scores[0], list | tuple):
        shape = len(scores), len(scores[0])
    if shape is None or len(shape) != 2 or shape[1] < 2 or hasattr(scores, "tocsr"):
        return None
    if isinstance(labels, list | tuple) and not isinstance(labels[0] if labels else None, int | np.integer):
        return None
    classes = as_array(labels, "labels")
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.ndim != 1 or classes.dtype.kind not in "iu" or len(classes) != shape[0]:
        return None
    if as_array(scores, "scores").dtype.kind in "iu":  # ids that a search found, rather than scores
        return None
    wrong = (classes < 0) | (classes >= shape[1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(
            f"`truth` must number classes from 0 to {shape[1] - 1}, the columns of `predictions`, but that of row "
            f"{row} is {classes[row]}. Number them in the order of the columns, or cut labels of documents by `offsets`"
        )
    return Interactions(classes, offsets=np.arange(len(classes) + 1), n_items=int(shape[1]))


class RankingPartitions(NamedTuple):
    """Rankings that are made in parts, as all of them would take more memory than their inputs."""

    spans: list[tuple[int, int]]
    n_queries: int
    new_builder: Callable[[], Callable[[int, int], Rankings]]  # the inner function takes the first query and the stop
    query_ids: Array | None
    notes: Callable[[], list[str]]  # notes of the result, after all parts were made
    finish_scores: Callable[[int, Array], Array] | None = None  # from a query and its scores, those that users see
    n_missing: tuple[int, int] = (0, 0)  # numbers of queries that only the truth, or only the predictions, have

    def whole(self) -> Rankings:
        """Make all rankings at once, with all their arrays."""
        return self.select(0, self.n_queries)

    def select(self, first: int, stop: int) -> Rankings:
        """Make the rankings of users `first` to `stop` - 1, with all their arrays."""
        ranked = self.new_builder()(first, stop)
        ids = ranked.query_ids if self.query_ids is None else self.query_ids[first:stop]
        return ranked.replace(tie_keys=np.arange(ranked.n_documents), query_ids=ids)  # any keys do: lists have no ties


def match_recommendations(liked: Interactions, recommended: Any, *, once: bool = False) -> RankingPartitions:
    """Make rankings of the recommended items, user by user, in parts. With `once`, the first of equal items counts."""
    rows = read_item_rows(recommended)
    if len(rows.offsets) != len(liked.offsets):
        raise InvalidInputError(
            f"`predictions` must have one row per user, {liked.n_users}, but has {len(rows.offsets) - 1}"
        )
    wide = rows.items.dtype.itemsize == 8 or liked.items.dtype.itemsize == 8
    dtype = "i8" if wide else "i4"
    items = read_only(rows.items.astype(dtype, copy=False))
    liked_items = read_only(liked.items.astype(dtype, copy=False))
    repeats: list[int] = []
    lock = threading.Lock()

    def new_builder() -> Callable[[int, int], Rankings]:
        builder = _Builder(liked, rows._replace(items=items), liked_items, once)

        def make(first: int, stop: int) -> Rankings:
            rankings, n_repeats = builder.build(first, stop)
            with lock:
                repeats.append(n_repeats)
            return rankings

        return make

    def notes() -> list[str]:
        total = sum(repeats)
        return [Duplicates("first", "kept").note(total)] if total else []

    size = min(max(len(items) // FEW_PARTS, LEAST_PART), PART)
    return RankingPartitions(split_spans(rows.offsets, size), liked.n_users, new_builder, None, notes)


class _Builder:
    """Builds rankings of consecutive users, part after part in the same buffers."""

    def __init__(self, liked: Interactions, recommended: Recommended, liked_items: Array, once: bool) -> None:
        self._liked = liked
        self._recommended = recommended
        self._liked_items = liked_items
        self._once = once
        self._above = np.empty(0, "i4")
        self._labels = np.empty(0, liked.labels.dtype)
        self._scratch = np.zeros(-(-recommended.longest // WORD), "u8"), np.empty(recommended.longest, "i8")
        self._marks = np.empty(0, "u1")

    def build(self, first: int, stop: int) -> tuple[Rankings, int]:
        """Return the rankings of some users, and the number of items that are in their row again."""
        liked = self._liked
        n_users = stop - first
        bounds = liked.offsets[first : stop + 1]
        pool = (liked.labels[bounds[0] : bounds[-1]], read_only(bounds - bounds[0]))
        if len(self._above) < len(pool[0]):
            self._above = np.empty(len(pool[0]), "i4")
            self._labels = np.empty(len(pool[0]), liked.labels.dtype)
        hit_offsets = np.empty(n_users + 1, "i8")
        offsets = np.empty(n_users + 1, "i8")
        problem = np.zeros(4, "i8")
        self._find(first, stop, self._above, self._labels, hit_offsets, offsets, problem)
        if problem[0]:
            self._refuse(*problem[:3].tolist())
        n = hit_offsets.item(-1)
        known_hits = KnownHits(*map(read_only, (self._above[:n], self._labels[:n], hit_offsets)))
        ranked = RankedLists(known_hits, read_only(offsets), pool, np.arange(first, stop))
        rows = self._recommended
        ranked.item_arrays = (rows.items, rows.offsets[first:stop], self._liked_items[bounds[0] : bounds[-1]])
        return ranked, problem.item(3)

    def _find(self, first: int, stop: int, *out: Array) -> None:
        """Find the liked items in the rows of some users: by marks in short rows, else by a hash index."""
        liked = self._liked
        rows = self._recommended
        arrays = (rows.items, rows.offsets), (self._liked_items, liked.labels, liked.offsets)
        n_items = np.uint64(ANY_ITEM if liked.n_items is None else liked.n_items)
        users = (self._once, first, stop)
        kernels = load_kernels("inputs.items")
        if rows.longest > MAX_MARKED_ROW:
            kernels.find_items(*arrays, n_items, *users, self._scratch, out)
            return
        if not len(self._marks):
            self._marks = np.empty(kernels.N_MARKS, "u1")
        kernels.find_items_by_mark(*arrays, n_items, *users, self._marks, self._scratch, out)

    def _refuse(self, kind: int, user: int, place: int) -> NoReturn:
        kernels = load_kernels("inputs.items")
        item = self._recommended.items[self._recommended.offsets[user] + place]
        rules = {
            kernels.REPEATED: f"have each item once in a row, but item {item} stands again in place {place} of user "
            f"{user}. Drop it, or take duplicates='first'",
            kernels.GAP: describe_gap(item, user, place),
            kernels.UNKNOWN: f"hold items that the matrix has a column for, 0 to {(self._liked.n_items or 0) - 1}, "
            f"but place {place} of user {user} is {item}",
        }
        raise InvalidInputError(f"`predictions` must {rules[kind]}")


def are_rising(items: Array, offsets: Array, threads: int | None) -> bool:
    """Return True if each user's items are 0 or more and rise."""
    kernels = load_kernels("inputs.items")
    checked = read_only(items)
    found: list[bool] = []
    run_on_spans(
        offsets, lambda first, stop: found.append(kernels.are_rising(checked, offsets, first, stop)), threads, PART
    )
    return all(found)


def _convert_labels(labels: Any, n: int) -> Array:
    """Convert labels to int8 if it holds them all, else to float64."""
    if labels is None:
        return read_only(np.ones(n, "i1"))
    numbers = as_labels(labels, "labels")
    if len(numbers) != n:
        raise InvalidInputError(f"`labels` must have length {n} (one per item), got {len(numbers)}")
    with np.errstate(invalid="ignore"):
        small = numbers.astype("i1", copy=False)
    return read_only(small if (small == numbers).all() else numbers.astype("f8", copy=False))
