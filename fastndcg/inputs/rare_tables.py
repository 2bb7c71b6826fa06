"""
Rows in the objects of other libraries, which the reading of common frames does not import.

A form is a row of `RARE_FORMS` in frames.py, and a function here that opens its values: as a `TableSource` whose tables
are read one by one, as a frame, or as a dict of columns.

- `Dataset.data` of Hugging Face is the table before rows were filtered, shuffled or selected. Only the dataset's own
  readers follow its indices, so rows are read by ``with_format("arrow")``.
- pyarrow's threads would read up to 1 GiB of a dataset in advance, whatever `memory` is.
- narwhals reads what has no Arrow stream, or a lazy one: it collects the chosen columns at once.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.table_sources import WHOLE, TableSource, convert_arrow_errors, pyarrow
from fastndcg.rankings.validation import is_masked_array
from fastndcg.runtime.imports import optional_import

READAHEAD = 2  # batches that pyarrow reads in advance
FIRST_ROWS = 100  # that show the columns of a dataset without types
DUCKDB_METHODS = ("to_arrow_table", "fetch_arrow_table")  # of DuckDB 2, and of earlier ones


def open_hugging_face(dataset: Any, name: str) -> TableSource:
    """Return the rows of a dataset, in its order. Raise for a dict of splits."""
    if isinstance(dataset, Mapping):
        split = next(iter(dataset), "test")
        raise InvalidTypeError(
            f"`{name}` must be one split, but is a {type(dataset).__name__} of {join_names(dataset)}. Pass one: "
            f"dataset[{shorten(split)}]"
        )
    read = functools.partial(_read_hugging_face, dataset)
    names = dataset.column_names
    if hasattr(dataset, "num_rows"):
        return TableSource(tuple(names), read, "any", dataset.features.arrow_schema, functools.partial(len, dataset))
    if names is None:  # a generator without features
        with convert_arrow_errors(f"`{name}`", WHOLE):
            first = next(_iterate(dataset, FIRST_ROWS), None)
        if first is None:
            raise InvalidInputError(f"`{name}` must hold rows, but the IterableDataset has none. Check its generator")
        names = first.column_names
    return TableSource(tuple(names), read, "costly")


def _read_hugging_face(dataset: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read some columns of the rows that the dataset's indices name."""
    if dataset.column_names is not None:
        dataset = dataset.select_columns(list(columns))
    for table in _iterate(dataset, most):
        yield table.select(list(columns))


def _iterate(dataset: Any, most: int) -> Iterator[Any]:
    tables: Iterator[Any] = iter(dataset.with_format("arrow").iter(batch_size=most))
    return tables


def open_arrow_dataset(value: Any, name: str) -> TableSource:
    """Return the rows of a Dataset, a Scanner or a RecordBatchReader."""
    del name
    if hasattr(value, "scanner"):
        schema = value.schema
        return TableSource(tuple(schema.names), functools.partial(_scan, value), "any", schema, value.count_rows)
    schema = getattr(value, "projected_schema", None) or value.schema
    return TableSource(tuple(schema.names), functools.partial(_read_batches, value), "one", schema)


def _scan(dataset: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Scan a dataset, whose filter holds."""
    scanner = dataset.scanner(
        columns=list(columns), batch_size=most, batch_readahead=READAHEAD, fragment_readahead=1, use_threads=False
    )
    for batch in scanner.to_batches():
        yield pyarrow.Table.from_batches([batch])


def _read_batches(reader: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read the batches of a scanner or reader, as they come."""
    del most
    for batch in reader.to_batches() if hasattr(reader, "to_batches") else reader:
        yield pyarrow.Table.from_batches([batch]).select(list(columns))


def open_dask_frame(frame: Any, name: str) -> TableSource:
    """Return the rows of a frame, partition after partition."""
    del name
    index = [frame.index.name] if isinstance(frame.index.name, str) else []
    return TableSource((*map(str, frame.columns), *index), functools.partial(_read_dask, frame), "costly")


def _read_dask(frame: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Compute each partition of some columns once."""
    del most
    selected = frame[[name for name in frame.columns if name in columns]]
    for partition in selected.to_delayed():
        yield _fill_nulls(pyarrow.table(partition.compute()).select(list(columns)))


def _fill_nulls(table: Any) -> Any:
    """Replace the nulls of floats by NaN, which is what they are in pandas, and leave its metadata out."""
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_floating(field.type):
            table = table.set_column(place, field.name, table.column(place).fill_null(np.nan))
    return table.replace_schema_metadata(None)


def open_lazy_frame(frame: Any, name: str) -> TableSource:
    """Return the rows of a lazy frame of Polars, of which only the needed columns are collected."""
    del name
    names = tuple(frame.collect_schema().names())
    return TableSource(names, functools.partial(_collect, frame), "costly", is_streamed=False)


def _collect(frame: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    del most
    yield pyarrow.table(frame.select(list(columns)).collect(engine="streaming"))


def unwrap(frame: Any, name: str) -> Any:
    """Return the frame that one of narwhals wraps."""
    del name
    return frame.to_native()


def open_by_narwhals(frame: Any, name: str) -> TableSource:
    """Return the rows of a frame that narwhals knows, of which only the needed columns are collected."""
    del name
    package = type(frame).__module__.partition(".")[0]
    wrapped = optional_import("narwhals", f"reading frames of {package}", "narwhals").from_native(frame)
    names = tuple(wrapped.collect_schema().names())
    return TableSource(names, functools.partial(_collect_by_narwhals, wrapped), "costly", is_streamed=False)


def _collect_by_narwhals(frame: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    del most
    selected = frame.select(*columns)
    table = (selected.collect("pyarrow") if hasattr(selected, "collect") else selected).to_arrow()
    kind = frame.implementation  # cuDF tells nulls and NaN apart
    yield _fill_nulls(table) if kind.is_pandas() or kind.is_modin() else table


def read_duckdb_result(connection: Any, name: str) -> Any:
    """Fetch the rows of the last query. Raise if there are no rows, or they have been fetched."""
    fetch = next(getattr(connection, method) for method in DUCKDB_METHODS if hasattr(connection, method))
    try:
        with warnings.catch_warnings():  # of a copy that only relations do without
            warnings.simplefilter("ignore", UserWarning)
            table = fetch() if connection.description else None
    except Exception as error:
        if type(error).__name__ != "InvalidInputException":
            raise
        table = None
    if table is None:
        raise InvalidInputError(
            f"`{name}` must hold the rows of a query, but the connection has none, or they have been fetched: it keeps "
            "those of its last query only. Pass a relation for each: connection.sql(QUERY)"
        )
    return table


def read_structured_array(records: Any, name: str) -> dict[str, Any]:
    """Return the fields of records as columns."""
    if records.ndim != 1:
        raise InvalidTypeError(
            f"`{name}` must have one dimension if it is a structured array, but its shape is {records.shape}. Pass one "
            "record for each document"
        )
    if is_masked_array(records):
        raise InvalidTypeError(f"`{name}` must not be a masked structured array. Drop or fill what is masked")
    columns = {field: np.ascontiguousarray(records[field]) for field in records.dtype.names}
    return {field: values if values.ndim == 1 else list(values) for field, values in columns.items()}
