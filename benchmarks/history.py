"""
The record of our speed: one line in history.jsonl for each landed change of it.

Usage: python benchmarks/history.py [--table FILE] [--history FILE]

Appends a line made of what benchmarks/table.py saved: commit, date, machine, and ratios to the floor. Figures of
uncommitted code, of scaled-down workloads or of some of them only are refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from floor import floor
from proof import prove
from timing import digits, interleaved
from workloads import RECIPES, WITHOUT_GOAL, make, ours

HERE = Path(__file__).parent
HISTORY = HERE / "history.jsonl"
SMALL = {
    "sparse8": 0.05,
    "dense-long": 0.05,
    "everything": 0.05,
    "all_trec": 0.05,
}  # what benchmarks/smoke.py measures, and its scale
LEAST_SECONDS = 1.0


def main() -> None:
    """Append a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=HERE / "table.json")
    parser.add_argument("--history", type=Path, default=HISTORY)
    asked = parser.parse_args()
    line = append(json.loads(asked.table.read_text(encoding="utf-8")), asked.history)
    print(json.dumps(line))


def append(table: dict[str, Any], path: Path = HISTORY) -> dict[str, Any]:
    """Append a line made of a saved table, and give it."""
    ratios = {row["workload"]: row["times floor"] for row in table["workloads"]}
    missing = set(RECIPES) - WITHOUT_GOAL - set(ratios)
    if missing or table["scale"] != 1 or "smoke" not in table:
        raise SystemExit("a line needs every workload at scale 1: run benchmarks/table.py without options")
    if not table["commit"] or table["commit"].endswith("+"):
        raise SystemExit(f"a line needs a commit, but these figures are of {table['commit'] or 'none'}: commit first")
    line = {key: table[key] for key in ("commit", "date", "machine", "cpus", "python", "versions")}
    line |= {"ratios": ratios, "smoke": table["smoke"]}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return line


def last(path: Path = HISTORY, machine: str = "") -> dict[str, Any] | None:
    """
    The last line of a kind of machine; None where there is no line yet.

    For a kind that has none it is the last of all, with the highest ratios that the last lines of other kinds have.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    of_kinds = {line["machine"]: line for line in found}
    if machine in of_kinds or not found:
        return of_kinds.get(machine)
    smoke = {name: max(line["smoke"].get(name, 0.0) for line in of_kinds.values()) for name in found[-1]["smoke"]}
    return {**found[-1], "smoke": smoke}


def small_ratios() -> dict[str, float]:
    """Ratios to the floor of the scaled-down workloads, each proven first."""
    return {name: ratio_to_floor(name, scale) for name, scale in SMALL.items()}


def ratio_to_floor(name: str, scale: float) -> float:
    """How many times the floor's time we take, after proving the values."""
    workload = make(name, scale)
    evaluate = ours(workload)
    prove(workload, evaluate())
    seconds = interleaved({"ours": evaluate, "floor": floor(workload)}, least_seconds=LEAST_SECONDS)
    return digits(seconds["ours"] / seconds["floor"], 3)


def too_slow(found: dict[str, float], recorded: dict[str, float], allowed: float) -> list[str]:
    """The workloads that take more than `allowed` times their recorded ratio to the floor."""
    return [name for name, ratio in found.items() if name in recorded and ratio > allowed * recorded[name]]


if __name__ == "__main__":
    main()
