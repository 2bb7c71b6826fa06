"""What users say of queries, one value each: weights, clusters, strata, segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings import Array


def one_a_query(values: Any, name: str, query_ids: Array) -> Array:
    """One value for each query from an array or a mapping; an error that names the first query without one."""
    if isinstance(values, Mapping):
        ids = query_ids.tolist()
        missing = [query for query in ids if query not in values]
        if missing:
            raise InvalidInputError(
                f"`{name}` must have a value for every query, but query {missing[0]!r} has none ({len(missing)} in all)"
            )
        values = [values[query] for query in ids]
    elif isinstance(values, str | bytes):
        raise InvalidTypeError(f"`{name}` must be an array with one value a query, or a dict, not {values!r}")
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != len(query_ids):
        raise InvalidInputError(
            f"`{name}` must have one value for each of the {len(query_ids)} queries, but its shape is {array.shape}"
        )
    if array.dtype == object:
        array = _of_one_kind(array, name)
    if array.dtype.kind == "f" and np.isnan(array).any():
        query = query_ids[int(np.argmax(np.isnan(array)))]
        raise InvalidInputError(f"`{name}` must not be NaN, but that of query {query!s} is")
    return array


def _of_one_kind(array: Array, name: str) -> Array:
    """Objects as texts or numbers: NumPy would sort texts of one kind, and fail at a mixture in words of its own."""
    kinds = {type(value) for value in array.tolist()}
    if kinds <= {str}:
        return array.astype(str)
    if kinds <= {int, float, bool} or kinds <= {int}:
        return array.astype("f8") if float in kinds else array.astype("i8")
    shown = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidTypeError(f"`{name}` must be all texts or all numbers, but has {shown}")


def checked_weights(given: Any, query_ids: Array) -> Array:
    """How much each query counts, as float64."""
    weights = one_a_query(given, "weights", query_ids)
    if weights.dtype.kind not in "biuf":
        raise InvalidTypeError(f"`weights` must be numbers, not {weights.dtype}")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidInputError(
            f"`weights` must be finite and not negative, but that of query {query_ids[place]!s} is {weights[place]!s}"
        )
    if not weights.any():
        raise InvalidInputError("`weights` must not all be 0: leave them out, and all queries count alike")
    return np.asarray(weights, "f8")
