"""
Validation of arguments for the scikit-learn drop-in, with errors of the same built-in types.

scikit-learn's InvalidParameterError is both a ValueError and a TypeError. `InvalidTypeError` is, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastndcg.compat.common import as_whole_number
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array


class WeightsError(InvalidInputError, ZeroDivisionError):
    """The sum of the weights is zero."""


def is_sparse(values: Any) -> bool:
    """Return True for a sparse matrix."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def as_finite(values: Any, name: str) -> Array:
    """Return a dense, non-empty array of finite numbers with one or two dimensions, or raise an error."""
    check_dense(values, name)
    array = as_numbers(values, name)
    if array.ndim not in (1, 2):
        raise InvalidTypeError(f"Found array with dim {array.ndim}, while {name} must have 1 or 2. Reshape {name}.")
    if not array.size:
        raise InvalidInputError(
            f"Found array with shape {array.shape}, while {name} needs a sample and a feature. Pass at least one."
        )
    if array.dtype.kind == "f":
        flat = array.ravel(order="K")
        with np.errstate(all="ignore"):  # a finite sum of squares shows that all values are finite, without an array
            is_finite = bool(np.isfinite(np.dot(flat, flat))) or bool(np.isfinite(array).all())
        if not is_finite:
            content = "NaN" if np.isnan(array).any() else f"infinity or a value too large for {array.dtype!r}"
            has_objects = np.asarray(values).dtype.kind == "O"
            # scikit-learn raises a TypeError for None among numbers
            error_class = InvalidTypeError if has_objects else InvalidInputError
            raise error_class(f"Input {name} contains {content}. Remove or replace these values.")
    return array


def check_dense(values: Any, name: str) -> None:
    """Raise an error for a sparse matrix and for np.matrix."""
    if is_sparse(values):
        raise InvalidTypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'")
    if isinstance(values, np.matrix):
        raise InvalidTypeError(f"{name} must not be an np.matrix. Convert it to an array by np.asarray")


def as_numbers(values: Any, name: str) -> Array:
    """Return an array of bool, int or float. Objects are converted to float."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = array.astype("f8")
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an array of numbers, but cannot be converted: {error}") from None
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"{name} must be an array of numbers, but its dtype is {array.dtype}. Convert it by astype(float)."
        )
    return array


def as_weights(sample_weight: Any) -> Array | None:
    """Return the weights of rows as an array of numbers, or None."""
    if sample_weight is None:
        return None
    check_dense(sample_weight, "sample_weight")
    weights = as_numbers(sample_weight, "sample_weight")
    has_objects = np.asarray(sample_weight).dtype == object and weights.ndim > 0
    has_none = has_objects and any(weight is None for weight in sample_weight)
    if not weights.ndim or has_none:
        raise InvalidTypeError(
            f"sample_weight must be None or an array with one number for each row. Got {shorten(sample_weight)}"
        )
    if weights.ndim != 1:
        raise InvalidTypeError(f"sample_weight must have 1 dimension, but its shape is {weights.shape}")
    return weights


def average(values: Array, weights: Array | None) -> float:
    """Return the weighted mean of the values of rows."""
    if weights is not None and not weights.sum():
        raise WeightsError(
            "sample_weight must not sum to zero, because the mean is divided by the sum. Pass other weights."
        )
    return float(np.average(values, weights=weights))


def as_column(values: Any, name: str) -> Array:
    """Return a one-dimensional array of any type without NaN. A second dimension of length 1 is dropped."""
    check_dense(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidTypeError(f"{name} must be an array, but cannot be converted: {error}") from None
    if not array.ndim:
        raise InvalidTypeError(f"{name} must be an array of one dimension. Got {shorten(values)} instead.")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInputError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if not len(array):
        raise InvalidInputError(f"Found array with 0 sample(s), while a minimum of 1 is required for {name}.")
    return as_finite(array, name) if array.dtype.kind == "f" else array


def check_lengths(**arrays: Any) -> None:
    """Raise an error if the arrays, aside from None, have different numbers of rows."""
    n_rows = {name: len(np.atleast_1d(array)) for name, array in arrays.items() if array is not None}
    if len(set(n_rows.values())) > 1:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: {list(n_rows.values())} of "
            f"{', '.join(n_rows)}. Pass arrays of the same length."
        )


def target_type(labels: Array) -> str:
    """Return scikit-learn's name for the type of labels, such as "binary" or "multiclass"."""
    suffix = "-multioutput" if labels.ndim == 2 and labels.shape[1] > 1 else ""
    if labels.dtype.kind == "f" and (labels % 1 != 0).any():
        return f"continuous{suffix}"
    if len(np.unique(labels)) <= 2:
        return "multilabel-indicator" if suffix else "binary"
    return f"multiclass{suffix}"


def check_k(k: Any) -> int:
    """Return a cutoff as an int, or raise an error if it is no integer of 1 or more."""
    number = None if isinstance(k, np.ndarray) else as_whole_number(k)
    if number is None or number < 1:
        raise InvalidTypeError(f"The 'k' parameter must be an int in the range [1, inf). Got {shorten(k)} instead.")
    return number


def check_log_base(log_base: Any) -> float:
    """Return the base of a logarithm as a float, or raise an error if it is not above 0."""
    base = as_float(log_base)
    if base is None or not 0 < base < math.inf:
        raise InvalidTypeError(
            f"The 'log_base' parameter must be a float in the range (0.0, inf). Got {shorten(log_base)} instead."
        )
    return base


def check_bool(value: Any, name: str) -> bool:
    """Return the argument `name` as a bool, or raise an error for another type."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(
            f"The {shorten(name)} parameter must be an instance of 'bool'. Got {shorten(value)} instead."
        )
    return bool(value)
