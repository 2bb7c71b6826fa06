"""
Time the README's two commands in a fresh clone with an empty HOME, and write the times into the README.

Usage: python -m benchmarks.record_setup

Run it on an idle machine. Packages are downloaded, kernels are built, and the tests must pass. A loop of 10**7
additions in Python stands beside the times: by it a reader sees how fast the machine is.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks.figures import fill_section
from benchmarks.record import ROOT

KEPT = ("PATH", "LANG", "PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")


def time_command(command: str, folder: Path) -> float:
    """Return the seconds that a command takes in the clone, which must succeed."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    start = time.perf_counter()
    subprocess.run([command], cwd=folder / "clone", env=environment | {"HOME": str(folder)}, check=True)
    return time.perf_counter() - start


def time_loop() -> float:
    """Return the seconds of 10**7 additions."""
    start, total = time.perf_counter(), 0
    for number in range(10**7):
        total += number
    return time.perf_counter() - start


def main() -> None:
    """Measure, and write."""
    loop = min(time_loop() for _ in range(3))
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["git", "clone", "--quiet", ROOT, "clone"], cwd=name, check=True)
        demo = time_command("scripts/demo", Path(name))
        tests = time_command("scripts/test", Path(name))
    readme = ROOT / "README.md"
    text = (
        f"From an empty clone `scripts/demo` takes {demo:.0f} s and `scripts/test` {tests / 60:.0f} minutes on "
        f"{os.cpu_count()} cores\nwhere a loop of 10⁷ additions in Python takes {loop:.1f} s ({platform.machine()}, "
        f"Python {platform.python_version()}, {date.today()}),\nand on slower ones as much longer as the loop."
    )
    readme.write_text(fill_section(readme.read_text(encoding="utf-8"), "setup", text), encoding="utf-8")


if __name__ == "__main__":
    main()
