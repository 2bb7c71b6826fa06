"""
LensKit's `ItemListCollection` and `ItemList`, as relevant items and as recommendations. LensKit is not imported.

A list that is ordered is a ranking, whatever scores it has, as in LensKit. Other lists are ranked by their scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, join_names, shorten
from fastndcg.inputs.frames import LAST_NAMES, NAMES, check_columns
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.id_lists import IdLists, refuse_repeated_ids
from fastndcg.inputs.qrels_run import Qrels, Run
from fastndcg.inputs.source import Source
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array

ONLY_QUERY = 0  # the id of the query of a list that is in no collection


def is_item_collection(value: Any) -> bool:
    """Return True for LensKit's `ItemListCollection`, and for an `ItemList`."""
    return _is_collection(value) or _is_item_list(value)


def read_relevant_items(value: Any, columns: Mapping[str, str] | None) -> Qrels:
    """
    Read relevant items. Their labels are a field with a usual name, such as "rating", or else 1.

    Parameters
    ----------
    value : ItemListCollection or ItemList
        The relevant items of each user.
    columns : dict, optional
        The name of the field of labels, as ``{"label": "rating"}``.
    """
    lists = list(_iterate(value, "truth"))
    name = _find_label_field([items for _, items in lists], check_columns(columns).get("label"))
    values = []
    for query, items in lists:
        labels = None if name is None else items.field(name)
        if labels is None and name is not None and len(items):
            raise InvalidInputError(
                f"`truth` must have the field {shorten(name)} in each list of items, but the list of {shorten(query)} "
                "lacks it. Add it, or name another by columns={'label': NAME}"
            )
        values.append(np.ones(len(items), "i1") if labels is None else np.asarray(labels))
    source = Source("the qrels", columns=("item_id", *([name] if name else [])))
    return Qrels.of_lists(_read_ids(lists, "truth"), _concatenate(values), source)


def read_recommended_items(value: Any, name: str) -> Run:
    """Read recommended items, which error messages call `name`."""
    lists = list(_iterate(value, name))
    values = []
    for query, items in lists:
        scores = items.scores()
        if items.ordered:
            values.append(-np.arange(1.0, len(items) + 1))
        elif scores is not None:
            values.append(np.asarray(scores))
        elif len(items):
            raise InvalidInputError(
                f"`{name}` must have ordered lists of items, or scores, but the list of {shorten(query)} has neither. "
                "Give ItemList(…, ordered=True) or ItemList(…, scores=…)"
            )
    return Run.of_lists(_read_ids(lists, name), _concatenate(values), Source("the run", columns=("item_id",)))


def _is_collection(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("key_fields", "key_type", "items", "lists"))


def _is_item_list(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("ids", "numbers", "ranks", "scores", "field", "ordered"))


def _iterate(value: Any, name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the query id and the list of each user."""
    if _is_item_list(value):
        yield ONLY_QUERY, value
        return
    if len(value.key_fields) != 1:
        raise InvalidInputError(
            f"`{name}` must have keys of one field, the user or query, but has {join_names(value.key_fields)}. "
            "Evaluate each part alone, or join the fields to one"
        )
    for key, items in value.items():
        yield key[0], items


def _find_label_field(lists: list[Any], user_name: str | None) -> str | None:
    """Return the field of labels: the one of the user, or the one with a usual name. Return None without any."""
    if user_name is not None:
        return user_name
    for names in (NAMES["label"], LAST_NAMES["label"]):
        there = [name for name in sorted(names) if any(items.field(name) is not None for items in lists)]
        if len(there) > 1:
            raise InvalidInputError(
                f"`truth` must have one field of labels, but has {join_names(there)}. Give columns={{'label': NAME}}"
            )
        if there:
            return there[0]
    return None


def _read_ids(lists: list[tuple[Any, Any]], name: str) -> IdLists:
    """Read the ids of queries and items."""
    pieces = []
    for query, items in lists:
        try:
            pieces.append(np.asarray(items.ids()))
        except RuntimeError as error:  # it has numbers only, which other lists may count otherwise
            raise InvalidInputError(
                f"`{name}` must have ids of items, but the list of {shorten(query)} has none: {error}. Give "
                "ItemList(item_ids=…), or a vocabulary"
            ) from None
    with_items = [(query, ids) for (query, _), ids in zip(lists, pieces, strict=True) if len(ids)]
    offsets = np.concatenate([[0], np.cumsum([len(ids) for _, ids in with_items], dtype="i8")])
    documents = _concatenate([ids for _, ids in with_items])
    ids = documents if documents.dtype.kind in "iu" else documents.tolist()
    queries = [query.item() if isinstance(query, np.generic) else query for query, _ in with_items]
    read = IdLists(
        IdColumn.of(queries, f"ids of queries in `{name}`"),
        read_only(offsets),
        IdColumn.of(ids, f"ids of items in `{name}`"),
    )
    refuse_repeated_ids(read, f"`{name}`")
    return read


def _concatenate(pieces: list[Array]) -> Array:
    return np.concatenate(pieces) if pieces else np.empty(0, "i8")
