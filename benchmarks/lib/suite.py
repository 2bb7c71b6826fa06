"""Suites: groups of benchmarks that run together and share one results file."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib.machine import describe_environment
from benchmarks.lib.render import render_report
from benchmarks.lib.timing import MIN_REPEATS

RESULTS = Path(__file__).resolve().parents[1] / "results"
SUITES = (
    "core", "scaling", "limits", "startup", "inputs", "metrics", "profile", "diversity", "fusion", "fusion_tuning",
    "dropins", "training", "statistics", "recommendations", "scoring", "tables", "spark", "link_prediction", "peers",
)  # fmt: skip

Row = dict[str, Any]
Report = dict[str, Any]


class Options(NamedTuple):
    """The choices of one run: the share of the workloads' size, the least number of rounds, and the parts to run."""

    scale: float
    repeat: int
    parts: tuple[str, ...]


class Suite(NamedTuple):
    """
    A suite.

    `measure` runs the parts and returns the figures. `parts` are the names that `--only` takes. `repeat` and `scale`
    are the defaults of a run. `packages` are those whose versions are saved. The figures of a whole run are saved in
    `results/` if `is_published`, for the tables of the READMEs.
    """

    measure: Callable[[Options], Report]
    parts: tuple[str, ...]
    repeat: int = MIN_REPEATS
    scale: float = 1.0
    packages: tuple[str, ...] = ()
    is_published: bool = False


def load_suite(name: str) -> Suite:
    """Return the suite of a name, importing only its module."""
    return importlib.import_module(f"benchmarks.suites.{name}").SUITE


def run_suite(name: str, options: Options, path: Path | None = None) -> int:
    """
    Run a suite, print its tables and save its figures.

    The figures go to `path`. Without a path, those of a whole run at the suite's own scale go to `results/`, and
    others are only printed. Returns 1 if a goal is missed or a measurement failed, else 0.
    """
    suite = load_suite(name)
    report = describe_environment(suite.packages) | {"scale": options.scale, "repeat": options.repeat}
    report |= suite.measure(options)
    print(render_report(report))
    is_whole = set(options.parts) == set(suite.parts) and options.scale == suite.scale
    if path is None and is_whole and suite.is_published:
        path = RESULTS / f"{name}.json"
    if path is not None:
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = [*report.get("workloads", ()), *report.get("figures", ())]
    return int(not all(row.get("met", True) for row in rows))


def make_row(
    what: str, value: float, unit: str, *, at_most: float | None = None, at_least: float | None = None,
    goal_unit: str | None = None, detail: str = "", n_digits: int = 3,
) -> Row:  # fmt: skip
    """
    Return one figure with its goal, if it has one, and whether the goal is met.

    The goal is a bound in `goal_unit`, by default in the figure's own unit.
    """
    row: Row = {"what": what, "value": float(f"{value:.{n_digits}g}"), "unit": unit}
    suffix = unit if goal_unit is None else goal_unit
    if at_most is not None:
        row |= {"goal": f"≤ {at_most:g} {suffix}".rstrip(), "met": bool(value <= at_most)}
    if at_least is not None:
        row |= {"goal": f"≥ {at_least:g} {suffix}".rstrip(), "met": bool(value >= at_least)}
    return row | ({"detail": detail} if detail else {})


def make_missing_row(what: str, reason: str) -> Row:
    """Return the row of a figure that could not be measured, with the reason."""
    return {"what": what, "left out": reason}


def measure_parts(parts: Mapping[str, Callable[[Options], list[Row]]], options: Options) -> Report:
    """Measure the chosen parts, and name those whose packages are not installed."""
    rows: list[Row] = []
    for name in options.parts:
        announce(name)
        try:
            rows += parts[name](options)
        except ModuleNotFoundError as error:
            rows.append(make_missing_row(name, str(error)))
    return {"figures": rows}


def announce(part: str) -> None:
    """Print to stderr that a part begins."""
    print(f"measuring {part} ...", file=sys.stderr, flush=True)
