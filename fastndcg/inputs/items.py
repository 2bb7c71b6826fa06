"""Recommendations: recommended item ids in rank order, against the items that each user likes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.casts import frozen
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.columns import Column
from fastndcg.inputs.grouping import spans
from fastndcg.inputs.item_lists import Recommended, gap_of, recommended_of, whole_numbers
from fastndcg.inputs.ragged import ragged_of
from fastndcg.ranked import Found, Ranked
from fastndcg.rankings import Array, Rankings, as_labels, as_offsets, read_only
from fastndcg.threads import checked_threads, run_all

PART = 1 << 20  # items: for fewer, calls take a share of the time that their work takes
LEAST_PART, FEW_PARTS = 3 << 17, 16  # items that are worth a thread, and parts that these are made of before others
SHORT_ROW = 256  # items that are sooner searched than put in a hash table
ANY_ITEM = 2**63  # more than any id
WORD = 64  # places that a word of bits has


class Interactions:
    """
    The items that each user likes, as whole numbers from 0, with labels.

    Parameters
    ----------
    items : (n_interactions,) int array, or ragged column
        Items of one user after those of another.
    labels : array of the same shape, optional
        How much the user likes them; by default 1.
    offsets : (n_users + 1,) int array
        User u owns items ``offsets[u]`` up to ``offsets[u + 1]``; not for a ragged column.
    n_items : int, optional
        How many items there are, so that no other can be recommended; by default any.
    threads : int, optional
        See `evaluate`.

    Examples
    --------
    >>> liked = Interactions([4, 7, 2], offsets=[0, 2, 3])
    >>> fn.evaluate(liked, [[7, 1, -1], [3, 2, 5]], "rr").mean()
    {'RR': 0.75}
    """

    __slots__ = ("items", "labels", "n_items", "offsets")

    def __init__(
        self, items: Any, labels: Any = None, offsets: Any = None, *, n_items: int | None = None,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        lists = ragged_of(items, "items")
        if (lists is None) == (offsets is None):
            raise InvalidInputError("`items` must be cut into users by `offsets`, or be a ragged column, and not both")
        values = lists.values if lists is not None else items
        self.items = whole_numbers(values, "items", 1)
        self.offsets = as_offsets(offsets if lists is None else lists.offsets, "offsets", len(self.items))
        of_labels = None if labels is None else ragged_of(labels, "labels")
        self.labels = _labels(labels if of_labels is None else of_labels.values, len(self.items), threads)
        self.n_items = n_items
        self._check_labels()
        self._check(of_labels.offsets if of_labels is not None else self.offsets, threads)

    @classmethod
    def of_matrix(cls, matrix: Any, threads: int | None = None) -> Interactions:
        """From a scipy.sparse matrix of users by items, whose values are labels."""
        rows = matrix.tocsr()
        if not rows.has_canonical_format:  # items twice in a row add up, as scipy has it
            rows = rows.copy()
            rows.sum_duplicates()
        return cls(rows.indices, rows.data, rows.indptr, n_items=rows.shape[1], threads=threads)

    @classmethod
    def of_rows(cls, users: Column, items: Column, labels: Array, n_users: int) -> Interactions:
        """From one row for each item that a user likes, in any order; user u is row u of what is recommended."""
        if users.are_texts or items.are_texts:
            what = users if users.are_texts else items
            raise InvalidTypeError(
                f"`truth` must have whole numbers for users and items where `predictions` is an array, but has "
                f"{what.name(0)!r}; number them, or give recommendations as a frame with scores"
            )
        numbers = users.numbers()
        wrong = np.flatnonzero((numbers < 0) | (numbers >= n_users))
        if len(wrong):
            raise InvalidInputError(
                f"`truth` must have users from 0 to {n_users - 1}, as `predictions` has one row a user, "
                f"but one is {users.name(int(wrong[0]))}"
            )
        order = np.argsort(numbers, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n_users))])
        return cls(items.names()[order], labels[order], offsets)

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Interactions of {self.n_users} users, {len(self.items)} items"

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in frozen(state[1]).items():
            setattr(self, name, value)

    def _check_labels(self) -> None:
        """Refuse labels that are no numbers: they are float64, which labels that fit int8 are not."""
        if self.labels.dtype.kind == "f" and not np.isfinite(self.labels).all():
            place = int(np.argmax(~np.isfinite(self.labels)))
            user = int(np.searchsorted(self.offsets, place, side="right")) - 1
            raise InvalidInputError(
                f"`labels` must be finite, but that of item {self.items[place]} of user {user} is "
                f"{self.labels[place]}; leave the item out, or give it the label 0"
            )

    def _check(self, label_offsets: Array, threads: int | None) -> None:
        if not np.array_equal(label_offsets, self.offsets):
            raise InvalidInputError("`labels` must have as many numbers as `items` in each list, but have not")
        from fastndcg.kernels.recommended import are_rising

        parts = spans(self.offsets, PART)
        if _holds_of_all(parts, lambda first, stop: are_rising(self.items, self.offsets, first, stop), threads):
            return  # as in a matrix
        if (self.items < 0).any():
            place = int(np.argmax(self.items < 0))
            raise InvalidInputError(f"`items` must be 0 or more, but items[{place}] is {self.items[place]}")
        users = np.repeat(np.arange(self.n_users), np.diff(self.offsets))
        order = np.lexsort((self.items, users))
        again = (np.diff(users[order]) == 0) & (np.diff(self.items[order]) == 0)
        if again.any():
            place = int(order[np.argmax(again) + 1])
            raise InvalidInputError(
                f"`items` must have each item of a user once, but item {self.items[place]} of user {users[place]} "
                "stands twice; keep one of them"
            )


class Parts(NamedTuple):
    """Rankings that are made part by part, since all at once they would take more memory than what they are made of."""

    spans: list[tuple[int, int]]
    n_queries: int
    make_maker: Callable[[], Callable[[int, int], Rankings]]  # one for each thread: of queries from the first to a stop
    query_ids: Array | None
    notes: Callable[[], list[str]]  # what the result has to say, when all are made

    def whole(self) -> Rankings:
        """All rankings at once, with all their arrays."""
        return self.make_maker()(0, self.n_queries).replace()


def recommended_parts(liked: Interactions, recommended: Any, *, once: bool = False) -> Parts:
    """Rankings of the recommended items, user by user."""
    given = recommended_of(recommended)
    if len(given.offsets) != len(liked.offsets):
        raise InvalidInputError(
            f"`predictions` must have one row a user, {liked.n_users}, but have {len(given.offsets) - 1}"
        )
    wide = given.items.dtype.itemsize == 8 or liked.items.dtype.itemsize == 8
    items, truth = (read_only(array.astype("i8" if wide else "i4", copy=False)) for array in (given.items, liked.items))
    repeats: list[int] = []
    lock = threading.Lock()

    def make_maker() -> Callable[[int, int], Rankings]:
        maker = _Maker(liked, given._replace(items=items), truth, once)

        def make(first: int, stop: int) -> Rankings:
            rankings, n_repeats = maker.make(first, stop)
            with lock:
                repeats.append(n_repeats)
            return rankings

        return make

    def notes() -> list[str]:
        total = sum(repeats)
        return [f"items that stood in their list before, counted once: {total}"] if total else []

    size = min(max(len(items) // FEW_PARTS, LEAST_PART), PART)
    return Parts(spans(given.offsets, size), liked.n_users, make_maker, None, notes)


class _Maker:
    """Makes rankings of consecutive users, one part after the other in the same memory."""

    def __init__(self, liked: Interactions, given: Recommended, truth: Array, once: bool) -> None:
        self._liked, self._given, self._truth, self._once = liked, given, truth, once
        self._above, self._labels = np.empty(0, "i4"), np.empty(0, liked.labels.dtype)
        self._room = np.zeros(-(-given.longest // WORD), "u8"), np.empty(given.longest, "i8")
        self._marks = np.empty(0, "u1")

    def make(self, first: int, stop: int) -> tuple[Rankings, int]:
        liked, n_users = self._liked, stop - first
        bounds = liked.offsets[first : stop + 1]
        pool = (liked.labels[bounds[0] : bounds[-1]], read_only(bounds - bounds[0]))
        if len(self._above) < len(pool[0]):
            self._above, self._labels = np.empty(len(pool[0]), "i4"), np.empty(len(pool[0]), liked.labels.dtype)
        found_offsets, offsets, problem = np.empty(n_users + 1, "i8"), np.empty(n_users + 1, "i8"), np.zeros(4, "i8")
        self._find(first, stop, self._above, self._labels, found_offsets, offsets, problem)
        if problem[0]:
            self._refuse(*problem[:3].tolist())
        n = found_offsets.item(-1)
        found = Found(*map(read_only, (self._above[:n], self._labels[:n], found_offsets)))
        return Ranked(found, read_only(offsets), pool, np.arange(first, stop)), problem.item(3)

    def _find(self, first: int, stop: int, *out: Array) -> None:
        """Find what users like: by marks if rows are short, else by hashing."""
        from fastndcg.kernels import recommended as kernels

        liked, given = self._liked, self._given
        arrays = given.items, given.offsets, self._truth, liked.labels, liked.offsets
        which = np.uint64(ANY_ITEM if liked.n_items is None else liked.n_items), self._once, first, stop
        if given.longest <= SHORT_ROW:
            if not len(self._marks):
                self._marks = np.empty(kernels.N_MARKS, "u1")
            kernels.find_by_mark(*arrays, *which, self._marks, *self._room, *out)
        else:
            kernels.find_by_hash(*arrays, *which, *self._room, *out)

    def _refuse(self, kind: int, user: int, place: int) -> NoReturn:
        from fastndcg.kernels import recommended as kernels

        item = self._given.items[self._given.offsets[user] + place]
        why = {
            kernels.REPEATED: f"have each item once in a row, but item {item} stands again in place {place} of user "
            f"{user}; drop it, or take Recommendations(..., repeated='once')",
            kernels.GAP: gap_of(item, user, place),
            kernels.UNKNOWN: f"hold items that the matrix has a column for, 0 to {(self._liked.n_items or 0) - 1}, "
            f"but place {place} of user {user} is {item}",
        }
        raise InvalidInputError(f"`predictions` must {why[kind]}")


def _labels(labels: Any, n: int, threads: int | None) -> Array:
    """Labels as int8 where that holds them, else float64."""
    if labels is None:
        return read_only(np.ones(n, "i1"))
    given = as_labels(labels, "labels")
    if len(given) != n:
        raise InvalidInputError(f"`labels` must be as many as `items`, {n}, but are {len(given)}")
    from fastndcg.kernels.recommended import as_small

    small = np.empty(n, "i1")
    places = list(pairwise([*range(0, n, PART), n]))
    if _holds_of_all(places, lambda first, stop: as_small(given[first:stop], small[first:stop]), threads):
        return read_only(small)
    return read_only(given.astype("f8"))


def _holds_of_all(parts: list[tuple[int, int]], holds: Callable[[int, int], bool], threads: int | None) -> bool:
    """Whether something holds of every part, seen on threads."""
    found: list[bool] = []
    n_threads = min(len(parts), checked_threads(threads)) if len(parts) > 1 else 1
    run_all(parts, lambda: lambda part: found.append(holds(*part)), n_threads)
    return all(found)
