"""Where the answer goes: standard output, or a file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fastndcg.errors import InvalidInputError
from fastndcg.whole_files import write_whole

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1")


def check(target: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Refuse a target that cannot be written, before the work is done."""
    if target in STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.is_dir():
        raise InvalidInputError(f"{option} must name a file, but {target} is a folder")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise InvalidInputError(f"{option} must name a file in a folder that exists, but there is no {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidInputError(f"{option} must name a file that can be written, but {target} cannot")
    for one in inputs:
        if path.is_file() and os.path.exists(one) and os.path.samefile(target, one):
            raise InvalidInputError(f"{option} must not name a file that is read, but {target} is one")


def write(lines: Iterable[str], target: str | None, option: str = "-o") -> None:
    """Write lines to standard output, or to a file."""
    if target is None or target in STANDARD_OUTPUT:
        _print(lines)
    else:
        write_file((line.encode() for line in lines), target, option)


def write_file(pieces: Iterable[bytes], target: str, option: str = "-o") -> None:
    """Write a file, whole or not at all."""
    try:
        write_whole(target, pieces)
    except OSError as error:
        raise InvalidInputError(f"{option} {target} cannot be written: {error.strerror}") from None


def _print(lines: Iterable[str]) -> None:
    if sys.stdout is None:
        raise InvalidInputError("standard output is closed; name a file with -o")
    try:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # or Python would complain again when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # whoever reads has enough, which is no error
            raise
