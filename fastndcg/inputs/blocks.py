"""Files as blocks of whole lines: plain or compressed, from disk or from standard input."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import os
import pathlib
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, optional_import

BLOCK = 1 << 21  # bytes: large enough for calls not to count, small enough for the processor's cache
UNPACKED = 4  # times as long as packed, or so
STANDARD_INPUT = "-"
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}

FilePath = str | os.PathLike[str]


class Block(NamedTuple):
    """The first `size` bytes of a text are whole lines of a file, from byte `start` on; behind them are line feeds."""

    number: int
    start: int
    text: bytearray
    size: int


class Blocks:
    """
    The blocks of a file, read one after the other; threads may share the iterator under a lock.

    A file is read, not mapped: one that is cut short meanwhile is an error, where a mapped one would end the process.
    """

    def __init__(self, path: FilePath, padding: int, size: int = BLOCK) -> None:
        self.name = name_of(path)
        self._path = path
        self._padding = padding
        self._size = size
        self._spare: list[bytearray] = []
        self._length: int | None = None  # where that can be seen, and nothing is packed

    def __iter__(self) -> Iterator[Block]:
        with _opened(self._path) as file:
            content, broken = _decompressed(file)
            self._length = _length(file) if content is file else None
            try:
                yield from self._cut(content)
            except broken as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                kind = {"GzipFile": "gzip", "BZ2File": "bzip2", "ZstdFile": "zstd"}[type(content).__name__]
                raise InvalidInputError(
                    f"{self.name} must be a whole {kind} file, but is not: {error}; get it anew"
                ) from None

    def give_back(self, block: Block) -> None:
        """Let the memory of a block be used again: fresh memory costs more than filling it."""
        self._spare.append(block.text)

    def _cut(self, file: Any) -> Iterator[Block]:
        rest, start, number, at_end = b"", 0, 0, False
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
        """Read up to the end of a line or of the file: bytes there are, bytes that are whole lines, and if it ended."""
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
        """Refuse a file that ends before the place where it ended: half a line would be blamed for it, or nothing."""
        if self._length is not None and file.tell() < self._length:
            raise InvalidInputError(f"{self.name} must not change while it is read, but became shorter; try again")


def first_line(path: FilePath) -> bytes:
    """The first line of a file that is not blank; of standard input what can be seen of it, of a pipe nothing."""
    if is_pipe(path):
        return b""
    with _opened(path) as file:
        seen = io.BufferedReader(io.BytesIO(file.peek(BLOCK))) if path == STANDARD_INPUT else file
        content, broken = _decompressed(seen)
        try:
            while (line := content.readline(BLOCK)) and not line.split():
                continue
        except broken:  # said where the file is read
            return b""
        return bytes(line.removeprefix(codecs.BOM_UTF8))


def is_pipe(path: FilePath) -> bool:
    """Whether a path is no file on disk, so that what is read of it is gone: a named pipe, a shell's <(command)."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, TypeError, ValueError):  # said where it is opened
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def most_readers(path: FilePath) -> int:
    """
    How many threads may share the reading of a file, which is one for each block that it may have once unpacked.

    What waits for another process is read by the calling thread alone: only that one is interrupted by Ctrl-C.
    """
    length = length_of(path)
    return 1 if length is None else 1 + UNPACKED * length // BLOCK


def length_of(path: FilePath) -> int | None:
    """How many bytes a file on disk has, packed as it is; None for what waits for another process, or is no file."""
    if path == STANDARD_INPUT or is_pipe(path):
        return None
    try:
        return os.stat(path).st_size
    except (OSError, TypeError, ValueError):  # said where it is opened
        return None


def unpacked(path: FilePath) -> bytes:
    """All of a file, unpacked."""
    return b"".join(bytes(block.text[: block.size]) for block in Blocks(path, 0))


def name_of(path: Any) -> str:
    """What messages call a file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def _opened(path: FilePath) -> contextlib.AbstractContextManager[Any]:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInputError("standard input is closed; name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return pathlib.Path(path).open("rb")
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{path!r} must be the path of a file, but is none: {error}") from None


def _length(file: Any) -> int | None:
    """How many bytes a file on disk has; None for a pipe or a device."""
    try:
        status = os.fstat(file.fileno())
    except OSError:  # what a test or a notebook put in the place of standard input
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _decompressed(file: Any) -> tuple[Any, tuple[type[BaseException], ...]]:
    """What a file holds once it is unpacked, by its first bytes, and what reading it raises where it is broken."""
    first = file.peek(4)
    kind = next((kind for magic, kind in MAGIC.items() if first.startswith(magic)), "")
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file), (OSError, EOFError, zlib.error)
    if kind == "bzip2":
        return bz2.BZ2File(file), (OSError, EOFError)
    if kind == "zstd":
        zstd = _zstd()
        return zstd.ZstdFile(file), (zstd.ZstdError, EOFError)
    return file, ()


def _zstd() -> Any:
    try:
        return optional_import("compression.zstd", "", "")  # with Python from 3.14 on
    except MissingPackageError:
        return optional_import("backports.zstd", "reading .zst", "zstd")
