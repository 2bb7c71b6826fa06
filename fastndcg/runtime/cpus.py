"""The number of CPUs that this process may use, by its affinity and the quotas of its control groups (Linux)."""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

NO_LIMIT = 1 << 30
MOUNT = Path("/sys/fs/cgroup")  # where hosts and containers show control groups
VERSION_1 = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
VERSION_2 = ("cpu.max",)


def available_cpus() -> int:
    """Return the number of CPUs that this process may use, by its affinity and the quotas of its control groups."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _read_once_a_second(int(time.monotonic()), cgroup_limit)))


@functools.lru_cache(maxsize=1)
def _read_once_a_second(second: int, limit: Callable[[], int]) -> int:
    """Return a limit. `second` is the key of the cache: reading files in each call would slow small ones."""
    del second
    return limit()


def cgroup_limit(process: Path = Path("/proc/self"), mount: Path = MOUNT) -> int:
    """Return the smallest CPU quota of a process's control group and its parents, or `NO_LIMIT` without a quota."""
    try:
        lines = os.fsdecode((process / "cgroup").read_bytes()).splitlines()
        groups = dict(line.split(":", 2)[1:] for line in lines)
    except (OSError, ValueError):  # not Linux, or a sandbox that shows something else there
        return NO_LIMIT
    first = [controllers for controllers in groups if "cpu" in controllers.split(",")]  # of version 1
    limits = [NO_LIMIT]
    for controllers in first or [""]:
        own = PurePosixPath(groups.get(controllers, "").lstrip("/"))
        if ".." in own.parts:  # outside of what the container shows
            own = PurePosixPath()
        for folder in {mount / name for name in ([controllers, "cpu"] if first else [""])}:
            limits += [_whole_cpus(folder / part, VERSION_1 if first else VERSION_2) for part in (own, *own.parents)]
    return min(limits)


def _whole_cpus(folder: Path, names: tuple[str, ...]) -> int:
    """Return the number of CPUs of a quota from its files, rounded up."""
    try:
        share, period = " ".join((folder / name).read_text() for name in names).split()
        return math.ceil(int(share) / int(period)) if int(share) > 0 else NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return NO_LIMIT
