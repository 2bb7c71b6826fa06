"""
Comparison of the working tree's speed with that of a commit, in alternation within one run.

Each version of the package runs in a separate process: the working tree's, and that of the commit, taken from git
into a temporary folder. Both processes run today's `benchmarks/lib/compare_worker.py` and `workloads.py`, which use
only the public functions of fastndcg. A commit of any layout can therefore be the base. The suites that call internal
functions (profile, limits, statistics) are no part of the comparison: their rows have no counterpart in other commits.
A workload that one version cannot evaluate, for example since a metric was renamed, is left out with the error.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.lib.compare_worker import ONE_QUERY
from benchmarks.lib.machine import ROOT, make_environment
from benchmarks.lib.timing import round_figure
from benchmarks.lib.workloads import NAMES_WITH_GOAL

LIMIT = 1.10
REPEAT = 7
SCALE = 0.2
NAMES = (*NAMES_WITH_GOAL, *ONE_QUERY)


class CannotEvaluateError(Exception):
    """A version of the package raised an error on a workload."""


def compare_versions(base: str, names: tuple[str, ...], scale: float, repeat: int) -> int:
    """Print the ratios of the working tree's times to those of a commit, and return 1 if one is over 1.10 twice."""
    with open_versions(base) as (old, new):
        return judge_ratios(names, lambda name: measure_ratio(old, new, name, scale, repeat))


@contextlib.contextmanager
def open_versions(base: str) -> Iterator[tuple[Version, Version]]:
    """Yield the package of a commit and that of the working tree, each in a process."""
    with tempfile.TemporaryDirectory() as folder:
        check_out(base, Path(folder))
        with Version(Path(folder)) as old, Version(ROOT) as new:
            yield old, new


def check_out(commit: str, folder: Path) -> None:
    """Extract the package of a commit into a folder."""
    completed = subprocess.run(["git", "archive", commit, "fastndcg"], cwd=ROOT, capture_output=True, check=False)
    if completed.returncode:
        raise SystemExit(f"the base must be a commit with a package: {completed.stderr.decode().strip()} ({commit})")
    with tarfile.open(fileobj=io.BytesIO(completed.stdout)) as archive:
        archive.extractall(folder, filter="data")


def judge_ratios(names: tuple[str, ...], measure: Callable[[str], float]) -> int:
    """Print every ratio and the geometric mean, measure again what is over the limit, and return 1 if it is again."""
    first = _measure_all(names, measure)
    if not first:
        print("no workload could be compared")
        return 1
    mean = _print_ratio("geometric mean", statistics.geometric_mean(first.values()))
    again = list(first) if mean > LIMIT else [name for name, ratio in first.items() if ratio > LIMIT]
    if not again:
        return 0
    print(f"over {LIMIT:.2f}, second measurement:")
    second = _measure_all(again, measure)
    slow = [name for name in second if first[name] > LIMIT and second[name] > LIMIT]
    if mean > LIMIT and _print_ratio("geometric mean", statistics.geometric_mean(second.values())) > LIMIT:
        slow.append("the geometric mean")
    if slow:
        print(f"slower than {LIMIT:.2f} x the base, twice: {', '.join(slow)}")
    return int(bool(slow))


def _measure_all(names: Any, measure: Callable[[str], float]) -> dict[str, float]:
    """Measure and print the ratios of the workloads that both versions can evaluate."""
    ratios = {}
    for name in names:
        try:
            ratios[name] = _print_ratio(name, measure(name))
        except CannotEvaluateError as error:
            print(f"{name:26} left out: {error}", flush=True)
    return ratios


def _print_ratio(name: str, ratio: float) -> float:
    """Print a ratio and return it."""
    print(f"{name:26} {ratio:6.3f}", flush=True)
    return ratio


def measure_ratio(base: Version, tree: Version, name: str, scale: float, repeat: int) -> float:
    """Return the working tree's shortest time divided by the base's, taken in alternation."""
    versions = (base, tree)
    digests = [version.request(load=name, scale=scale)["digest"] for version in versions]
    if digests[0] != digests[1]:
        print(f"{name}: the values of the two versions differ in some bits", flush=True)
    times: dict[Version, list[float]] = {version: [] for version in versions}
    for number in range(repeat):
        for version in versions if number % 2 == 0 else versions[::-1]:
            times[version].append(version.request()["seconds"])
    return round_figure(min(times[tree]) / min(times[base]), 4)


class Version:
    """A process that evaluates with the package of one folder, once for each request."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join(dict.fromkeys([str(folder), str(ROOT)]))  # the package of the folder, these benchmarks
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.lib.compare_worker"],
            env=make_environment(PYTHONPATH=path, PYTHONSAFEPATH="1"), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        file = self.request(locate=True)["file"]
        if Path(file).resolve().parents[1] != folder.resolve():
            raise SystemExit(f"the package of {folder} must be measured, but Python imports that of {file}")

    def request(self, **message: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("the process has no pipes")
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the package in {self._folder} has ended: its error is above")
        answer = json.loads(line)
        if "error" in answer:
            raise CannotEvaluateError(f"{answer['error']} (package in {self._folder})")
        return answer

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.__exit__(None, None, None)  # closes the pipes, which ends the process, and waits for it
