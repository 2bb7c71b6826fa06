"""Ragged columns: one list a query, in Arrow's layout or in awkward's; their offsets are taken as they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, optional_import
from fastndcg.rankings import Array

LIST_TYPES = ("list", "large_list", "fixed_size_list")


class Ragged(NamedTuple):
    """The numbers of all lists, one list after the other; list q is ``values[offsets[q]:offsets[q + 1]]``."""

    values: Array
    offsets: Array


def ragged_of(value: Any, name: str) -> Ragged | None:
    """The lists of a pyarrow array, a Polars or pandas column or an awkward array; None of what has none."""
    if isinstance(value, np.ndarray):
        return None
    if type(value).__module__.partition(".")[0] == "awkward":
        return _of_awkward(value, name)
    kind = getattr(value, "dtype", None) or getattr(value, "type", None)
    if not str(kind).lower().startswith(LIST_TYPES):
        return None
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    has_stream = hasattr(value, "__arrow_c_stream__")
    return of_lists(pyarrow.chunked_array(value) if has_stream else pyarrow.chunked_array([pyarrow.array(value)]), name)


def of_lists(column: Any, name: str) -> Ragged:
    """The lists of numbers of an Arrow column that stands alone."""
    if column.null_count:
        raise InvalidInputError(f"`{name}` must have no null, but list {first_null(column)} is null; drop its query")
    values, offsets = flattened(column)
    if values.null_count:
        query = list_of(first_null(values), offsets)
        raise InvalidInputError(f"`{name}` must have no null, but a number of list {query} is null; drop or fill it")
    return Ragged(with_floats(values).to_numpy(), offsets)


def flattened(column: Any) -> tuple[Any, Array]:
    """What the lists of an Arrow column hold, and their offsets; sliced, in chunks or not; no copy of one chunk."""
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    pieces, offsets, end = [], [np.zeros(1, "i8")], 0
    for chunk in column.chunks:
        if not (pyarrow.types.is_list(chunk.type) or pyarrow.types.is_large_list(chunk.type)):  # fixed size, or a view
            chunk = _in_order(chunk)
        bounds = chunk.offsets.to_numpy().astype("i8", copy=False)
        pieces.append(chunk.values.slice(bounds[0], bounds[-1] - bounds[0]))
        offsets.append(bounds[1:] + (end - bounds[0]))
        end += len(pieces[-1])
    return pyarrow.chunked_array(pieces, column.type.value_type), np.concatenate(offsets)


def list_of(place: int, offsets: Array) -> int:
    """Which of the lists a place among the values of all is in."""
    return int(np.searchsorted(offsets, place, side="right")) - 1


def _in_order(chunk: Any) -> Any:
    """Lists of one size, or views of lists, in the order of their rows: pyarrow casts views wrong."""
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    compute = optional_import("pyarrow.compute", "reading columns of lists", "arrow")
    sizes = compute.list_value_length(chunk).to_numpy(zero_copy_only=False)
    return pyarrow.LargeListArray.from_arrays(np.concatenate([[0], np.cumsum(sizes, dtype="i8")]), chunk.flatten())


def with_floats(column: Any) -> Any:
    """An Arrow column with the nearest float64 for each decimal, by way of its digits: Arrow's cast is less exact."""
    pyarrow = optional_import("pyarrow", "reading columns", "arrow")
    is_decimal = pyarrow.types.is_decimal(column.type)
    return column.cast(pyarrow.string()).cast(pyarrow.float64()) if is_decimal else column


def first_null(column: Any) -> int:
    """The row of the first null of an Arrow column."""
    return int(np.argmax(column.is_null().to_numpy()))


def _of_awkward(value: Any, name: str) -> Ragged | None:
    awkward = optional_import("awkward", "reading awkward arrays", "awkward")
    if value.ndim != 2:
        return None
    try:
        sizes = awkward.to_numpy(awkward.num(value, axis=1), allow_missing=False)
        values = awkward.to_numpy(awkward.flatten(value, axis=1), allow_missing=False)
    except ValueError as error:
        raise InvalidInputError(f"`{name}` must have no missing value, but has: {error}; drop or fill it") from None
    return Ragged(values, np.concatenate([[0], np.cumsum(sizes)]))
