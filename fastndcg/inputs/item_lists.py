"""Recommended items as they are given: an array with a row a user, or a ragged column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.ragged import ragged_of
from fastndcg.rankings import Array, as_array, read_only

PADDING = -1


class Recommended(NamedTuple):
    """Recommended items in rank order; row u belongs to user u, and no row has more items than `longest`."""

    items: Array
    offsets: Array
    longest: int


class Recommendations:
    """
    Recommended items, where the plain array does not say enough.

    Parameters
    ----------
    items : (n_users, k) int array, or ragged column
        Item ids in rank order; rows of an array may be padded with -1, or masked.
    repeated : {'raise', 'once'}
        What an item is that stands in a row again: an error, or an item without a label that keeps its rank; the
        result says how many there were.

    Examples
    --------
    >>> liked = fn.Interactions([4], offsets=[0, 1])
    >>> result = fn.evaluate(liked, fn.Recommendations([[4, 4, 1]], repeated="once"), "p@2")
    >>> result.mean()
    {'P@2': 0.5}
    """

    __slots__ = ("items", "repeated")

    def __init__(self, items: Any, *, repeated: str = "raise") -> None:
        if repeated not in ("raise", "once"):
            raise InvalidInputError(f"`repeated` must be 'raise' or 'once', not {repeated!r}")
        self.items = items
        self.repeated = repeated

    @property
    def n_users(self) -> int:
        """How many rows there are."""
        return len(recommended_of(self.items).offsets) - 1


def recommended_of(items: Any, name: str = "predictions") -> Recommended:
    """Recommended items from an array with a row a user, or a ragged column."""
    lists = ragged_of(items, name)
    if lists is not None:
        longest = int(np.diff(lists.offsets).max(initial=0))
        return Recommended(whole_numbers(lists.values, name, 1), lists.offsets, longest)
    if isinstance(items, np.ma.MaskedArray):
        items = items.filled(PADDING)
    if isinstance(items, list | tuple):
        _refuse_uneven(items, name)
    array = whole_numbers(items, name, 2)
    n_users, n_columns = array.shape
    return Recommended(array.reshape(-1), read_only(np.arange(n_users + 1, dtype="i8") * n_columns), n_columns)


def _refuse_uneven(rows: Any, name: str) -> None:
    """Refuse a list of rows that are not as long as the first."""
    sizes = [len(row) for row in rows if hasattr(row, "__len__")]
    user = next((user for user, size in enumerate(sizes) if size != sizes[0]), None)
    if user is not None:
        raise InvalidInputError(
            f"`{name}` must have rows of one length, but that of user {user} has {sizes[user]} items, and that of user "
            f"0 has {sizes[0]}; pad rows with {PADDING}, or give a column of lists, such as pyarrow.array(rows)"
        )


def gap_of(item: int, user: int, place: int) -> str:
    """What a message says of an item that is below 0, and not the end of its row."""
    remedy = "move it to the end" if item == PADDING else f"pad rows with {PADDING}"
    return (
        f"hold items of 0 or more, and {PADDING} behind them only, but place {place} of user {user} is {item}; {remedy}"
    )


def whole_numbers(values: Any, name: str, ndim: int) -> Array:
    """Item ids as a contiguous array of int32 or int64."""
    array = as_array(values, name)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(
            f"`{name}` must hold item ids, whole numbers, but its dtype is {array.dtype}; cast it to int, or number "
            "the items, such as by numpy.unique(items, return_inverse=True)"
        )
    if array.ndim != ndim:
        wanted = "one row a user" if ndim == 2 else "one dimension"
        raise InvalidInputError(f"`{name}` must have {wanted}, but its shape is {array.shape}")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise InvalidInputError(f"`{name}` must fit int64, but one is {array.max()}")
    small = array.dtype.itemsize < 4 or array.dtype == np.int32
    return np.ascontiguousarray(array, "i4" if small else "i8")
