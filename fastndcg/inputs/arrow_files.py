"""Feather and Arrow IPC files, in the file format and in the stream format: judgments, runs, and rows with scores."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.options import Options
from fastndcg.inputs.qrels_run import Qrels
from fastndcg.inputs.remote import is_address, open_address
from fastndcg.inputs.scored_frames import read_table
from fastndcg.inputs.source import Source
from fastndcg.inputs.streamed_tables import StreamedTables
from fastndcg.inputs.table_sources import TableSource, is_system_error
from fastndcg.inputs.text.blocks import (
    MAGIC,
    STANDARD_INPUT,
    FilePath,
    describe_path,
    first_line,
    is_pipe,
    read_unpacked,
)
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

FILE_MAGIC = b"ARROW1\0\0"
STREAM_MAGIC = b"\xff\xff\xff\xff"  # the continuation mark before the first message
STREAM_END = STREAM_MAGIC + bytes(4)
OLD_MAGIC = b"FEA1"  # of Feather before Arrow

Kind = TypeVar("Kind", bound=Table)


def starts_like_arrow(content: bytes) -> bool:
    """Return True if bytes begin like a file of Arrow IPC or Feather."""
    return content.startswith((FILE_MAGIC, STREAM_MAGIC, OLD_MAGIC))


def is_arrow_file(path: FilePath) -> bool:
    """Return True for a file of Arrow IPC or Feather, also a packed one."""
    return starts_like_arrow(first_line(path))


def open_arrow_truth(path: FilePath, options: Options) -> StreamedTables | Qrels:
    """Open rows with scores to stream them, or read judgments."""
    source = _open_source(path)
    name = describe_path(path)
    columns = options.name_columns("truth")
    if Frame(source.make_empty_table(source.names), columns, name).has_scores:
        return StreamedTables(source, columns, options.memory, options.progress, name=name, place=name)
    return _read_source(Qrels, source, name, columns, options.threads)


def has_scores(path: FilePath, columns: Mapping[str, str] | None = None) -> bool:
    """Return True if a file has scores, and so needs no run. Standard input is not read."""
    if path == STANDARD_INPUT or is_pipe(path):
        return False
    source = _open_source(path)
    return Frame(source.make_empty_table(source.names), columns, describe_path(path)).has_scores


def read_arrow(
    kind: type[Kind], path: FilePath, columns: Mapping[str, str] | None = None, threads: int | None = None
) -> Kind:
    """Read judgments, or a run."""
    return _read_source(kind, _open_source(path), describe_path(path), columns, threads)


def _read_source(
    kind: type[Kind], source: TableSource, name: str, columns: Mapping[str, str] | None, threads: int | None
) -> Kind:
    place = Source(name, "row", columns=source.names)
    return read_table(kind, Frame(source, columns, name), threads, place)


def _open_source(path: FilePath) -> TableSource:
    """Return the tables of a file. A packed file, and a pipe, are read into memory."""
    pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
    content = read_unpacked(path) if path == STANDARD_INPUT or is_pipe(path) or _is_packed(path) else None
    name = describe_path(path)
    try:
        with _open(path, content) as file, _open_reader(file, None) as reader:
            schema = reader.schema
            names = tuple(schema.names)  # decodes them, and raises if they are not UTF-8
    except (pyarrow.ArrowException, UnicodeDecodeError, LookupError, OSError) as error:
        if is_system_error(error):
            raise
        reason = show_name(" ".join(str(error).split()).rstrip("."))
        raise InvalidInputError(
            f"{name} must be a whole Arrow or Feather file, but is not: {reason}. Write it anew, or say what it is: "
            "`format`"
        ) from None
    return TableSource(names, functools.partial(_read, path, content), "any", schema)


def _is_packed(path: FilePath) -> bool:
    with _open_bytes(path) as file:
        start = file.read(4)
    return any(start.startswith(magic) for magic in MAGIC)


def _open_bytes(path: FilePath) -> Any:
    return open_address(path) if is_address(path) else open(path, "rb")


def _open(path: FilePath, content: bytes | None) -> Any:
    """
    Open a file for pyarrow: it is read, not mapped, as a file that shrinks while it is mapped ends the process.

    No buffer of what is read belongs to Python. A thread of Arrow may be the last to hold one, and takes Python's lock
    to free it. If the interpreter ends at that time, std::terminate aborts the process: 1 of 10 were.
    """
    pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
    if content is not None:
        return pyarrow.BufferReader(content)
    if is_address(path):
        return pyarrow.PythonFile(_NativeReads(open_address(path, is_seekable=True)), mode="r")
    return pyarrow.OSFile(os.fspath(path))


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


def _read(path: FilePath, content: bytes | None, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read the batches of some columns. Their sizes are those of the file."""
    del most
    pyarrow = optional_import("pyarrow", "reading Arrow files", "arrow")
    with _open(path, content) as file, _open_reader(file, columns) as reader:
        n_batches = getattr(reader, "num_record_batches", None)
        batches = reader if n_batches is None else map(reader.get_batch, range(n_batches))
        for batch in batches:
            yield pyarrow.Table.from_batches([batch])
        if n_batches is None:
            _check_end(file, describe_path(path))


def _check_end(file: Any, name: str) -> None:
    """Raise if the mark at the end of a stream is absent: pyarrow takes a stream cut between two batches as whole."""
    end = file.tell()
    file.seek(end - len(STREAM_END))
    if file.read(len(STREAM_END)) != STREAM_END:
        raise InvalidInputError(f"{name} must be a whole Arrow stream, but its end is missing. Write it anew")
