"""Data frames of Dask, computed one partition at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastndcg.inputs.tables.source import TableSource
from fastndcg.runtime.optional_packages import optional_import


def is_dask_frame(value: Any) -> bool:
    """Return True for a data frame of Dask."""
    is_dask = type(value).__module__.partition(".")[0] in ("dask", "dask_expr")
    return is_dask and hasattr(value, "columns") and hasattr(value, "to_delayed")


def open_dask_frame(frame: Any, name: str) -> TableSource:
    """Return the rows of a frame, partition after partition."""
    del name
    index = [frame.index.name] if isinstance(frame.index.name, str) else []
    return TableSource((*map(str, frame.columns), *index), functools.partial(_read, frame), "costly")


def _read(frame: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Compute each partition of some columns once."""
    del most
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    selected = frame[[name for name in frame.columns if name in columns]]
    for partition in selected.to_delayed():
        table = pyarrow.table(partition.compute()).select(list(columns))
        for place, field in enumerate(table.schema):
            if pyarrow.types.is_floating(field.type):  # pandas' NaN, which Arrow reads as null
                table = table.set_column(place, field.name, table.column(place).fill_null(np.nan))
        yield table.replace_schema_metadata(None)
