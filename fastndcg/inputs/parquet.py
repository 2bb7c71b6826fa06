"""
Parquet files, folders and globs: rows of (query, score, label), or a list of each a query, streamed in bounded memory.

pyarrow's datasets read them: they know folders, Hive's partitions and row groups, and decode nothing but the columns
that are needed. Each thread reads and evaluates row groups of its own. Where queries are not in order, rows go to
temporary files first, those of a query to the same one.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import glob
import itertools
import os
import pathlib
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, optional_import
from fastndcg.inputs.batches import Batch, Edges, Lists, QueryRows, Stream
from fastndcg.inputs.blocks import is_pipe
from fastndcg.inputs.columns import Column
from fastndcg.inputs.datasets import check_schemas, open_dataset, read_columns, whole_files
from fastndcg.inputs.diversity import table_of
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.rows import ScoredRows
from fastndcg.inputs.tables import Qrels, Source, Table
from fastndcg.rankings import Array, Rankings

MAGIC = b"PAR1"
MEMORY = 2 << 30
UNITS = {"": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
ROW_BYTES = 64  # what a row takes at most while it is decoded, brought in order and evaluated
ROW = "__row__"
MOST_ROWS = 1 << 20  # a row group as pyarrow writes it: to cut one up takes time
MOST_PARTS = 512  # files that are open at once
LIST_ROWS = 128  # as which a list counts

Kind = TypeVar("Kind", bound=Table)
Progress = Callable[[int, int], None]


def is_parquet(path: Any) -> bool:
    """Whether a path is a Parquet file, a folder, or a pattern of names; standard input never is."""
    if not isinstance(path, str | os.PathLike):
        return False
    name = os.fspath(path)
    if not isinstance(name, str) or "\0" in name or is_pipe(name):
        return False
    if os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name)):
        return True
    try:
        with open(name, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):  # said where it is read
        return False


def parse_memory(memory: Any) -> int:
    """
    How many bytes may be used: a number, or a text such as "500MB".

    >>> parse_memory("500 MB"), parse_memory("2GiB"), parse_memory(None)
    (500000000, 2147483648, 2147483648)
    """
    if memory is None:
        return MEMORY
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?b)?\s*", str(memory), re.IGNORECASE)
    if match is None or isinstance(memory, bool) or not float(match[1]):
        raise InvalidInputError(f"`memory` must be bytes or a text such as '2GB', not {memory!r}")
    return int(float(match[1]) * UNITS[(match[2] or "").lower()])


class ParquetTruth:
    """Rows with scores and labels, ready to be gone through as often as they are asked for."""

    def __init__(
        self, dataset: Any, name: str, columns: Mapping[str, str] | None, memory: Any, progress: Progress | None = None
    ) -> None:
        self._name = name
        self._columns = columns
        self._memory = parse_memory(memory)
        self._dataset = dataset
        self._progress = progress
        empty = Frame(dataset.schema.empty_table(), columns, name)
        self._are_lists = empty.are_lists
        has_documents = empty.has("document")
        optional = ["query"] * empty.has("query") + ["document"] * has_documents
        self._needed = [empty.column_name(role) for role in ("label", "score", *optional)]
        self._row_bytes = ROW_BYTES * (LIST_ROWS if self._are_lists else 1) * (1 + has_documents)
        self._convention: Convention | None = None
        check_schemas(dataset, self._needed, name)

    def under(self, convention: Convention) -> ParquetTruth:
        """The same rows, documents among them where the convention orders ties by id."""
        bound = copy.copy(self)
        bound._convention = convention
        return bound

    def in_order(self) -> Stream:
        """Rankings of whole queries straight from the files, as long as queries are in order."""
        groups, count = self._row_groups(), self._counter()
        queries = (Lists if self._are_lists else Edges)(self._frame, self._name, self._convention)
        largest = max((group.n_rows for group in groups if group.n_rows), default=1)
        most_threads = max(1, self._memory // (self._row_bytes * largest))

        def batches(group: _RowGroup) -> Iterator[Batch]:
            for table, first in self._tables(group, count):
                yield from queries.inner(table, first)

        return Stream(groups, batches, queries.kept, most_threads)

    @contextlib.contextmanager
    def spilled(self) -> Iterator[Stream]:
        """Rankings of whole queries whose rows are in any order, by way of temporary files."""
        n_parts = min(self._dataset.count_rows() * self._row_bytes // max(1, self._memory // 4) + 1, MOST_PARTS)

        def batches(path: pathlib.Path) -> Iterator[Batch]:
            table = _read_spilled(path)
            frame = self._frame(table.drop_columns([ROW]), 0)
            rows = QueryRows(frame, table.column(ROW).to_numpy(), self._convention)
            yield rows.batch(0, rows.n_queries)

        with tempfile.TemporaryDirectory(prefix="fastndcg-") as folder:
            yield Stream(self._spill(pathlib.Path(folder), n_parts), batches, lambda: iter(()), 2)

    def whole(self) -> Rankings:
        """All rankings at once, whatever memory they take."""
        with whole_files(self._name):
            table = self._dataset.to_table(columns=self._needed)
        return ScoredRows(self._frame(table, 0), name=self._name).rankings(self._convention)

    def _row_groups(self) -> list[_RowGroup]:
        found, first = [], 0
        for file in self._dataset.get_fragments():
            for fragment in file.split_by_row_group():
                found.append(_RowGroup(fragment, fragment.row_groups[0].id, first, fragment.row_groups[0].num_rows))
                first += found[-1].n_rows
        return found

    def _tables(self, group: _RowGroup, count: Callable[[int], None]) -> Iterator[tuple[Any, int]]:
        """
        Tables of a size that fits in memory, and the number of the first row of each.

        On the calling thread alone, as row groups are on as many threads as there are: a buffer that another thread
        fills beforehand would be waited for. The file's own reader takes a fifth less time than a scanner of the
        dataset, which reads ahead as long as nobody takes what it has.
        """
        pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
        parquet = optional_import("pyarrow.parquet", "reading Parquet", "arrow")
        most = max(1, min(MOST_ROWS, self._memory // (4 * self._row_bytes)))
        n_tables = max(1, -(-group.n_rows // most))
        stored, partitions = self._columns_of(group.fragment)
        first = group.first_row
        with whole_files(self._name), group.fragment.open() as opened:
            file = parquet.ParquetFile(opened, metadata=group.fragment.metadata, pre_buffer=False)
            for batch in file.iter_batches(
                max(1, -(-group.n_rows // n_tables)), [group.number], columns=stored, use_threads=False
            ):
                table = pyarrow.table(batch).select(stored)  # a name with a point may stand for two columns
                for name, value in partitions.items():
                    table = table.append_column(name, pyarrow.repeat(value, len(table)))
                yield table, first
                first += len(table)
                count(len(table))

    def _columns_of(self, fragment: Any) -> tuple[list[str], dict[str, Any]]:
        """The needed columns that a file has, and what its folders' names say of the others."""
        pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
        dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
        keys, schema = dataset.get_partition_keys(fragment.partition_expression), self._dataset.schema
        stored = [name for name in self._needed if name in fragment.physical_schema.names]
        others = [name for name in self._needed if name not in stored]
        return stored, {name: pyarrow.scalar(keys[name], schema.field(name).type) for name in others}

    def _counter(self) -> Callable[[int], None]:
        """What adds up the rows that threads have read, and tells whoever wants to know."""
        lock, n_read, progress = threading.Lock(), 0, self._progress
        if progress is None:
            return lambda _: None
        n_all = self._dataset.count_rows()

        def count(n_rows: int) -> None:
            nonlocal n_read
            with lock:
                n_read += n_rows
                progress(n_read, n_all)

        return count

    def _spill(self, folder: pathlib.Path, n_parts: int) -> list[pathlib.Path]:
        """Rows in files, those of a query in the same one, each with its number."""
        pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
        ipc = optional_import("pyarrow.ipc", "reading Parquet", "arrow")
        writers: dict[int, Any] = {}
        count = self._counter()
        try:
            for table, first in itertools.chain.from_iterable(
                self._tables(group, count) for group in self._row_groups()
            ):
                part = part_of(self._frame(table, first).ids("query"), n_parts)
                table = table.append_column(ROW, pyarrow.array(np.arange(first, first + table.num_rows)))
                order = np.argsort(part, kind="stable")
                bounds = np.searchsorted(part[order], np.arange(n_parts + 1)).tolist()
                for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
                    if number not in writers:
                        writers[number] = ipc.new_file(str(folder / f"{number}.arrow"), table.schema)
                    writers[number].write_table(table.take(order[start:stop]))
            for writer in writers.values():
                writer.close()
        except OSError as error:
            if error.errno == errno.ENOSPC:
                advice = "no space left for temporary files; set TMPDIR to a folder with more"
                raise OSError(errno.ENOSPC, advice, str(folder)) from None
            raise
        return [folder / f"{number}.arrow" for number in sorted(writers)]

    def _frame(self, table: Any, first: int) -> Frame:
        return Frame(table, self._columns, self._name, first)


class _RowGroup(NamedTuple):
    """A row group of a file, its number there, and that of its first row among those of all files."""

    fragment: Any
    number: int
    first_row: int
    n_rows: int


def open_parquet(
    path: Any, columns: Mapping[str, str] | None, memory: Any, threads: int | None, progress: Progress | None = None
) -> ParquetTruth | Qrels:
    """Rows with scores, to be streamed; or else judgments."""
    dataset, name = open_dataset(os.fspath(path)), os.fspath(path)
    if Frame(dataset.schema.empty_table(), columns, name).are_scored:
        return ParquetTruth(dataset, name, columns, memory, progress)
    return _table(Qrels, dataset, name, columns, threads)


def has_scores(path: Any) -> bool:
    """Whether Parquet has scores, and so needs no run."""
    name = os.fspath(path)
    return Frame(open_dataset(name).schema.empty_table(), None, name).are_scored


def read_parquet(kind: type[Kind], path: Any, columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """Judgments, or a run: those of the columns that are needed."""
    name = os.fspath(path)
    return _table(kind, open_dataset(name), name, columns, threads)


def _table(kind: type[Kind], dataset: Any, name: str, columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    source = Source(name, "row", columns=tuple(dataset.schema.names))
    return table_of(kind, read_columns(dataset, name, columns, kind.roles), threads, source)


def part_of(queries: Column, n_parts: int) -> Array:
    """Which of the parts each row's query belongs to."""
    from fastndcg.kernels import ids as kernels

    part = np.empty(len(queries), "i8")
    kernels.spread(queries.ids, n_parts, part)
    return part


def _read_spilled(path: pathlib.Path) -> Any:
    ipc = optional_import("pyarrow.ipc", "reading Parquet", "arrow")
    with ipc.open_file(str(path)) as file:
        return file.read_all()
