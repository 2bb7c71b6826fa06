"""Results of DuckDB: what a connection holds after ``execute``."""

from __future__ import annotations

import warnings
from typing import Any

from fastndcg.errors import InvalidInputError

METHODS = ("to_arrow_table", "fetch_arrow_table")  # of DuckDB 2, and of earlier ones


def is_duckdb_connection(value: Any) -> bool:
    """Return True for a connection, which also is what its `execute` returns."""
    return type(value).__name__ == "DuckDBPyConnection"


def read_duckdb_result(connection: Any, name: str) -> Any:
    """Fetch the rows of the last query. Raise if there are no rows, or they have been fetched."""
    fetch = next(getattr(connection, method) for method in METHODS if hasattr(connection, method))
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
