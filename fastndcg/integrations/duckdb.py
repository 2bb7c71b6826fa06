"""
SQL functions of DuckDB: metrics over a list of labels and a list of scores per query.

>>> import duckdb
>>> from fastndcg.integrations.duckdb import register
>>> connection = duckdb.connect()
>>> functions = register(connection)
>>> connection.execute("SELECT ndcg([0, 1, 2], [0.9, 0.5, 0.1], 2)").fetchone()
(0.23981246656813146,)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.table_sources import pyarrow
from fastndcg.integrations.polars import evaluate_lists, parse_query_metrics
from fastndcg.metrics.families import records_of
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.threads import check_threads

WINDOW_FUNCTIONS = frozenset({"rank"})  # DuckDB does not list them. No other one has the name of a metric
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def register(
    connection: Any, metrics: Mapping[str, str | Metric] | None = None, *, prefix: str = "",
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> dict[str, Metric]:  # fmt: skip
    """
    Create SQL functions of metrics, such as ``ndcg(list(label), list(score), 10)`` after ``GROUP BY``.

    A function takes a list of labels, a list of scores and, optionally, a cutoff. DuckDB passes it 2,048 rows at a time
    as Arrow columns, which are read in place. Functions that the connection has from an earlier call are replaced.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        The connection that gets the functions.
    metrics : {name: metric}, optional
        The names of the functions and their metrics, such as ``{"graded": "nDCG(gain=exp2)"}``. By default all metrics
        of the catalogue that take labels and scores, by their names and aliases. Names of DuckDB's functions, such as
        ``map`` and ``rank``, are left out: take another name, such as ``ap`` or ``mean_rank``, or a
        prefix.
    prefix : str, default ""
        What all names begin with.
    convention, threads
        See `evaluate`.

    Returns
    -------
    dict of str to Metric
        The metric of each function. A function returns a DOUBLE, NULL for a query in which the metric is undefined.

    Raises
    ------
    InvalidInputError
        If a name is no identifier, or the name of another function of the database.
    MissingPackageError
        If DuckDB or pyarrow is not installed.

    Examples
    --------
    >>> import duckdb
    >>> from fastndcg.integrations.duckdb import register
    >>> connection = duckdb.connect()
    >>> register(connection, {"graded": "nDCG(gain=exp2)"}, prefix="my_")
    {'my_graded': nDCG(gain=exp2)}
    >>> connection.execute("SELECT my_graded([0, 1], [0.9, 0.5]), my_graded([0, 1], [0.9, 0.5], 1)").fetchone()
    (0.6309297535714575, 0.0)
    """
    optional_import("pyarrow", "functions of DuckDB", "arrow")
    duckdb = optional_import("duckdb", "functions of DuckDB", "duckdb")
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InvalidTypeError(
            f"`connection` must be a connection of DuckDB, not {shorten(connection)}. Pass duckdb.connect()."
        )
    check_threads(threads)
    parsed_convention = parse_convention(convention)
    names_in_use = _list_functions(connection)
    built_in = WINDOW_FUNCTIONS | _list_functions(duckdb.connect()) if metrics is None else set()
    requests = list_metrics() if metrics is None else _read_mapping(metrics)
    functions: dict[str, Metric] = {}
    for name, request in requests.items():
        full_name = f"{prefix}{name}"
        _check_name(full_name, functions)
        if full_name.lower() not in built_in:
            functions[full_name] = parse_query_metrics(request, parsed_convention)[0]
    for full_name, metric in functions.items():
        if full_name.lower() in names_in_use:
            _remove(connection, full_name)
        compute = _make_function(full_name, metric, parsed_convention, threads)
        connection.create_function(full_name, compute, None, "DOUBLE", type="arrow", null_handling="special")
    return functions


def list_metrics() -> dict[str, str]:
    """
    List the names that `register` gives the metrics of the catalogue.

    Returns
    -------
    dict of str to str
        Metrics by the names of their functions, in lower case.

    Examples
    --------
    >>> from fastndcg.integrations.duckdb import list_metrics
    >>> [name for name, metric in list_metrics().items() if metric == "AP"]
    ['ap', 'map', 'average_precision', 'mean_average_precision']
    """
    plain = [record for record in records_of("evaluate") if not record.by_subtopic]
    names = {record.name.lower(): record.name for record in plain}
    for record in plain:
        for alias in record.aliases:
            if IDENTIFIER.fullmatch(alias):
                names.setdefault(alias.lower(), record.name)
    order = [record.name for record in plain]
    return dict(sorted(names.items(), key=lambda item: order.index(item[1])))


def _read_mapping(metrics: Any) -> Mapping[str, str | Metric]:
    if not isinstance(metrics, Mapping) or not all(isinstance(name, str) for name in metrics):
        raise InvalidTypeError(f"`metrics` must be {{name: metric}}, got {shorten(metrics)}. Pass a dict.")
    return metrics


def _check_name(name: str, functions: Mapping[str, Metric]) -> None:
    """Raise an error for a name that is no identifier, or that differs from an earlier one in its case alone."""
    if not IDENTIFIER.fullmatch(name):
        raise InvalidInputError(
            f"names of functions must have letters, digits and underscores, but one is {shorten(name)}. Choose another "
            "name."
        )
    other = next((other for other in functions if other.lower() == name.lower()), None)
    if other is not None:
        raise InvalidInputError(
            f"names of functions must differ in more than their case, but there are {shorten(other)} and "
            f"{shorten(name)}. Choose another name."
        )


def _list_functions(connection: Any) -> set[str]:
    """Return the names of all functions of a database, in lower case."""
    rows = connection.cursor().execute("SELECT lower(function_name) FROM duckdb_functions()").fetchall()
    return {name for (name,) in rows}


def _remove(connection: Any, name: str) -> None:
    """Remove a function that an earlier call created."""
    try:
        connection.remove_function(name)
    except Exception:
        raise InvalidInputError(
            f"the database has another function {shorten(name)}, which this connection did not create. Choose another "
            "name, or pass prefix='fn_'. Functions that `register` created by another connection work in this one."
        ) from None


def _make_function(name: str, metric: Metric, convention: Convention, threads: int | None) -> Callable[..., Any]:
    """Return the function that DuckDB calls with columns."""

    def compute(*columns: Any) -> Any:
        if len(columns) not in (2, 3):
            raise InvalidInputError(
                f"{name} must get labels, scores and, optionally, a cutoff, got {len(columns)} arguments. Write "
                f"{name}(list(label), list(score), 10)."
            )
        for column, what in zip(columns, ("labels", "scores"), strict=False):
            _check_lists(column, name, what)
        values = _evaluate(columns, metric, convention, threads, name)
        return pyarrow.array(values, mask=np.isnan(values))

    return compute


def _evaluate(
    columns: tuple[Any, ...], metric: Metric, convention: Convention, threads: int | None, name: str
) -> Array:
    """Return the values of the rows, each at its cutoff."""
    if len(columns) == 2:
        return evaluate_lists(columns[0], columns[1], (metric,), convention, threads)[:, 0]
    cutoffs = _read_cutoffs(columns[2], name)
    distinct, places = np.unique(cutoffs, return_inverse=True)
    metrics = tuple(metric @ k for k in distinct.tolist())
    values = evaluate_lists(columns[0], columns[1], metrics, convention, threads)
    return np.asarray(values[np.arange(len(values)), places])


def _read_cutoffs(column: Any, name: str) -> Array:
    types = pyarrow.types
    is_huge = types.is_decimal(column.type) and not column.type.scale  # a HUGEINT of DuckDB
    if not (types.is_integer(column.type) or is_huge) or column.null_count:
        kind = "NULL" if column.null_count else column.type
        raise InvalidInputError(f"the cutoff of {name} must be a whole number, not {kind}. Write 10, or leave it out.")
    try:
        return np.asarray(column.cast(pyarrow.int64()).to_numpy())
    except pyarrow.ArrowInvalid:
        raise InvalidInputError(f"the cutoff of {name} must be below 2**63. Write 10, or leave it out.") from None


def _check_lists(column: Any, name: str, what: str) -> None:
    """Raise an error for a column that is not of lists."""
    types = pyarrow.types
    if types.is_null(column.type):
        raise InvalidInputError(f"the {what} of {name} must not be NULL. Leave such rows out by WHERE.")
    if not (types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type)):
        raise InvalidTypeError(
            f"the {what} of {name} must be a list per query, not {column.type}. Write {name}(list(label), list(score)) "
            "with GROUP BY."
        )
