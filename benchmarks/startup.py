"""What a fresh process pays: importing the package, the demo with a warm cache, the first call with a cold one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from timing import ROOT, digits, python_environment
from workloads import NDCG, TWELVE

FIRST_CALL = """
import numpy as np, fastndcg as fn
labels, scores = np.array([1, 0, 0, 1], "u1"), np.array([4, 3, 2, 1], "f4")
print(fn.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4]).mean())
"""
CORE = ("numpy", "numba", "llvmlite")
GOALS = {"import": 0.020, "warm demo": 0.4, "cold nDCG@10": 3.0, "cold twelve metrics": 6.0}


def measure(repeat: int) -> list[dict[str, Any]]:
    """Every figure of a process's start, with its goal."""
    numpy, ours = in_turns([["-c", "import numpy"], ["-c", "import numpy, fastndcg"]], repeat)
    numba, demo = in_turns([["-c", "import numba"], ["-m", "fastndcg", "evaluate"]], repeat)
    return [
        row("import", "`import fastndcg` over `import numpy`", ours - numpy, numpy),
        row("warm demo", "the demo, warm cache, over `import numba`", demo - numba, numba),
        *cold_rows("a process whose first call compiles nDCG@10, all in all", "cold nDCG@10", NDCG, repeat),
        *cold_rows("the same with twelve metrics", "cold twelve metrics", TWELVE, repeat),
    ]


def cold_rows(what: str, goal: str, metrics: tuple[str, ...], repeat: int) -> list[dict[str, Any]]:
    """What a first call takes where nothing but what we need is installed, and among all that is installed here."""
    with tempfile.TemporaryDirectory() as folder:
        link_core(Path(folder))
        alone = cold(metrics, repeat, ["-S"], PYTHONPATH=os.pathsep.join([folder, str(ROOT)]))
    among = cold(metrics, repeat)
    return [
        row(goal, f"{what}, with NumPy and Numba alone installed", alone),
        row(goal, f"{what}, with all that is installed here", among),
    ]


def link_core(folder: Path) -> None:
    """Put links to what we need into a folder; Numba imports SciPy and awkward, where there are any, to compile."""
    for name in CORE:
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(Path(str(distribution(name).locate_file(top))).resolve())


def row(goal: str, what: str, seconds: float, base: float | None = None) -> dict[str, Any]:
    """A figure in milliseconds beside its goal."""
    found = {"what": what, "value": digits(seconds * 1e3), "unit": "ms", "goal": f"≤ {GOALS[goal] * 1e3:g} ms"}
    detail = {} if base is None else {"detail": f"beside {base * 1e3:.0f} ms"}
    return found | detail | {"met": seconds <= GOALS[goal]}


def in_turns(commands: list[list[str]], repeat: int) -> list[float]:
    """The shortest time of each command of Python, taken in turns after one that fills the caches."""
    taken = [[run(command) for command in commands] for _ in range(repeat + 1)][1:]
    return [min(times) for times in zip(*taken, strict=True)]


def cold(metrics: tuple[str, ...], repeat: int, options: Sequence[str] = (), **environment: str) -> float:
    """The shortest time of a process that finds no machine code on disk, with options of Python's."""
    taken = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            call = FIRST_CALL.format(metrics=list(metrics))
            taken.append(run([*options, "-c", call], NUMBA_CACHE_DIR=folder, **environment))
    return min(taken)


def run(arguments: list[str], **environment: str) -> float:
    """How long a fresh Python takes, from start to exit."""
    started = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=python_environment(**environment), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
