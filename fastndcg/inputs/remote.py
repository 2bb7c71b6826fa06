"""
Files at addresses such as s3://bucket/run.parquet, opened by fsspec.

An address is any path with the name of a protocol before it. `pathlib` makes one slash of two, which `as_address`
restores.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
from collections.abc import Iterator
from typing import Any

from fastndcg.errors import FastndcgError, InvalidInputError, MissingPackageError, shorten
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

_ADDRESS = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+):[/\\]+")  # a drive has one letter
_ROOTED = ("file", "local")  # three slashes: the path begins with one
_WEB = ("http", "https")
_PACKAGES = {
    "http": "aiohttp", "https": "aiohttp", "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs",
    "abfs": "adlfs", "abfss": "adlfs", "hf": "huggingface_hub", "sftp": "paramiko", "ssh": "paramiko",
}  # fmt: skip
BLOCK = 1 << 20  # bytes of a request: detecting a format needs the first line only


def is_address(path: Any) -> bool:
    """Return True for a path with a protocol, unless a file on this machine is called so."""
    text = _as_text(path)
    return text is not None and _ADDRESS.match(text) is not None and not os.path.exists(text)


def as_address(path: Any) -> str:
    """
    Return an address with all its slashes.

    >>> import pathlib
    >>> as_address(pathlib.PurePosixPath("s3://bucket/run.txt")), as_address("file:/data/run.txt")
    ('s3://bucket/run.txt', 'file:///data/run.txt')
    """
    text = _as_text(path) or ""
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
        file = system.open(inner, "rb", **_request_options(address))
        return io.BufferedReader(_Raw(file, address, is_seekable=_protocol(address) not in _WEB), BLOCK)


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
    except FileNotFoundError as error:
        cause = error.__cause__  # fsspec has this error for all that a web server answers
        if cause is not None and not isinstance(cause, FileNotFoundError) and getattr(cause, "status", 0) != 404:
            raise OSError(errno.EIO, _first_sentence(cause), show_name(address)) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), show_name(address)) from None
    except OSError as error:
        reason = error.strerror or _first_sentence(error)
        raise OSError(error.errno or errno.EIO, reason, show_name(address)) from None  # a subclass may take others
    except ValueError as error:
        raise InvalidInputError(
            f"{shorten(address)} must be the address of a file: {_first_sentence(error)}. Correct it"
        ) from None
    except Exception as error:  # of botocore, aiohttp and others, which share no class
        raise OSError(errno.EIO, _first_sentence(error), show_name(address)) from None


class _Raw(io.RawIOBase):
    """A file of fsspec as a raw file, whose errors name the address."""

    def __init__(self, file: Any, address: str, *, is_seekable: bool) -> None:
        self._file = file
        self._address = address
        self._is_seekable = is_seekable and file.seekable()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._is_seekable)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with convert_remote_errors(self._address):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, room: Any) -> int:
        with convert_remote_errors(self._address):
            content = self._file.read(len(room))
        room[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _request_options(address: str) -> dict[str, Any]:
    """Return the size of requests, for file systems that have one: on the web 0 reads from the beginning on."""
    if _protocol(address) in ("memory", *_ROOTED):
        return {}
    return {"block_size": 0 if _protocol(address) in _WEB else BLOCK}


def _as_text(path: Any) -> str | None:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    return text if isinstance(text, str) else None


def _protocol(address: str) -> str:
    return address.partition(":/")[0].rpartition("::")[2].lower()


def _first_sentence(error: BaseException) -> str:
    """Return the kind and the beginning of an error's text."""
    text = " ".join(str(error).split())
    return show_name(f"{type(error).__name__}: {text}" if text else type(error).__name__).rstrip(".")
