"""Feather and Arrow IPC files, in the file format and in the stream format: judgments, runs, and rows with scores."""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.files import (
    File,
    as_address,
    find_copy,
    find_files,
    find_system,
    has_pattern,
    is_address,
    is_folder,
    spell_path,
)
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.messages import Source
from fastndcg.inputs.options import Options
from fastndcg.inputs.scored_frames import read_table, read_truth_table
from fastndcg.inputs.streams import Batch, Progress, Stream, StreamedTables, StreamedTruth
from fastndcg.inputs.table import Qrels, Table
from fastndcg.inputs.table_sources import TableSource, is_system_error
from fastndcg.rankings.rankings import Rankings
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"  # the continuation mark before the first message
STREAM_END = STREAM_MAGIC + bytes(4)
OLD_MAGIC = b"FEA1"  # of Feather before Arrow

Kind = TypeVar("Kind", bound=Table)


def is_arrow_file(file: File) -> bool:
    """Return True for a file of Arrow IPC or Feather, also a packed one."""
    return file.head.startswith((FILE_MAGIC, STREAM_MAGIC, OLD_MAGIC))


def open_arrow_truth(file: File, options: Options) -> Any:
    """Open rows with scores to stream them, or read what else the file holds."""
    source = _open_source(file)
    name = file.name
    columns = options.name_columns("truth")
    if Frame(source.make_empty_table(source.names), columns, name).is_streamable:
        return StreamedTables(source, columns, options.memory, options.progress, name=name, place=name)
    place = Source(name, "row", columns=source.names)
    return read_truth_table(Frame(source, columns, name), options.threads, place)


def read_arrow(file: File, kind: type[Kind], columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """Read judgments, or a run."""
    return _read_source(kind, _open_source(file), file.name, columns, threads)


def _read_source(
    kind: type[Kind], source: TableSource, name: str, columns: Mapping[str, str] | None, threads: int | None
) -> Kind:
    place = Source(name, "row", columns=source.names)
    return read_table(kind, Frame(source, columns, name), threads, place)


def _open_source(file: File) -> TableSource:
    """Return the tables of a file. A packed file, and a pipe, are read into memory."""
    pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
    content = _Content(file)
    try:
        with content.open() as opened, _open_reader(opened, None) as reader:
            schema = reader.schema
            names = tuple(schema.names)  # decodes them, and raises if they are not UTF-8
    except (pyarrow.ArrowException, UnicodeDecodeError, LookupError, OSError) as error:
        if is_system_error(error):
            raise
        reason = show_name(" ".join(str(error).split()).rstrip("."))
        raise InvalidInputError(
            f"{file.name} must be a whole Arrow or Feather file, but is not: {reason}. Write it anew, or give its own "
            "format"
        ) from None
    return TableSource(names, functools.partial(_read, content), "any", schema)


class _Content:
    """
    The content of a file for pyarrow: it is read, not mapped, as a file that shrinks while mapped ends the process.

    The open file serves the first reader, and is opened anew for others, which may read at the same time. No buffer of
    what is read belongs to Python. A thread of Arrow may be the last to hold one, and takes Python's lock to free it.
    If the interpreter ends at that time, std::terminate aborts the process: 1 of 10 were.
    """

    def __init__(self, file: File) -> None:
        self.name = file.name
        self._path = file.path
        self._file = file.detach()
        self._bytes = None if self._file is not None else file.read()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_file": None}

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """Open the content at its beginning."""
        pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
        if self._bytes is not None:
            yield pyarrow.BufferReader(self._bytes)
            return
        own, self._file = self._file, None
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(File(self._path)).detach() if own is None else own
            try:
                file.seek(0)
                yield pyarrow.PythonFile(_NativeReads(file), mode="r")
            finally:
                if self._file is None:
                    self._file = file
                else:
                    file.close()


class _NativeReads:
    """A file of Python that reads into buffers of Arrow."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read_buffer(self, size: int) -> Any:
        """Return the next bytes."""
        pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
        buffer = pyarrow.allocate_buffer(size, resizable=True)
        buffer.resize(self._file.readinto(buffer))
        return buffer


def _open_reader(file: Any, columns: Sequence[str] | None) -> Any:
    """Open the reader of the file format, or of the stream format."""
    ipc = optional_import("pyarrow.ipc", "reading Arrow files", "arrow")
    start = file.read(len(FILE_MAGIC))
    file.seek(0)
    opened = ipc.open_stream if start.startswith(STREAM_MAGIC) else ipc.open_file
    if columns is None:
        return opened(file)
    names = opened(file).schema.names
    file.seek(0)
    places = [place for place, name in enumerate(names) if name in columns]
    return opened(file, options=ipc.IpcReadOptions(included_fields=places, use_threads=False))


def _read(content: _Content, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read the batches of some columns. Their sizes are those of the file."""
    del most
    pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
    with content.open() as file, _open_reader(file, columns) as reader:
        n_batches = getattr(reader, "num_record_batches", None)
        batches = reader if n_batches is None else map(reader.get_batch, range(n_batches))
        for batch in batches:
            yield pyarrow.Table.from_batches([batch])
        if n_batches is None:
            _check_end(file, content.name)


def _check_end(file: Any, name: str) -> None:
    """Raise if the mark at the end of a stream is absent: pyarrow takes a stream cut between two batches as whole."""
    end = file.tell()
    file.seek(end - len(STREAM_END))
    if file.read(len(STREAM_END)) != STREAM_END:
        raise InvalidInputError(f"{name} must be a whole Arrow stream, but its end is missing. Write it anew")


MANY_FILES = "too many open files; close some, or raise their number (ulimit -n)"


def open_dataset(name: str) -> Any:
    """Open the files of a path or pattern, with the columns in the names of Hive's folders."""
    dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    paths, base, system = _find_paths(name)
    opened = functools.partial(
        dataset.dataset, paths, format="parquet", partition_base_dir=base or None, filesystem=system
    )
    try:
        files = opened(partitioning=dataset.partitioning(flavor="hive"))
        _ = files.schema.names  # decodes the names, and raises if they are not UTF-8
        schema_with_texts = _keep_texts(files)
        if schema_with_texts is not None:
            files = opened(partitioning=dataset.partitioning(schema_with_texts, flavor="hive"))
    except (pyarrow.ArrowException, LookupError, UnicodeDecodeError, OSError) as error:
        reason = str(error).partition("Is this a")[0]  # pyarrow repeats the reason after this
        if is_folder(name) if is_address(name) else os.path.isdir(name):
            raise InvalidInputError(
                f"{name} must hold Parquet files, but does not: {show_name(reason.strip())} "
                f"Name files of other formats one by one, such as {os.path.join(name, '*.run')}"
            ) from None
        raise InvalidInputError(
            f"{name} must hold Parquet files, but does not: {show_name(reason.strip())} Write it anew, or give its own "
            "format"
        ) from None
    if not files.files:
        raise InvalidInputError(
            f"{name} must hold Parquet files, but the folder has none. Name files of other formats one by one, such "
            f"as {os.path.join(name, '*.run')}"
        )
    return files


def _find_paths(name: str) -> tuple[str | list[str], str, Any]:
    """Return the path or paths of a name, the folder above its pattern, and the file system, None for that here."""
    if is_address(name):
        copied_path = find_copy(as_address(name))
        system, inner = (None, copied_path) if copied_path else find_system(as_address(name))
        paths: Any = find_files(name) if has_pattern(name) else inner
    else:
        system = None
        inner = name
        is_there = os.path.exists(name)
        paths = name if is_there else sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
    if not paths:
        raise InvalidInputError(f"{name} must name Parquet files, but no file is called so")
    return paths, os.path.dirname(inner.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]), system


def _keep_texts(files: Any) -> Any:
    """Return a schema with texts for Hive's folders such as 007, which are no numbers, or None without such folders."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    folders = {part for path in files.files for part in path.split("/")[:-1]}
    schema = getattr(files.partitioning, "schema", pyarrow.schema([]))
    schema_with_texts = schema
    for place, field in enumerate(schema):
        values = [folder[len(field.name) + 1 :] for folder in folders if folder.startswith(f"{field.name}=")]
        if pyarrow.types.is_integer(field.type) and any(
            re.fullmatch(r"-?\d+", value) and value != str(int(value)) for value in values
        ):
            schema_with_texts = schema_with_texts.set(place, pyarrow.field(field.name, pyarrow.string()))
    return None if schema_with_texts is schema else schema_with_texts


def check_schemas(dataset: Any, columns: list[str], name: str) -> None:
    """Raise for files that lack a column, or have it in another type: pyarrow would read nulls, or cast it."""
    for fragment in dataset.get_fragments():
        with whole_files(name):
            schema = fragment.physical_schema
        for column in columns:
            expected = dataset.schema.field(column).type
            if column not in schema.names and f"{column}=" in fragment.path:
                continue
            if column not in schema.names or schema.field(column).type != expected:
                files = schema.field(column).type if column in schema.names else "not there"
                raise InvalidInputError(
                    f"{name} must have the same columns in every file, but in {show_name(fragment.path)} column "
                    f"{shorten(column)} is "
                    f"{files}, and {expected} in the first"
                )


def read_columns(dataset: Any, name: str, columns: Mapping[str, str] | None, roles: tuple[str, ...]) -> Frame:
    """Read the columns of some roles in all files."""
    empty = Frame(dataset.schema.empty_table(), columns, name)
    return Frame(read_chosen(dataset, name, empty.list_names(*roles)), columns, name)


def read_chosen(dataset: Any, name: str, to_read: list[str]) -> Any:
    """Read some columns of all files into one table."""
    check_schemas(dataset, to_read, name)
    with whole_files(name):
        table = dataset.to_table(columns=to_read)
        check_n_rows(name, len(table), dataset.count_rows())
        return table


def check_n_rows(name: str, n_read: int, n_promised: int) -> None:
    """Raise if a file has fewer rows than its footer says."""
    if n_read != n_promised:
        raise InvalidInputError(
            f"{name} must be whole Parquet files, but {n_read} of {n_promised} rows can be read. Write it anew"
        )


@contextlib.contextmanager
def whole_files(name: str) -> Iterator[None]:
    """Replace pyarrow's errors for damaged files by InvalidInputError with their name, and keep the system's errors."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    try:
        yield
    except (pyarrow.ArrowException, LookupError, UnicodeDecodeError, EOFError, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        if isinstance(error, OSError) and error.errno is not None:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise OSError(error.errno, MANY_FILES, name) from None
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(
            f"{name} must be whole Parquet files, but is not: {show_name(reason)}. Write it anew"
        ) from None


MAGIC = b"PAR1"


def is_parquet(file: File) -> bool:
    """Return True for a Parquet file, a folder, or a pattern of names."""
    return file.is_folder or file.head.startswith(MAGIC)


class ParquetTruth(StreamedTruth):
    """Rows with scores and labels in Parquet files, which can be streamed several times."""

    def __init__(
        self, dataset: Any, name: str, columns: Mapping[str, str] | None, memory: Any, progress: Progress | None = None
    ) -> None:
        empty = Frame(dataset.schema.empty_table(), columns, name)
        super().__init__(empty, columns, memory, progress)
        self._dataset = dataset
        check_schemas(dataset, self._columns_to_read, name)

    def in_order(self) -> Stream:
        """Stream rankings of whole queries straight from the files. Raise NotSorted if queries are not in order."""
        groups = self._list_row_groups()
        count = self._make_counter()
        queries = self._make_cutter()
        largest = max((group.n_rows for group in groups if group.n_rows), default=1)
        most_threads = max(1, self._memory // (self._row_bytes * largest))
        most = self._most_rows(4)

        def batches(group: _RowGroup) -> Iterator[Batch]:
            for table, first in self._tables(group, count, most):
                yield from queries.whole_queries(table, first)

        return Stream(groups, batches, queries.remaining, most_threads)

    def whole(self) -> Rankings:
        """Read all rankings at once, whatever memory they take."""
        with whole_files(self._name):
            table = self._dataset.to_table(columns=self._columns_to_read)
            check_n_rows(self._name, len(table), self._dataset.count_rows())
        return self._make_rankings(table)

    def _read_in_order(self, count: Callable[[int], None]) -> Iterator[tuple[Any, int]]:
        for group in self._list_row_groups():
            yield from self._tables(group, count, self._most_rows(1))

    def _count_rows(self) -> int:
        return int(self._dataset.count_rows())

    def _list_row_groups(self) -> list[_RowGroup]:
        groups = []
        first = 0
        for file in self._dataset.get_fragments():
            for fragment in file.split_by_row_group():
                groups.append(_RowGroup(fragment, fragment.row_groups[0].id, first, fragment.row_groups[0].num_rows))
                first += groups[-1].n_rows
        return groups

    def _tables(self, group: _RowGroup, count: Callable[[int], None], most: int) -> Iterator[tuple[Any, int]]:
        """
        Yield tables of at most `most` rows, and the number of the first row of each.

        The calling thread alone reads a row group, as all threads read row groups at the same time. The file's own
        reader takes 20 % less time than a scanner of the dataset.
        """
        pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
        parquet = optional_import("pyarrow.parquet", "reading Parquet", "arrow")
        n_tables = max(1, -(-group.n_rows // most))
        stored, partitions = self._split_columns(group.fragment)
        first = group.first_row
        with whole_files(self._name), group.fragment.open() as opened:
            file = parquet.ParquetFile(opened, metadata=group.fragment.metadata, pre_buffer=False)
            for batch in file.iter_batches(
                max(1, -(-group.n_rows // n_tables)), [group.number], columns=stored, use_threads=False
            ):
                # selected again, as a name with a point may match two columns
                table = pyarrow.Table.from_batches([batch]).select(stored)
                for name, value in partitions.items():
                    table = table.append_column(name, pyarrow.repeat(value, len(table)))
                yield table, first
                first += len(table)
                count(len(table))
        check_n_rows(self._name, first - group.first_row, group.n_rows)

    def _split_columns(self, fragment: Any) -> tuple[list[str], dict[str, Any]]:
        """Return the needed columns that a file has, and the values of the others in its folders' names."""
        pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
        dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
        keys = dataset.get_partition_keys(fragment.partition_expression)
        schema = self._dataset.schema
        stored = [name for name in self._columns_to_read if name in fragment.physical_schema.names]
        partition_names = [name for name in self._columns_to_read if name not in stored]
        return stored, {name: pyarrow.scalar(keys[name], schema.field(name).type) for name in partition_names}


class _RowGroup(NamedTuple):
    """A row group of a file, its number there, and the number of its first row among all files."""

    fragment: Any
    number: int
    first_row: int
    n_rows: int


def open_parquet(file: File, options: Options) -> Any:
    """Open rows with scores to stream them, or read what else the files hold."""
    name = spell_path(file.path)
    dataset = open_dataset(name)
    columns = options.name_columns("truth")
    empty = Frame(dataset.schema.empty_table(), columns, name)
    if empty.is_streamable:
        return ParquetTruth(dataset, name, columns, options.memory, options.progress)
    if not empty.has_scores and empty.find_id_lists() is None:
        return _read_dataset(Qrels, dataset, name, columns, options.threads)
    frame = Frame(read_chosen(dataset, name, empty.list_chosen()), columns, name)
    return read_truth_table(frame, options.threads, Source(name, "row", columns=tuple(dataset.schema.names)))


def read_parquet(file: File, kind: type[Kind], columns: Mapping[str, str] | None, threads: int | None) -> Kind:
    """Read judgments, or a run."""
    name = spell_path(file.path)
    return _read_dataset(kind, open_dataset(name), name, columns, threads)


def _read_dataset(
    kind: type[Kind], dataset: Any, name: str, columns: Mapping[str, str] | None, threads: int | None
) -> Kind:
    source = Source(name, "row", columns=tuple(dataset.schema.names))
    return read_table(kind, read_columns(dataset, name, columns, kind.roles), threads, source)
