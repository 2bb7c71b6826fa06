"""Taking times in turns, and what a figure must name: machine, versions, date, commit."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import fastndcg
from fastndcg.cpus import available_cpus

Name = TypeVar("Name", bound=Hashable)

ROOT = Path(__file__).resolve().parents[1]
LEAST_REPEATS = 5


def interleaved(
    contenders: Mapping[Name, Callable[[], Any]], repeat: int = LEAST_REPEATS, least_seconds: float = 0.0
) -> dict[Name, float]:
    """
    The shortest time of each in seconds, taken in turns after one that does not count.

    There are at least `repeat` turns, and more until they have lasted `least_seconds`: short times are noisy.
    """
    times: dict[Name, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender()
    started = time.perf_counter()
    turn = 0
    while turn < repeat or time.perf_counter() - started < least_seconds:
        names = list(contenders) if turn % 2 == 0 else list(contenders)[::-1]
        for name in names:
            times[name].append(timed(contenders[name])[0])
        turn += 1
    return {name: min(taken) for name, taken in times.items()}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """How many seconds a call takes, and what it gives."""
    started = time.perf_counter()
    given = call()
    return time.perf_counter() - started, given


def digits(value: float, n: int = 4) -> float:
    """A figure with as many digits as it deserves."""
    return float(f"{value:.{n}g}")


def about(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Where, when and with what something was measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "cpus": available_cpus(),
        "python": platform.python_version(),
        "versions": {"fastndcg": fastndcg.__version__} | versions(sorted({"numba", "numpy", *packages} - {"fastndcg"})),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The processor's name and the system's."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()} {platform.machine()}"


def commit() -> str:
    """The commit that is checked out, with a + where files have changed since; empty outside a clone."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def free_memory() -> int:
    """Bytes that can be had without swapping; very many where that cannot be found out."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 62


def python_environment(**changes: str) -> dict[str, str]:
    """What another Python finds in its environment: what is in ours, with changes; it keeps bytecode, as by default."""
    return os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | changes
