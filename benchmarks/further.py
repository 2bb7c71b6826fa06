"""Goals that are no workload: threads, size, memory, and the latency of one small query."""

from __future__ import annotations

import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from floor import floor
from proof import prove
from timing import available_cpus, digits, free_memory, interleaved, python_environment
from workloads import make, make_sized, ours

import fastndcg as fn

WORKLOAD = "sparse8"
SIZES = (10**6, 10**7, 10**8, 5 * 10**8)
BYTES_A_DOCUMENT = 8  # of the arrays, with room for the output and for making them
LEAST_SPEEDUP, MOST_SPREAD = 1.85, 1.15
MEMORY_DOCUMENTS, MEMORY_ABOVE = 10**8, 64 << 20
MOST_MICROSECONDS = {"fn.ndcg": 15.0, "Evaluator": 8.0}
LEAST_SECONDS = 0.5

Row = dict[str, Any]


def threads(scale: float, repeat: int) -> list[Row]:
    """Two threads against one."""
    what = f"2 threads against 1, {WORKLOAD}"
    if available_cpus() < 2:
        return [{"what": what, "left out": "this process may use one CPU"}]
    workload = make(WORKLOAD, scale)
    prove(workload, ours(workload, 2)())
    seconds = interleaved({"1": ours(workload, 1), "2": ours(workload, 2)}, repeat, LEAST_SECONDS)
    ratio = seconds["1"] / seconds["2"]
    detail = f"{seconds['1'] * 1e3:.3g} ms and {seconds['2'] * 1e3:.3g} ms"
    goal = f"≥ {LEAST_SPEEDUP:g} ×"
    return [
        {"what": what, "value": digits(ratio, 3), "unit": "×", "goal": goal, "detail": detail,
         "met": ratio >= LEAST_SPEEDUP}
    ]  # fmt: skip


def documents(largest: int, repeat: int) -> list[Row]:
    """Nanoseconds a document, for one size after the other as far as memory goes."""
    rows, found = [], []
    for size in (size for size in SIZES if size <= largest):
        what = f"{size:.0e} documents, {WORKLOAD}".replace("e+0", "e")
        if size * BYTES_A_DOCUMENT > free_memory():
            rows.append({"what": what, "left out": f"it takes {size * BYTES_A_DOCUMENT / 2**30:.1f} GiB of memory"})
            continue
        workload = make_sized(WORKLOAD, size)
        evaluate = ours(workload)
        prove(workload, evaluate())
        seconds = interleaved({"ours": evaluate, "floor": floor(workload)}, repeat, LEAST_SECONDS)
        found.append(seconds["ours"] / workload.n_documents * 1e9)
        detail = f"{seconds['ours'] / seconds['floor']:.3g} × floor"
        rows.append({"what": what, "value": digits(found[-1], 3), "unit": "ns/document", "detail": detail})
        del workload, evaluate  # before the next is made
    if len(found) < 2:
        return rows
    spread = max(found) / min(found)
    rows.append({
        "what": f"most over least of these {len(found)} sizes", "value": digits(spread, 3), "unit": "×",
        "goal": f"≤ {MOST_SPREAD:g} ×", "met": spread <= MOST_SPREAD,
    })  # fmt: skip
    return rows


def memory(n_documents: int) -> list[Row]:
    """The most memory above the inputs, in a process of its own."""
    what = f"memory above inputs and output, {n_documents:.0e} documents".replace("e+0", "e")
    command = [sys.executable, __file__, str(n_documents)]
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        return [{"what": what, "left out": (done.stderr.strip().splitlines() or ["it failed"])[-1]}]
    found = json.loads(done.stdout.splitlines()[-1])
    above = found["peak"] - found["before"] - found["output"]
    return [
        {"what": what, "value": digits(above / 2**20, 3), "unit": "MiB", "goal": f"≤ {MEMORY_ABOVE >> 20} MiB",
         "detail": f"output {found['output'] / 2**20:.3g} MiB", "met": above <= MEMORY_ABOVE}
    ]  # fmt: skip


def latency(repeat: int, calls: int = 2000) -> list[Row]:
    """Microseconds for one query of 100 documents."""
    rng = np.random.default_rng(100)
    labels, scores, offsets = (rng.random(100) < 0.05).astype("u1"), rng.random(100, dtype="f4"), np.array([0, 100])
    evaluator = fn.Evaluator(labels, "ndcg@10", offsets=offsets)
    both: dict[str, Callable[[], Any]] = {
        "fn.ndcg": lambda: fn.ndcg(labels, scores, offsets, k=10),
        "Evaluator": lambda: evaluator.evaluate(scores),
    }
    rows = []
    for name, call in both.items():
        call()
        taken = min(timeit.repeat(call, number=calls, repeat=repeat)) / calls * 1e6
        most = MOST_MICROSECONDS[name]
        what = f"one query of 100 documents, {name}"
        rows.append(
            {"what": what, "value": digits(taken, 3), "unit": "µs", "goal": f"≤ {most:g} µs", "met": taken <= most}
        )
    return rows


def peak(n_documents: int) -> dict[str, int]:
    """Bytes that this process holds before an evaluation, at its highest during it, and of the output; on Linux."""
    small = make_sized(WORKLOAD, 10**6)
    ours(small)()
    workload = make_sized(WORKLOAD, n_documents)
    evaluate = ours(workload)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the highest so far
    before = resident("VmRSS")
    values = evaluate()
    return {"before": before, "peak": resident("VmHWM"), "output": values.nbytes}


def resident(field: str) -> int:
    """A field of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(peak(int(sys.argv[1]))))
