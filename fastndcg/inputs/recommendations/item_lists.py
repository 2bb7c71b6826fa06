"""Read recommended items: an array with a row per user, or a ragged column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import RepeatedItems
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.columns import find_usual_roles
from fastndcg.inputs.ragged import read_ragged
from fastndcg.rankings.validation import Array, as_array, is_masked_array, read_only
from fastndcg.runtime.pickling import Picklable

PADDING = -1
REPEATED = ("raise", "once")  # what to do with an item that occurs in its row again


class Recommended(NamedTuple):
    """Recommended items in rank order. Row u belongs to user u. `longest` is the largest row size."""

    items: Array
    offsets: Array
    longest: int


class Recommendations(Picklable):
    """
    Recommended items with options.

    Any number of threads may use one at once.

    Parameters
    ----------
    items : (n_users, k) int array, or ragged column
        Item ids in rank order. Rows of an array may be padded with -1, or masked.
    repeated : {'raise', 'once'}
        What to do with an item that occurs in its row again: raise an error, or keep its rank without a label. A
        note of the result counts these items.

    Examples
    --------
    >>> liked = fn.Interactions([4], offsets=[0, 1])
    >>> result = fn.evaluate(liked, fn.Recommendations([[4, 4, 1]], repeated="once"), "p@2")
    >>> result.mean()
    {'P@2': 0.5}
    """

    __slots__ = ("items", "repeated")

    def __init__(self, items: Any, *, repeated: RepeatedItems = "raise") -> None:
        if not isinstance(repeated, str) or repeated not in REPEATED:
            raise InvalidInputError(f"`repeated` must be {' or '.join(map(repr, REPEATED))}, not {shorten(repeated)}")
        self.items = items
        self.repeated = repeated

    @property
    def n_users(self) -> int:
        """The number of rows."""
        return len(read_item_rows(self.items).offsets) - 1

    @property
    def has_ids(self) -> bool:
        """True if users or items have ids. Then the items have a method `to_run`."""
        return False


def read_item_rows(items: Any, name: str = "predictions") -> Recommended:
    """Read recommended items from an array with a row per user, or a ragged column."""
    refuse_frame(items, name)
    lists = read_ragged(items, name)
    if lists is not None:
        longest = int(np.diff(lists.offsets).max(initial=0))
        return Recommended(as_items(lists.values, name, 1), lists.offsets, longest)
    if is_masked_array(items):
        items = items.filled(PADDING)
    array = as_items(items, name, 2)
    n_users, n_columns = array.shape
    return Recommended(array.reshape(-1), read_only(np.arange(n_users + 1, dtype="i8") * n_columns), n_columns)


def refuse_frame(values: Any, name: str) -> None:
    """Raise for a frame whose columns are users, items and the like, which would be read as a matrix of items."""
    columns = getattr(values, "column_names", getattr(values, "columns", None))
    names = [column for column in (() if columns is None else columns) if isinstance(column, str)]
    if len(set(find_usual_roles(names).values())) > 1:
        raise InvalidTypeError(
            f"`{name}` must be a matrix with one row per user, but is a frame with columns {join_names(names)}. Give a "
            "list per user, such as frame.sort_values('rank').groupby('user')['item'].agg(list), padded to a matrix, "
            "or frames for truth and predictions alike"
        )


def describe_gap(item: int, user: int, place: int) -> str:
    """Return the error message for a negative item that is no padding at the end of its row."""
    remedy = "Move it to the end" if item == PADDING else f"Pad rows with {PADDING}"
    return (
        f"hold items of 0 or more, and {PADDING} behind them only, but place {place} of user {user} is {item}. {remedy}"
    )


def as_items(values: Any, name: str, ndim: int) -> Array:
    """Convert item ids to a contiguous array of int32 or int64."""
    array = as_array(values, name)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(
            f"`{name}` must hold item ids, whole numbers, but its dtype is {array.dtype}. Cast it to int, or number "
            "the items, such as by numpy.unique(items, return_inverse=True)"
        )
    if array.ndim != ndim:
        expected = "one row per user" if ndim == 2 else "one dimension"
        raise InvalidInputError(f"`{name}` must have {expected}, but its shape is {array.shape}")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise InvalidInputError(f"`{name}` must fit int64, but one is {array.max()}")
    small = array.dtype.itemsize < 4 or array.dtype == np.int32
    return np.ascontiguousarray(array, "i4" if small else "i8")
