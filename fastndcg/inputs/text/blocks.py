"""Files as blocks of whole lines: plain or compressed, from disk or from standard input."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import pathlib
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, shorten
from fastndcg.inputs.remote import is_address, open_address, spell_path
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

BLOCK = 1 << 21  # bytes: a call takes little of the time, and a block fits the processor's cache
UNPACKED = 4  # a typical ratio of the sizes after and before unpacking
STANDARD_INPUT = "-"
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
MAGIC |= {bytes([first, 0x2A, 0x4D, 0x18]): "zstd" for first in range(0x50, 0x60)}  # frames that are skipped
UNREAD = {b"\xfd7zXZ": "xz", b"\x04\x22\x4d\x18": "lz4"}

FilePath = str | os.PathLike[str]
Text = FilePath | io.BufferedReader  # a file, or bytes in memory


class Block(NamedTuple):
    """Whole lines of a file from byte `start` on: the first `size` bytes of a text that ends in line feeds."""

    number: int
    start: int
    text: bytearray
    size: int


class Blocks:
    """
    The blocks of a file. Threads may share the iterator under a lock.

    A file is read, not mapped: a file that shrinks meanwhile raises an error, and would crash the process if mapped.
    """

    def __init__(self, path: Text, padding: int, size: int = BLOCK) -> None:
        self.name = describe_path(path)
        self._path = path
        self._padding = padding
        self._size = size
        self._spare: list[bytearray] = []
        self._length: int | None = None  # None if it is unknown, or the file is packed

    def __iter__(self) -> Iterator[Block]:
        with _open(self._path) as file:
            content, broken = _unpack(file, self.name)
            self._length = _length(file) if content is file else None
            try:
                yield from self._cut(content)
            except broken as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                kind = {"GzipFile": "gzip", "BufferedReader": "bzip2", "ZstdFile": "zstd"}[type(content).__name__]
                raise InvalidInputError(
                    f"{self.name} must be a whole {kind} file, but is not: {error}. Get it anew"
                ) from None

    def give_back(self, block: Block) -> None:
        """Return the buffer of a block, to be used again."""
        self._spare.append(block.text)

    def _cut(self, file: Any) -> Iterator[Block]:
        rest = b""
        start = 0
        number = 0
        at_end = False
        while not at_end:
            text = self._spare.pop() if self._spare else bytearray(self._size + self._padding)
            text[: len(rest)] = rest
            n, size, at_end = self._fill(file, text, len(rest))
            rest = bytes(memoryview(text)[size:n])
            text[size:] = b"\n" * (len(text) - size)
            if start == 0 and text.startswith(codecs.BOM_UTF8):
                text[: len(codecs.BOM_UTF8)] = b" " * len(codecs.BOM_UTF8)
            yield Block(number, start, text, size)
            start += size
            number += 1

    def _fill(self, file: Any, text: bytearray, n: int) -> tuple[int, int, bool]:
        """Read up to a line end. Return the number of bytes, that of whole lines, and whether the file ended."""
        while True:
            while n < len(text) - self._padding:
                with memoryview(text) as view:
                    n_read = file.readinto(view[n : len(text) - self._padding])
                if not n_read:
                    self._refuse_shorter(file)
                    return n, n, True
                n += n_read
            size = text.rfind(b"\n", 0, n) + 1 or text.rfind(b"\r", 0, n - 1) + 1  # the last may belong to a \r\n
            if size:
                return n, size, False
            if text.find(0, 0, n) >= 0:  # no text, and maybe without a line end for gigabytes
                return n, n, True
            text.extend(bytes(len(text)))

    def _refuse_shorter(self, file: Any) -> None:
        """Raise for a file that became shorter since it was opened."""
        if self._length is not None and file.tell() < self._length:
            raise InvalidInputError(f"{self.name} must not change while it is read, but became shorter. Try again")


def first_line(path: FilePath) -> bytes:
    """Return the first line that is not blank: of standard input as far as it is buffered, of a pipe b''."""
    if is_pipe(path):
        return b""
    with _open(path) as file:
        peeked = io.BufferedReader(io.BytesIO(file.peek(BLOCK))) if path == STANDARD_INPUT else file
        content, broken = _unpack(peeked, describe_path(path))
        try:
            line = _skip_blank_lines(content)
        except broken:  # the reader raises the error
            return b""
        return bytes(line.removeprefix(codecs.BOM_UTF8))


def _skip_blank_lines(file: Any) -> bytes:
    """Return the first line that is not blank, read in blocks: a loop over blank lines takes 100 times as long."""
    rest = b""
    while not rest:
        block = file.read(BLOCK)
        if not block:
            return b""
        rest = block.lstrip()
    line: bytes = rest.partition(b"\n")[0]
    return line if len(line) < len(rest) else line + file.readline(BLOCK)


def is_pipe(path: Text) -> bool:
    """Return True for a path that can be read only once: a named pipe, a device, a shell's <(command)."""
    if isinstance(path, io.BufferedReader):
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, TypeError, ValueError):  # opening the file raises the error
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def most_readers(path: Text) -> int:
    """
    Return the number of threads that may read a file: one for each block that it may have once unpacked.

    The calling thread alone reads what waits for another process, as Ctrl-C interrupts only that thread.
    """
    length = read_length(path)
    return 1 if length is None else 1 + UNPACKED * length // BLOCK


def read_length(path: Text) -> int | None:
    """Return the size of a file on disk before unpacking, or None for pipes, devices, standard input and addresses."""
    if isinstance(path, io.BufferedReader) or path == STANDARD_INPUT or is_pipe(path) or is_address(path):
        return None
    try:
        return os.stat(path).st_size
    except (OSError, TypeError, ValueError):  # opening the file raises the error
        return None


def read_unpacked(path: FilePath) -> bytes:
    """Read a whole file, unpacked."""
    size = max(BLOCK, 1 + (read_length(path) or 0))  # one block: a long line would be searched in each of many
    return b"".join(bytes(memoryview(block.text)[: block.size]) for block in Blocks(path, 0, size))


def describe_path(path: Any) -> str:
    """Return the name of a file for error messages."""
    if path == STANDARD_INPUT:
        return "standard input"
    if isinstance(path, io.BufferedReader):
        return "the text"
    return show_name(spell_path(path) if is_address(path) else path)


def _open(path: Text) -> contextlib.AbstractContextManager[Any]:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInputError("standard input is closed. Name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    if isinstance(path, io.BufferedReader):
        return contextlib.nullcontext(path)
    if is_address(path):
        file: contextlib.AbstractContextManager[Any] = open_address(path)
        return file
    try:
        return pathlib.Path(path).open("rb")
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{shorten(path)} must be the path of a file, but is not: {show_name(error)}") from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, show_name(path)) from None


def _length(file: Any) -> int | None:
    """Return the size of an open file on disk, or None for a pipe or a device."""
    try:
        status = os.fstat(file.fileno())
    except OSError:  # what a test or a notebook put in the place of standard input
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _unpack(file: Any, name: str) -> tuple[Any, tuple[type[BaseException], ...]]:
    """Unpack a file by its first bytes, and return its content, and the errors that reading a broken file raises."""
    first = file.peek(5)
    for magic, unread in UNREAD.items():
        if first.startswith(magic):
            raise InvalidInputError(
                f"{name} must be plain, or packed by gzip, bzip2 or zstd, but is packed by {unread}. Unpack it"
            )
    kind = next((kind for magic, kind in MAGIC.items() if first.startswith(magic)), "")
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file), (OSError, EOFError, zlib.error)
    if kind == "bzip2":
        return io.BufferedReader(_Bzip2(file), BLOCK), (OSError, EOFError)
    if kind == "zstd":
        zstd = _import_zstd()
        return zstd.ZstdFile(file), (zstd.ZstdError, EOFError)
    return file, ()


def _start_bzip2() -> Any:
    """Return what unpacks one stream of bzip2."""
    import bz2

    return bz2.BZ2Decompressor()


class _Bzip2(io.RawIOBase):
    """Unpacked streams of bzip2. Bytes behind the last stream raise an error, which BZ2File ignores."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._stream = _start_bzip2()

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Unpack bytes into a buffer, and return their number, 0 at the end of the file."""
        while True:
            packed = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof or self._stream.needs_input:
                packed = packed or self._file.read(io.DEFAULT_BUFFER_SIZE)
                if not packed and self._stream.eof:
                    return 0
                if not packed:
                    raise EOFError("it ends within a stream")
            if self._stream.eof:
                self._stream = _start_bzip2()
            text = self._stream.decompress(packed, len(room))
            if text:
                room[: len(text)] = text
                return len(text)


def _import_zstd() -> Any:
    try:
        return optional_import("compression.zstd", "", "")  # with Python from 3.14 on
    except MissingPackageError:
        return optional_import("backports.zstd", "reading .zst", "zstd")
