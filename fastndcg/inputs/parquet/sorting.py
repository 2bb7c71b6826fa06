"""Rows in any order, sorted by query on disk: DuckDB's external sort."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import MissingPackageError
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.id_column import IdColumn, concatenate_columns
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

LEAST_MEMORY = 1 << 26  # bytes that DuckDB sorts with
PREFIX = "fastndcg-"
METHODS = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")  # of DuckDB 2, and of earlier ones


class PlainRows(NamedTuple):
    """The label, score and query of each row, and its document if the rows have documents."""

    labels: Array
    scores: Array
    queries: IdColumn
    documents: IdColumn | None


@contextlib.contextmanager
def sort_rows(
    chunks: Iterable[tuple[PlainRows, int]], memory: int, most_rows: int
) -> Iterator[Iterator[tuple[PlainRows, Array]]]:
    """
    Sort rows by query, and those of a query by their number.

    Parameters
    ----------
    chunks : iterable of PlainRows and int
        Rows, and the number of the first one.
    memory : int
        Bytes that DuckDB may take.
    most_rows : int
        How many rows are yielded at once.

    Yields
    ------
    iterator of PlainRows and (n_rows,) int64 array
        The sorted rows, and their numbers.
    """
    try:
        duckdb = optional_import("duckdb", "sorting rows that do not fit into `memory`", "duckdb")
    except MissingPackageError as error:
        raise error.reword(after=". Or sort the rows by query, or give more `memory`") from None
    pyarrow = optional_import("pyarrow", "reading tables", "arrow")
    import tempfile  # late: it takes 4 ms of each start

    tables = (_make_table(rows, first) for rows, first in chunks)
    first_table = next(tables)
    batches = (batch for group in ((first_table,), tables) for table in group for batch in table.to_batches())
    reader = pyarrow.RecordBatchReader.from_batches(first_table.schema, batches)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        settings = {"temp_directory": folder, "memory_limit": f"{max(memory // 2, LEAST_MEMORY)}B", "threads": 2}
        connection = duckdb.connect(config=settings)
        try:
            connection.register("unsorted", reader)
            found = connection.sql("SELECT * FROM unsorted ORDER BY query, number")
            fetch = next(getattr(found, method) for method in METHODS if hasattr(found, method))
            yield _read_sorted(fetch(most_rows))
        except duckdb.Error as error:
            raise OSError(f"DuckDB cannot sort rows in {show_name(folder)}: {show_name(str(error))}") from None
        finally:
            connection.close()


def _make_table(rows: PlainRows, first: int) -> Any:
    """Return rows with their numbers as a pyarrow table."""
    pyarrow = optional_import("pyarrow", "reading tables", "arrow")
    scores = rows.scores.astype("f4") if rows.scores.dtype == "f2" else rows.scores
    labels = rows.labels.astype("f4") if rows.labels.dtype == "f2" else rows.labels
    columns = {"label": labels, "score": scores, "number": np.arange(first, first + len(labels))}
    for name, ids in (("query", rows.queries), ("document", rows.documents)):
        if ids is not None:
            columns[name] = _as_arrow(ids)
    return pyarrow.table(columns)


def _as_arrow(ids: IdColumn) -> Any:
    pyarrow = optional_import("pyarrow", "reading tables", "arrow")
    if not ids.are_texts:
        return pyarrow.array(ids.names())
    data, offsets = ids.text_bytes()
    buffers = [None, pyarrow.py_buffer(np.ascontiguousarray(offsets, "i8")), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(ids), buffers)


def _read_sorted(reader: Any) -> Iterator[tuple[PlainRows, Array]]:
    """Read the batches of sorted rows."""
    pyarrow = optional_import("pyarrow", "reading tables", "arrow")
    for batch in reader:
        if batch.num_rows:
            table = pyarrow.Table.from_batches([batch])
            frame = Frame(table, {"query": "query", "document": "document"}, "rows")
            documents = frame.read_ids("document") if "document" in table.column_names else None
            labels, scores, numbers = (table.column(name).to_numpy() for name in ("label", "score", "number"))
            yield PlainRows(labels, scores, frame.read_ids("query"), documents), numbers


def cut_at_queries(parts: Iterator[tuple[PlainRows, Array]]) -> Iterator[tuple[PlainRows, Array]]:
    """Yield rows of whole queries: the last query of a part may go on in the next."""
    rest: list[tuple[PlainRows, Array]] = []
    for rows, numbers in parts:
        names = rows.queries.take(np.array([0, len(numbers) - 1])).names()
        if rest and rest[0][0].queries.name(0) != names[0]:
            yield _join(rest)
            rest = []
        codes = rows.queries.factorize()[0]
        start = int(np.flatnonzero(codes != codes[-1])[-1]) + 1 if (codes != codes[-1]).any() else 0
        if start:
            yield _join([*rest, _slice(rows, numbers, slice(0, start))])
            rest = []
        rest.append(_slice(rows, numbers, slice(start, None)))
    if rest:
        yield _join(rest)


def _slice(rows: PlainRows, numbers: Array, span: slice) -> tuple[PlainRows, Array]:
    places = np.arange(len(numbers))[span]
    documents = None if rows.documents is None else rows.documents.take(places)
    return PlainRows(rows.labels[span], rows.scores[span], rows.queries.take(places), documents), numbers[span]


def _join(pieces: list[tuple[PlainRows, Array]]) -> tuple[PlainRows, Array]:
    if len(pieces) == 1:
        return pieces[0]
    labels, scores, queries, documents = zip(*(rows for rows, _ in pieces), strict=True)
    rows = PlainRows(
        np.concatenate(labels),
        np.concatenate(scores),
        concatenate_columns(queries),
        None if documents[0] is None else concatenate_columns(documents),
    )
    return rows, np.concatenate([numbers for _, numbers in pieces])
