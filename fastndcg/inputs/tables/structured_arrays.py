"""Structured arrays of NumPy: a column for each field."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.errors import InvalidTypeError
from fastndcg.rankings.validation import is_masked_array


def is_structured_array(value: Any) -> bool:
    """Return True for an array of records."""
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def read_structured_array(records: Any, name: str) -> dict[str, Any]:
    """Return the fields of records as columns."""
    if records.ndim != 1:
        raise InvalidTypeError(
            f"`{name}` must have one dimension if it is a structured array, but its shape is {records.shape}. Pass one "
            "record for each document"
        )
    if is_masked_array(records):
        raise InvalidTypeError(f"`{name}` must not be a masked structured array. Drop or fill what is masked")
    columns: dict[str, Any] = {}
    for field in records.dtype.names:
        values = np.ascontiguousarray(records[field])
        columns[field] = values if values.ndim == 1 else list(values)
    return columns
