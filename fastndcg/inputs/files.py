"""
Files of any format, plain or packed, here or at an address. A file is opened once.

Its first bytes show the format. They are kept, and come again before the rest, so that pipes are read like files.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import functools
import glob
import io
import os
import pathlib
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, MissingPackageError, shorten
from fastndcg.exports import import_zstd
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import

BLOCK = 1 << 21  # bytes: a call takes little of the time, and a block fits the processor's cache
HEAD = BLOCK  # bytes that show the format: a first line, which may be long
UNPACKED = 4  # a typical ratio of the sizes after and before unpacking
STANDARD_INPUT = "-"
COMMENT = b"#"
LINE = re.compile(rb"\S[^\n]*")
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
MAGIC |= {bytes([first, 0x2A, 0x4D, 0x18]): "zstd" for first in range(0x50, 0x60)}  # frames that are skipped
UNREAD = {b"\xfd7zXZ": "xz", b"\x04\x22\x4d\x18": "lz4"}

FilePath = str | os.PathLike[str]


class File(contextlib.AbstractContextManager["File"]):
    """
    An open file, whose content is read once from its beginning.

    Attributes
    ----------
    path : str, path or BufferedReader
        The file, or bytes in memory.
    name : str
        The file in error messages.
    head : bytes
        The first bytes, unpacked, without a byte-order mark: whole lines up to one with content, or `HEAD` bytes.
    length : int or None
        The size of a plain file here. None if it is unknown or the file is packed.
    n_readers : int
        The number of threads that may read blocks: one for each block that the file may have once unpacked. The calling
        thread alone reads what waits for another process, as Ctrl-C interrupts only that thread.
    is_folder : bool
        True for a folder, and for a pattern of names, which are not opened.
    """

    def __init__(self, path: FilePath | io.BufferedReader) -> None:
        if not isinstance(path, io.BufferedReader):
            check_path(path)
        self._is_remote = is_address(path)
        self.path: Any = path
        self.name = _describe_path(path, self._is_remote)
        self.head = b""
        self.length: int | None = None
        self.size: int | None = None  # on disk
        self.n_readers = 1
        waiting = _peeked_pipes.pop(_find_key(path), None) if _peeked_pipes else None
        if waiting is not None:
            self.__dict__ |= waiting.__dict__
            return
        self.is_folder = has_pattern(path) if self._is_remote else _is_folder(path)
        self._closing = contextlib.ExitStack()
        self._start = b""  # the bytes that were read for the head, to come again
        self._is_untouched = False  # True from the head's end until more is read
        if self.is_folder:
            return
        try:
            self._file = self._closing.enter_context(open_address(path) if self._is_remote else _open(path))
        except OSError:
            self.is_folder = self._is_remote and is_folder(path)  # asked late: it is a request of its own
            if self.is_folder:
                return
            raise
        try:
            self._broken: tuple[type[BaseException], ...] = ()
            self._name_errors: Any = self._name_broken if self._is_remote else contextlib.nullcontext
            with self._name_errors():
                self._content, self._broken = _unpack(self._file, self.name)
            self.is_packed = self._content is not self._file
            if self.is_packed:
                self._name_errors = self._name_broken
            self.size = _length(self._file)
            if self.size is not None:
                self.length = None if self.is_packed else self.size
                self.n_readers = 1 + UNPACKED * self.size // BLOCK
            self._start = self._read_head()
        except BaseException:
            self._closing.close()
            raise
        self._is_untouched = True
        self.head = self._start.removeprefix(codecs.BOM_UTF8)

    def __exit__(self, *_: object) -> None:
        """Close the file, unless `detach` has given it away. One that cannot be opened again waits until it is read."""
        is_once = self.path == STANDARD_INPUT or (self.size is None and not self.is_folder and not self._is_remote)
        if is_once and self._is_untouched:
            _peeked_pipes[_find_key(self.path)] = self
            return
        self._closing.close()

    @functools.cached_property
    def first_line(self) -> bytes:
        """The first line of the head that is neither blank nor a comment, without blanks around it."""
        for match in LINE.finditer(self.head):
            line = match.group()
            if line[:1] != COMMENT:
                return line.rstrip()
        return b""

    def detach(self) -> Any:
        """Return the plain file at its beginning, which the caller closes, or None if only `read` reads it."""
        is_web = self._is_remote and _protocol(as_address(self.path)) in _WEB
        if self.is_packed or is_web or not self._file.seekable() or self.path == STANDARD_INPUT:
            return None
        self._closing.pop_all()
        self._file.seek(0)
        return self._file

    def readinto(self, room: Any) -> int:
        """Read the next bytes of the content into a buffer, and return their number, 0 at the end."""
        self._is_untouched = False
        if self._start:
            piece = self._start[: len(room)]
            room[: len(piece)] = piece
            self._start = self._start[len(piece) :]
            return len(piece)
        with self._name_errors():
            n_read = int(self._content.readinto(room))
        if not n_read:
            self._refuse_shorter()
        return n_read

    def read(self) -> bytes:
        """Read the whole content."""
        if self.is_folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
        start = self._start
        self._start = b""
        self._is_untouched = False
        with self._name_errors():
            content = start + self._content.read()
        self._refuse_shorter()
        return bytes(content)

    def peek(self) -> bytes:
        """Read the whole content, which comes again."""
        self._start = self.read()
        self._is_untouched = True
        return self._start

    def _read_head(self) -> bytes:
        """Read the first lines, up to one with content. A pipe may have no more bytes yet."""
        head = bytearray()
        place = 0
        with self._name_errors():
            while len(head) < HEAD and (piece := self._content.read1(HEAD - len(head))):
                head += piece
                while (line := LINE.search(head, place)) is not None and line.end() < len(head):
                    if line.group()[:1] != COMMENT:
                        return bytes(head)
                    place = line.end()
                place = len(head) if line is None else line.start()  # blank lines are passed once
        return bytes(head)

    def _refuse_shorter(self) -> None:
        """Raise for a file that became shorter since it was opened."""
        if self.length is not None and self._file.tell() < self.length:
            raise InvalidInputError(f"{self.name} must not change while it is read, but became shorter. Try again")

    @contextlib.contextmanager
    def _name_broken(self) -> Iterator[None]:
        """Replace the errors of broken packed files, and of file systems at an address, by one that names the file."""
        with convert_remote_errors(self.name) if self._is_remote else contextlib.nullcontext():
            try:
                yield
            except self._broken as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                kind = {"GzipFile": "gzip", "BufferedReader": "bzip2", "ZstdFile": "zstd"}[type(self._content).__name__]
                raise InvalidInputError(
                    f"{self.name} must be a whole {kind} file, but is not: {error}. Get it anew"
                ) from None


def _is_folder(path: Any) -> bool:
    """Return True for a folder here, and for a pattern that is not the name of a file."""
    if path == STANDARD_INPUT or isinstance(path, io.BufferedReader):
        return False
    name = os.fspath(path)
    return os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name))


_peeked_pipes: dict[Any, File] = {}  # opened for their first bytes alone, and to be read once


def _find_key(path: Any) -> Any:
    if isinstance(path, io.BufferedReader):
        return path
    return getattr(sys.stdin, "buffer", None) if path == STANDARD_INPUT else os.fspath(path)


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

    def __init__(self, file: File, padding: int, size: int = BLOCK) -> None:
        self._file = file
        self._padding = padding
        # filling 2 MiB takes most of the time of a small file: 1.7 → 0.4 ms for two of 100 lines
        self._size = size if file.length is None else min(size, file.length + 1)
        self.spare: list[bytearray] = []  # buffers of blocks, to be used again

    def __iter__(self) -> Iterator[Block]:
        rest = b""
        start = 0
        number = 0
        at_end = False
        while not at_end:
            text = self.spare.pop() if self.spare else bytearray(self._size + self._padding)
            text[: len(rest)] = rest
            n, size, at_end = self._fill(text, len(rest))
            rest = bytes(memoryview(text)[size:n])
            text[size:] = b"\n" * (len(text) - size)
            if start == 0 and text.startswith(codecs.BOM_UTF8):
                text[: len(codecs.BOM_UTF8)] = b" " * len(codecs.BOM_UTF8)
            yield Block(number, start, text, size)
            start += size
            number += 1

    def _fill(self, text: bytearray, n: int) -> tuple[int, int, bool]:
        """Read up to a line end. Return the number of bytes, that of whole lines, and whether the file ended."""
        while True:
            while n < len(text) - self._padding:
                with memoryview(text) as view:
                    n_read = self._file.readinto(view[n : len(text) - self._padding])
                if not n_read:
                    return n, n, True
                n += n_read
            size = text.rfind(b"\n", 0, n) + 1 or text.rfind(b"\r", 0, n - 1) + 1  # the last may belong to a \r\n
            if size:
                return n, size, False
            if text.find(0, 0, n) >= 0:  # no text, and maybe without a line end for gigabytes
                return n, n, True
            text.extend(bytes(len(text)))


def check_path(path: Any) -> None:
    """Raise for a value that is no path."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str):
        kind = type(path).__name__
        raise InvalidTypeError(f"{shorten(path)} must be the path of a file, but its type is {kind}")


def _describe_path(path: Any, is_remote: bool) -> str:
    """Return the name of a file for error messages."""
    if path == STANDARD_INPUT:
        return "standard input"
    if isinstance(path, io.BufferedReader):
        return "the text"
    return show_name(as_address(path) if is_remote else path)


def _open(path: Any) -> contextlib.AbstractContextManager[Any]:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInputError("standard input is closed. Name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    if isinstance(path, io.BufferedReader):
        return contextlib.nullcontext(path)
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
    unread = next(filter(first.startswith, UNREAD), None)
    if unread is not None:
        raise InvalidInputError(
            f"{name} must be plain, or packed by gzip, bzip2 or zstd, but is packed by {UNREAD[unread]}. Unpack it"
        )
    kind = MAGIC.get(next(filter(first.startswith, MAGIC), b""), "")
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file), (OSError, EOFError, zlib.error)
    if kind == "bzip2":
        return io.BufferedReader(_Bzip2(file), BLOCK), (OSError, EOFError)
    if kind == "zstd":
        zstd = import_zstd("reading")
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


_ADDRESS = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+):[/\\]+")  # a drive has one letter
_ROOTED = ("file", "local")  # three slashes: the path begins with one
_WEB = ("http", "https")
_PACKAGES = {
    "http": "aiohttp", "https": "aiohttp", "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs",
    "abfs": "adlfs", "abfss": "adlfs", "hf": "huggingface_hub", "sftp": "paramiko", "ssh": "paramiko",
}  # fmt: skip
REQUEST = 1 << 20  # bytes of a request: detecting a format needs the first line only


def is_address(path: Any) -> bool:
    """Return True for a path with a protocol, unless a file on this machine is called so."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    return isinstance(text, str) and _ADDRESS.match(text) is not None and not os.path.exists(text)


def as_address(path: Any) -> str:
    """
    Return an address with all its slashes.

    >>> import pathlib
    >>> as_address(pathlib.PurePosixPath("s3://bucket/run.txt")), as_address("file:/data/run.txt")
    ('s3://bucket/run.txt', 'file:///data/run.txt')
    """
    text = str(os.fspath(path))
    match = _ADDRESS.match(text)
    if match is None:
        return text
    slashes = "///" if match[1].rpartition("::")[2] in _ROOTED else "//"
    rest = text[match.end() :] if isinstance(path, str) else text[match.end() :].replace("\\", "/")
    return f"{match[1]}:{slashes}{rest}"


def spell_path(path: Any) -> str:
    """Return a path as text: an address with all its slashes."""
    return as_address(path) if is_address(path) else str(os.fspath(path))


def open_address(path: Any) -> Any:
    """Open the file at an address for buffered reading. The web is read from the beginning on."""
    address = as_address(path)
    with convert_remote_errors(address):
        system, inner = find_system(address)
        return io.BufferedReader(system.open(inner, "rb", **_request_options(address)), REQUEST)


def find_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path of its file there."""
    core = optional_import("fsspec.core", f"reading {show_name(address)} (extra `remote`)", "remote")
    with convert_remote_errors(address):
        system, inner = core.url_to_fs(address)
    return system, inner


def find_copy(address: str) -> str | None:
    """Return the path of a copy on this machine, of a file that its web server serves only from the beginning."""
    system, inner = find_system(address)
    if _protocol(address) not in _WEB or has_pattern(address):
        return None
    with convert_remote_errors(address):
        if system.info(inner).get("partial", False):
            return None
        system, inner = find_system(f"simplecache::{address}")
        with system.open(inner, "rb") as file:
            return str(file.name)


def is_folder(path: Any) -> bool:
    """Return True for a folder at an address. Addresses of the web have none."""
    address = as_address(path)
    if _protocol(address) in _WEB:
        return False
    with convert_remote_errors(address):
        system, inner = find_system(address)
        return bool(system.isdir(inner))


def has_pattern(path: Any) -> bool:
    """Return True if an address is a pattern of names. A question mark begins the query of an address of the web."""
    address = as_address(path)
    return bool(re.search(r"[*]" if _protocol(address) in _WEB else r"[*?\[]", address))


def find_files(path: Any) -> list[str]:
    """Return the paths in their file system of the files that match a pattern."""
    address = as_address(path)
    with convert_remote_errors(address):
        system, inner = find_system(address)
        entries = system.glob(inner, detail=True)
        return sorted(name for name, facts in entries.items() if facts.get("type") != "directory")


@contextlib.contextmanager
def convert_remote_errors(address: str) -> Iterator[None]:
    """Replace errors of fsspec and of the packages behind it by errors that name the address."""
    try:
        yield
    except (FastndcgError, MemoryError):
        raise
    except ImportError as error:
        package = _PACKAGES.get(_protocol(address))
        install = f". Install it: pip install {package}" if package else ""
        raise MissingPackageError(
            f"reading {show_name(address)} needs {package or 'a package'}, which cannot be imported: "
            f"{show_name(error)}{install}"
        ) from None
    except ValueError as error:
        raise InvalidInputError(
            f"{shorten(address)} must be the address of a file: {_first_sentence(error)}. Correct it"
        ) from None
    except Exception as error:  # also of botocore, aiohttp and others, which share no class
        problem: BaseException = error
        if isinstance(error, FileNotFoundError):  # fsspec has it for all that a web server answers
            cause = error.__cause__
            if cause is None or isinstance(cause, FileNotFoundError) or getattr(cause, "status", 0) == 404:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), show_name(address)) from None
            problem = cause
        number, reason = getattr(problem, "errno", None), getattr(problem, "strerror", None)
        raise OSError(number or errno.EIO, reason or _first_sentence(problem), show_name(address)) from None


def _request_options(address: str) -> dict[str, Any]:
    """Return the size of requests, for file systems that have one: on the web 0 reads from the beginning on."""
    if _protocol(address) in ("memory", *_ROOTED):
        return {}
    return {"block_size": 0 if _protocol(address) in _WEB else REQUEST}


def _protocol(address: str) -> str:
    return address.partition(":/")[0].rpartition("::")[2].lower()


def _first_sentence(error: BaseException) -> str:
    """Return the kind and the beginning of an error's text."""
    text = " ".join(str(error).split())
    return show_name(f"{type(error).__name__}: {text}" if text else type(error).__name__).rstrip(".")
