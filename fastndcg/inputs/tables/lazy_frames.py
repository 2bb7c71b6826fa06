"""Lazy frames of Polars, collected by its streaming engine."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from fastndcg.inputs.tables.source import TableSource
from fastndcg.runtime.optional_packages import optional_import


def is_lazy_frame(value: Any) -> bool:
    """Return True for a lazy frame of Polars, or one of narwhals, which wraps it."""
    return type(value).__name__ == "LazyFrame" and hasattr(value, "collect_schema")


def open_lazy_frame(frame: Any, name: str) -> TableSource:
    """Return the rows of a lazy frame, of which only the needed columns are collected."""
    del name
    names = tuple(frame.collect_schema().names())
    return TableSource(names, functools.partial(_read, frame), "costly", is_streamed=False)


def _read(frame: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Collect some columns."""
    del most
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    selected = frame.select(list(columns))
    parameters = inspect.signature(selected.collect).parameters
    if "engine" in parameters:
        collected = selected.collect(engine="streaming")
    elif "streaming" in parameters:  # Polars before 1.23
        collected = selected.collect(streaming=True)
    else:  # of narwhals
        collected = selected.collect()
    yield pyarrow.table(collected)
