"""Ragged columns, with one list per query: of Arrow, Polars, pandas, awkward, and Python's lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.arrow import check_column, read_offsets
from fastndcg.rankings.validation import Array
from fastndcg.runtime.optional_packages import optional_import

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
    return read_lists(_as_column(value), name)


def _read_rows(rows: Sequence[Any]) -> Ragged | None:
    """Read lists of numbers of different lengths, and return None for other rows."""
    if len(rows) < 2 or not isinstance(rows[0], list | tuple | np.ndarray):
        return None
    if not all(isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in rows):
        return None
    sizes = list(map(len, rows))
    if len(set(sizes)) == 1 or not isinstance(next(chain.from_iterable(rows)), NUMBERS):
        return None
    values = np.concatenate(rows) if all(isinstance(row, np.ndarray) for row in rows) else np.array([*chain(*rows)])
    return Ragged(values, np.cumsum([0, *sizes])) if values.ndim == 1 else None


def _as_column(value: Any) -> Any:
    """Convert a column to pyarrow, without a stream if possible: streams lose the sizes of buffers."""
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    is_pandas = type(value).__module__.partition(".")[0] == "pandas"
    if isinstance(value, pyarrow.ChunkedArray):
        return value
    if hasattr(value, "__arrow_c_stream__") and not is_pandas:
        return pyarrow.chunked_array(value)
    array = value if isinstance(value, pyarrow.Array) else pyarrow.array(value)
    return array if isinstance(array, pyarrow.ChunkedArray) else pyarrow.chunked_array([array])


def read_lists(column: Any, name: str) -> Ragged:
    """Read the lists of numbers of an Arrow column that belongs to no frame."""
    check_column(column, f"`{name}`")
    if column.null_count:
        raise InvalidInputError(
            f"`{name}` must have no null, but list {find_first_null(column)} is null. Drop its query"
        )
    values, offsets = flatten_lists(column)
    check_column(values, f"the lists in `{name}`")
    if values.null_count:
        query = find_list(find_first_null(values), offsets)
        raise InvalidInputError(f"`{name}` must have no null, but a number of list {query} is null. Drop or fill it")
    return Ragged(convert_decimals(values).to_numpy(), offsets)


def flatten_lists(column: Any) -> tuple[Any, Array]:
    """Return the values of an Arrow column of lists, without a copy of a single chunk, and the offsets of the lists."""
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    pieces = []
    offsets = [np.zeros(1, "i8")]
    end = 0
    for chunk in filter(len, column.chunks):
        if not (pyarrow.types.is_list(chunk.type) or pyarrow.types.is_large_list(chunk.type)):  # fixed size, or a view
            chunk = _as_plain_lists(chunk)
        bounds = read_offsets(chunk).astype("i8", copy=False)
        pieces.append(chunk.values.slice(bounds[0], bounds[-1] - bounds[0]))
        offsets.append(bounds[1:] + (end - bounds[0]))
        end += len(pieces[-1])
    return pyarrow.chunked_array(pieces, column.type.value_type), np.concatenate(offsets)


def find_list(place: int, offsets: Array) -> int:
    """Return the number of the list that holds a place among the values of all lists."""
    return int(np.searchsorted(offsets, place, side="right")) - 1


def _as_plain_lists(chunk: Any) -> Any:
    """Convert lists of fixed size, or views of lists, to plain lists. A cast by pyarrow gives wrong values of views."""
    pyarrow = optional_import("pyarrow", "reading columns of lists", "arrow")
    compute = optional_import("pyarrow.compute", "reading columns of lists", "arrow")
    sizes = compute.list_value_length(chunk).to_numpy(zero_copy_only=False)
    return pyarrow.LargeListArray.from_arrays(np.concatenate([[0], np.cumsum(sizes, dtype="i8")]), chunk.flatten())


def convert_decimals(column: Any) -> Any:
    """Replace decimals by the nearest float64, by way of their digits: a cast by Arrow is less exact."""
    pyarrow = optional_import("pyarrow", "reading columns", "arrow")
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
    return Ragged(values, np.concatenate([[0], np.cumsum(sizes)]))
