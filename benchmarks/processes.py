"""
Whole processes: their time from start to end, and their peak of memory.

The peak is VmHWM, which a process reads of itself at its end. It counts from the start of its program, so that neither
the memory of the process that starts it nor memory that the system reclaims meanwhile distort it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PRINT_PEAK = """
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def run_python(*arguments: str, **environment: str) -> str:
    """Run Python to its end and return what it prints. It writes bytecode, so that imports are second imports."""
    completed = subprocess.run(
        [sys.executable, *arguments], env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if completed.returncode:
        raise AssertionError(f"a process failed: {completed.stderr.strip().splitlines()[-1:]}")
    return completed.stdout


def prepare_python(*arguments: str, **environment: str) -> Callable[[], str]:
    """Return a call that runs Python to its end."""
    return lambda: run_python(*arguments, **environment)


def measure_peak(code: str) -> float | None:
    """Return the highest memory of a process that runs this code, in MiB, or None where the system does not say."""
    if not Path("/proc/self/status").exists():
        return None
    return int(run_python("-c", code + PRINT_PEAK).split()[-1]) / 1024
