"""Recommended items, and what is known of items and users, for metrics that look beyond accuracy."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.grouping import spans
from fastndcg.inputs.item_lists import Recommendations, gap_of, recommended_of
from fastndcg.inputs.items import Interactions
from fastndcg.inputs.ragged import ragged_of
from fastndcg.metric import Metric
from fastndcg.rankings import Array, as_array, as_numbers, read_only
from fastndcg.threads import run_all

MOST_ITEMS = 1 << 28  # of a catalogue whose size was not said: each item takes memory, whether it is there or not
SPAN = 1 << 20  # items that a thread checks before it asks for more
WORD = 64  # categories that one number holds


class Known(NamedTuple):
    """
    Lists of recommended items, and what is known; None where nothing is.

    User u has ``items[starts[u] : starts[u] + sizes[u]]``; `n_items` is the size of the catalogue, `sets` are the
    categories of items as bits of 64-bit numbers, `vectors` are of length 1.
    """

    items: Array
    starts: Array
    sizes: Array
    n_items: int
    catalogue: int | None = None
    popularity: Array | None = None
    n_users: int | None = None
    vectors: Array | None = None
    sets: Array | None = None
    liked: Interactions | None = None


def known_of(
    recommended: Any, metrics: tuple[Metric, ...], threads: int, *, catalogue: Any, interactions: Any, popularity: Any,
    n_users: Any, vectors: Any, categories: Any, liked: Any,
) -> Known:  # fmt: skip
    """Read and check everything that was given."""
    if interactions is not None and popularity is not None:
        raise InvalidInputError("`popularity` must be left out where `interactions` are given, which have it")
    counts, n_known_users = _popularity(interactions, popularity, n_users)
    known = Known(
        *_lists(recommended), 0, _size(catalogue), counts, n_known_users, _vectors(vectors), _sets(categories),
        _liked(liked),
    )  # fmt: skip
    source = "popularity" if interactions is None else "interactions"
    of_items = {source: counts, "vectors": known.vectors, "categories": known.sets}
    sizes = {name: len(values) for name, values in of_items.items() if values is not None}
    if known.catalogue is not None:
        sizes["catalogue"] = known.catalogue
    elif len(set(sizes.values())) == 1:
        known = known._replace(catalogue=next(iter(sizes.values())))
    _refuse_missing(known, metrics)
    if known.liked is not None and known.liked.n_users != len(known.starts):
        raise InvalidInputError(f"`liked` must have one row a user, {len(known.starts)}, but has {known.liked.n_users}")
    return _checked_lists(known, sizes, threads)


def _lists(recommended: Any) -> tuple[Array, Array, Array]:
    if isinstance(recommended, Recommendations):
        if recommended.repeated != "raise":
            raise InvalidInputError("`recommended` must have each item once in a row: leave out repeated='once'")
        recommended = recommended.items
    items, offsets, _ = recommended_of(recommended, "recommended")
    return read_only(items), read_only(np.asarray(offsets[:-1], "i8")), np.diff(offsets).astype("i4")


def _size(catalogue: Any) -> int | None:
    if catalogue is None:
        return None
    if isinstance(catalogue, bool) or not isinstance(catalogue, int | np.integer):
        raise InvalidTypeError(f"`catalogue` must be the number of items, not {type(catalogue).__name__}")
    if catalogue < 1:
        raise InvalidInputError(f"`catalogue` must be 1 item or more, not {catalogue}")
    return int(catalogue)


def _popularity(interactions: Any, popularity: Any, n_users: Any) -> tuple[Array | None, int | None]:
    """How many users interacted with each item, and how many users there are."""
    if interactions is not None:
        given = _liked(interactions, "interactions")
        if given is not None:
            items = given.items[given.labels != 0]
            return np.bincount(items, minlength=given.n_items or 0).astype("f8"), given.n_users
    if n_users is not None and (isinstance(n_users, bool) or not isinstance(n_users, int | np.integer) or n_users < 1):
        raise InvalidInputError(f"`n_users` must be a whole number of 1 or more, not {n_users!r}")
    if popularity is None:
        return None, None
    counts = as_numbers(popularity, "popularity", ndim=1).astype("f8")
    _refuse(~(np.isfinite(counts) & (counts >= 0)), counts, "popularity", "be finite and 0 or more")
    if n_users is not None:
        _refuse(counts > n_users, counts, "popularity", f"be at most `n_users`, {n_users}")
    return counts, None if n_users is None else int(n_users)


def _vectors(vectors: Any) -> Array | None:
    """The items' vectors with length 1."""
    if vectors is None:
        return None
    given = as_numbers(vectors, "vectors").astype("f8")
    if given.ndim != 2:
        raise InvalidInputError(f"`vectors` must have one row an item, but its shape is {given.shape}")
    largest = np.abs(given).max(axis=1, initial=0.0)
    wrong = ~(np.isfinite(largest) & (largest > 0))
    if wrong.any():
        item = int(np.argmax(wrong))
        raise InvalidInputError(f"`vectors` must be finite and not all 0, but that of item {item} is not; fill it in")
    given /= largest[:, None]  # so that squares stay within float64
    return read_only(np.ascontiguousarray(given / np.sqrt((given * given).sum(axis=1, keepdims=True))))


def _sets(categories: Any) -> Array | None:
    """The items' categories as bits: from a table of 0 and 1, a sparse one, or lists of numbers."""
    if categories is None:
        return None
    lists = ragged_of(categories, "categories")
    if lists is not None:
        items, numbers = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets)), lists.values
        n_items = len(lists.offsets) - 1
        if numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise InvalidInputError("`categories` must be whole numbers of 0 or more, but some are not; number them")
    else:
        table = categories.tocoo() if hasattr(categories, "tocoo") else as_numbers(categories, "categories")
        if table.ndim != 2:
            raise InvalidInputError(f"`categories` must have one row an item, but its shape is {table.shape}")
        values = table.data if hasattr(table, "tocoo") else table
        if not np.isin(values, (0, 1)).all():
            raise InvalidInputError("`categories` must be 0 or 1, whether an item has one, but some are neither")
        items, numbers = table.nonzero()
        n_items = table.shape[0]
    sets = np.zeros((n_items, int(numbers.max(initial=0)) // WORD + 1), "u8")
    np.bitwise_or.at(sets, (items, numbers // WORD), np.uint64(1) << (numbers % WORD).astype("u8"))
    return read_only(sets)


def _liked(liked: Any, name: str = "liked") -> Interactions | None:
    if liked is None or isinstance(liked, Interactions):
        return liked
    if hasattr(liked, "tocsr"):
        return Interactions.of_matrix(liked)
    raise InvalidTypeError(f"`{name}` must be a scipy.sparse matrix or Interactions, not {type(liked).__name__}")


def _refuse(offenders: Array, values: Array, name: str, rule: str) -> None:
    if offenders.any():
        item = int(np.argmax(offenders))
        raise InvalidInputError(f"`{name}` must {rule}, but {name}[{item}] is {values[item]}")


def _refuse_missing(known: Known, metrics: tuple[Metric, ...]) -> None:
    """Refuse metrics that need what was not given."""
    remedies = {
        "popularity": "`popularity` or `interactions`", "liked": "`liked`", "vectors": "`vectors`",
        "sets": "`categories`", "catalogue": "`catalogue`", "n_users": "`n_users` or `interactions`",
    }  # fmt: skip
    for metric in metrics:
        needs = list(metric.record.needs)
        if metric.name == "ILD":
            needs.append("vectors" if metric.get("distance") == "cosine" else "sets")
        if metric.name == "novelty" and metric.get("share_of") == "users":
            needs.append("n_users")
        for need in needs:
            if getattr(known, need) is None:
                raise InvalidInputError(f"{remedies[need]} must be given for {metric}, but is missing")


def _checked_lists(known: Known, sizes: dict[str, int], threads: int) -> Known:
    """The lists without padding, or an error for items that are not known, or stand twice in a list."""
    from fastndcg.kernels import items as kernels

    of_least = min(sizes, key=lambda name: sizes[name]) if sizes else ""
    n_items = sizes[of_least] if sizes else int(known.items.max(initial=-1)) + 1
    if not sizes and n_items > MOST_ITEMS:
        raise InvalidInputError(
            f"`recommended` must number items from 0, but one is {n_items - 1}: number them anew, such as by "
            "numpy.unique(items, return_inverse=True)"
        )
    found: dict[int, Array] = {}

    def make_checker() -> Any:
        seen = np.empty(n_items, "i4")

        def check(span: tuple[int, int]) -> None:
            problem = np.zeros(3, "i8")
            seen.fill(-1)
            part = slice(*span)
            kernels.check_lists(known.items, known.starts[part], n_items, seen, known.sizes[part], problem)
            if problem[0]:
                problem[1] += span[0]
                found[span[0]] = problem

        return check

    parts = spans(np.append(known.starts, len(known.items)), max(SPAN, 4 * n_items))
    run_all(parts, make_checker, min(threads, len(parts)))
    if found:
        _refuse_item(known, of_least, n_items, *found[min(found)].tolist())
    return known._replace(n_items=n_items, sizes=read_only(known.sizes))


def _refuse_item(known: Known, lacking: str, n_items: int, kind: int, user: int, place: int) -> NoReturn:
    from fastndcg.kernels import items as kernels

    item = known.items[known.starts[user] + place]
    why = {
        kernels.REPEATED: f"have each item once in a row, but item {item} stands again in place {place} of user {user}",
        kernels.GAP: gap_of(item, user, place),
        kernels.UNKNOWN: f"hold items that `{lacking}` has, 0 to {n_items - 1}, but place {place} of user {user} is "
        f"{item}",
    }
    raise InvalidInputError(f"`recommended` must {why[kind]}")


def names_of_users(user_ids: Any, n_users: int) -> Array | None:
    """The users' ids, as many as there are lists."""
    if user_ids is None:
        return None
    names = as_array(user_ids, "user_ids")
    if names.shape != (n_users,):
        raise InvalidInputError(f"`user_ids` must be as many as lists, {n_users}, but its shape is {names.shape}")
    return read_only(names)
