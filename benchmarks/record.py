"""
Saved results: one file of pytest-benchmark for each suite, and one line a record in results/history.jsonl.

A line of the history has the commit, the date, the machine, and every ratio of every row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benchmarks.data import count_cpus

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SUITES = tuple(sorted(path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")))
PACKAGES = (
    "catboost", "duckdb", "fastndcg", "implicit", "ir_measures", "lightgbm", "numba", "numpy", "pandas", "polars",
    "pyarrow", "pykeen", "pyndeval", "pyspark", "pytrec_eval-terrier", "ranx", "rbo", "recometrics", "rectools",
    "replay-rec", "scikit-learn", "scipy", "sentence-transformers", "torch", "torchmetrics", "xgboost-cpu",
)  # fmt: skip


def describe_machine(machine: dict[str, Any]) -> dict[str, Any]:
    """Return what pages show of pytest-benchmark's description, without the machine's name, and all versions."""
    found = {distribution.name.lower(): distribution.version for distribution in distributions()}
    return {
        "cpu": {"brand": machine["cpu"].get("brand_raw", machine["processor"]), "count": count_cpus()},
        "system": f"{machine['system']} {machine['machine']}",
        "python_version": machine["python_version"],
        "versions": {name: found[name] for name in PACKAGES if name in found},
    }


def record_suites(suites: Iterable[str], scale: float, folder: Path) -> int:
    """
    Run suites, save their results in a folder, and append a line to its history.

    Raises SystemExit at full size if files have changed since the last commit, as a record names a commit.
    """
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    if scale == 1 and changed.stdout.strip():
        raise SystemExit("a record names a commit, but files have changed since. Commit first, then record.")
    if os.getloadavg()[0] > 0.5:
        print(f"the machine has a load of {os.getloadavg()[0]:.1f}: other processes distort the figures", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    results = {}
    n_failed = 0
    for suite in suites:
        with tempfile.TemporaryDirectory() as made:
            path = Path(made, "result.json")
            command = [sys.executable, "-m", "pytest", f"benchmarks/bench_{suite}.py", "-q", "--scale", str(scale)]
            completed = subprocess.run([*command, f"--benchmark-json={path}"], cwd=ROOT, env=environment, check=False)
            n_failed += completed.returncode != 0
            if path.exists() and path.stat().st_size:
                results[suite] = trim_result(json.loads(path.read_text(encoding="utf-8")))
                text = json.dumps(results[suite], indent=1, ensure_ascii=False)
                (folder / f"{suite}.json").write_text(text + "\n", encoding="utf-8")
    if results:
        with (folder / "history.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(make_line(results), ensure_ascii=False) + "\n")
    return int(n_failed > 0)


def trim_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of pytest-benchmark with numbers of four digits, and of the commit only its name."""
    for benchmark in result["benchmarks"]:
        for part in ("stats", "extra_info"):
            benchmark[part] = {name: _round(value) for name, value in benchmark[part].items()}
    # what pytest-benchmark calls dirty are the results of suites before: a record begins with nothing changed
    result["commit_info"] = {"id": result["commit_info"].get("id", "")[:12]}
    return result


def _round(value: Any) -> Any:
    """Return a float with four digits, and anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def make_line(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the line of the history with the ratios of these results."""
    first = next(iter(results.values()))
    return {
        "commit": first["commit_info"]["id"],
        "date": first["datetime"][:10],
        "machine": first["machine_info"]["cpu"]["brand"],
        "cpus": first["machine_info"]["cpu"]["count"],
        "versions": first["machine_info"]["versions"],
        "scale": first["scale"],
        "ratios": {
            suite: {
                f"{row['name'].removeprefix('test_')}, {other}": ratio["median"]
                for row in result["benchmarks"]
                for other, ratio in row["extra_info"].get("against", {}).items()
            }
            for suite, result in results.items()
        },
    }


def load_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the saved results by suite."""
    paths = [folder / f"{suite}.json" for suite in SUITES]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()}


def load_history(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the lines of the history at full size, oldest first."""
    path = folder / "history.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line for line in map(json.loads, lines) if line["scale"] == 1]
