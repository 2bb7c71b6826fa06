"""Recommended items, and what is known of items and users, for metrics that look beyond accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.arrays import read_ragged
from fastndcg.inputs.dicts import is_id_rows
from fastndcg.inputs.frames import is_frame
from fastndcg.inputs.ids import IdColumn, join_segments, split_spans
from fastndcg.inputs.join import find_ids, refuse_disjoint
from fastndcg.inputs.table import Qrels, Run, Table
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array, as_array, as_numbers, check_whole_number, read_only
from fastndcg.recommenders.interactions import (
    Interactions,
    Recommendations,
    checked_matrix,
    describe_gap,
    read_item_rows,
)
from fastndcg.recommenders.models import Model
from fastndcg.runtime.threads import run_all

LARGEST_CATALOGUE = 1 << 28  # of a catalogue of unknown size: each number up to the highest item takes memory
SPAN = 1 << 20  # items in the piece of work of a thread
WORD = 64  # categories per 64-bit number

Kind = TypeVar("Kind", bound=Table)


class ItemData(NamedTuple):
    """
    Lists of recommended items, and data about the items. Data that are not given equal None.

    User u has ``items[starts[u] : starts[u] + sizes[u]]``. `n_items` is the size of the catalogue, `sets` are the
    categories of items as bits of 64-bit numbers, `vectors` are of length 1. `names` has items that are texts.
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
    user_ids: IdColumn | None = None
    names: Sequence[Any] = ()
    notes: tuple[str, ...] = ()


def read_item_data(
    recommended: Any, metrics: tuple[Metric, ...], threads: int, *, catalogue: Any, interactions: Any, popularity: Any,
    n_users: Any, vectors: Any, categories: Any, liked: Any,
) -> ItemData:  # fmt: skip
    """Read and check the lists and all item data."""
    if interactions is not None and popularity is not None:
        raise InvalidInputError("`popularity` must be left out where `interactions` are given, which have it")
    known = _read_table(Qrels, interactions, threads)
    run = _read_table(Run, recommended, threads)
    judged = _read_table(Qrels, liked, threads)
    by_item = {"popularity": popularity, "vectors": vectors, "categories": categories}
    names, n_known = _list_names([known, run, judged], by_item.values())
    if names:
        popularity, vectors, categories = (_order(*pair, names[:n_known]) for pair in by_item.items())
        sides = {"interactions": (interactions, known), "recommended": (recommended, run), "liked": (liked, judged)}
        for name, (value, table) in sides.items():
            if value is not None and table is None:
                raise InvalidTypeError(f"`{name}` must have texts as items, as others have. Give a dict or a frame")
    numbers = dict(zip(names, range(len(names)), strict=True))
    user_ids = None if run is None else run.queries
    if known is not None:
        interactions = _join_users(known, None, "interactions", numbers, n_known)
    notes = [] if run is None else list(run.source.notes)
    if judged is not None:
        liked = _join_users(judged, user_ids, "liked", numbers, len(names))
        notes += _note_users(user_ids, judged)
    counts, n_known_users = _read_popularity(interactions, popularity, n_users)
    items, starts, sizes = _read_lists(recommended) if run is None else _read_run(run, numbers)
    data = ItemData(
        items,
        starts,
        sizes,
        n_items=0,
        catalogue=None if catalogue is None else check_whole_number(catalogue, "catalogue", 1),
        popularity=counts,
        n_users=n_known_users,
        vectors=_normalize_vectors(vectors),
        sets=_encode_categories(categories),
        liked=None if liked is None else _read_interactions(liked, "liked"),
        user_ids=user_ids,
        names=names,
        notes=tuple(notes),
    )
    source = "popularity" if interactions is None else "interactions"
    item_arrays = {source: counts, "vectors": data.vectors, "categories": data.sets}
    n_by_source = {name: len(values) for name, values in item_arrays.items() if values is not None}
    if data.catalogue is not None:
        n_by_source["catalogue"] = data.catalogue
    elif len(set(n_by_source.values())) == 1:
        data = data._replace(catalogue=next(iter(n_by_source.values())))
    _refuse_missing(data, metrics)
    if data.liked is not None and data.liked.n_users != len(data.starts):
        raise InvalidInputError(f"`liked` must have one row per user, {len(data.starts)}, but has {data.liked.n_users}")
    return _check_lists(data, n_by_source, threads)


def _read_table(kind: type[Kind], value: Any, threads: int) -> Kind | None:
    """Read items with the ids of their users, or lists of texts. Return None for other items, which are numbers."""
    if isinstance(value, kind):
        return value
    if is_frame(value):
        return kind.of_columns_in(value, None, threads)
    if isinstance(value, Mapping):
        return kind.of_dict(value)
    return kind.of_id_lists(dict(enumerate(value))) if is_id_rows(value) else None


def _list_names(tables: Sequence[Table | None], by_item: Iterable[Any]) -> tuple[list[Any], int]:
    """Return the ids of all items and how many of them item data have, which come first. Numbers need no names."""
    ids = [[] if table is None else table.documents.names().tolist() for table in tables]
    if not any(isinstance(name, str) for own in ids for name in own[:1]):
        return [], 0
    known = dict.fromkeys(chain(ids[0], *(source for source in by_item if isinstance(source, Mapping))))
    return list(dict.fromkeys(chain(known, *ids[1:]))), len(known)


def _order(name: str, values: Any, items: Sequence[Any]) -> Any:
    """Return what a dict has for items, in their order."""
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"`{name}` must be {{item: value}} where items are texts. Give a dict")
    missing = [item for item in items if item not in values]
    if missing:
        raise InvalidInputError(f"`{name}` must have each item, but lacks {shorten(missing[0])}. Add it")
    return [values[item] for item in items]


def _number(table: Table, numbers: Mapping[Any, int]) -> Array:
    """Return the numbers of a table's items."""
    names = table.documents.names()
    return np.array([numbers[name] for name in names.tolist()], "i8") if numbers else names


def _join_users(
    table: Qrels, user_ids: IdColumn | None, name: str, numbers: Mapping[Any, int], n_items: int
) -> Interactions:
    """Return interactions of all users of a table, or of the users with recommended items, in their order."""
    items = _number(table, numbers)
    if user_ids is None:
        return Interactions(items, table.values, table.offsets, n_items=n_items or None)
    rows = find_ids(user_ids, table.queries, "queries", ("recommended", name))
    sizes = np.where(rows >= 0, np.diff(np.append(table.offsets, table.offsets[-1]))[rows], 0)
    offsets, places = join_segments(table.offsets[np.maximum(rows, 0)], sizes)
    return Interactions(items[places], table.values[places], offsets, n_items=n_items or None)


def _note_users(user_ids: IdColumn | None, liked: Qrels) -> list[str]:
    """Return how many users one side lacks. Raise if none is on both sides."""
    if user_ids is None:
        return []
    sides = ("recommended", "liked")
    n_common = int(np.count_nonzero(find_ids(user_ids, liked.queries, "queries", sides) >= 0))
    if not n_common:
        refuse_disjoint(user_ids, liked.queries, sides)
    counts = {
        "users with recommended items who like none": len(user_ids) - n_common,
        "users who like items without recommended ones, left out": len(liked.queries) - n_common,
    }
    return [f"{text}: {n}" for text, n in counts.items() if n]


def _read_run(run: Run, numbers: Mapping[Any, int]) -> tuple[Array, Array, Array]:
    items = _number(run, numbers)[run.order_by_score()].astype("i8")
    return read_only(items), read_only(run.offsets[:-1]), np.diff(run.offsets).astype("i4")


def _read_lists(recommended: Any) -> tuple[Array, Array, Array]:
    if isinstance(recommended, Recommendations):
        if recommended.duplicates is not None:
            raise InvalidInputError("`recommended` must have each item once in a row. Leave out `duplicates`")
        recommended = recommended.items
    if isinstance(recommended, Model):
        raise InvalidTypeError(
            f"`recommended` must be lists of items, not a model ({type(recommended).__name__}). Pass its best items: "
            "model.top(k)"
        )
    items, offsets, _ = read_item_rows(recommended, "recommended")
    items = read_only(items.astype("i8"))  # a copy: kernels use them as indices, so no other thread may change them
    return items, read_only(np.asarray(offsets[:-1], "i8")), np.diff(offsets).astype("i4")


def _read_popularity(interactions: Any, popularity: Any, n_users: Any) -> tuple[Array | None, int | None]:
    """Return the number of users who interacted with each item, and the number of users."""
    if interactions is not None:
        checked = _read_interactions(interactions, "interactions")
        items = checked.items[checked.labels != 0]  # a copy, which no other thread overwrites after this check
        n_items = checked.n_items or LARGEST_CATALOGUE
        is_unknown = (items < 0) | (items >= n_items)
        if is_unknown.any():
            raise InvalidInputError(
                f"`interactions` must number items from 0 to {n_items - 1}, but one is "
                f"{items[np.argmax(is_unknown)]}: number them anew, such as by numpy.unique(items, return_inverse=True)"
            )
        return np.bincount(items, minlength=checked.n_items or 0).astype("f8"), checked.n_users
    if n_users is not None:
        n_users = check_whole_number(n_users, "n_users", 1)
    if popularity is None:
        return None, None
    counts = as_numbers(popularity, "popularity", ndim=1).astype("f8")
    _refuse(~(np.isfinite(counts) & (counts >= 0)), counts, "popularity", "be finite and 0 or more")
    if n_users is not None:
        _refuse(counts > n_users, counts, "popularity", f"be at most `n_users`, {n_users}")
    return counts, n_users


def _normalize_vectors(vectors: Any) -> Array | None:
    """Scale the items' vectors to length 1."""
    if vectors is None:
        return None
    numbers = as_numbers(vectors, "vectors").astype("f8")
    if numbers.ndim != 2:
        raise InvalidInputError(f"`vectors` must have one row per item, but its shape is {numbers.shape}")
    largest = np.abs(numbers).max(axis=1, initial=0.0)
    wrong = ~(np.isfinite(largest) & (largest > 0))
    if wrong.any():
        item = int(np.argmax(wrong))
        raise InvalidInputError(f"`vectors` must be finite and not all 0, but that of item {item} is not. Fill it in")
    numbers /= largest[:, None]  # so that squares stay within float64
    return read_only(np.ascontiguousarray(numbers / np.sqrt((numbers * numbers).sum(axis=1, keepdims=True))))


def _encode_categories(categories: Any) -> Array | None:
    """Encode the items' categories as bits: from a table of 0 and 1, a sparse table, or lists of numbers."""
    if categories is None:
        return None
    lists = read_ragged(categories, "categories")
    if lists is not None:
        items = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
        numbers = lists.values.copy()
        n_items = len(lists.offsets) - 1
        if numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise InvalidInputError("`categories` must be whole numbers of 0 or more, but some are not. Number them")
    else:
        is_sparse = hasattr(categories, "tocoo")
        table = checked_matrix(categories).tocoo() if is_sparse else as_numbers(categories, "categories").copy()
        if table.ndim != 2:
            raise InvalidInputError(f"`categories` must have one row per item, but its shape is {table.shape}")
        values = table.data if is_sparse else table
        if not np.isin(values, (0, 1)).all():
            raise InvalidInputError("`categories` must be 0 or 1, whether an item has one, but some are neither")
        items, numbers = table.nonzero()
        n_items = table.shape[0]
    sets = np.zeros((n_items, int(numbers.max(initial=0)) // WORD + 1), "u8")
    np.bitwise_or.at(sets, (items, numbers // WORD), np.uint64(1) << (numbers % WORD).astype("u8"))
    return read_only(sets)


def _read_interactions(liked: Any, name: str) -> Interactions:
    if isinstance(liked, Interactions):
        return liked
    if hasattr(liked, "tocsr"):
        return Interactions(liked)
    raise InvalidTypeError(f"`{name}` must be a scipy.sparse matrix or Interactions, not {type(liked).__name__}")


def _refuse(offenders: Array, values: Array, name: str, rule: str) -> None:
    if offenders.any():
        item = int(np.argmax(offenders))
        raise InvalidInputError(f"`{name}` must {rule}, but {name}[{item}] is {values[item]}")


def _refuse_missing(data: ItemData, metrics: tuple[Metric, ...]) -> None:
    """Raise for metrics that need data that were not given."""
    remedies = {
        "popularity": "`popularity` or `interactions`", "liked": "`liked`", "vectors": "`vectors`",
        "sets": "`categories`", "catalogue": "`catalogue`", "n_users": "`n_users` or `interactions`",
    }  # fmt: skip
    for metric in metrics:
        needs = list(metric.record.needs)
        needs += [need for name, choice, need in metric.record.needs_by_choice if metric.get(name) == choice]
        for need in needs:
            if getattr(data, need) is None:
                raise InvalidInputError(f"{remedies[need]} must be given for {metric}, but is missing")


def _check_lists(data: ItemData, sizes: dict[str, int], threads: int) -> ItemData:
    """Remove padding from the lists. Raise for unknown items, and for items that occur twice in a list."""
    kernels = load_kernels("metrics.beyond_accuracy")
    smallest = min(sizes, key=lambda name: sizes[name]) if sizes else ""
    n_items = sizes[smallest] if sizes else int(data.items.max(initial=-1)) + 1
    if not sizes and n_items > LARGEST_CATALOGUE:
        raise InvalidInputError(
            f"`recommended` must number items from 0, but one is {n_items - 1}: number them anew, such as by "
            "numpy.unique(items, return_inverse=True)"
        )
    problems: dict[int, Array] = {}

    def make_checker() -> Any:
        last_users = np.empty(n_items, "i4")

        def check(span: tuple[int, int]) -> None:
            problem = np.zeros(3, "i8")
            last_users.fill(-1)
            part = slice(*span)
            kernels.check_lists(data.items, data.starts[part], n_items, last_users, data.sizes[part], problem)
            if problem[0]:
                problem[1] += span[0]
                problems[span[0]] = problem

        return check

    parts = split_spans(np.append(data.starts, len(data.items)), max(SPAN, 4 * n_items))
    run_all(parts, make_checker, min(threads, len(parts)))
    if problems:
        _refuse_item(data, smallest, n_items, *problems[min(problems)].tolist())
    return data._replace(n_items=n_items, sizes=read_only(data.sizes))


def _refuse_item(data: ItemData, lacking: str, n_items: int, kind: int, user: int, place: int) -> NoReturn:
    kernels = load_kernels("metrics.beyond_accuracy")
    item = data.items[data.starts[user] + place]
    known = f", 0 to {n_items - 1}"
    if data.names:
        item, known = shorten(data.names[item]), ""
    rules = {
        kernels.REPEATED: f"have each item once in a row, but item {item} stands again in place {place} of user {user}",
        kernels.GAP: describe_gap(item, user, place),
        kernels.UNKNOWN: f"hold items that `{lacking}` has{known}, but place {place} of user {user} is {item}",
    }
    raise InvalidInputError(f"`recommended` must {rules[kind]}")


def read_user_ids(user_ids: Any, n_users: int) -> Array | None:
    """Read the users' ids, one per list."""
    if user_ids is None:
        return None
    names = as_array(user_ids, "user_ids")
    if names.shape != (n_users,):
        raise InvalidInputError(f"`user_ids` must have length {n_users} (one per list), but its shape is {names.shape}")
    return read_only(names)
