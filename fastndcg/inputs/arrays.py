"""Arrays: queries cut by offsets, groups, query ids or the rows of two dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fastndcg.casts import frozen
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.columns import Column, are_texts, whole_numbers
from fastndcg.inputs.diversity import encode_matrix
from fastndcg.inputs.grouping import group
from fastndcg.inputs.ragged import ragged_of
from fastndcg.patterns import Patterns
from fastndcg.rankings import (
    READY_LABELS,
    READY_SCORES,
    Array,
    Rankings,
    as_array,
    as_labels,
    as_numbers,
    as_offsets,
    as_scores,
    as_whole_numbers,
    is_ready,
    is_wide,
    read_only,
)


@dataclass(slots=True)
class ArrayLayout:
    """How arrays of a given shape fall into queries; `order` brings documents of a query together.

    Where the truth is ragged, so are the predictions: they bring their own offsets, which must be these. `name` is what
    messages call the array that the layout was made for.
    """

    shape: tuple[int, ...]
    offsets: Array
    order: Array | None = None
    query_ids: Array | None = None
    is_ragged: bool = False
    name: str = "labels"

    def arrange(self, values: npt.ArrayLike, name: str) -> Array:
        """Values of this shape in one dimension, query after query; no copy unless the order asks for it."""
        lists = ragged_of(values, name)
        if (lists is not None) != self.is_ragged:
            kinds = "not ragged" if self.is_ragged else "ragged"
            raise InvalidInputError(f"`{self.name}` and `{name}` must be alike, but `{name}` are {kinds}; convert them")
        if lists is not None:
            self._check_offsets(lists.offsets, name)
        array = as_numbers(values if lists is None else lists.values, name)
        if array.shape != self.shape:
            raise InvalidInputError(
                f"`{name}` must have the shape of `{self.name}`, {self.shape}, but has {array.shape}"
            )
        return self.in_order(array)

    def in_order(self, array: Array) -> Array:
        """An array of this shape in one dimension, query after query."""
        flat = array if array.ndim == 1 else array.reshape(-1)
        return flat if self.order is None else flat[self.order]

    def _check_offsets(self, offsets: Array, name: str) -> None:
        if len(offsets) != len(self.offsets):
            n_labels, n_scores = len(self.offsets) - 1, len(offsets) - 1
            raise InvalidInputError(
                f"`{name}` must have as many lists as `{self.name}`, {n_labels}, but has {n_scores}"
            )
        differ = np.flatnonzero(offsets != self.offsets)
        if len(differ):
            query = int(differ[0]) - 1
            sizes = [int(bounds[query + 1] - bounds[query]) for bounds in (self.offsets, offsets)]
            raise InvalidInputError(
                f"`{name}` must have as many numbers as `{self.name}` in each list, but list {query} has "
                f"{sizes[1]} and not {sizes[0]}"
            )

    def place(self, _: str, document: int) -> str:
        """Where a document, counted query after query, stands in the arrays given."""
        return ", ".join(str(index) for index in np.unravel_index(self.given(document), self.shape))

    def given(self, document: int) -> int:
        """Which of the numbers given, row after row, a document is that is counted query after query."""
        return document if self.order is None else int(self.order[document])


class ArrayTruth:
    """Labels and their layout, ready for the scores of many systems."""

    _patterns: Patterns | None = None  # what the labels stand for, where the last dimension are subtopics

    def __init__(self, labels: Any, offsets: Any, groups: Any, query_ids: Any) -> None:
        if is_ready(labels, READY_LABELS):
            self._layout = layout = layout_of(labels.shape, offsets, groups, query_ids)
            self._labels = read_only(labels if layout.order is None else layout.in_order(labels))
            return
        if getattr(labels, "ndim", 2) > 1 and ragged_of(labels, "labels") is None:
            labels = as_numbers(labels, "labels")
            if labels.ndim > 1 + (offsets is None and groups is None and query_ids is None):
                labels, self._patterns = encode_matrix(labels)
        self._layout, values = layout_and_values(labels, "labels", offsets, groups, query_ids)
        self._labels = as_labels(values, "labels")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= frozen(state)
        arrays = ("offsets", "order", "query_ids")
        self._layout = replace(self._layout, **{name: frozen(getattr(self._layout, name)) for name in arrays})

    def rankings(self, scores: Any) -> Rankings:
        """The rankings that scores of the same shape make."""
        layout = self._layout
        is_wide_number = False
        is_alike = is_ready(scores, READY_SCORES) and scores.shape == layout.shape
        if not is_alike or layout.order is not None or layout.is_ragged:
            given = layout.arrange(scores, "scores")
            scores, is_wide_number = as_scores(given, "scores"), is_wide(given)
        made = Rankings.of_checked(self._labels, scores, layout.offsets, layout.query_ids, None, None, layout.place)
        made.are_ordinals = is_wide_number
        made.patterns = self._patterns
        return made


def ready_rankings(labels: Any, scores: Any, offsets: Any) -> Rankings | None:
    """Rankings of arrays that kernels read as they are; None of others, and of what has an error to be said."""
    if offsets is None or not (is_ready(labels, READY_LABELS) and is_ready(scores, READY_SCORES)):
        return None
    if len(labels) != len(scores):
        return None
    return Rankings.of_checked(read_only(labels), scores, as_offsets(offsets, "offsets", len(labels)), None)


def layout_and_values(values: Any, name: str, offsets: Any, groups: Any, query_ids: Any) -> tuple[ArrayLayout, Array]:
    """How an array falls into queries, and its values query after query."""
    lists = None if type(values) is np.ndarray else ragged_of(values, name)
    array = as_numbers(values if lists is None else lists.values, name)
    if lists is None:
        layout = layout_of(array.shape, offsets, groups, query_ids, name)
    else:
        refuse_cuts(offsets, groups, query_ids)
        layout = ArrayLayout(array.shape, as_offsets(lists.offsets, name, len(array)), is_ragged=True, name=name)
    return layout, layout.in_order(array)


def refuse_cuts(offsets: Any, groups: Any, query_ids: Any) -> None:
    """Refuse what cuts arrays into queries where they are cut already."""
    for name, value in (("offsets", offsets), ("groups", groups), ("query_ids", query_ids)):
        if value is not None:
            raise InvalidInputError(f"`{name}` cuts arrays into queries, but `truth` has its own; leave it out")


def layout_of(shape: tuple[int, ...], offsets: Any, groups: Any, query_ids: Any, name: str = "labels") -> ArrayLayout:
    """The layout that exactly one of `offsets`, `groups`, `query_ids` or a second dimension gives."""
    n_ways = (offsets is not None) + (groups is not None) + (query_ids is not None) + (len(shape) == 2)
    if n_ways != 1 or len(shape) not in (1, 2):
        _refuse_shape(shape, {"offsets": offsets, "groups": groups, "query_ids": query_ids}, name)
    if len(shape) == 2:
        return ArrayLayout(shape, read_only(np.arange(shape[0] + 1, dtype="i8") * shape[1]), name=name)
    if offsets is not None:
        return ArrayLayout(shape, as_offsets(offsets, "offsets", shape[0]), name=name)
    if groups is not None:
        return ArrayLayout(shape, as_offsets(_offsets_of_groups(groups, shape[0]), "groups", shape[0]), name=name)
    return _layout_of_ids(query_ids, shape, name)


def _refuse_shape(shape: tuple[int, ...], ways: dict[str, Any], name: str) -> NoReturn:
    """Raise for an array that is not cut into queries, or is so more than once."""
    if len(shape) not in (1, 2):
        raise InvalidInputError(f"`{name}` must have one dimension, or two (one query a row), but its shape is {shape}")
    given = [f"`{name}`" for name, way in ways.items() if way is not None]
    if len(shape) == 2:
        given.append("two dimensions")
    raise InvalidInputError(
        "queries must be cut by exactly one of `offsets`, `groups`, `query_ids` or a second dimension, but there "
        + (f"are {' and '.join(given)}" if given else f"is none; for one query give offsets=[0, {shape[0]}]")
    )


def _offsets_of_groups(groups: Any, n_documents: int) -> Array:
    sizes = as_whole_numbers(groups, "groups")
    if (sizes < 0).any():
        place = int(np.argmax(sizes < 0))
        raise InvalidInputError(f"`groups` must hold sizes of 0 or more, but groups[{place}] = {sizes[place]}")
    if len(sizes) and sizes.max() > n_documents:  # before adding up, which might overflow
        place = int(np.argmax(sizes))
        raise InvalidInputError(
            f"`groups` must add up to the number of documents, {n_documents}, but groups[{place}] = {sizes[place]}"
        )
    if sizes.sum() != n_documents:
        raise InvalidInputError(
            f"`groups` must add up to the number of documents, {n_documents}, but add up to {sizes.sum()}"
        )
    return np.concatenate([[0], np.cumsum(sizes)])


def _layout_of_ids(query_ids: Any, shape: tuple[int, ...], name: str) -> ArrayLayout:
    ids = _as_ids(query_ids)
    if ids.shape != shape:
        raise InvalidInputError(f"`query_ids` must have the shape of `{name}`, {shape}, but has {ids.shape}")
    groups = group(_as_column(ids))
    return ArrayLayout(shape, read_only(groups.offsets), groups.rows, read_only(ids[groups.firsts]), name=name)


def _as_column(ids: Array) -> Column:
    """Ids as bytes: numpy's own, which are as long in every row, or those of texts."""
    return Column.of_texts(ids.tolist()) if ids.dtype.kind in "OT" else Column.of_fixed(ids)


def _as_ids(query_ids: Any) -> Array:
    """Ids as an array of whole numbers or of texts; a list or an object array must not mix them, or hold others."""
    ids = as_array(query_ids, "query_ids")
    if hasattr(query_ids, "dtype") and ids.dtype != object:
        if ids.dtype.kind not in "iuUST" and ids.size:
            raise InvalidTypeError(
                f"`query_ids` must be whole numbers or texts, but its dtype is {ids.dtype}; convert them"
            )
        return ids
    given = np.asarray(query_ids, dtype=object)
    if are_texts(given.reshape(-1), "`query_ids`"):
        return given  # numpy's texts are all as long as the longest, and lose NULs at their end
    return whole_numbers(given.reshape(-1).tolist(), "`query_ids`").reshape(given.shape)
