"""
One call timed by pytest-benchmark, in alternation with the calls that it is compared with.

The fixture `race` proves the result of a call, then times it. After each round of pytest-benchmark, every other call is
timed as long. A comparison is the median of the ratios of these pairs, with its 95 % interval, in `extra_info`.

Whole processes are calls, too. Their peak of memory is VmHWM, which a process reads of itself at its end. It counts
from the start of its program: neither the memory of the process that starts it nor what the system reclaims counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import ROOT

BURST = 0.02  # seconds: shorter calls are repeated for so long in each round
MIN_ROUNDS = 5
PARTS = 4  # of a round of `scripts/bench --against`
LEVEL = 0.05  # of an interval: its chance to miss the median
PRINT_PEAK = """
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

Call = Callable[[], Any]


class Ratio(NamedTuple):
    """The median of ratios, and the bounds of its 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate_ratio(ratios: list[float]) -> Ratio:
    """
    Return the median of paired ratios with its 95 % interval, from order statistics.

    The interval makes no assumption on the ratios' distribution. Below six ratios it is their range, with less than
    95 %.
    """
    values = sorted(ratios)
    n = len(values)
    place = 0
    chance = 1 / 2**n  # that at most `place` of the ratios are below the median
    while 2 * (chance + math.comb(n, place + 1) / 2**n) <= LEVEL:
        place += 1
        chance += math.comb(n, place) / 2**n
    return Ratio((values[(n - 1) // 2] + values[n // 2]) / 2, values[place], values[n - 1 - place])


def time_once(call: Call) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def estimate_seconds(call: Call, first: float) -> float:
    """Return how long a call takes after its first one, or as long as the first where that took over a second."""
    return first if first > 1 else time_once(call)[0]


def count_calls(seconds: float) -> int:
    """Return how many calls of this duration make a round."""
    return max(1, round(BURST / max(seconds, 1e-9)))


def time_calls(call: Call, n_calls: int) -> float:
    """Return the mean seconds of several calls."""
    repeats = range(n_calls)
    start = time.perf_counter()
    for _ in repeats:
        call()
    return (time.perf_counter() - start) / n_calls


def run_python(*arguments: str, **environment: str) -> str:
    """Run Python to its end and return what it prints. It writes bytecode, so that imports are second imports."""
    completed = subprocess.run(
        [sys.executable, *arguments], env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | environment, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if completed.returncode:
        raise AssertionError(f"a process failed: {completed.stderr.strip().splitlines()[-1:]}")
    return completed.stdout


def prepare_python(*arguments: str, **environment: str) -> Call:
    """Return a call that runs Python to its end."""
    return lambda: run_python(*arguments, **environment)


def measure_peak(code: str) -> float | None:
    """Return the highest memory of a process that runs this code, in MiB, or None where the system does not say."""
    if not Path("/proc/self/status").exists():
        return None
    start = f"import sys; sys.path.append({str(ROOT)!r})"  # for what it imports of the benchmarks
    return int(run_python("-c", f"{start}\n{code}{PRINT_PEAK}").split()[-1]) / 1024


class Race:
    """The fixture `race`: call it once in a benchmark, with our call, its proof and the calls to compare with."""

    def __init__(self, benchmark: Any, options: Any, serve: Callable[[Call], None] | None) -> None:
        self.scale: float = options.scale
        self.is_served = serve is not None
        self.info: dict[str, Any] = benchmark.extra_info
        self._benchmark = benchmark
        self._serve = serve
        self._seconds = float(options.benchmark_max_time)
        self._min_rounds = min(int(options.benchmark_min_rounds), MIN_ROUNDS)

    def size(self, full: int, least: int = 1) -> int:
        """Return a size at the scale of this run."""
        return max(least, round(full * self.scale))

    def __call__(
        self, ours: Call, proof: Callable[[Any], Any], *, floors: Mapping[str, Call] | None = None,
        peers: Mapping[str, Call] | None = None,
    ) -> None:  # fmt: skip
        """
        Prove the result of our call, then time it in alternation with others.

        `proof` gets the result of our first call, and raises if it is wrong. `floors` are calls whose time ours is a
        multiple of, such as reading the arrays. `peers` do the same work by other means: ours is so many times as fast.
        """
        first, result = time_once(ours)
        self.info["first_call_seconds"] = first
        proof(result)
        if self._serve is not None:
            self._serve(ours)
            return
        if self._benchmark.disabled:
            self._benchmark.pedantic(ours)
            return
        others = {**(floors or {}), **(peers or {})}
        estimates = {name: estimate_seconds(call, time_once(call)[0]) for name, call in others.items()}
        own_estimate = estimate_seconds(ours, first)
        n_calls = {name: count_calls(seconds) for name, seconds in estimates.items()}
        times: dict[str, list[float]] = {name: [] for name in others}
        own_times: list[float] = []

        def time_others() -> None:
            own_times.append(self._benchmark.stats.stats.data[-1])
            for name, call in others.items():
                times[name].append(time_calls(call, n_calls[name]))

        round_seconds = sum(max(BURST, seconds) for seconds in (own_estimate, *estimates.values()))
        rounds = max(self._min_rounds, round(self._seconds / round_seconds))
        self._benchmark.pedantic(ours, teardown=time_others, rounds=rounds, iterations=count_calls(own_estimate))
        self._note_ratios(own_times, times, floors or {})

    def _note_ratios(self, own_times: list[float], times: dict[str, list[float]], floors: Mapping[str, Call]) -> None:
        """Store the comparisons in `extra_info`."""
        self.info["against"] = {}
        for name, values in times.items():
            pairs = zip(own_times, values, strict=False)  # pytest-benchmark's extra call at the end has no time
            ratio = estimate_ratio([ours / its if name in floors else its / ours for ours, its in pairs])
            self.info["against"][name] = {
                "kind": "floor" if name in floors else "peer",
                **{key: float(f"{value:.4g}") for key, value in ratio._asdict().items()},
                "seconds": float(f"{min(values):.4g}"),
            }


class Server:
    """
    The other end of `scripts/bench --against`: it runs the requested benchmarks, and times their calls.

    Requests and answers are lines of JSON. {"list"} answers the names of all benchmarks. {"run"} runs a benchmark up
    to its call. {"time": n} times n calls. {"end"} ends the benchmark.
    """

    def __init__(self, descriptors: str) -> None:
        reading, writing = map(int, descriptors.split(","))
        self._requests = os.fdopen(reading, encoding="utf-8")
        self._answers = os.fdopen(writing, "w", encoding="utf-8")
        self._problem: dict[str, Any] = {}

    def answer(self, **message: Any) -> None:
        """Write one line."""
        self._answers.write(json.dumps(message) + "\n")
        self._answers.flush()

    def run_items(self, session: Any) -> None:
        """Run the benchmarks that are requested, until there are no more requests."""
        import fastndcg

        items = {item.nodeid: item for item in session.items}
        for line in self._requests:
            request = json.loads(line)
            if "list" in request:
                names = [] if session.testsfailed else list(items)  # a file that cannot be loaded would go unseen
                self.answer(names=names, file=fastndcg.__file__)
                continue
            item = items.get(request["run"])
            if item is None:
                self.answer(problem="the benchmark cannot be loaded with this version")
                continue
            self._problem = {"problem": "the benchmark times no call"}
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            self.answer(**self._problem)

    def serve(self, call: Call) -> None:
        """Answer requests for the time of a call."""
        self.answer(ready=time_once(call)[0])
        for line in self._requests:
            request = json.loads(line)
            if "end" in request:
                self._problem = {}
                return
            n_parts = min(PARTS, request["time"])  # the shortest part is the one that others disturb least
            n_calls = request["time"] // n_parts
            self.answer(seconds=min(time_calls(call, n_calls) for _ in range(n_parts)))

    def note_problem(self, report: Any) -> None:
        """Store why a benchmark ended before its call."""
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        self._problem = {"problem": reason.strip().splitlines()[-1], "is_skipped": report.skipped}
