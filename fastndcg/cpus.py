"""How many CPUs this process may use: its affinity, and the quotas of the control groups that it is in (Linux)."""

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
    """The CPUs that this process may use, by its affinity and its control groups' quotas."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _asked_within(int(time.monotonic()), cgroup_limit)))


@functools.lru_cache(maxsize=1)
def _asked_within(second: int, limit: Callable[[], int]) -> int:
    """A limit, read once a second at the most: its files take as long as a thousand documents of a query."""
    del second
    return limit()


def cgroup_limit(process: Path = Path("/proc/self")) -> int:
    """Whole CPUs of the least quota that holds for a process, rounded up; a very large number without one."""
    try:
        quotas = _quotas(process, _text(process / "cgroup"))
    except (OSError, ValueError):  # not Linux, or a sandbox that shows something else there
        return NO_LIMIT
    return min(map(_whole_cpus, quotas), default=NO_LIMIT)


def _whole_cpus(quota: tuple[Path, ...]) -> int:
    """What the files of a quota say."""
    try:
        share, period = " ".join(map(_text, quota)).split()
        return math.ceil(int(share) / int(period)) if int(share) > 0 else NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return NO_LIMIT


@functools.lru_cache(maxsize=1)  # mounts stay, so they are read again only when the process has moved
def _quotas(process: Path, groups: str) -> tuple[tuple[Path, ...], ...]:
    """The files of the quotas of a process's groups, and of the groups around them, which hold as well."""
    mounts = list(_mounts(_text(process / "mountinfo")))
    found = {
        tuple(folder / name for name in names)
        for controllers, group in _groups(groups)
        for names, seen, mount in mounts
        if ("" in controllers) == (names == VERSION_2)
        for folder in _upwards(mount, seen, group)
    }
    return tuple(quota for quota in found if all(path.exists() for path in quota))


def _groups(text: str) -> Iterator[tuple[list[str], str]]:
    """The groups that limit a process's CPUs, each with its controllers: "" in version 2."""
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        if {"", "cpu"} & set(controllers.split(",")):
            yield controllers.split(","), group


def _mounts(text: str) -> Iterator[tuple[tuple[str, ...], str, Path]]:
    """Where groups are mounted: the names of the files there, the group that is seen, and the folder."""
    for line in text.splitlines():
        where, _, what = line.partition(" - ")
        _, _, _, seen, folder, *_ = (_unescaped(field) for field in where.split(" "))
        kind, *_, options = what.split(" ")
        if kind == "cgroup2":
            yield VERSION_2, seen, Path(folder)
        elif kind == "cgroup" and "cpu" in options.split(","):
            yield VERSION_1, seen, Path(folder)


def _upwards(mount: Path, seen: str, group: str) -> list[Path]:
    """The folders of a group and of those around it; one that the mount does not show is taken for the one it shows."""
    try:
        below = PurePosixPath(group).relative_to(seen)
    except ValueError:
        below = PurePosixPath()
    return [mount / folder for folder in (below, *below.parents)]


def _unescaped(field: str) -> str:
    """A field of mountinfo, in which some characters stand as octal codes."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)


def _text(path: Path) -> str:
    return os.fsdecode(path.read_bytes())
