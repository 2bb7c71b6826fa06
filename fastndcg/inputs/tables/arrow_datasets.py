"""Datasets, scanners and readers of pyarrow."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from fastndcg.inputs.tables.source import TableSource
from fastndcg.runtime.optional_packages import optional_import

READAHEAD = 2  # batches that pyarrow reads in advance


def is_arrow_dataset(value: Any) -> bool:
    """Return True for a Dataset, a Scanner or a RecordBatchReader of pyarrow."""
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__.startswith("pyarrow.")}
    return not kinds.isdisjoint(("Dataset", "Scanner", "RecordBatchReader"))


def open_arrow_dataset(value: Any, name: str) -> TableSource:
    """Return the rows of a Dataset, a Scanner or a RecordBatchReader."""
    del name
    if hasattr(value, "scanner"):
        schema = value.schema
        read: Any = functools.partial(_scan, value)
        return TableSource(tuple(schema.names), read, "any", schema, value.count_rows)
    schema = getattr(value, "projected_schema", None) or value.schema
    return TableSource(tuple(schema.names), functools.partial(_read_batches, value), "one", schema)


def _scan(dataset: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """
    Scan a dataset, whose filter holds.

    pyarrow's threads would read up to 1 GiB in advance, whatever `memory` is.
    """
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    scanner = dataset.scanner(
        columns=list(columns), batch_size=most, batch_readahead=READAHEAD, fragment_readahead=1, use_threads=False
    )
    for batch in scanner.to_batches():
        yield pyarrow.Table.from_batches([batch])


def _read_batches(reader: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read the batches of a scanner or reader, as they come."""
    del most
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    for batch in reader.to_batches() if hasattr(reader, "to_batches") else reader:
        yield pyarrow.Table.from_batches([batch]).select(list(columns))
