"""The number of CPUs that this process may use, by its affinity and the quotas of its control groups (Linux)."""

from __future__ import annotations

import functools
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

NO_LIMIT = 1 << 30
VERSION_1 = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
VERSION_2 = ("cpu.max",)


def available_cpus() -> int:
    """Return the number of CPUs that this process may use, by its affinity and the quotas of its control groups."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _read_once_a_second(int(time.monotonic()), cgroup_limit)))


@functools.lru_cache(maxsize=1)
def _read_once_a_second(second: int, limit: Callable[[], int]) -> int:
    """Return a limit that is read at most once a second, because reading files would slow small calls."""
    del second
    return limit()


def cgroup_limit(process: Path = Path("/proc/self")) -> int:
    """Return the smallest CPU quota of a process, rounded up, or `NO_LIMIT` without a quota."""
    try:
        quotas = _quotas(process, _text(process / "cgroup"))
    except (OSError, ValueError):  # not Linux, or a sandbox that shows something else there
        return NO_LIMIT
    return min(map(_whole_cpus, quotas), default=NO_LIMIT)


def _whole_cpus(quota: tuple[Path, ...]) -> int:
    """Return the number of CPUs of a quota from its files, rounded up."""
    try:
        share, period = " ".join(map(_text, quota)).split()
        return math.ceil(int(share) / int(period)) if int(share) > 0 else NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return NO_LIMIT


@functools.lru_cache(maxsize=1)  # mounts stay, so they are read again only when the process has moved
def _quotas(process: Path, groups: str) -> tuple[tuple[Path, ...], ...]:
    """Return the quota files of the control groups of a process and of their parents."""
    mounts = list(_mounts(_text(process / "mountinfo")))
    quotas = {
        tuple(folder / name for name in names)
        for controllers, group in _groups(groups)
        for names, root, mount in mounts
        if ("" in controllers) == (names == VERSION_2)
        for folder in _upwards(mount, root, group)
    }
    return tuple(quota for quota in quotas if all(path.exists() for path in quota))


def _groups(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the control groups that limit CPUs, each with its controllers, which are [""] in version 2."""
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        if {"", "cpu"} & set(controllers.split(",")):
            yield controllers.split(","), group


def _mounts(text: str) -> Iterator[tuple[tuple[str, ...], str, Path]]:
    """Yield the mounts of control groups: names of the quota files, the group at the root, and the folder."""
    for line in text.splitlines():
        where, _, what = line.partition(" - ")
        _, _, _, root, folder, *_ = (_unescaped(field) for field in where.split(" "))
        kind, *_, options = what.split(" ")
        if kind == "cgroup2":
            yield VERSION_2, root, Path(folder)
        elif kind == "cgroup" and "cpu" in options.split(","):
            yield VERSION_1, root, Path(folder)


def _upwards(mount: Path, root: str, group: str) -> list[Path]:
    """Return the folders of a group and its parents. A group outside the mount has the folder of the mount's root."""
    try:
        below = PurePosixPath(group).relative_to(root)
    except ValueError:
        below = PurePosixPath()
    return [mount / folder for folder in (below, *below.parents)]


def _unescaped(field: str) -> str:
    """Return a field of mountinfo with its octal codes replaced by characters."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)


def _text(path: Path) -> str:
    return os.fsdecode(path.read_bytes())
