"""The machine, the versions and the commit that a figure was measured with."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def describe_environment(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return date, commit, machine and versions, as every results file begins."""
    import fastndcg

    names = sorted({"numba", "numpy", *packages} - {"fastndcg"})
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": find_commit(),
        "machine": find_machine(),
        "cpus": count_cpus(),
        "python": platform.python_version(),
        "versions": {"fastndcg": fastndcg.__version__} | find_versions(names),
    }


def find_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    versions = {}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def find_machine() -> str:
    """Return the names of the processor and of the operating system."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()} {platform.machine()}"


def find_commit() -> str:
    """Return the commit that is checked out, with a + if files have changed since, or "" outside a clone."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return completed.stdout.strip() if completed.returncode == 0 else ""


def count_cpus() -> int:
    """Return the number of CPUs that fastndcg uses by default in this process."""
    from fastndcg.runtime.cpus import available_cpus

    return available_cpus()


def find_free_memory() -> int:
    """Return the bytes of memory that are free without swapping, or 2^62 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 62


def read_memory_field(field: str) -> int:
    """Return one memory figure of this Linux process in bytes, such as VmRSS (now) or VmHWM (highest)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def reset_memory_peak() -> None:
    """Reset the highest memory figure of this Linux process to the current one."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def make_environment(**changes: str) -> dict[str, str]:
    """
    Return environment variables for another Python process.

    The process finds this repository's packages after those of PYTHONPATH. It writes bytecode, as Python does by
    default, so that the time of an import is that of a second import.
    """
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    return os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": path} | changes
