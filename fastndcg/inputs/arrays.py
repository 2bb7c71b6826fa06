"""Arrays of labels and scores, split into queries by offsets, groups, query ids or a second dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.ids import Groups, IdColumn, as_id_numbers, group, is_text_list
from fastndcg.inputs.table_sources import check_column, pyarrow
from fastndcg.rankings.rankings import Patterns, Rankings
from fastndcg.rankings.validation import (
    READY_LABELS,
    READY_SCORES,
    Array,
    as_array,
    as_labels,
    as_numbers,
    as_offsets,
    as_scores,
    as_whole_numbers,
    count_before,
    freeze,
    is_kernel_ready,
    is_series,
    is_wide,
    read_only,
    refuse_names,
)
from fastndcg.runtime.imports import optional_import

if TYPE_CHECKING:
    import numpy.typing as npt

BYTES = 256  # patterns whose numbers fit a byte
ENTRY = np.dtype([("subtopic", "i4"), ("label", "f8")])
AS_IDS = "lists of ids, [set(ids) for ids in truth] and fn.Recommendations(predictions)"
BOTH_WAYS = f". Give a score for each label, as rows of one length or by offsets=, or, if these are {AS_IDS}"


@dataclass(slots=True)
class ArrayLayout:
    """
    The queries of arrays of one shape.

    `order` sorts documents by query, or equals None if the documents of each query are adjacent. If the truth is
    ragged, the predictions must be ragged, too, with equal offsets. `name` is the name of the array in error messages.
    """

    shape: tuple[int, ...]
    offsets: Array
    order: Array | None = None
    query_ids: Array | None = None
    is_ragged: bool = False
    name: str = "labels"

    def arrange(self, values: npt.ArrayLike, name: str, *, could_be_ids: bool = False) -> Array:
        """
        Return values of this shape in one dimension, query after query, with a copy only if `order` needs one.

        With `could_be_ids`, what this layout is of are whole numbers in rows, as lists of ids are, too.
        """
        lists = read_ragged(values, name)
        array = as_numbers(values if lists is None else lists.values, name)
        remedy = BOTH_WAYS if could_be_ids and _could_be_ids(array) else ""
        if self.is_ragged and array.ndim == 2:
            self._check_offsets(np.arange(len(array) + 1) * array.shape[1], name, remedy)
        if lists is not None and (self.is_ragged or len(self.shape) == 2):
            self._check_offsets(lists.offsets, name, remedy)
        if (lists is not None) != self.is_ragged:
            kinds = "not ragged" if self.is_ragged else "ragged"
            raise InvalidInputError(f"`{self.name}` and `{name}` must be alike, but `{name}` are {kinds}. Convert them")
        if array.shape == (*self.shape, 1):  # a column, as models predict it
            array = array[..., 0]
        if array.shape != self.shape:
            raise InvalidInputError(
                f"`{name}` must have the shape of `{self.name}`, {self.shape}, but has {array.shape}{remedy}"
            )
        return self.in_order(array)

    def in_order(self, array: Array) -> Array:
        """Return an array of this shape in one dimension, query after query."""
        flat = array if array.ndim == 1 else array.reshape(-1)
        return flat if self.order is None else flat[self.order]

    def _check_offsets(self, offsets: Array, name: str, remedy: str) -> None:
        if len(offsets) != len(self.offsets):
            n_labels = len(self.offsets) - 1
            n_scores = len(offsets) - 1
            raise InvalidInputError(
                f"`{name}` must have the same number of lists as `{self.name}`, {n_labels}, but has {n_scores}{remedy}"
            )
        differ = np.flatnonzero(offsets != self.offsets)
        if len(differ):
            query = int(differ[0]) - 1
            sizes = [int(bounds[query + 1] - bounds[query]) for bounds in (self.offsets, offsets)]
            raise InvalidInputError(
                f"`{name}` must have the same number of numbers as `{self.name}` in each list, but list {query} has "
                f"{sizes[1]} and not {sizes[0]}{remedy}"
            )

    def place(self, _: str, document: int) -> str:
        """Return the index of a document, counted query after query, in the user's array."""
        return ", ".join(str(index) for index in np.unravel_index(self.find_index(document), self.shape))

    def find_index(self, document: int) -> int:
        """Return the flat index in the user's array of a document that is counted query after query."""
        return document if self.order is None else int(self.order[document])


class ArrayTruth:
    """Labels and their layout, ready for the scores of many systems."""

    _patterns: Patterns | None = None  # labels number these patterns if the last dimension are subtopics

    _index: Any = None  # of labels in a pandas Series

    could_be_ids: bool = False  # labels are whole numbers in rows

    def __init__(self, labels: Any, offsets: Any, groups: Any, query_ids: Any) -> None:
        if is_series(labels):
            self._index = labels.index
            query_ids = align_series(query_ids, "query_ids", self._index)
        if is_kernel_ready(labels, READY_LABELS):
            self._layout = layout = make_layout(labels.shape, offsets, groups, query_ids)
            self._labels = read_only(labels if layout.order is None else layout.in_order(labels))
            return
        if getattr(labels, "ndim", 2) > 1 and read_ragged(labels, "labels") is None:
            labels = as_numbers(labels, "labels")
            if labels.ndim > 1 + (offsets is None and groups is None and query_ids is None):
                labels, self._patterns = encode_matrix(labels)
        self._layout, values = layout_and_values(labels, "labels", offsets, groups, query_ids)
        self._labels = as_labels(values, "labels")
        self.could_be_ids = _could_be_ids(values) and (self._layout.is_ragged or len(self._layout.shape) == 2)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= freeze(state)
        arrays = ("offsets", "order", "query_ids")
        self._layout = replace(self._layout, **{name: freeze(getattr(self._layout, name)) for name in arrays})
        as_offsets(self._layout.offsets, "offsets", len(self._labels))

    def rankings(self, scores: Any) -> Rankings:
        """Make rankings of scores of the same shape."""
        layout = self._layout
        is_wide_number = False
        if self._index is not None:
            scores = align_series(scores, "scores", self._index)
        is_alike = is_kernel_ready(scores, READY_SCORES) and scores.shape == layout.shape
        if not is_alike or layout.order is not None or layout.is_ragged:
            values = layout.arrange(scores, "scores", could_be_ids=self.could_be_ids)
            scores = as_scores(values, "scores")
            is_wide_number = is_wide(values)
        rankings = Rankings.from_checked(
            self._labels, scores, layout.offsets, layout.query_ids, None, None, layout.place
        )
        rankings.are_ordinals = is_wide_number
        rankings.patterns = self._patterns
        return rankings


def _could_be_ids(values: Array) -> bool:
    """Return True for whole numbers, and for no numbers: the dtype of empty lists says nothing."""
    return values.dtype.kind in "iu" or not values.size


def align_series(values: Any, name: str, index: Any) -> Any:
    """Return a pandas Series in the order of the index of the labels. Arrays stay as they are."""
    if not is_series(values) or values.index.equals(index):
        return values
    is_same = len(values) == len(index) and index.is_unique and values.index.is_unique
    if not is_same or not index.isin(values.index).all():
        own, theirs = (shorten(names[:3].tolist()) for names in (values.index, index))
        raise InvalidInputError(
            f"`{name}` must have the index of the labels, but its index begins with {own}, and theirs with {theirs}. "
            f"Take {name}.to_numpy() if it is in the order of the labels"
        )
    return values.reindex(index)


def make_ready_rankings(labels: Any, scores: Any, offsets: Any) -> Rankings | None:
    """Make rankings of arrays that kernels read as they are, and return None for other arrays, and for invalid ones."""
    if offsets is None or not (is_kernel_ready(labels, READY_LABELS) and is_kernel_ready(scores, READY_SCORES)):
        return None
    if len(labels) != len(scores):
        return None
    return Rankings.from_checked(read_only(labels), scores, as_offsets(offsets, "offsets", len(labels)), None)


def layout_and_values(values: Any, name: str, offsets: Any, groups: Any, query_ids: Any) -> tuple[ArrayLayout, Array]:
    """Return the layout of an array, and its values query after query."""
    lists = None if type(values) is np.ndarray else read_ragged(values, name)
    array = as_numbers(values if lists is None else lists.values, name)
    if lists is None:
        layout = make_layout(array.shape, offsets, groups, query_ids, name)
    else:
        refuse_cuts(offsets, groups, query_ids)
        layout = ArrayLayout(array.shape, as_offsets(lists.offsets, name, len(array)), is_ragged=True, name=name)
    return layout, layout.in_order(array)


def refuse_cuts(offsets: Any, groups: Any, query_ids: Any) -> None:
    """Raise for arguments that split arrays into queries if the truth has its own queries."""
    for name, value in (("offsets", offsets), ("groups", groups), ("query_ids", query_ids)):
        if value is not None:
            raise InvalidInputError(f"`{name}` cuts arrays into queries, but `truth` has its own. Leave it out")


def make_layout(shape: tuple[int, ...], offsets: Any, groups: Any, query_ids: Any, name: str = "labels") -> ArrayLayout:
    """Make a layout from exactly one of `offsets`, `groups`, `query_ids` or a second dimension."""
    n_ways = (offsets is not None) + (groups is not None) + (query_ids is not None) + (len(shape) == 2)
    if n_ways != 1 or len(shape) not in (1, 2):
        _refuse_shape(shape, {"offsets": offsets, "groups": groups, "query_ids": query_ids}, name)
    if len(shape) == 2:
        return ArrayLayout(shape, read_only(np.arange(shape[0] + 1, dtype="i8") * shape[1]), name=name)
    if offsets is not None:
        return ArrayLayout(shape, as_offsets(offsets, "offsets", shape[0]), name=name)
    if groups is not None:
        try:
            bounds = _convert_groups(groups, shape[0])
        except InvalidInputError:
            if not hasattr(groups, "__len__") or len(groups) != shape[0] or shape[0] < 2:
                raise
            raise InvalidInputError(
                "`groups` must be the number of documents of each query, but has a value for each document. Give the "
                "query of each document as query_ids"
            ) from None
        return ArrayLayout(shape, as_offsets(bounds, "groups", shape[0]), name=name)
    return _make_layout_from_ids(query_ids, shape, name)


def _refuse_shape(shape: tuple[int, ...], ways: dict[str, Any], name: str) -> NoReturn:
    """Raise for an array that is not split into queries, or in more than one way."""
    if len(shape) not in (1, 2):
        raise InvalidInputError(f"`{name}` must have one dimension, or two (one query a row), but its shape is {shape}")
    arguments = [f"`{name}`" for name, way in ways.items() if way is not None]
    if shape == (0,) and not arguments:
        raise InvalidInputError(f"`{name}` must hold documents, but is empty. For no query at all give offsets=[0]")
    if len(shape) == 2:
        arguments.append("two dimensions")
    raise InvalidInputError(
        "queries must be cut by exactly one of `offsets`, `groups`, `query_ids` or a second dimension, but there "
        + (
            f"are {' and '.join(arguments)}"
            if arguments
            else f"is none; for one query give offsets=[0, {shape[0]}], "
            "and for the class of each row fn.Interactions(classes, offsets=range(len(classes) + 1))"
        )
    )


def _convert_groups(groups: Any, n_documents: int) -> Array:
    refuse_names(groups, "groups")
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
    return count_before(sizes)


def _make_layout_from_ids(query_ids: Any, shape: tuple[int, ...], name: str) -> ArrayLayout:
    ids = _as_ids(query_ids)
    if ids.shape == (shape[0], 1):
        ids = ids[:, 0]
    if ids.shape != shape:
        raise InvalidInputError(f"`query_ids` must have the shape of `{name}`, {shape}, but has {ids.shape}")
    groups = group(_as_column(ids))
    return ArrayLayout(shape, read_only(groups.offsets), groups.rows, read_only(ids[groups.firsts]), name=name)


def _as_column(ids: Array) -> IdColumn:
    """Convert ids to a column."""
    return IdColumn.of_texts(ids.tolist()) if ids.dtype.kind in "OT" else IdColumn.of_fixed(ids)


def _as_ids(query_ids: Any) -> Array:
    """Convert ids to an array of whole numbers or of texts. Raise for a mixture or other types."""
    ids = as_array(query_ids, "query_ids")
    if hasattr(query_ids, "dtype") and ids.dtype != object:
        if ids.dtype.kind not in "iuUST" and ids.size:
            raise InvalidTypeError(
                f"`query_ids` must be whole numbers or texts, but its dtype is {ids.dtype}. Convert them"
            )
        return ids
    objects = np.asarray(query_ids, dtype=object)
    if is_text_list(objects.reshape(-1), "`query_ids`"):
        return objects  # NumPy's own texts have one length, and lose NULs at their end
    return as_id_numbers(objects.reshape(-1).tolist(), "`query_ids`").reshape(objects.shape)


def encode(owners: Array, subtopics: Array, labels: Array, n_documents: int) -> tuple[Array, Patterns]:
    """
    Return the number of each document's pattern, and the patterns.

    Judgment i belongs to document owners[i]. Owners never decrease, and the subtopics of a document increase.
    """
    highest = np.full(n_documents, -np.inf)
    np.maximum.at(highest, owners, labels)
    above = labels > 0
    entries = np.empty(np.count_nonzero(above), ENTRY)
    entries["subtopic"] = subtopics[above]
    entries["label"] = labels[above]
    sizes = np.bincount(owners[above], minlength=n_documents)
    offsets = count_before(sizes)
    rows = np.flatnonzero(sizes)
    numbers, firsts = IdColumn.of_bytes(entries.view("u1"), offsets * ENTRY.itemsize).factorize(rows)

    codes = np.where(np.isfinite(highest), np.minimum(highest, 0), 0)
    codes[rows] = numbers + 1
    ends = np.cumsum(sizes[firsts])
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[firsts] - ends + sizes[firsts], sizes[firsts])
    pattern_entries = entries[places]
    return codes, Patterns(
        np.concatenate([[0, 0], ends]), pattern_entries["subtopic"].copy(), pattern_entries["label"].copy()
    )


def encode_matrix(labels: Array) -> tuple[Array, Patterns]:
    """Return patterns like `encode`, for an array of labels whose last dimension are subtopics."""
    labels = labels.copy()  # another thread may change the input between passes
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        place = np.argwhere(~np.isfinite(labels))[0].tolist()
        raise InvalidInputError(f"`labels` must be finite, but labels{place} is {labels[tuple(place)]}")
    *shape, n_subtopics = labels.shape
    flat = as_labels(labels.reshape(-1), "labels")
    has_negative = bool((flat < 0).any())
    places = np.arange(flat.size) if has_negative else np.flatnonzero(flat)  # the highest label below 0 counts
    codes, patterns = encode(places // n_subtopics, places % n_subtopics, flat[places], math.prod(shape))
    if has_negative:
        place = np.argwhere(labels < 0)[0].tolist()
        patterns.negative = f"labels{place} is {labels[tuple(place)]!s}"
        return codes.reshape(shape), patterns
    return codes.reshape(shape).astype("u1" if len(patterns) <= BYTES else "i4"), patterns


NUMBERS = int | float | np.integer | np.floating | np.bool_
LIST_TYPES = ("list", "large_list", "fixed_size_list")


class Ragged(NamedTuple):
    """The numbers of all lists, one list after the other. List q is ``values[offsets[q]:offsets[q + 1]]``."""

    values: Array
    offsets: Array


def read_ragged(value: Any, name: str) -> Ragged | None:
    """Read the lists of an Arrow, Polars, pandas or awkward column, or uneven lists. Return None for other values."""
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, list | tuple):
        return _read_rows(value)
    if type(value).__module__.partition(".")[0] == "awkward":
        return _read_awkward(value, name)
    kind = getattr(value, "dtype", None) or getattr(value, "type", None)
    if not str(kind).lower().startswith(LIST_TYPES):
        return None
    return read_lists(_convert_column(value), name)


def _read_rows(rows: Sequence[Any]) -> Ragged | None:
    """Read lists of numbers of different lengths, and return None for other rows."""
    if len(rows) < 2 or not isinstance(rows[0], list | tuple | np.ndarray):
        return None
    if not all(isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in rows):
        return None
    sizes = list(map(len, rows))
    if len(set(sizes)) == 1 or not isinstance(next(chain.from_iterable(rows)), NUMBERS):
        return None
    try:
        values = np.concatenate(rows) if all(isinstance(row, np.ndarray) for row in rows) else np.array([*chain(*rows)])
    except (TypeError, ValueError):  # lists or dates among the numbers
        return None
    return Ragged(values, np.cumsum([0, *sizes])) if values.ndim == 1 else None


def _convert_column(value: Any) -> Any:
    """Convert a column to pyarrow, without a stream if possible: streams lose the sizes of buffers."""
    optional_import("pyarrow", "reading columns of lists", "arrow")
    is_pandas = type(value).__module__.partition(".")[0] == "pandas"
    if isinstance(value, pyarrow.ChunkedArray):
        return value
    if hasattr(value, "__arrow_c_stream__") and not is_pandas:
        return pyarrow.chunked_array(value)
    array = value if isinstance(value, pyarrow.Array) else pyarrow.array(value)
    return array if isinstance(array, pyarrow.ChunkedArray) else pyarrow.chunked_array([array])


def read_lists(column: Any, name: str) -> Ragged:
    """Read the lists of numbers of an Arrow column that belongs to no frame."""

    def refuse_nulls(values: Any, offsets: Array | None = None) -> None:
        if values.null_count:
            place = find_first_null(values)
            problem = (
                f"list {place} is null. Drop its query"
                if offsets is None
                else f"a number of list {find_list(place, offsets)} is null. Drop or fill it"
            )
            raise InvalidInputError(f"`{name}` must have no null, but {problem}")

    values, offsets = flatten_lists(column, f"`{name}`", refuse_nulls)
    return Ragged(convert_decimals(values).to_numpy(), offsets)


def flatten_lists(column: Any, what: str, refuse_nulls: Callable[..., None]) -> tuple[Any, Array]:
    """
    Return the values of an Arrow column of lists, and the offsets of the lists.

    `refuse_nulls` raises for a null in the column, and, called with offsets, for one in its lists.
    """
    compute = optional_import("pyarrow.compute", "reading columns of lists", "arrow")
    check_column(column, what)
    refuse_nulls(column)
    sizes = compute.list_value_length(column).to_numpy()
    values = pyarrow.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    offsets = count_before(sizes)
    refuse_nulls(values, offsets)
    if pyarrow.types.is_null(values.type):  # all lists are empty, so that Arrow has no type for their values
        values = values.cast(pyarrow.int64())
    return values, offsets


def find_list(place: int, offsets: Array) -> int:
    """Return the number of the list that holds a place among the values of all lists."""
    return int(np.searchsorted(offsets, place, side="right")) - 1


def convert_decimals(column: Any) -> Any:
    """Replace decimals by the nearest float64, by way of their digits: a cast by Arrow is less exact."""
    is_decimal = pyarrow.types.is_decimal(column.type)
    return column.cast(pyarrow.string()).cast(pyarrow.float64()) if is_decimal else column


def find_first_null(column: Any) -> int:
    """Return the row of the first null of an Arrow column."""
    return int(np.argmax(column.is_null().to_numpy()))


def _read_awkward(value: Any, name: str) -> Ragged | None:
    awkward = optional_import("awkward", "reading awkward arrays", "awkward")
    if value.ndim != 2:
        return None
    try:
        sizes = awkward.to_numpy(awkward.num(value, axis=1), allow_missing=False)
        values = awkward.to_numpy(awkward.flatten(value, axis=1), allow_missing=False)
    except ValueError as error:
        raise InvalidInputError(f"`{name}` must have no missing value, but has: {error}. Drop or fill it") from None
    return Ragged(values, count_before(sizes))


REMEDY = "For ranks with ties or gaps give a column of scores, such as -rank"


def convert_ranks(ranks: Array, groups: Groups, describe: Callable[[int], str], name: str) -> Array:
    """
    Return negative ranks as scores.

    Parameters
    ----------
    ranks : (n_rows,) array
        The rank of each row.
    groups : Groups
        The rows of each query.
    describe : callable
        A function that names the document and the query of a row, and its place.
    name : str
        The name of the run in error messages.
    """
    rows = np.arange(len(ranks)) if groups.rows is None else groups.rows
    ranks = np.asarray(ranks)
    with np.errstate(invalid="ignore"):
        is_wrong = ~((ranks >= 1) & (ranks == np.floor(ranks)) & (ranks < np.inf))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        remedy = "Add 1 to all ranks" if ranks[row] == 0 else "Correct it, or give a column of scores"
        raise InvalidInputError(
            f"{name}: rank must be a whole number from 1 on, but that of {describe(row)} is {ranks[row]!s}. {remedy}"
        )
    sizes = np.repeat(np.diff(groups.offsets), np.diff(groups.offsets))
    starts = np.repeat(groups.offsets[:-1], np.diff(groups.offsets))
    in_order = ranks[rows]
    beyond = in_order > sizes
    if beyond.any():
        place = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{name}: ranks must be 1, 2, 3 and so on in each query, but {describe(int(rows[place]))} has rank "
            f"{in_order[place]!s}, and its query has {sizes[place]} documents. {REMEDY}"
        )
    slots = starts + in_order.astype("i8") - 1
    is_repeated = np.bincount(slots, minlength=len(slots)) > 1
    if is_repeated.any():
        first, second = rows[np.flatnonzero(slots == int(np.argmax(is_repeated)))[:2]].tolist()
        raise InvalidInputError(
            f"{name}: ranks must differ in a query, but {describe(first)} and {describe(second)} both have rank "
            f"{ranks[first]!s}. {REMEDY}"
        )
    return -ranks.astype("f8")
