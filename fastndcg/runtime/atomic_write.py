"""Atomic writing of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
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
