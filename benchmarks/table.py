"""
Print every figure that has a goal, and save them all.

Usage: python benchmarks/table.py [--scale S] [--only SECTION ...] [--repeat N] [--largest N] [--json FILE]

Sections: workloads, limits, threads, documents, memory, latency, startup, smoke. `--scale` shrinks the workloads and
the memory's documents, `--largest` is the most documents that the section of that name may take. Each workload is
proven against the reference before it is timed; times are the shortest of at least five, taken in turns with the floor.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import further
import history
import limits
import startup
from floor import floor, reading
from proof import prove
from render import goals
from timing import LEAST_REPEATS, about, digits, interleaved
from workloads import FLOOR, RECIPES, WITHOUT_GOAL, make, ours

SECTIONS = ("workloads", "limits", "threads", "documents", "memory", "latency", "startup", "smoke")
LEAST_SECONDS = 0.5


def main() -> int:
    """Measure section by section, print, save; 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", default=SECTIONS, choices=SECTIONS, metavar="SECTION")
    parser.add_argument("--repeat", type=int, default=LEAST_REPEATS)
    parser.add_argument("--largest", type=float, default=further.SIZES[-1])
    parser.add_argument("--json", type=Path, default=Path(__file__).with_suffix(".json"))
    asked = parser.parse_args()
    found = about() | {"scale": asked.scale, "repeat": asked.repeat}
    figures: list[dict[str, Any]] = []
    if "workloads" in asked.only:
        found["workloads"] = [workload_row(name, asked) for name in RECIPES if name not in WITHOUT_GOAL]
    for section, measure in (
        ("limits", lambda: limits.shared_hits(asked.scale, asked.repeat)),
        ("threads", lambda: further.threads(asked.scale, asked.repeat)),
        ("documents", lambda: further.documents(int(asked.largest), asked.repeat)),
        ("memory", lambda: further.memory(int(further.MEMORY_DOCUMENTS * asked.scale))),
        ("latency", lambda: further.latency(asked.repeat)),
        ("startup", lambda: startup.measure(asked.repeat)),
    ):
        if section in asked.only:
            print(f"measuring {section} ...", file=sys.stderr, flush=True)
            figures += measure()
    found["figures"] = figures
    if "smoke" in asked.only:
        found["smoke"] = history.small_ratios()
    print(goals(found))
    asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(not all(row.get("met", True) for row in [*found.get("workloads", ()), *figures]))


def workload_row(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    """A workload's times, and whether its goal is met."""
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    recipe, workload = RECIPES[name], make(name, asked.scale)
    calls = {"ours": ours(workload), "floor": floor(workload), "reading": reading(workload)}
    n_proven = prove(workload, calls["ours"]())
    if recipe.against != FLOOR:
        other = make(recipe.against, asked.scale)
        calls["against"] = ours(other)
        prove(other, calls["against"]())
    seconds = interleaved(calls, asked.repeat, LEAST_SECONDS)
    ratio = seconds["ours"] / seconds["against" if "against" in seconds else "floor"]
    return {
        "workload": name,
        "queries": workload.n_queries,
        "documents": workload.n_documents,
        "ms": digits(seconds["ours"] * 1e3),
        "floor ms": digits(seconds["floor"] * 1e3),
        "reading ms": digits(seconds["reading"] * 1e3),
        "times floor": digits(seconds["ours"] / seconds["floor"], 3),
        "times reading": digits(seconds["ours"] / seconds["reading"], 3),
        "against": recipe.against,
        "ratio": digits(ratio, 3),
        "goal": recipe.limit,
        "met": ratio <= recipe.limit,
        "queries proven": n_proven,
    }


if __name__ == "__main__":
    sys.exit(main())
