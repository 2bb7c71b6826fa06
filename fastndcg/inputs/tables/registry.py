"""
The registry of objects that are brought to Arrow tables.

A form is a record: its name, a function that recognises its values, and one that opens them: as a `TableSource` whose
tables are read one by one, as a pyarrow table, or as a dict of columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fastndcg.inputs.tables.arrow_datasets import is_arrow_dataset, open_arrow_dataset
from fastndcg.inputs.tables.dask_frames import is_dask_frame, open_dask_frame
from fastndcg.inputs.tables.duckdb_results import is_duckdb_connection, read_duckdb_result
from fastndcg.inputs.tables.hugging_face import is_hugging_face, open_hugging_face
from fastndcg.inputs.tables.lazy_frames import is_lazy_frame, open_lazy_frame
from fastndcg.inputs.tables.source import TableSource
from fastndcg.inputs.tables.structured_arrays import is_structured_array, read_structured_array


class TableForm(NamedTuple):
    """A kind of objects with rows and columns, and how they are opened. Error messages call the object by a name."""

    name: str
    matches: Callable[[Any], bool]
    open: Callable[[Any, str], Any]


TABLE_FORMS = (
    TableForm("Hugging Face Dataset", is_hugging_face, open_hugging_face),
    TableForm("pyarrow Dataset, Scanner or RecordBatchReader", is_arrow_dataset, open_arrow_dataset),
    TableForm("Dask frame", is_dask_frame, open_dask_frame),
    TableForm("Polars LazyFrame", is_lazy_frame, open_lazy_frame),
    TableForm("DuckDB connection", is_duckdb_connection, read_duckdb_result),
    TableForm("structured array", is_structured_array, read_structured_array),
)


def find_table_form(value: Any) -> TableForm | None:
    """Return the first form that recognises a value, or None."""
    return next((form for form in TABLE_FORMS if form.matches(value)), None)


def open_tables(value: Any, name: str) -> Any:
    """Open a value of a form in the registry, and return any other value, also a `TableSource`, as it is."""
    if isinstance(value, TableSource):
        return value
    form = find_table_form(value)
    return value if form is None else form.open(value, name)
