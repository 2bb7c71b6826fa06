"""
Compare the speed of two versions of the package in one run, in turns.

Usage: scripts/compare-benchmarks [BASE] [--scale S] [--only NAME ...] [--repeat N]

BASE is a commit, HEAD by default; the other version is the working tree. Each has a process of its own that makes the
same workloads. Prints each workload's ratio, working tree over base, and their geometric mean. What is over 1.10 is
measured once more, and fails if it is over again. Values that differ between the two are said.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from timing import ROOT, digits, python_environment, timed
from workloads import RECIPES, WITHOUT_GOAL, make, ours

LIMIT = 1.10
REPEAT = 7
NAMES = [name for name in RECIPES if name not in WITHOUT_GOAL]


def main() -> int:
    """Check out the base, measure, judge."""
    parser = argparse.ArgumentParser(
        prog="scripts/compare-benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", default="HEAD", metavar="BASE")
    parser.add_argument("--scale", type=float, default=0.2)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        check_out(asked.base, Path(folder))
        with Version(Path(folder)) as base, Version(ROOT) as tree:
            return judge(asked.only, lambda name: ratio_of(base, tree, name, asked.scale, asked.repeat))


def check_out(commit: str, folder: Path) -> None:
    """Put the package of a commit into a folder."""
    done = subprocess.run(["git", "archive", commit, "fastndcg"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"there is no package in {commit}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def judge(names: list[str], measure: Any) -> int:
    """Print every ratio and their geometric mean; 1 if one of them is over the limit in two measurements."""
    first = {name: told(name, measure(name)) for name in names}
    mean = told("geometric mean", statistics.geometric_mean(first.values()))
    again = list(first) if mean > LIMIT else [name for name, ratio in first.items() if ratio > LIMIT]
    if not again:
        return 0
    print(f"over {LIMIT:.2f}, once more:")
    second = {name: told(name, measure(name)) for name in again}
    slow = [name for name in again if first[name] > LIMIT and second[name] > LIMIT]
    if mean > LIMIT and told("geometric mean", statistics.geometric_mean(second.values())) > LIMIT:
        slow.append("the geometric mean")
    if slow:
        print(f"slower than {LIMIT:.2f} x the base, twice: {', '.join(slow)}")
    return int(bool(slow))


def told(name: str, ratio: float) -> float:
    """Print a ratio, and give it."""
    print(f"{name:26} {ratio:6.3f}", flush=True)
    return ratio


def ratio_of(base: Version, tree: Version, name: str, scale: float, repeat: int) -> float:
    """The working tree's shortest time over the base's, taken in turns."""
    versions = (base, tree)
    values = [version.ask(load=name, scale=scale)["values"] for version in versions]
    if values[0] != values[1]:
        print(f"{name}: the values differ in some bits", flush=True)
    taken: dict[Version, list[float]] = {version: [] for version in versions}
    for turn in range(repeat):
        for version in versions if turn % 2 == 0 else versions[::-1]:
            taken[version].append(version.ask()["seconds"])
    return digits(min(taken[tree]) / min(taken[base]), 4)


class Version:
    """A process that evaluates with the package of one folder, one evaluation for each line that it is sent."""

    def __init__(self, folder: Path) -> None:
        environment = python_environment(PYTHONPATH=str(folder), PYTHONSAFEPATH="1")
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        place = self.ask(where=True)["where"]
        if Path(place).resolve().parents[1] != folder.resolve():
            raise SystemExit(f"{folder} was to be measured, but the package is that of {place}")

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request, and wait for the answer."""
        pipes = self._process.stdin, self._process.stdout
        if pipes[0] is None or pipes[1] is None:
            raise SystemExit("the process has no pipes")
        pipes[0].write(json.dumps(request) + "\n")
        pipes[0].flush()
        answer = pipes[1].readline()
        if not answer:
            raise SystemExit("a version of the package has failed: see above")
        return json.loads(answer)

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.__exit__(None, None, None)  # closes the pipes, at which it ends, and waits for that


def serve() -> None:
    """Answer requests: where the package is, the hash of a workload's values, how long an evaluation takes."""
    import fastndcg

    evaluate = None
    for line in sys.stdin:
        request = json.loads(line)
        if "where" in request:
            answer: dict[str, Any] = {"where": fastndcg.__file__}
        elif "load" in request:
            evaluate = None  # gives the memory back
            evaluate = ours(make(request["load"], request["scale"]))
            answer = {"values": hashlib.sha256(evaluate().tobytes()).hexdigest()}
        else:
            answer = {"seconds": timed(evaluate)[0]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
