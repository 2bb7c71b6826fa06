"""What a fresh process pays: importing the package, the demo with a warm cache, the first call with a cold one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from typing import Any

from timing import digits, python_environment
from workloads import NDCG, TWELVE

FIRST_CALL = """
import numpy as np, fastndcg as fn
labels, scores = np.array([1, 0, 0, 1], "u1"), np.array([4, 3, 2, 1], "f4")
print(fn.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4]).mean())
"""
GOALS = {"import": 0.020, "warm demo": 0.4, "cold nDCG@10": 3.0, "cold twelve metrics": 6.0}


def measure(repeat: int) -> list[dict[str, Any]]:
    """Every figure of a process's start, with its goal."""
    numpy, ours = in_turns([["-c", "import numpy"], ["-c", "import numpy, fastndcg"]], repeat)
    numba, demo = in_turns([["-c", "import numba"], ["-m", "fastndcg", "evaluate"]], repeat)
    return [
        row("import", "`import fastndcg` over `import numpy`", ours - numpy, numpy),
        row("warm demo", "the demo, warm cache, over `import numba`", demo - numba, numba),
        row("cold nDCG@10", "a process whose first call compiles nDCG@10, all in all", cold(NDCG, repeat)),
        row("cold twelve metrics", "the same with twelve metrics", cold(TWELVE, repeat)),
    ]


def row(goal: str, what: str, seconds: float, base: float | None = None) -> dict[str, Any]:
    """A figure in milliseconds beside its goal."""
    found = {"what": what, "value": digits(seconds * 1e3), "unit": "ms", "goal": f"≤ {GOALS[goal] * 1e3:g} ms"}
    detail = {} if base is None else {"detail": f"beside {base * 1e3:.0f} ms"}
    return found | detail | {"met": seconds <= GOALS[goal]}


def in_turns(commands: list[list[str]], repeat: int) -> list[float]:
    """The shortest time of each command of Python, taken in turns after one that fills the caches."""
    taken = [[run(command) for command in commands] for _ in range(repeat + 1)][1:]
    return [min(times) for times in zip(*taken, strict=True)]


def cold(metrics: tuple[str, ...], repeat: int) -> float:
    """The shortest time of a process that finds no machine code on disk."""
    taken = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            taken.append(run(["-c", FIRST_CALL.format(metrics=list(metrics))], NUMBA_CACHE_DIR=folder))
    return min(taken)


def run(arguments: list[str], **environment: str) -> float:
    """How long a fresh Python takes, from start to exit."""
    started = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=python_environment(**environment), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
