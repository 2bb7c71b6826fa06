"""Startup suite: importing the package, the demo with a warm cache, and the first call with an empty cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

from benchmarks.lib.machine import ROOT, make_environment
from benchmarks.lib.suite import Options, Report, Row, Suite, announce, make_row
from benchmarks.lib.workloads import NDCG, TWELVE

FIRST_CALL = """
import numpy as np, fastndcg as fn
labels, scores = np.array([1, 0, 0, 1], "u1"), np.array([4, 3, 2, 1], "f4")
print(fn.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4]).mean())
"""
NEEDED_PACKAGES = ("numpy", "numba", "llvmlite")
MAX_IMPORT_MS = 20
MAX_DEMO_MS = 400
MAX_FIRST_CALL_MS = 3000
MAX_TWELVE_METRICS_MS = 6000


def measure(options: Options) -> Report:
    """Measure the chosen parts."""
    figures: list[Row] = []
    if "import" in options.parts:
        announce("import")
        figures += measure_imports(options.repeat)
    for part, what, metrics, goal in (
        ("first-call", "a process whose first call compiles nDCG@10, in total", NDCG, MAX_FIRST_CALL_MS),
        ("twelve-metrics", "the same with twelve metrics", TWELVE, MAX_TWELVE_METRICS_MS),
    ):
        if part in options.parts:
            announce(part)
            figures += measure_first_call(what, metrics, goal, options.repeat)
    return {"figures": figures}


def measure_imports(repeat: int) -> list[Row]:
    """Measure the import and the demo, each above the import of a package that it needs."""
    numpy, package = time_commands([["-c", "import numpy"], ["-c", "import numpy, fastndcg"]], repeat)
    numba, demo = time_commands([["-c", "import numba"], ["-m", "fastndcg", "evaluate"]], repeat)
    return [
        _row_above("`import fastndcg` over `import numpy`", package, numpy, MAX_IMPORT_MS),
        _row_above("the demo, warm cache, over `import numba`", demo, numba, MAX_DEMO_MS),
    ]


def _row_above(what: str, seconds: float, base: float, goal: float) -> Row:
    """Return the row of a time above that of another process."""
    return make_row(what, (seconds - base) * 1e3, "ms", at_most=goal, detail=f"beside {base * 1e3:.0f} ms", n_digits=4)


def measure_first_call(what: str, metrics: tuple[str, ...], goal: float, repeat: int) -> list[Row]:
    """Measure a first call with only the needed packages installed, and with all packages of this environment."""
    with tempfile.TemporaryDirectory() as folder:
        link_needed_packages(Path(folder))
        path = os.pathsep.join([folder, str(ROOT)])
        alone = time_first_call(metrics, repeat, ["-S"], PYTHONPATH=path)
    together = time_first_call(metrics, repeat)
    return [
        make_row(f"{what}, with NumPy and Numba alone installed", alone * 1e3, "ms", at_most=goal, n_digits=4),
        make_row(f"{what}, with all that is installed here", together * 1e3, "ms", at_most=goal, n_digits=4),
    ]


def link_needed_packages(folder: Path) -> None:
    """Link the needed packages into a folder, without SciPy and awkward, which Numba imports if installed."""
    for name in NEEDED_PACKAGES:
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(Path(str(distribution(name).locate_file(top))).resolve())


def time_commands(commands: list[list[str]], repeat: int) -> list[float]:
    """Return the shortest time of each Python command, taken in alternation after one run that fills the caches."""
    rounds = [[time_python(command) for command in commands] for _ in range(repeat + 1)][1:]
    return [min(times) for times in zip(*rounds, strict=True)]


def time_first_call(
    metrics: tuple[str, ...], repeat: int, options: Sequence[str] = (), **environment: str
) -> float:  # fmt: skip
    """Return the shortest time of a Python process that finds no machine code in its cache."""
    times = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            code = FIRST_CALL.format(metrics=list(metrics))
            caches = {"NUMBA_CACHE_DIR": folder, "FASTNDCG_CACHE_DIR": folder}
            times.append(time_python([*options, "-c", code], **caches, **environment))
    return min(times)


def time_python(arguments: list[str], **environment: str) -> float:
    """Return the seconds that a new Python process takes from start to exit."""
    command = [sys.executable, *arguments]
    start = time.perf_counter()
    subprocess.run(command, env=make_environment(**environment), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


SUITE = Suite(measure, ("import", "first-call", "twelve-metrics"), is_published=True)
