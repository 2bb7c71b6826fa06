"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """
    Write a file beside the one that is meant, and put it in its place when it is complete.

    Until then, and for good where something goes wrong, the file is what it was. Of a link, the file that it points to
    is replaced, not the link. A device or a pipe, which cannot be replaced, is written to.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.writelines(pieces)
        return
    unfinished = target.with_name(f".fastndcg-{uuid.uuid4().hex[:12]}")
    try:
        with unfinished.open("xb") as file:
            file.writelines(pieces)
        if target.exists():
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
