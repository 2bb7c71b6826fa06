"""
Comparison of the working tree with another commit, and with the anchor: all run every benchmark in alternation.

Small steps add up unseen where each is compared with the one before, so that the file `anchor` names a commit that
stays for long. All packages are built and installed into separate folders, beside the same dependencies. Four processes
run the benchmarks of the working tree: two with the commit's package, one with the tree's, one with the anchor's. In
each round every process times the call once. Each row shows the commit against itself, which is how far two processes
of one version differ, and the tree against the mean of both, and against the anchor. A row is slow if one of these
intervals is above 1.10, or above 1.10 times the factor by which the two processes of the commit differ with certainty.
Slow rows are measured again in new processes, and fail if they are slow again. A benchmark that the tree cannot run, or
whose proof fails there, fails at once.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.race import Ratio, count_calls, estimate_ratio
from benchmarks.record import ROOT

LIMIT = 1.10
MIN_ROUNDS = 6  # an interval of fewer has less than 95 %
SECONDS = 4.0  # of the rounds of a row whose interval stays wide
UNDECIDED_SECONDS = 20.0  # of a row whose interval holds the limit
WIDTH = 1.04  # of an interval that is narrow enough: its upper bound over its lower one
ANCHOR = ROOT / "benchmarks" / "anchor"


class Row(NamedTuple):
    """The ratios of one benchmark: the commit against itself, and the tree against the commit and the anchor."""

    name: str
    itself: Ratio
    tree: Ratio
    drift: Ratio | None

    @property
    def is_slow(self) -> bool:
        """Return True if an interval of the tree is over the limit times how far the commit surely is from itself."""
        limit = LIMIT * max(1.0, self.itself.low, 1 / self.itself.high)
        return self.tree.low > limit or (self.drift is not None and self.drift.low > limit)


def compare_with(commit: str, expression: str, n_rows: int, scale: float, *, has_anchor: bool = True) -> int:
    """Print the ratios of the working tree to a commit, and return 1 if a row fails or is slow twice."""
    with tempfile.TemporaryDirectory(prefix="fastndcg-bench-") as made:
        folder = Path(made)
        packages = install_packages(
            commit, ANCHOR.read_text(encoding="utf-8").split()[0] if has_anchor else None, folder
        )
        with open_workers(packages, expression, scale, folder) as workers:
            names = select_rows(workers["tree"].names, n_rows)
            print(f"{len(names)} rows against {shorten_commit(commit)}: ratios [95 % interval], above 1 is slower")
            print(f"{'benchmark':72} {'commit / itself':22} {'tree / commit':22} tree / anchor", flush=True)
            rows, failed = measure_rows(workers, names)
        if rows:
            mean = math.exp(sum(math.log(row.tree.median) for row in rows) / len(rows))
            print(f"{'geometric mean':72} {'':22} {mean:.3f}")
            if has_anchor:
                print(f"{sum(row.drift is not None for row in rows)} of {len(rows)} rows compared with the anchor")
        elif not failed:
            print("no benchmark could be compared: see `pytest benchmarks --collect-only`")
            return 1
        slow = [row.name for row in rows if row.is_slow]
        if slow:
            print(f"slower than {LIMIT:.2f}, measured again in new processes:", flush=True)
            with open_workers(packages, expression, scale, folder) as workers:
                rows, failed_again = measure_rows(workers, slow)
            slow = [row.name for row in rows if row.is_slow]
            failed += failed_again
    verdicts = {f"slower by more than {LIMIT - 1:.0%}": slow, "failed with the working tree": failed}
    lines = [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items() if names]
    print("\n".join(lines) or "no row is slower by more than 10 %")
    return int(bool(lines))


def select_rows(names: list[str], n_rows: int) -> list[str]:
    """Return all rows, or some: the first one of each suite, which is a quick one, then others at even distances."""
    firsts = list({name.partition("::")[0]: name for name in reversed(names)}.values())[::-1]
    others = [name for name in names if name not in firsts]
    n_others = min(max(n_rows - len(firsts), 0), len(others))
    chosen = firsts[:n_rows] + [others[int((number + 0.5) * len(others) / n_others)] for number in range(n_others)]
    return sorted(chosen, key=names.index)


def shorten_commit(commit: str) -> str:
    """Return the first 12 digits of a commit that is named by its hash, a branch or a tag."""
    command = ["git", "rev-parse", "--short=12", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def install_packages(commit: str, anchor: str | None, folder: Path) -> dict[str, Path]:
    """Install the packages of a commit, of the anchor and of the working tree, without their dependencies."""
    packages = {}
    for side, name in (("base", commit), ("anchor", anchor)):
        if name is None:
            continue
        source = folder / f"source of {side}"
        added = subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(source), name],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if added.returncode and side == "anchor":  # a clone without the whole history
            print(f"no comparison with the anchor: {added.stderr.strip()}")
            continue
        if added.returncode:
            raise SystemExit(f"`--against` takes a commit, but git says: {added.stderr.strip()}")
        try:
            packages[side] = install(source, folder / side, has_machine_code=side == "base")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(source)], cwd=ROOT, check=True)
    return {"again": packages["base"], "tree": install(ROOT, folder / "tree", has_machine_code=True), **packages}


def install(source: Path, folder: Path, *, has_machine_code: bool) -> Path:
    """
    Build the package of a checkout, install it into a folder, and return that.

    With machine code, calls take as long as those of a built wheel: Numba finds a kernel more slowly. The anchor may be
    older than the build.
    """
    command = ["install", "--quiet", "--no-deps", "--no-compile", "--target", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True, stdout=sys.stderr)
    if has_machine_code:
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
        subprocess.run([sys.executable, "-m", "fastndcg", "warmup"], check=True, cwd=folder, env=environment)
    return folder


@contextlib.contextmanager
def open_workers(
    packages: dict[str, Path], expression: str, scale: float, folder: Path
) -> Iterator[dict[str, Worker]]:  # fmt: skip
    """Yield a process for each side, and end them."""
    with contextlib.ExitStack() as stack:
        workers = {side: Worker(packages[side], expression, scale, folder / f"{side}.log") for side in packages}
        for worker in workers.values():
            stack.callback(worker.close)
        for worker in workers.values():
            worker.connect()
        yield workers


def measure_rows(workers: dict[str, Worker], names: list[str]) -> tuple[list[Row], list[str]]:
    """Measure and print the rows that all sides can run, and return them and the names of those that fail."""
    rows, failed = [], []
    for name in names:
        label = name.removeprefix("benchmarks/bench_").replace(".py::test_", ": ")
        row = measure_row(workers, name)
        if isinstance(row, str):
            print(f"{label:72} {row}", flush=True)
            failed += [name] * row.startswith("failed")
            continue
        rows.append(row)
        mark = " slow" if row.is_slow else ""
        print(f"{label:72} {row.itself!s:22} {row.tree!s:22} {row.drift or '-'!s:22}{mark}", flush=True)
    return rows, failed


def measure_row(workers: dict[str, Worker], name: str) -> Row | str:
    """
    Return the ratios of one benchmark, or why it is not compared.

    A benchmark is left out if only the commit cannot run it, such as a new one, or if all sides skip it. One that the
    anchor cannot run has no ratio to it.
    """
    for worker in workers.values():
        worker.send(run=name)
    answers = {side: worker.receive() for side, worker in workers.items()}
    if "problem" in answers.get("anchor", {}):
        del answers["anchor"]
        workers = {side: workers[side] for side in answers}
    problems = {side: answer for side, answer in answers.items() if "problem" in answer}
    if problems:
        for side, worker in workers.items():
            if "ready" in answers[side]:
                worker.end()
        is_failure = "tree" in problems and not all(answer.get("is_skipped") for answer in answers.values())
        verdict, side = ("failed", "tree") if is_failure else ("left out", next(iter(problems)))
        return f"{verdict}: {problems[side]['problem']} ({side})"
    n_calls = count_calls(max(answer["ready"] for answer in answers.values()))
    itself: list[float] = []
    tree: list[float] = []
    drift: list[float] = []
    sides = list(workers)
    start = time.perf_counter()
    while True:
        seconds = {side: workers[side].ask(time=n_calls)["seconds"] for side in sides}
        sides.append(sides.pop(0))
        itself.append(seconds["again"] / seconds["base"])
        tree.append(seconds["tree"] / math.sqrt(seconds["base"] * seconds["again"]))
        if "anchor" in seconds:
            drift.append(seconds["tree"] / seconds["anchor"])
        if len(tree) >= MIN_ROUNDS:
            ratios = [estimate_ratio(measured) for measured in (tree, drift) if measured]
            is_open = any(ratio.low < LIMIT < ratio.high for ratio in ratios)
            is_narrow = all(ratio.high < WIDTH * ratio.low for ratio in ratios)
            if is_narrow or time.perf_counter() - start > (UNDECIDED_SECONDS if is_open else SECONDS):
                break
    for worker in workers.values():
        worker.end()
    return Row(name, estimate_ratio(itself), estimate_ratio(tree), estimate_ratio(drift) if drift else None)


class Worker:
    """A process of pytest that runs the benchmarks of the working tree with the package of one folder."""

    def __init__(self, package: Path, expression: str, scale: float, log: Path) -> None:
        to_read, to_answer = os.pipe()
        to_serve, to_request = os.pipe()
        self._package = package
        self._log = log
        command = [sys.executable, "-m", "pytest", "benchmarks", "-q", "-p", "no:cacheprovider", "--color=no"]
        command += ["-k", expression, "--scale", str(scale), "--serve", f"{to_serve},{to_answer}"]
        with log.open("w", encoding="utf-8") as file:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"},
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, pass_fds=(to_serve, to_answer),
            )  # fmt: skip
        for descriptor in (to_serve, to_answer):
            os.close(descriptor)
        self._answers = os.fdopen(to_read, encoding="utf-8")
        self._requests = os.fdopen(to_request, "w", encoding="utf-8")
        self.names: list[str] = []

    def connect(self) -> None:
        """Read the names of the benchmarks, and check that the process measures its package."""
        answer = self.ask(list=True)
        if not Path(answer["file"]).resolve().is_relative_to(self._package.resolve()):
            raise SystemExit(f"the package in {self._package} must be measured, but Python imports {answer['file']}")
        self.names = answer["names"]

    def send(self, **request: Any) -> None:
        """Send a request."""
        with contextlib.suppress(BrokenPipeError):
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next answer."""
        line = self._answers.readline()
        if not line:
            tail = self._log.read_text(encoding="utf-8").splitlines()[-15:]
            raise SystemExit("a process of the benchmarks has ended:\n" + "\n".join(tail))
        return json.loads(line)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self.send(**request)
        return self.receive()

    def end(self) -> None:
        """End the benchmark that is ready."""
        self.ask(end=True)

    def close(self) -> None:
        """End the process."""
        self._requests.close()
        self._process.wait()
        self._answers.close()
