"""What scikit-learn checks about arrays, with errors of the types that it raises."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings import Array
from fastndcg.texts import as_float


def is_sparse(values: Any) -> bool:
    """Whether values are a sparse matrix."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def as_finite(values: Any, name: str) -> Array:
    """A dense array of finite numbers in one or two dimensions, none of them empty."""
    if is_sparse(values):
        raise InvalidTypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'")
    array = as_numbers(values, name)
    if array.ndim not in (1, 2):
        raise InvalidTypeError(f"Found array with dim {array.ndim}, while {name} must have 1 or 2")
    if not array.size:
        raise InvalidInputError(f"Found array with shape {array.shape}, while {name} needs a sample and a feature")
    if array.dtype.kind == "f":
        flat = array.ravel(order="K")
        with np.errstate(all="ignore"):  # the sum of squares is finite unless something is not, or very large
            is_finite = bool(np.isfinite(np.dot(flat, flat))) or bool(np.isfinite(array).all())
        if not is_finite:
            what = "NaN" if np.isnan(array).any() else f"infinity or a value too large for {array.dtype!r}"
            raise InvalidInputError(f"Input {name} contains {what}.")
    return array


def as_numbers(values: Any, name: str) -> Array:
    """An array of bool, int or float; objects become floats."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = array.astype("f8")
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an array of numbers, but is none: {error}") from None
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(f"{name} must be an array of numbers, but its dtype is {array.dtype}")
    return array


def as_column(values: Any, name: str) -> Array:
    """An array of anything in one dimension, or in two of which the second is 1; no NaN."""
    if is_sparse(values):
        raise InvalidTypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'")
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInputError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if not len(array):
        raise InvalidInputError(f"Found array with 0 sample(s), while a minimum of 1 is required for {name}.")
    return as_finite(array, name) if array.dtype.kind == "f" else array


def check_lengths(**arrays: Any) -> None:
    """Refuse arrays that differ in their number of rows."""
    given = {name: len(np.atleast_1d(array)) for name, array in arrays.items() if array is not None}
    if len(set(given.values())) > 1:
        lengths, names = list(given.values()), ", ".join(given)
        raise InvalidInputError(f"Found input variables with inconsistent numbers of samples: {lengths} of {names}")


def target_type(labels: Array) -> str:
    """What scikit-learn calls labels such as these."""
    several = "-multioutput" if labels.ndim == 2 and labels.shape[1] > 1 else ""
    if labels.dtype.kind == "f" and (labels % 1 != 0).any():
        return f"continuous{several}"
    if len(np.unique(labels)) <= 2:
        return "multilabel-indicator" if several else "binary"
    return f"multiclass{several}"


def checked_k(k: Any) -> int:
    """A cutoff of 1 or more."""
    try:
        cutoff = operator.index(k)
    except TypeError:
        raise InvalidTypeError(f"The 'k' parameter must be an int in the range [1, inf). Got {k!r} instead.") from None
    if cutoff < 1:
        raise InvalidInputError(f"The 'k' parameter must be an int in the range [1, inf). Got {k!r} instead.")
    return cutoff


def checked_base(log_base: Any) -> float:
    """The base of a logarithm, above 0."""
    base = as_float(log_base)
    if base is None or not base > 0:
        raise InvalidTypeError(
            f"The 'log_base' parameter must be a float in the range (0.0, inf). Got {log_base!r} instead."
        )
    return base


def checked_flag(flag: Any, name: str) -> bool:
    """A bool."""
    if not isinstance(flag, bool | np.bool_):
        raise InvalidTypeError(f"The {name!r} parameter must be an instance of 'bool'. Got {flag!r} instead.")
    return bool(flag)
