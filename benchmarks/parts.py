"""
Where an evaluation's time goes: each kernel, and what is left to Python and NumPy, in multiples of nDCG@10.

Usage: python benchmarks/parts.py [WORKLOAD ...] [--scale S] [--repeat N]

On one thread, all calls of a kernel in the fastest of N evaluations. Beside it stands the fastest without a watch.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import numba
from numba.core.dispatcher import Dispatcher
from proof import prove
from render import table
from timing import about, digits, interleaved, timed
from workloads import RECIPES, make, ours

import fastndcg.kernels
from fastndcg import arguments

BASE = "sparse8"
REST = "Python and NumPy"


def main() -> None:
    """Print a table for each workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=["everything", "all_trec"], metavar="WORKLOAD")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=9)
    asked = parser.parse_args()
    unknown = [name for name in asked.workloads if name not in RECIPES]
    if unknown:
        parser.error(f"{unknown[0]!r} is no workload; there are {', '.join(RECIPES)}")
    found = about()
    print(f"{found['date']}, {found['machine']}, numba {numba.__version__}, commit {found['commit']}")
    for name in asked.workloads:
        whole, parts, calls = parts_of(name, asked.scale, asked.repeat)
        rows = [(f"`{name}`", str(digits(whole, 3)), "")]
        rows += [(part, str(digits(share, 2)), str(calls[part] or "")) for part, share in parts.most_common()]
        print(table(("part", "× nDCG@10", "calls"), rows, left=1))


def parts_of(name: str, scale: float, repeat: int) -> tuple[float, Counter[str], Counter[str]]:
    """How many times nDCG@10 a workload takes, its parts under a watch, and how often each kernel is called."""
    workload, base = make(name, scale), ours(make(BASE, scale), threads=1)
    evaluate = ours(workload, threads=1)
    prove(workload, evaluate())
    seconds = interleaved({"base": base, "whole": evaluate}, repeat)
    fastest = float("inf"), Counter(), Counter()
    with watched() as (spent, calls):
        for _ in range(repeat):
            spent.clear()
            calls.clear()
            whole, _ = timed(evaluate)
            parts = Counter(spent) + Counter({REST: whole - spent.total()})
            fastest = min(fastest, (whole, parts, Counter(calls)), key=lambda one: one[0])
    shares = Counter({part: taken / seconds["base"] for part, taken in fastest[1].items()})
    return seconds["whole"] / seconds["base"], shares, fastest[2]


@contextmanager
def watched() -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Time what Python calls of kernels: the seconds and the calls of each. What is watched has been compiled."""
    spent: Counter[str] = Counter()
    calls: Counter[str] = Counter()

    def call(kernel: Any, given: tuple[Any, ...]) -> Any:
        name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"
        started = time.perf_counter()
        result = kernel(*given)
        spent[name] += time.perf_counter() - started
        calls[name] += 1
        return result

    with called_by(call):
        yield spent, calls


def kernels_of(make: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
    """What calls the kernels of an evaluation's second call again, with the same arguments, and does nothing else."""
    noted: list[tuple[Any, tuple[Any, ...]]] = []

    def call(kernel: Any, given: tuple[Any, ...]) -> Any:
        noted.append((kernel, given))
        return kernel(*given)

    make()()  # compiles
    with called_by(call):
        evaluate = make()
        evaluate()
        noted.clear()
        evaluate()
    return lambda: [kernel(*given) for kernel, given in noted]


@contextmanager
def called_by(call: Callable[[Any, tuple[Any, ...]], Any]) -> Iterator[None]:
    """Let a function call each compiled kernel that Python calls, with the arguments that are meant for it."""
    modules = [import_module(f"fastndcg.kernels.{one.name}") for one in pkgutil.iter_modules(fastndcg.kernels.__path__)]
    modules += [
        module for name, module in sys.modules.items() if name.startswith("fastndcg.") and module not in modules
    ]
    with ExitStack() as stack:
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, Dispatcher) and value.signatures:
                    stack.enter_context(mock.patch.object(module, name, _through(value, call)))
        arguments._plan_of.cache_clear()  # plans name kernels
        yield
    arguments._plan_of.cache_clear()


def _through(kernel: Any, call: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[..., Any]:
    through = lambda *given: call(kernel, given)  # noqa: E731
    through.py_func = kernel.py_func  # type: ignore[attr-defined]  # plans read the names of its arguments
    return through


if __name__ == "__main__":
    main()
