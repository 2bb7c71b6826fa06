"""
The cache folder for machine code: its place, its checks, and its removal.

The cache folder has one folder for each state of the kernels' sources, Numba and Python, one library folder for each
installed package (see kernels/machine_code.py), and the object files of builds. The first process that writes to
a state's folder makes it. That process also removes the folders of other states that no process used for
`UNUSED_DAYS` days, and keeps at most `MAX_STATES` folders. A process whose folder is removed makes it again.

Machine code is run without checks, so it must come from the user or root. The cache folder and its files must belong
to one of them and must not be writable by other users. So must the folders above, up to the home folder or the root of
the file system. Sticky folders such as /tmp may be above. Windows protects the user's folders itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_STATES = 10
UNUSED_DAYS = 30
DAY = 86_400  # seconds
STATE_NAME = re.compile(r"(kernels|library)-[0-9a-f]{16}|objects")


def cache_root() -> Path | None:
    """Return the cache folder, or None without a home folder."""
    folder = os.environ.get("FASTNDCG_CACHE_DIR")
    numba = os.environ.get("NUMBA_CACHE_DIR")
    if folder:
        return Path(os.path.abspath(os.path.expanduser(folder)))
    if numba:
        return Path(os.path.abspath(numba), "fastndcg")
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ""
        if not os.path.isabs(base):  # as the XDG specification says
            base = os.path.join(home, ".cache")
    return Path(base, "fastndcg") if os.path.isabs(base) else None


def clear() -> tuple[Path | None, int]:
    """Remove all machine code from the cache folder. Return the folder and the number of bytes removed."""
    root = cache_root()
    if root is None:
        return None, 0
    n_bytes = 0
    for folder in _states(root):
        n_bytes += sum(file.lstat().st_size for file in folder.iterdir())
        _remove_folder(folder)
    if root.name == "fastndcg":
        with contextlib.suppress(OSError):  # it holds something else
            root.rmdir()
    return root, n_bytes


class StateFolder:
    """The files of one state of sources, Numba and Python. File errors are never raised."""

    def __init__(self, state: str | None, kind: str = "kernels") -> None:
        root = cache_root()
        self.path = Path(os.path.realpath((root or Path()) / (f"{kind}-{state}" if state != "" else kind)))
        self._problem: str | None = None
        if root is None:
            self._problem = "no home folder is known (set FASTNDCG_CACHE_DIR)"
        elif state is None:
            self._problem = "the package has no sources"
        self._is_checked = self._problem is not None

    @property
    def problem(self) -> str | None:
        """The reason why the folder is not used, or None if it is used."""
        if not self._is_checked:
            self._check()
        return self._problem

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it is absent or may have been written by another user."""
        if self.problem is not None:
            return None
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_NONBLOCK", 0)  # a pipe opens at once, and is refused
        try:
            with open(os.open(self.path / name, flags), "rb") as file:
                status = os.fstat(file.fileno())
                is_trusted = stat.S_ISREG(status.st_mode) and _owner_alone_writes(status)
                return file.read() if is_trusted else None
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        if self.problem is not None:
            return
        with contextlib.suppress(OSError):
            if not self.path.is_dir():
                self.make()
            if self._problem is None:
                self._write(name, content)

    def _write(self, name: str, content: bytes) -> None:
        unfinished = self.path / f"{name}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(unfinished, flags, 0o644), "wb") as file:
                file.write(content)
            os.replace(unfinished, self.path / name)
        finally:
            unfinished.unlink(missing_ok=True)

    def make(self) -> None:
        """Make the folder, writable for the user only, and prune folders of other states."""
        if self.problem is not None or self.path.is_dir():
            return
        try:
            for folder in reversed([self.path, *self.path.parents]):
                if not folder.is_dir():
                    with contextlib.suppress(FileExistsError):  # another process has made it
                        folder.mkdir(0o755)
        except OSError as error:
            self._problem = f"{error.filename} cannot be made: {error.strerror}"
            return
        self._check()
        _prune(self.path)

    def _check(self) -> None:
        self._is_checked = True
        self._problem = _problem(self.path)
        if self._problem is None:
            with contextlib.suppress(OSError):
                if self.path.stat().st_mtime < time.time() - DAY:
                    os.utime(self.path)  # when it was used last, for `_prune`


def _problem(folder: Path) -> str | None:
    """Return the reason why machine code in a folder must not be run, or None if it may be run."""
    if sys.platform == "win32":
        return None
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for place in (folder, *folder.parents):
        try:
            status = place.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{place}: {error.strerror}"
        if not stat.S_ISDIR(status.st_mode):
            return f"{place} is no folder"
        is_sticky = place != folder and status.st_mode & stat.S_ISVTX
        if not _owner_alone_writes(status, is_sticky=bool(is_sticky)):
            return f"{place} belongs to another user, or other users can write it"
        if place == home:  # who can replace the home folder need not replace machine code
            break
    return None


def _owner_alone_writes(status: os.stat_result, *, is_sticky: bool = False) -> bool:
    """Return True if the user or root owns a file or folder, and other users cannot replace its content."""
    if sys.platform == "win32":
        return True
    if status.st_uid not in (0, os.geteuid()):
        return False
    if is_sticky or not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    return not status.st_mode & stat.S_IWOTH and _is_private_group(status.st_gid)


def _is_private_group(group: int) -> bool:
    """Return True if a group has the user's name and no other member, which is common on Linux."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid())
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and user.pw_name == entry.gr_name and set(entry.gr_mem) <= {user.pw_name}


def _states(root: Path) -> Iterator[Path]:
    """Yield the folders of all states."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for folder in list(root.iterdir()):
            if STATE_NAME.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
                yield folder


def _prune(new: Path) -> None:
    """Remove folders of other states that are old or too many."""
    with contextlib.suppress(OSError):
        kept = (new, new.with_name("objects"))  # the build removes single object files
        other_states = [(folder.stat().st_mtime, folder) for folder in _states(new.parent) if folder not in kept]
        oldest = time.time() - UNUSED_DAYS * DAY
        for n, (last_use, folder) in enumerate(sorted(other_states, reverse=True), start=1):
            if n >= MAX_STATES or last_use < oldest:
                _remove_folder(folder, ignore_errors=True)


def remove_older(files: Iterable[Path], seconds: float) -> None:
    """Remove files that were not used for some time, as far as possible. Other processes may remove them, too."""
    for file in files:
        with contextlib.suppress(OSError):
            if file.lstat().st_mtime < time.time() - seconds:
                file.unlink()


def _remove_folder(folder: Path, *, ignore_errors: bool = False) -> None:
    """Remove a folder and what is in it."""
    import shutil  # late, since most starts remove nothing

    shutil.rmtree(folder, ignore_errors=ignore_errors)
