"""Check arrays that users give, and convert them to the dtypes that kernels read."""

from __future__ import annotations

import sys
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from fastndcg.errors import Argument, InvalidInputError, InvalidTypeError, shorten
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.parsing import as_float
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = np.ndarray  # numpy.typing takes 5 ms to import


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view. Numba has different types for writable and read-only arrays."""
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # 3 times as fast as `flags.writeable = False`
    return view


class ReadOnly:
    """
    Base class of objects whose arrays were checked together.

    No attribute can be set, as kernels follow their offsets without checks. Methods set attributes by `put`.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        raise AttributeError(f"`{name}` of {kind} cannot be set, as what it holds was checked. Make new {kind}")

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        put(self, **freeze(state[1]))
        self._check_restored()

    def _check_restored(self) -> None:
        """Raise for arrays of a pickle that do not fit each other."""


def put(target: ReadOnly, **attributes: Any) -> None:
    """Set attributes of a read-only object while it is built."""
    for name, value in attributes.items():
        object.__setattr__(target, name, value)


def freeze(restored: Any) -> Any:
    """Make unpickled arrays read-only again, also in dicts and tuples."""
    if isinstance(restored, np.ndarray):
        restored.flags.writeable = False
    elif isinstance(restored, dict):
        return {name: freeze(value) for name, value in restored.items()}
    elif type(restored) is tuple:
        return tuple(map(freeze, restored))
    return restored


EXACT_LIMIT = 2.0**53  # above it float64 leaves out whole numbers
MOST = 1e100  # of a number whose square is computed
LABEL_DTYPES = {"b": "u1", "u1": "u1", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "i8", "f4": "f4", "f8": "f8"}
LABEL_DTYPES |= {"u2": "i4", "u4": "i8", "u8": "i8", "f2": "f4"}
SCORE_DTYPES = {"b": "f4", "u1": "f4", "i1": "f4", "u2": "f4", "i2": "f4", "f2": "f4", "f4": "f4"}
SCORE_DTYPES |= {"u4": "f8", "i4": "f8", "f8": "f8"}
NumpyArray = np.ndarray
IN_ORDER = 0x101  # NumPy's flags of arrays that are contiguous in C's order, and aligned
READY_LABELS, READY_SCORES, READY_OFFSETS = (
    frozenset(map(np.dtype, codes.split())) for codes in ("u1 i1 i2 i4 i8 f4 f8", "f4 f8", "i8")
)


def is_masked_array(values: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return True for a masked array of NumPy. This does not import numpy.ma, which takes 6 ms."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(values, masked.MaskedArray)


def as_labels(values: npt.ArrayLike, name: str) -> Array:
    """Convert labels to a read-only contiguous array of a dtype that kernels read, without a copy if possible."""
    if is_kernel_ready(values, READY_LABELS):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    return read_only(cast_exactly(array, LABEL_DTYPES.get(_code(array), "f8"), name))


def as_scores(values: npt.ArrayLike, name: str) -> Array:
    """Convert scores to a read-only contiguous float array. Integers that float64 lacks become ordinals."""
    if is_kernel_ready(values, READY_SCORES):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return read_only(compute_ordinals(array) if is_wide(array) else array.astype("f8"))
    return read_only(cast_exactly(array, SCORE_DTYPES.get(_code(array), "f8"), name))


def cast_exactly(array: npt.NDArray[Any], dtype: str, name: str) -> npt.NDArray[Any]:
    """Cast an array to a contiguous array of another dtype. Raise if a value changes."""
    if array.dtype == np.bool_ and dtype == "u1":
        return np.ascontiguousarray(array).view("u1")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(array, dtype=dtype)
    if not np.can_cast(array.dtype, cast.dtype, "safe"):
        changed = (cast != array) & (array == array) | (array.dtype.kind == "u") & (cast < 0)
        if changed.any():
            place = int(np.flatnonzero(changed)[0])
            raise InvalidInputError(
                "`",
                Argument(name),
                f"` must fit {cast.dtype} exactly, but ",
                Argument(name),
                f"[{place}] is {array[place]!s}. Round or rescale it",
            )
    return cast


def compute_ordinals(values: Array) -> Array:
    """
    Replace values by order-preserving integer codes, equal for equal values. NaN gets the lowest code.

    >>> compute_ordinals(np.array([2.5, np.nan, -np.inf, 2.5]))
    array([ 1., -1.,  0.,  1.])
    """
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    ranks = np.full(values.shape, -1.0)
    ranks[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return ranks


def is_wide(array: Array) -> bool:
    """Return True if whole numbers exceed 2**53, so that float64 cannot tell them apart."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    return max(int(array.max()), -int(array.min())) > EXACT_LIMIT  # as int: float64 would round them


def as_numbers(values: npt.ArrayLike, name: str, ndim: int | None = None) -> Array:
    """Convert an array or a list to an array of bool, int or float. Raise for other dtypes."""
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(f"`{name}` must hold numbers, but its dtype is {array.dtype}{_first(array, name)}")
    if ndim is not None and array.ndim != ndim:
        raise InvalidInputError(f"`{name}` must have {ndim} dimension, but its shape is {array.shape}")
    if array.dtype.kind == "f" and array.dtype.itemsize >= 8 and not hasattr(values, "dtype"):
        _refuse_rounded(values, array, name)
    return array


def as_array(values: npt.ArrayLike, name: str) -> Array:
    """Convert a value to an array of any dtype. Raise if that fails, or a value is masked."""
    if type(values) is np.ndarray:
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInputError(
            f"`{name}` must be one array, but its rows differ in length. Concatenate them and give `offsets`"
        ) from None
    except Exception as error:  # whatever the object's own conversion raises
        if hasattr(values, "detach"):
            raise InvalidTypeError(_unreadable_tensor(values, name)) from error
        raise InvalidTypeError(
            f"`{name}` must be an array or a list, but {type(values).__name__} does not become one: {show_name(error)}"
        ) from error
    if is_masked_array(values) and np.ma.is_masked(values):
        place = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise InvalidInputError(f"`{name}` must have no masked value, but {name}[{place}] is masked. Fill or drop it")
    return array


def _unreadable_tensor(tensor: Any, name: str) -> str:
    """Return the error message for a tensor that NumPy cannot read."""
    return (
        f"`{name}` must be a tensor that NumPy can read: dense, on the CPU, without gradients, of a dtype that NumPy "
        f"has, but is of {tensor.dtype}, requires_grad={tensor.requires_grad}, on {tensor.device}. Pass "
        "tensor.detach().float().cpu(), or evaluate by fastndcg.integrations.torch.RankingMetrics, which takes tensors "
        "with gradients, of bfloat16 and of other devices"
    )


def as_whole_numbers(values: npt.ArrayLike, name: str) -> Array:
    """Convert a value to a one-dimensional contiguous int64 array. Raise if that fails."""
    if is_kernel_ready(values, READY_OFFSETS):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(f"`{name}` must hold whole numbers, but its dtype is {array.dtype}. Use an int array")
    return read_only(cast_exactly(array, "i8", name))


def is_series(values: Any) -> bool:
    """Return True for a pandas Series, which has a name for each value."""
    return hasattr(values, "iloc") and getattr(values, "ndim", 0) == 1


def refuse_names(values: Any, name: str) -> None:
    """Raise for a pandas Series whose index names its values, which are read by place."""
    if not is_series(values):
        return
    index = values.index
    if not np.array_equal(np.asarray(index), np.arange(len(index))):
        raise InvalidInputError(
            f"`{name}` are read by place, so a Series must have the index 0, 1, 2 and so on, but its index begins with "
            f"{shorten(index[:3].tolist())}. Take {name}.to_numpy() if it is in the order of the documents, or pass "
            "the query of each document as query_ids"
        )


def count_before(numbers: Array) -> Array:
    """Return the sum of the numbers, or of the True entries, before each entry, and of all of them."""
    return np.concatenate([[0], np.cumsum(numbers, dtype="i8")])


def mask_offsets(mask: Array, offsets: Array) -> Array:
    """Return the offsets of the entries in a mask, given those of all entries."""
    return np.searchsorted(np.flatnonzero(mask), offsets)


def as_offsets(values: npt.ArrayLike, name: str, n_documents: int) -> Array:
    """Copy offsets to int64, and check that they start at 0, never decrease, and end at the number of documents."""
    if is_kernel_ready(values, READY_OFFSETS):
        offsets = values.copy()
    else:
        refuse_names(values, name)
        offsets = as_whole_numbers(values, name).copy()
    offsets.setflags(False)  # type: ignore[call-arg]
    if len(offsets) == 0:
        raise InvalidInputError(f"`{name}` must have one entry more than there are queries, but is empty. Use [0]")
    first = offsets.item(0)
    last = offsets.item(-1)
    if first != 0:
        raise InvalidInputError(f"`{name}` must start at 0, but {name}[0] = {first}")
    if len(offsets) > 2 or last < 0:  # two offsets from 0 to n cannot decrease
        falls = offsets[1:] < offsets[:-1]
        q = int(falls.argmax())  # `any` takes 5 times as long for a few offsets
        if falls[q]:
            raise InvalidInputError(
                f"`{name}` must not decrease, but {name}[{q}] = {offsets[q]} > {name}[{q + 1}] = {offsets[q + 1]}"
            )
    if last != n_documents:
        raise InvalidInputError(
            f"`{name}` must end at the number of documents, {n_documents}, but {name}[{len(offsets) - 1}] = {last}"
        )
    if n_documents > MAX_RANK and np.diff(offsets).max() > MAX_RANK:
        q = int(np.argmax(np.diff(offsets)))
        raise InvalidInputError(f"a query must have at most {MAX_RANK} documents, but query {q} has more")
    return offsets


def is_kernel_ready(values: npt.ArrayLike, dtypes: frozenset[np.dtype[Any]]) -> TypeGuard[Array]:
    """Return True if kernels can read an array as it is, without a conversion."""
    return (
        type(values) is NumpyArray
        and values.ndim == 1
        and values.dtype in dtypes
        and values.flags.num & IN_ORDER == IN_ORDER
    )


def check_whole_number(value: Any, name: str, minimum: int, maximum: int | None = None) -> int:
    """
    Return a whole number of Python or NumPy as an int.

    Raise InvalidTypeError for other types, bool among them, and InvalidInputError below `minimum` or above `maximum`.

    >>> check_whole_number(np.int32(3), "k", 1)
    3
    """
    allowed = f"of {minimum} or more" if maximum is None else f"from {minimum} to {maximum}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InvalidTypeError(f"`{name}` must be a whole number {allowed}, not {shorten(value)}")
    if value < minimum or (maximum is not None and value > maximum):
        raise InvalidInputError(f"`{name}` must be a whole number {allowed}, not {shorten(value)}")
    return int(value)


def check_number(value: Any, name: str, least: float, most: float, example: str) -> float:
    """Return an argument as a float, or raise an error for one that is no number from `least` to `most`."""
    number = as_float(value)
    if number is None or not least <= number <= most:
        kind = InvalidTypeError if number is None else InvalidInputError
        allowed = f"above 0 and at most {most:g}" if least == 1 / MOST else f"from {least:g} to {most:g}"
        raise kind(f"`{name}` must be a number {allowed}, got {shorten(value)}. Pass such as {example}.")
    return number


def check_positive(value: Any, name: str, example: str) -> float:
    """Return an argument as a float, or raise an error for one that is no number above 0."""
    return check_number(value, name, 1 / MOST, MOST, example)


def _refuse_rounded(values: npt.ArrayLike, array: Array, name: str) -> None:
    """Raise for a list of floats and whole numbers if a whole number lost digits as a float."""
    large = np.flatnonzero((np.abs(array) >= EXACT_LIMIT) & np.isfinite(array))
    if not len(large):
        return
    objects = np.asarray(values, dtype=object).reshape(-1)
    for place in large.tolist():
        if isinstance(objects[place], Integral) and int(objects[place]) != int(array.flat[place]):
            raise InvalidInputError(
                f"`{name}` must fit float64 exactly, but {name}[{place}] is {objects[place]}. Use whole numbers only"
            )


def _code(array: Array) -> str:
    return array.dtype.str[1:].replace("b1", "b")


def _first(array: Array, name: str) -> str:
    if array.dtype.kind != "O":
        return ". Convert it to an array of int or float"
    for place, value in np.ndenumerate(array):
        if not isinstance(value, int | float | np.number | np.bool_):
            index = f"[{', '.join(map(str, place))}]" if place else ""
            return f": {name}{index} is {shorten(value)}. Use an array of int or float"
    return ". Use an array of one number type"
