"""Files that are written whole, compressed by their suffix."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, shorten
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import

FilePath = str | os.PathLike[str]

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}  # those that the readers unpack
UNREAD = (".xz", ".lz4", ".zip", ".7z", ".tar", ".tgz")


def deliver_text(pieces: Iterable[str], path: FilePath | None) -> str | None:
    """Write pieces of text to a file, compressed by its suffix. Without a path, return them as one text."""
    if path is None:
        return "".join(pieces)
    write_compressed(path, (piece.encode(errors="backslashreplace") for piece in pieces))
    return None


def write_compressed(path: FilePath, pieces: Iterable[bytes]) -> None:
    """
    Write a file, compressed by its suffix. It is replaced when it is complete, so that an error leaves it unchanged.

    Raises
    ------
    InvalidInputError
        If the suffix is that of a compression that the readers lack.
    OSError
        If the file cannot be written.
    """
    check_file_path(path)
    write_whole(path, _compress(find_compression(path), pieces))


def write_whole(path: FilePath, pieces: Iterable[bytes]) -> None:
    """
    Write a temporary file and move it to its place when it is complete.

    An error leaves the old file unchanged. If the path is a link, its target is replaced. Devices and pipes are
    written directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(pieces)
        return
    unfinished = target.with_name(f".fastndcg-{os.urandom(6).hex()}")
    try:
        with unfinished.open("xb") as file:
            file.writelines(pieces)
        if target.exists():
            import shutil

            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def check_file_path(path: Any) -> None:
    """Raise InvalidTypeError for a value that is no path of a file."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidTypeError(f"`path` must be the path of a file, not {shorten(path)}. Leave it out for a text.")


def find_compression(path: FilePath) -> str:
    """Return the compression that a file's suffix names, an empty text for a plain file."""
    suffix = PurePath(path).suffix.lower()
    if suffix in UNREAD:
        raise InvalidInputError(
            f"`path` must end in {', '.join(COMPRESSIONS)} for a compressed file, but is {show_name(path)}. "
            "Change the suffix."
        )
    return COMPRESSIONS.get(suffix, "")


def _compress(compression: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    if not compression:
        yield from pieces
        return
    packed = io.BytesIO()
    with _open_compressed(compression, packed) as file:
        for piece in pieces:
            file.write(piece)
            yield packed.getvalue()
            packed.seek(0)
            packed.truncate()
    yield packed.getvalue()


def _open_compressed(compression: str, packed: io.BytesIO) -> Any:
    """Return a file that compresses what is written to it. Equal contents give equal files, without a date."""
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(packed, "wb")
    return _import_zstd().ZstdFile(packed, "wb")


def _import_zstd() -> Any:
    try:
        return optional_import("compression.zstd", "", "")  # with Python from 3.14 on
    except MissingPackageError:
        return optional_import("backports.zstd", "writing .zst", "zstd")
