"""The options `exclude`, `candidates` and `missing_truth` of models: the items that count for each user."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.choices import MissingTruth
from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, Option, shorten
from fastndcg.inputs.arrays import read_ragged
from fastndcg.inputs.ids import IdColumn, join_segments, run_on_spans
from fastndcg.inputs.table import Qrels
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.rankings import refuse_changed
from fastndcg.rankings.validation import Array, as_array, count_before, mask_offsets, read_only
from fastndcg.recommenders.interactions import (
    PADDING,
    PART,
    Interactions,
    are_rising,
    as_items,
    convert_to_interactions,
)

MISSING_TRUTH = ("raise", "skip", "unretrieved")


class ItemLists(NamedTuple):
    """
    Items in rising order: one list a user, or one list for all users.

    `n_items` is the size of the catalogue, if the form has one. `is_shared` is True for one list for all users.
    """

    items: Array
    offsets: Array
    n_items: int | None
    is_shared: bool

    @property
    def step(self) -> int:
        """The number of lists from a user to the next one."""
        return 0 if self.is_shared else 1


class MatchedItems(NamedTuple):
    """
    The candidates of all users, and the places of the truth among them.

    A place counts the candidates of a user before an item. User u has candidates in numbers of
    ``document_offsets[u + 1] - document_offsets[u]``: the items of the user's list in `candidates`, or all items if it
    has no list, without those in the places `gaps` of that list. `labels`, `places` and `offsets` describe the items of
    the truth that are candidates, and `liked` all of them, with rising items. `is_candidate` has an entry for each.
    """

    liked: Interactions
    labels: Array
    places: Array
    offsets: Array
    document_offsets: Array
    candidates: ItemLists
    gaps: ItemLists
    is_candidate: Array
    keeps_pool: bool
    notes: tuple[str, ...]


NumberIds = Callable[[ItemLists | Qrels | IdColumn, str], ItemLists]  # from ids and the argument's name
NO_LISTS = ItemLists(read_only(np.empty(0, "i4")), read_only(np.zeros(1, "i8")), None, False)


class ItemSelection:
    """
    The items that count for each user: excluded ones, candidates, and what is done about others in the truth.

    Any number of threads may use a selection at once.
    """

    __slots__ = ("_candidates", "_exclude", "_last", "missing_truth")

    def __init__(
        self,
        exclude: ItemLists | Qrels | IdColumn | None = None,
        candidates: ItemLists | Qrels | IdColumn | None = None,
        missing_truth: MissingTruth = "raise",
    ) -> None:
        if not isinstance(missing_truth, str) or missing_truth not in MISSING_TRUTH:
            raise InvalidInputError(
                f"`missing_truth` must be one of {', '.join(map(repr, MISSING_TRUTH))}, not {shorten(missing_truth)}"
            )
        self.missing_truth = missing_truth  # the choice for items of the truth that are no candidates
        self._exclude = exclude
        self._candidates = candidates
        if isinstance(self._candidates, ItemLists) and not len(self._candidates.items):
            raise InvalidInputError("`candidates` must have an item, but is empty. Leave it out to rank all items")
        self._last: tuple[Any, tuple[int, int], MatchedItems] | None = None

    @property
    def is_default(self) -> bool:
        """True if all items count, and each of the truth must be one."""
        return self._exclude is None and self._candidates is None and self.missing_truth == "raise"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: None if name == "_last" else getattr(self, name) for name in self.__slots__}

    def read_lists(
        self,
        shape: tuple[int, int],
        threads: int | None,
        number_ids: NumberIds | None = None,
        item_places: Array | None = None,
    ) -> tuple[ItemLists | None, ItemLists | None]:
        """
        Return the lists of excluded items and of candidates for some users and items.

        `number_ids` finds the users and items of ids. By default, ids are numbers. `item_places` has the new number of
        each item, for those in matrices and masks.
        """
        exclude, candidates = (
            None if items is None
            else number_ids(items, name) if number_ids is not None and has_ids(items)
            else renumber_items(fit_lists(items, name, shape, threads), item_places)
            for items, name in ((self._exclude, "exclude"), (self._candidates, "candidates"))
        )  # fmt: skip
        return exclude, candidates

    def match(self, liked: Interactions, shape: tuple[int, int], threads: int | None) -> MatchedItems:
        """Find the truth among the candidates of users and items in numbers of `shape`, cached for the last truth."""
        last = self._last
        if last is None or last[0] is not liked or last[1] != shape:
            liked_items = sort_items(liked, threads)
            check_truth_shape(liked_items, liked_items.items.copy(), shape, self.missing_truth)
            lists = SelectedLists(*self.read_lists(shape, threads))
            matched = match_items(liked_items, shape, lists, self.missing_truth, threads)
            last = self._last = liked, shape, matched
        return last[2]


def has_ids(items: ItemLists | Qrels | IdColumn) -> bool:
    """Return True for items by their ids, and for whole numbers, which may be ids. Matrices and masks have none."""
    return not isinstance(items, ItemLists) or items.n_items is None


class SelectedLists(NamedTuple):
    """
    The lists of a selection for some users and items.

    `own` has items of each user that are excluded besides, such as the query itself where queries are documents.
    `describe` names an entry of the truth in error messages, by default as item and user. `notes` are for the result.
    """

    exclude: ItemLists | None
    candidates: ItemLists | None
    own: ItemLists | None = None
    describe: Callable[[int], str] | None = None
    notes: tuple[str, ...] = ()


def match_items(
    liked: Interactions, shape: tuple[int, int], lists: SelectedLists, missing_truth: str, threads: int | None
) -> MatchedItems:
    """Find the truth, whose items rise, among the candidates. Items beyond the second number of `shape` are unknown."""
    exclude, candidates, own = lists[:3]
    liked_items = read_only(liked.items.astype("i4"))  # a copy: another thread may overwrite items
    is_excluded = np.zeros(len(liked_items), bool)
    if exclude is not None and exclude.is_shared:
        is_excluded = np.isin(liked_items, exclude.items)
        candidates = leave_out(candidates, exclude, shape[1]) if len(exclude.items) else candidates
        exclude = None
    if own is not None:
        is_excluded |= find_places(liked_items, liked.offsets, own, threads) >= 0
        exclude = own if exclude is None else unite_lists(exclude, own)
    places = liked_items
    sizes = np.full(shape[0], shape[1])
    if candidates is not None:
        places = find_places(liked_items, liked.offsets, candidates, threads)
        sizes[:] = np.diff(candidates.offsets)
    is_candidate = (places >= 0) & (liked_items < shape[1])
    gaps = find_gaps(exclude, candidates, shape[0], threads)
    if len(gaps.items):
        codes = find_places(read_only(places), liked.offsets, gaps, threads)
        is_excluded |= is_candidate & (codes >= 0)
        is_candidate &= codes < 0
        places = places + (codes + 1)  # a code is -1 less the number of gaps before the item
        sizes -= np.diff(gaps.offsets)
    notes = lists.notes
    labels = liked.labels
    offsets = liked.offsets
    has_missing = not is_candidate.all()
    if has_missing:
        if missing_truth == "raise":
            _refuse_missing(liked, is_candidate, is_excluded, shape[1], lists)
        notes = (*notes, _note_missing(liked, ~is_candidate, missing_truth))
        labels = labels[is_candidate]
        places = places[is_candidate]
        offsets = mask_offsets(is_candidate, offsets)
    return MatchedItems(
        liked, read_only(labels), read_only(places), read_only(offsets), read_only(count_before(sizes)),
        candidates or NO_LISTS, gaps, is_candidate, has_missing and missing_truth == "unretrieved", notes,
    )  # fmt: skip


def take_lists(lists: ItemLists, users: Array) -> ItemLists:
    """Return the lists of some users."""
    n_lists = len(lists.offsets) - 1
    if lists.is_shared or (len(users) == n_lists and (users == np.arange(n_lists)).all()):
        return lists
    offsets, places = join_segments(lists.offsets[users], np.diff(lists.offsets)[users])
    return lists._replace(items=read_only(lists.items[places]), offsets=read_only(offsets))


def unite_lists(first: ItemLists, second: ItemLists) -> ItemLists:
    """Return for each user the items of two lists."""
    users = [np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets)) for lists in (first, second)]
    codes = np.concatenate(users).astype("i8") << 32 | np.concatenate([first.items, second.items])
    codes = np.unique(codes)
    counts = np.bincount(codes >> 32, minlength=len(first.offsets) - 1)
    items = (codes & 0xFFFFFFFF).astype("i4")
    return ItemLists(read_only(items), read_only(count_before(counts)), first.n_items, False)


def read_item_arrays(value: Any, name: str, threads: int | None) -> ItemLists | IdColumn | None:
    """Read items of all users, one list a user, a mask or a matrix. Return None for other forms."""
    if _are_texts(value):
        return IdColumn.of(list(value) if isinstance(value, Set) else value, f"`{name}`")
    if isinstance(value, Set | range):
        return _share(as_items(list(value), name, 1))
    if hasattr(value, "tocsr"):
        return _read_matrix(value, threads)
    is_array = isinstance(value, np.ndarray | list | tuple) or read_ragged(value, name) is not None
    is_tensor = hasattr(value, "__array__") and hasattr(value, "ndim") and not hasattr(value, "columns")
    return _read_arrays(value, name, threads) if is_array or is_tensor else None


def _are_texts(value: Any) -> bool:
    """Return True for a set, list or array of texts, which are ids of items of all users."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and (value.dtype.kind == "U" or (value.dtype == object and _are_texts(value.tolist())))
    return isinstance(value, Set | list | tuple) and bool(value) and isinstance(next(iter(value)), str)


def fit_lists(items: ItemLists | Qrels | IdColumn, name: str, shape: tuple[int, int], threads: int | None) -> ItemLists:
    """Return the lists for users and items in numbers of `shape`. Raise if they do not fit."""
    n_users, n_items = shape
    if isinstance(items, IdColumn):
        raise InvalidTypeError(
            f"`{name}` must hold whole numbers where items are numbered, but one item is {shorten(items.name(0))}. "
            "Number items as the columns, or give a model with document_ids and truth with ids"
        )
    if isinstance(items, Qrels):
        try:
            items = as_lists(convert_to_interactions(items, n_users), threads)
        except FastndcgError as error:
            raise error.reword(before=f"`{name}`: ") from None
    n_lists = len(items.offsets) - 1
    if not items.is_shared and n_lists != n_users:
        raise InvalidInputError(
            f"`{name}` must have one row per user, {n_users}, but has {n_lists}. Give a row for each user of the truth"
        )
    if items.n_items is not None and items.n_items != n_items:
        raise InvalidInputError(
            f"`{name}` must have one column per item, {n_items}, but has {items.n_items}. Give it the items of the "
            "predictions"
        )
    own_items = read_only(items.items.copy())  # kernels follow items, which another thread may overwrite
    if not are_rising(own_items, items.offsets, threads):
        refuse_changed(name)
    if len(own_items) and int(own_items.max()) >= n_items:
        place = int(np.argmax(own_items >= n_items))
        user = int(np.searchsorted(items.offsets, place, side="right")) - 1
        where = "" if items.is_shared else f" of user {user}"
        raise InvalidInputError(
            f"`{name}` must hold items below {n_items}, the number of items of the predictions, but one{where} is "
            f"{own_items[place]}. Number items from 0"
        )
    return items._replace(items=read_only(own_items.astype("i4", copy=False)))


def renumber_items(lists: ItemLists, item_places: Array | None) -> ItemLists:
    """Return lists with other numbers of items."""
    if item_places is None:
        return lists
    users = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
    items = item_places[lists.items]
    return lists._replace(items=read_only(items[np.lexsort((items, users))].astype("i4")))


def check_truth_shape(
    liked: Interactions, items: Array, shape: tuple[int, int], missing_truth: str = "raise", *, is_model: bool = False
) -> None:
    """
    Raise if the truth, with a copy of its items, is of other users or items than the scores.

    Items beyond those of the scores are unknown, which `missing_truth` allows.
    """
    n_users, n_items = shape
    remedy = "Take the same users and items" if is_model else "If these are item ids in rank order, cast them to int"
    has_unknown = liked.n_items is not None and liked.n_items > n_items and missing_truth != "raise"
    if liked.n_users != n_users or (liked.n_items not in (None, n_items) and not has_unknown):
        expected = f"({liked.n_users}, {'n_items' if liked.n_items is None else liked.n_items})"
        raise InvalidInputError(
            f"`predictions` must have a row per user and a column per item of the truth, {expected}, but its shape is "
            f"{shape}. {remedy}"
        )
    if len(items) and int(items.min()) < 0:
        refuse_changed("truth")
    if len(items) and int(items.max()) >= n_items and missing_truth == "raise":
        place = int(np.argmax(items >= n_items))
        user = int(np.searchsorted(liked.offsets, place, side="right")) - 1
        n_unknown = int(np.count_nonzero(items >= n_items))
        raise InvalidInputError(
            f"`predictions` must have {'an item' if is_model else 'a column'} for each item of the truth, but user "
            f"{user} likes item {items[place]} and there are {n_items} (in all {n_unknown}). Add its scores, or take "
            "missing_truth='skip' to leave such items out of the truth, or 'unretrieved' to count them as not retrieved"
            + ("" if is_model else f". {remedy}")
        )


def sort_items(liked: Interactions, threads: int | None) -> Interactions:
    """Return interactions with the items of each user in rising order."""
    if are_rising(liked.items, liked.offsets, threads):
        return liked
    users = np.repeat(np.arange(liked.n_users), np.diff(liked.offsets))
    order = np.lexsort((liked.items, users))
    return Interactions(liked.items[order], liked.labels[order], liked.offsets, n_items=liked.n_items, threads=threads)


def find_places(items: Array, offsets: Array, lists: ItemLists, threads: int | None) -> Array:
    """Return the place of each user's items in the user's list, as kernels/inputs/items.py describes it."""
    places = np.empty(len(items), "i4")
    kernel = load_kernels("inputs.items").find_places

    def find(first: int, stop: int) -> None:
        kernel(items, offsets, lists.items, lists.offsets, lists.step, first, stop, places)

    run_on_spans(offsets, find, threads, PART)
    return places


def find_gaps(exclude: ItemLists | None, candidates: ItemLists | None, n_users: int, threads: int | None) -> ItemLists:
    """Return the places of each user's excluded items among the candidates."""
    if exclude is None:
        nothing = np.empty(0, "i4")
        return ItemLists(read_only(nothing), read_only(np.zeros(n_users + 1, "i8")), None, False)
    if candidates is None:
        return exclude
    places = find_places(exclude.items, exclude.offsets, candidates, threads)
    is_candidate = places >= 0
    offsets = mask_offsets(is_candidate, exclude.offsets)
    return ItemLists(read_only(places[is_candidate]), read_only(offsets), None, False)


def leave_out(candidates: ItemLists | None, exclude: ItemLists, n_items: int) -> ItemLists:
    """Return the candidates without items that are excluded for all users."""
    if candidates is None:
        candidates = ItemLists(np.arange(n_items, dtype="i4"), np.array([0, n_items]), n_items, True)
    is_candidate = ~np.isin(candidates.items, exclude.items)
    if not is_candidate.any():
        raise InvalidInputError("`exclude` must leave a candidate, but has all of them. Exclude fewer items")
    offsets = mask_offsets(is_candidate, candidates.offsets)
    return candidates._replace(items=read_only(candidates.items[is_candidate]), offsets=read_only(offsets))


def _refuse_missing(
    liked: Interactions, is_candidate: Array, is_excluded: Array, n_items: int, lists: SelectedLists
) -> NoReturn:
    """Raise for the first item of the truth that is no candidate."""
    place = int(np.argmin(is_candidate))
    user = int(np.searchsorted(liked.offsets, place, side="right")) - 1
    item = liked.items[place]
    name = f"item {item} of user {user}" if lists.describe is None else lists.describe(place)
    if is_excluded[place]:
        rule = f"be excluded, but {name} is in `exclude`"
        remedy = "Take it out of one of the two, such as exclude = seen - seen.multiply(liked != 0)"
        if lists.own is not None and _has_item(lists.own, user, int(item)):
            rule = f"be the query itself with leave_query_out=True, but {name} is"
            remedy = "Take it out of the truth"
    elif item >= n_items:
        rule = f"be missing in `predictions`, but {name} has no embedding"
        remedy = "Add it, or for vectors of chunks give fn.Run(model.top(1000), parents=…)"
    else:
        rule = f"lie outside the candidates, but {name} is not in `candidates`"
        remedy = "Add it there"
    n_missing = len(is_candidate) - int(np.count_nonzero(is_candidate))
    raise InvalidInputError(
        f"items of `truth` must not {rule} (in all {n_missing}). {remedy}, or take ",
        Option("missing_truth", "'skip'"),
        " to leave such items out of the truth, or 'unretrieved' to count them as not retrieved",
    )


def _has_item(lists: ItemLists, user: int, item: int) -> bool:
    """Return True if an item is in the list of a user."""
    return bool((lists.items[lists.offsets[user] : lists.offsets[user + 1]] == item).any())


def _note_missing(liked: Interactions, is_missing: Array, choice: str) -> str:
    """Return the note on items of the truth that are no candidates."""
    n_before = count_before(is_missing)
    n_users = int(np.count_nonzero(np.diff(n_before[liked.offsets])))
    action = "left out of the truth" if choice == "skip" else "counted as not retrieved"
    return f"items of the truth that are no candidates, {action}: {int(n_before[-1])}, of {n_users} users"


def _read_matrix(matrix: Any, threads: int | None) -> ItemLists:
    """Read the stored entries of a scipy.sparse matrix."""
    interactions = Interactions(matrix, threads=threads)
    if (interactions.labels == 0).any():
        place = int(np.argmax(interactions.labels == 0))
        user = int(np.searchsorted(interactions.offsets, place, side="right")) - 1
        raise InvalidInputError(
            f"a sparse matrix must store no 0, but that of item {interactions.items[place]} of user {user} is one. "
            "Call eliminate_zeros() if the item does not belong to the set, or store 1"
        )
    return as_lists(interactions, threads)


def as_lists(interactions: Interactions, threads: int | None) -> ItemLists:
    """Return the items of all users as lists in rising order."""
    ordered = sort_items(interactions, threads)
    return ItemLists(ordered.items, ordered.offsets, ordered.n_items, False)


def _read_arrays(value: Any, name: str, threads: int | None) -> ItemLists:
    """Read an array of items or a mask, with one dimension for all users, or with a row for each user."""
    lists = read_ragged(value, name)
    if lists is not None:
        return as_lists(Interactions(as_items(lists.values, name, 1), None, lists.offsets, threads=threads), threads)
    if isinstance(value, list | tuple) and any(isinstance(row, list | tuple | Set | np.ndarray) for row in value):
        return _read_rows(value, name, threads)
    array = as_array(value, name)
    if array.dtype == bool and array.ndim in (1, 2):
        return _read_mask(array)
    if array.ndim == 1:
        return _share(as_items(array, name, 1))
    items = as_items(array, name, 2)
    is_item = items != PADDING
    offsets = count_before(np.count_nonzero(is_item, axis=1))
    return as_lists(Interactions(items[is_item], None, offsets, threads=threads), threads)


def _read_rows(rows: Any, name: str, threads: int | None) -> ItemLists:
    """Read a list with the items of each user as a list, set or array."""
    wrong = next((row for row in rows if not isinstance(row, list | tuple | Set) and getattr(row, "ndim", 0) < 1), None)
    if wrong is not None:
        raise InvalidTypeError(f"rows must be lists, sets or arrays of items, but one is {shorten(wrong)}. Convert it")
    first = next((item for row in rows for item in row), None)
    if isinstance(first, str):
        raise InvalidTypeError(
            f"lists for each user must hold whole numbers, but one has {shorten(first)}. Give ids as a dict: "
            "{query: [ids]}"
        )
    arrays = [as_items(list(row) if isinstance(row, Set) else row, name, 1) if len(row) else () for row in rows]
    offsets = np.cumsum([0, *map(len, arrays)])
    items = np.concatenate([np.empty(0, "i8"), *arrays]).astype("i8")
    return as_lists(Interactions(items, None, offsets, threads=threads), threads)


def _read_mask(mask: Array) -> ItemLists:
    """Read a mask of items, or of users by items."""
    if mask.ndim == 1:
        return _share(np.flatnonzero(mask))._replace(n_items=len(mask))
    n_users, n_items = mask.shape
    sizes = np.zeros(n_users, "i8")
    parts = [np.empty(0, "i4")]
    for first, stop in pairwise([*range(0, n_users, max(PART // max(n_items, 1), 1)), n_users]):
        part = mask[first:stop].copy()  # its entries are counted and found, and must not change in between
        sizes[first:stop] = np.count_nonzero(part, axis=1)
        parts.append(np.nonzero(part)[1].astype("i4"))
    items = np.concatenate(parts)
    offsets = count_before(sizes)
    return ItemLists(read_only(items), read_only(offsets), n_items, False)


def _share(items: Array) -> ItemLists:
    """Return one list of items for all users."""
    interactions = sort_items(Interactions(items, None, [0, len(items)]), None)
    return ItemLists(interactions.items, interactions.offsets, None, True)
