"""
History of fastndcg's speed: one line in results/history.jsonl for each change of speed that was merged.

A line has commit, date, machine and the ratios to the baseline: "ratios" of all workloads at scale 1, "smoke" of the
scaled-down workloads that `python -m benchmarks check` measures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.lib.baseline import prepare_ordered_sum
from benchmarks.lib.suite import RESULTS
from benchmarks.lib.timing import round_figure, time_alternately
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import NAMES_WITH_GOAL, make_workload, prepare_evaluation

HISTORY = RESULTS / "history.jsonl"
SMOKE_SCALES = {"sparse8": 0.05, "dense-long": 0.05, "everything": 0.05, "all_trec": 0.05}
MIN_SECONDS = 1.0


def append_line(report: dict[str, Any], path: Path = HISTORY) -> dict[str, Any]:
    """
    Append a line made of the core suite's figures, and return it.

    Raises SystemExit if the figures are of uncommitted code, of scaled-down workloads or of some workloads only.
    """
    ratios = {row["workload"]: row["times baseline"] for row in report["workloads"]}
    missing = set(NAMES_WITH_GOAL) - set(ratios)
    if missing or report["scale"] != 1 or "smoke" not in report:
        raise SystemExit("a line needs every workload at scale 1. Run `python -m benchmarks run core` without options.")
    if not report["commit"] or report["commit"].endswith("+"):
        commit = report["commit"] or "none"
        raise SystemExit(f"a line needs a commit, but these figures are of {commit}. Commit first, then measure again.")
    line = {key: report[key] for key in ("commit", "date", "machine", "cpus", "python", "versions")}
    line |= {"ratios": ratios, "smoke": report["smoke"]}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return line


def read_last_line(path: Path = HISTORY, machine: str = "") -> dict[str, Any] | None:
    """
    Return the last line of a machine, or None if there is no line at all.

    For a machine without a line, return the last line of all, with the highest smoke ratio of the last lines of the
    other machines: ratios to the baseline differ between processors.
    """
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [json.loads(text) for text in texts]
    by_machine = {line["machine"]: line for line in lines}
    if machine in by_machine or not lines:
        return by_machine.get(machine)
    names = lines[-1]["smoke"]
    smoke = {name: max(line["smoke"].get(name, 0.0) for line in by_machine.values()) for name in names}
    return {**lines[-1], "smoke": smoke}


def measure_smoke_ratios() -> dict[str, float]:
    """Return the ratios to the baseline of the scaled-down workloads, after verifying their values."""
    return {name: measure_ratio(name, scale) for name, scale in SMOKE_SCALES.items()}


def measure_ratio(name: str, scale: float) -> float:
    """Return a workload's time divided by the baseline's, after verifying its values."""
    workload = make_workload(name, scale)
    evaluate = prepare_evaluation(workload)
    verify_values(workload, evaluate())
    calls = {"fastndcg": evaluate, "baseline": prepare_ordered_sum(workload)}
    seconds = time_alternately(calls, min_seconds=MIN_SECONDS)
    return round_figure(seconds["fastndcg"] / seconds["baseline"], 3)


def find_slow(ratios: dict[str, float], recorded: dict[str, float], factor: float) -> list[str]:
    """Return the workloads whose ratio is over `factor` times the recorded one."""
    return [name for name, ratio in ratios.items() if name in recorded and ratio > factor * recorded[name]]
