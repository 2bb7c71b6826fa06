"""
Rows that are read table by table, and files of Parquet, Feather and Arrow as such.

What other libraries hold becomes a `TableSource`, a pyarrow table or a dict of columns by a function of rare_tables.py.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

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
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import OptionalPackage, optional_import
from fastndcg.runtime.threads import check_threads, run_all

SOURCE_ROWS = 1 << 16  # that libraries read at once
MOST_EMPTY = 50_000  # batches without rows, one after another: 1 s
DIGITS = 14  # of a number of bytes of 10 TB or more, which only damaged data request
MANY_FILES = "too many open files; close some, or raise their number (ulimit -n)"
REPEATED = "Is this a"  # after this, pyarrow repeats the reason
VALID = "valid Arrow data"
WHOLE = "whole Arrow data"
REMEDY = "Write the data anew"

PARQUET_MAGIC = (b"PAR1",)
FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"  # the continuation mark before the first message
STREAM_END = STREAM_MAGIC + bytes(4)
OLD_MAGIC = b"FEA1"  # of Feather before Arrow
ARROW_MAGIC = (FILE_MAGIC, STREAM_MAGIC, OLD_MAGIC)  # also of packed files
ARROW = "a whole Arrow or Feather file"
PARQUET = "whole Parquet files"

pyarrow: Any = OptionalPackage("pyarrow", "reading tables", "arrow")
Passes = Literal["any", "costly", "one"]


class TableSource(NamedTuple):
    """Rows that are read table by table."""

    names: tuple[str, ...]
    read: Callable[[Sequence[str], int], Iterator[Any]]  # some columns, in tables of so many rows, or as libraries cut
    passes: Passes  # how often rows can be read: any number of times, as seldom as possible, or once
    schema: Any = None  # of pyarrow, None if only tables have types
    count_rows: Callable[[], int] | None = None  # without reading them
    is_streamed: bool = True  # False for rows that are in memory once they are read
    is_counted: bool = False  # True if `count_rows` takes no time, so that a bar may have the number
    read_at_once: Callable[[Sequence[str]], list[Any]] | None = None  # all tables, on several threads

    def make_empty_table(self, columns: Sequence[str]) -> Any:
        """Return some columns without rows: of their types, or of nulls where these are not known."""
        if self.schema is None:
            return pyarrow.table({name: pyarrow.array([], pyarrow.null()) for name in dict.fromkeys(columns)})
        places = [place for place, name in enumerate(self.names) if name in columns]
        return pyarrow.schema([self.schema.field(place) for place in places]).empty_table()

    def read_whole(self, columns: Sequence[str], name: str) -> Any:
        """Read all rows of some columns into one table. Error messages call the source `name`."""
        empty = None
        filled_tables = []
        tables: Iterable[Any] = ()
        if columns:
            at_once = self.read_at_once
            tables = self.read_tables(columns, SOURCE_ROWS, name) if at_once is None else at_once(columns)
        for table in tables:
            if table.num_rows:
                filled_tables.append(table)
            elif empty is None:
                empty = table
        if filled_tables:
            with convert_arrow_errors(f"`{name}`", WHOLE):
                return pyarrow.concat_tables(filled_tables)
        return self.make_empty_table(columns) if empty is None else empty

    def read_tables(self, columns: Sequence[str], most: int, name: str) -> Iterator[Any]:
        """Read tables like `read`. Raise for many of them without rows, which would take time without an end."""
        n_empty = 0
        tables = self.read(columns, most)
        while True:
            with convert_arrow_errors(f"`{name}`", WHOLE):
                table = next(tables, None)
            if table is None:
                return
            n_empty = 0 if table.num_rows else n_empty + 1
            if n_empty > MOST_EMPTY:
                raise InvalidInputError(
                    f"a source of tables must hold rows, but has {n_empty} empty batches one after another. Leave them "
                    "out"
                )
            yield table


def is_system_error(error: BaseException) -> bool:
    """Return True for an error of the system, such as too little memory, and False for one of the data."""
    if isinstance(error, MemoryError):
        return re.search(f"size [0-9]{{{DIGITS},}}", str(error)) is None
    return isinstance(error, OSError) and error.errno is not None


@contextlib.contextmanager
def convert_arrow_errors(name: str, what: str, remedy: str = "Write it anew") -> Iterator[None]:
    """
    Replace pyarrow's errors for data that cannot be read by InvalidInputError, and keep those of the system.

    The message says that `name` must hold `what`.
    """
    try:
        yield
    except (pyarrow.ArrowException, LookupError, UnicodeDecodeError, EOFError, OSError) as error:
        if is_system_error(error):
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                raise OSError(error.errno, MANY_FILES, name) from None
            raise
        reason = show_name(" ".join(str(error).partition(REPEATED)[0].split()).rstrip("."))
        raise InvalidInputError(f"{name} must hold {what}, but does not: {reason}. {remedy}") from None


def check_column(column: Any, what: str, first_row: int = 0) -> None:
    """
    Raise InvalidInputError if the buffers of an Arrow column, or of its lists, break the rules of their types.

    Error messages call the column `what`, and name the rows of the chunk in which pyarrow found the problem.
    """
    row = first_row
    for chunk in filter(len, column.chunks):  # pyarrow finds fault with empty slices of views
        try:
            chunk.validate(full=True)
        except Exception:  # found again for its message
            with convert_arrow_errors(f"{what}, rows {row} to {row + len(chunk) - 1},", VALID, REMEDY):
                chunk.validate(full=True)
        row += len(chunk)


def open_parquet(file: File, threads: int | None) -> TableSource:
    """Open Parquet files: one, those of a folder, or those of a pattern of names."""
    name = spell_path(file.path)
    files = open_dataset(name)
    read = functools.partial(_read_row_groups, files, name)
    count = functools.partial(_count_rows, files, name)
    at_once = None if is_address(name) else functools.partial(_read_at_once, files, name, threads)
    return TableSource(
        tuple(files.schema.names), read, "any", files.schema, count, is_counted=True, read_at_once=at_once
    )


def _count_rows(files: Any, name: str) -> int:
    with convert_arrow_errors(name, PARQUET):
        return int(files.count_rows())


def open_arrow(content: ArrowContent) -> TableSource:
    """Return the tables of a file of Arrow. A packed file, and a pipe, are read into memory."""
    remedy = "Write it anew, or give its own format"
    with (
        convert_arrow_errors(content.name, ARROW, remedy),
        content.open() as opened,
        _open_reader(opened, None) as reader,
    ):
        schema = reader.schema
        names = tuple(schema.names)  # decodes them, and raises if they are not UTF-8
    return TableSource(names, functools.partial(_read_file_batches, content), "any", schema)


class ArrowContent:
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

    def close(self) -> None:
        """Close the file, which the next reader opens anew."""
        if self._file is not None:
            self._file.close()
            self._file = None

    __del__ = close

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """Open the content at its beginning."""
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


def _read_file_batches(content: ArrowContent, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read the batches of some columns. Their sizes are those of the file."""
    del most
    with convert_arrow_errors(content.name, ARROW), content.open() as file, _open_reader(file, columns) as reader:
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


def open_dataset(name: str) -> Any:
    """Open the files of a path or pattern, with the columns in the names of Hive's folders."""
    dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
    paths, base, system = _find_paths(name)
    opened = functools.partial(
        dataset.dataset, paths, format="parquet", partition_base_dir=base or None, filesystem=system
    )
    others = f"Name files of other formats one by one, such as {os.path.join(name, '*.run')}"
    is_in_folder = is_folder(name) if is_address(name) else os.path.isdir(name)
    remedy = others if is_in_folder else "Write it anew, or give its own format"
    with convert_arrow_errors(name, "Parquet files", remedy):
        files = opened(partitioning=dataset.partitioning(flavor="hive"))
        _ = files.schema.names  # decodes the names, and raises if they are not UTF-8
        schema_with_texts = _keep_texts(files)
        if schema_with_texts is not None:
            files = opened(partitioning=dataset.partitioning(schema_with_texts, flavor="hive"))
    if not files.files:
        raise InvalidInputError(f"{name} must hold Parquet files, but the folder has none. {others}")
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


def _check_schemas(dataset: Any, columns: Sequence[str], name: str) -> None:
    """Raise for files that lack a column, or have it in another type: pyarrow would read nulls, or cast it."""
    for fragment in dataset.get_fragments():
        schema = fragment.physical_schema
        for column in columns:
            expected = dataset.schema.field(column).type
            if column not in schema.names and f"{column}=" in fragment.path:
                continue
            if column not in schema.names or schema.field(column).type != expected:
                files = schema.field(column).type if column in schema.names else "not there"
                raise InvalidInputError(
                    f"{name} must have the same columns in every file, but in {show_name(fragment.path)} column "
                    f"{shorten(column)} is {files}, and {expected} in the first"
                )


def _read_row_groups(dataset: Any, name: str, columns: Sequence[str], most: int) -> Iterator[Any]:
    """
    Read the row groups of all files in tables of at most `most` rows.

    The file's own reader takes 20 % less time than a scanner of the dataset.
    """
    parquet = optional_import("pyarrow.parquet", "reading Parquet", "arrow")
    with convert_arrow_errors(name, PARQUET):
        _check_schemas(dataset, columns, name)
        for fragment in dataset.get_fragments():
            stored, partitions = _split_columns(dataset.schema, fragment, columns)
            with fragment.open() as opened:
                file = parquet.ParquetFile(opened, metadata=fragment.metadata, pre_buffer=False)
                for group in fragment.row_groups:
                    yield from _read_row_group(file, group, stored, partitions, most, name)


def _read_at_once(dataset: Any, name: str, threads: int | None, columns: Sequence[str]) -> list[Any]:
    """Read the row groups of files of this machine, each by a reader of its own: readers serve one thread."""
    parquet = optional_import("pyarrow.parquet", "reading Parquet", "arrow")
    with convert_arrow_errors(name, PARQUET):
        _check_schemas(dataset, columns, name)
        groups = [(fragment, group) for fragment in dataset.get_fragments() for group in fragment.row_groups]
    tables: list[Any] = [()] * len(groups)

    def read(place: int) -> None:
        fragment, group = groups[place]
        stored, partitions = _split_columns(dataset.schema, fragment, columns)
        with convert_arrow_errors(name, PARQUET), fragment.open() as opened:
            file = parquet.ParquetFile(opened, metadata=fragment.metadata, pre_buffer=False)
            tables[place] = list(_read_row_group(file, group, stored, partitions, SOURCE_ROWS, name))

    run_all(range(len(groups)), lambda: read, min(check_threads(threads), len(groups)))
    return list(itertools.chain.from_iterable(tables))


def _read_row_group(
    file: Any, group: Any, stored: list[str], partitions: Mapping[str, Any], most: int, name: str
) -> Iterator[Any]:
    n_tables = max(1, -(-group.num_rows // most))
    size = max(1, -(-group.num_rows // n_tables))
    n_read = 0
    for batch in file.iter_batches(size, [group.id], columns=stored, use_threads=False):
        table = pyarrow.Table.from_batches([batch]).select(stored)  # a name with a point may match two columns
        for column, value in partitions.items():
            table = table.append_column(column, pyarrow.repeat(value, len(table)))
        n_read += len(table)
        yield table
    if n_read != group.num_rows:
        raise InvalidInputError(
            f"{name} must hold {PARQUET}, but {n_read} of {group.num_rows} rows can be read. Write it anew"
        )


def _split_columns(schema: Any, fragment: Any, columns: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the needed columns that a file has, and the values of the others in its folders' names."""
    dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
    keys = dataset.get_partition_keys(fragment.partition_expression)
    stored = [name for name in columns if name in fragment.physical_schema.names]
    partition_names = [name for name in columns if name not in stored]
    return stored, {name: pyarrow.scalar(keys[name], schema.field(name).type) for name in partition_names}
