"""Goals that are no workload: threads, size, memory, and the latency of one small query."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numba
import numpy as np
from contenders import CONTENDERS, METRIC, Case, K, agreement
from floor import floor, reading
from parts import kernels_of
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
ONE_LINE = "`gains[np.argsort(-scores)[:10]] @ discounts`"
# what the same query took elsewhere on the machine that these goals were set on, so that they can be read as ratios
BESIDE = {"scikit-learn": 400.0, "pytrec_eval-terrier": 22.0, ONE_LINE: 4.0}

Row = dict[str, Any]


def threads(scale: float, repeat: int) -> list[Row]:
    """Two threads against one."""
    what = f"2 threads against 1, {WORKLOAD}"
    if available_cpus() < 2:
        return [{"what": what, "left out": "this process may use one CPU"}]
    workload = make(WORKLOAD, scale)
    prove(workload, ours(workload, 2)())
    kinds = {"ours": ours, "the floor": floor, "reading": reading}
    calls = {(name, n): kind(workload, n) for name, kind in kinds.items() for n in (1, 2)}
    seconds = interleaved(calls, repeat, LEAST_SECONDS)
    ratio, *limits = (seconds[name, 1] / seconds[name, 2] for name in kinds)
    detail = f"{seconds['ours', 1] * 1e3:.3g} ms and {seconds['ours', 2] * 1e3:.3g} ms"
    detail += "".join(f"; {name} {limit:.3g} ×" for name, limit in zip([*kinds][1:], limits, strict=True))
    goal = f"≥ {LEAST_SPEEDUP:g} ×"
    return [
        {"what": what, "value": digits(ratio, 3), "unit": "×", "goal": goal, "detail": detail,
         "met": ratio >= LEAST_SPEEDUP}
    ]  # fmt: skip


def documents(largest: int, repeat: int) -> list[Row]:
    """Nanoseconds a document, for one size after the other as far as memory goes."""
    rows, found, floors = [], [], []
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
        floors.append(seconds["floor"] / workload.n_documents * 1e9)
        detail = f"{found[-1] / floors[-1]:.3g} × floor, {floors[-1]:.3g} ns/document"
        rows.append({"what": what, "value": digits(found[-1], 3), "unit": "ns/document", "detail": detail})
        del workload, evaluate  # before the next is made
    if len(found) < 2:
        return rows
    spread = max(found) / min(found)
    in_floors = [mine / least for mine, least in zip(found, floors, strict=True)]
    rows.append({
        "what": f"most over least of these {len(found)} sizes", "value": digits(spread, 3), "unit": "×",
        "goal": f"≤ {MOST_SPREAD:g} ×", "met": spread <= MOST_SPREAD,
        "detail": f"of the floor {max(floors) / min(floors):.3g} ×; of ours in floors "
        f"{max(in_floors) / min(in_floors):.3g} ×",
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


def latency(repeat: int, calls: int = 200) -> list[Row]:
    """Microseconds for one query of 100 documents, in turns with what the goals were set beside."""
    rng = np.random.default_rng(100)
    labels, scores, offsets = (rng.random(100) < 0.05).astype("u1"), rng.random(100, dtype="f4"), np.array([0, 100])
    evaluator = fn.Evaluator(labels, METRIC, offsets=offsets)
    others, left_out = beside(Case(labels[None], scores[None]))
    timed_calls: dict[str, Callable[[], Any]] = {
        "fn.ndcg": lambda: fn.ndcg(labels, scores, offsets, k=K),
        "Evaluator": lambda: evaluator.evaluate(scores),
        **others,
    }
    if not numba.config.DISABLE_JIT:
        timed_calls["the kernels of fn.ndcg alone"] = kernels_of(lambda: timed_calls["fn.ndcg"])
    many = {name: functools.partial(timeit.timeit, call, number=calls) for name, call in timed_calls.items()}
    taken = {name: found / calls * 1e6 for name, found in interleaved(many, repeat, LEAST_SECONDS).items()}
    rows = []
    for name, value in taken.items():
        row: Row = {"what": f"one query of 100 documents, {name}", "value": digits(value, 3), "unit": "µs"}
        most = MOST_MICROSECONDS.get(name)
        if most is not None:
            ratios = (f"{value / taken[other]:.3g} × {other} (≤ {most / BESIDE[other]:.3g})" for other in others)
            row |= {"goal": f"≤ {most:g} µs", "detail": ", ".join(ratios), "met": value <= most}
        rows.append(row)
    return rows + left_out


def beside(case: Case) -> tuple[dict[str, Callable[[], Any]], list[Row]]:
    """What else evaluates the query, after a look at its number; and what is left out, with the reason."""
    discounts = 1 / np.log2(np.arange(2, K + 2))
    gains, scores = case.labels[0].astype("f8"), case.scores[0]
    found: dict[str, Callable[[], Any]] = {ONE_LINE: lambda: gains[np.argsort(-scores)[:K]] @ discounts}
    if not np.isclose(found[ONE_LINE](), fn.dcg(case.labels, case.scores, k=K)[0], rtol=1e-12):
        raise SystemExit(f"{ONE_LINE} and fn.dcg disagree: there is no figure")
    left_out: list[Row] = []
    for name in BESIDE.keys() & CONTENDERS:
        entry = CONTENDERS[name]
        reason = entry.absent()
        if not reason:
            call = entry.setup(case)
            reason = "" if agreement(entry, case, call())["agrees"] else "its number is another"
        if reason:
            left_out.append({"what": f"one query of 100 documents, {name}", "left out": reason})
        else:
            found[name] = call
    return dict(sorted(found.items())), left_out


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
