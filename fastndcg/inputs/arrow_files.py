"""Feather and Arrow IPC files, in the file format and in the stream format: judgments, runs, and rows with scores."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.files import File
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.options import Options
from fastndcg.inputs.scored_frames import read_table, read_truth_table
from fastndcg.inputs.source import Source
from fastndcg.inputs.streamed_tables import StreamedTables
from fastndcg.inputs.table_sources import TableSource, is_system_error
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
