"""The output of a command: standard output, or a file that is written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fastndcg.errors import InvalidInputError
from fastndcg.runtime.atomic_write import write_whole

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1")


def check(target: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Raise an error if a target cannot be written or is also an input, before any work is done."""
    if target in STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.is_dir():
        raise InvalidInputError(f"{option} must name a file, but {target} is a folder. Add a file name.")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise InvalidInputError(
            f"{option} must name a file in a folder that exists, but {folder} does not exist. Create the folder first."
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidInputError(
            f"{option} must name a file that can be written, but {target} cannot. Name another file."
        )
    for name in inputs:
        if path.is_file() and os.path.exists(name) and os.path.samefile(target, name):
            raise InvalidInputError(f"{option} must not name an input file, but {target} is one. Name another file.")


def write(lines: Iterable[str], target: str | None, option: str = "-o") -> None:
    """Write lines to the file `target`, or to standard output without one."""
    if target is None or target in STANDARD_OUTPUT:
        _print(lines)
    else:
        write_file((line.encode(errors="backslashreplace") for line in lines), target, option)


def write_file(pieces: Iterable[bytes], target: str, option: str = "-o") -> None:
    """Write a file completely, or leave it unchanged if an error occurs."""
    try:
        write_whole(target, pieces)
    except OSError as error:
        raise InvalidInputError(f"{option} {target} cannot be written: {error.strerror}. Name another file.") from None


def _print(lines: Iterable[str]) -> None:
    if sys.stdout is None:
        raise InvalidInputError("standard output is closed. Name a file with -o.")
    try:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # otherwise Python reports the error again when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader such as `head` that stops early is no error
            raise InvalidInputError(
                f"standard output cannot be written: {error.strerror}. Name a file with -o."
            ) from None


def warn(message: str) -> None:
    """Print a line on standard error, unless it is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"fastndcg: {message}\n")
            sys.stderr.flush()
