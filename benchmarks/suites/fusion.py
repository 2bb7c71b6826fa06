"""
Fusion suite: `fuse` against sorting the union's keys by NumPy, against ranx, and from files against evaluating them.

Fused scores are compared with the reference, and with ranx, before they are timed. Runs of arrays are built inside the
timed call. A process from files is timed from start to end, beside a process that evaluates both files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.machine import make_environment
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately
from benchmarks.lib.workloads import Array
from fastndcg.fusion.method import FusionMethod

QUERIES = 10_000
DOCUMENTS = 100
CATALOGUE = 1_000  # documents from which each run takes some
N_VERIFIED = 20
METHODS = ("rrf(k=60)", "wsum(norm=min_max)")
MOST_SORTS = 1.5
LEAST_RANX = 100
MOST_EVALUATIONS = 1.5
Columns = tuple[Array, Array, Array]


def make_columns(n_queries: int, n_runs: int = 2) -> list[Columns]:
    """Make ids of queries and documents, and falling scores, for each run."""
    rng = np.random.default_rng(2009)
    queries = np.repeat(np.arange(n_queries), DOCUMENTS)
    columns = []
    for _ in range(n_runs):
        documents = np.concatenate([rng.permutation(CATALOGUE)[:DOCUMENTS] for _ in range(n_queries)])
        scores = -np.sort(-rng.random((n_queries, DOCUMENTS)), axis=1)
        columns.append((queries, documents, scores.reshape(-1)))
    return columns


def fuse_columns(columns: list[Columns], method: str) -> fn.Run:
    """Fuse runs that are built of arrays of ids."""
    return fn.fuse([fn.Run(*run) for run in columns], method)


def compare_with_sorting(options: Options) -> list[Row]:
    """Compare fusing two runs of arrays of ids with sorting the keys of all their rows."""
    columns = make_columns(max(2, round(QUERIES * options.scale)))
    keys = np.concatenate([queries * CATALOGUE + documents for queries, documents, _ in columns])
    for method in METHODS:
        verify_with_reference(columns, method)
    calls: dict[str, Callable[[], Any]] = {m: partial(fuse_columns, columns, m) for m in METHODS}
    calls["sort"] = lambda: np.sort(keys)
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(
            f"{method}, {len(keys):,} rows", seconds[method] / seconds["sort"], "× sorting", at_most=MOST_SORTS,
            detail=f"{1e3 * seconds[method]:.4g} ms",
        )
        for method in METHODS
    ]  # fmt: skip


def compare_with_ranx(options: Options) -> list[Row]:
    """Compare fusing with ranx, each from its objects."""
    what = "the objects of each, against ranx"
    try:
        import ranx
    except ImportError:
        return [make_missing_row(what, "ranx is not installed: pip install ranx")]
    tables = [fn.Run(*run) for run in make_columns(max(2, round(QUERIES * options.scale)))]
    runs = [
        fn.Run(t.queries.names().astype(str)[_repeat(t)], t.documents.names().astype(str), t.values) for t in tables
    ]
    theirs = [ranx.Run(run.to_dict()) for run in runs]
    rows = []
    for method, norm, name, params in (
        ("rrf(k=60)", None, "rrf", {"k": 60}),
        ("wsum(norm=min_max)", "min-max", "wsum", {"weights": [1.0, 1.0]}),
    ):
        fused = fn.fuse(runs, method, fusion_convention="ranx").to_dict()
        expected = {query: dict(row) for query, row in ranx.fuse(theirs, norm, name, params).run.items()}
        check_equal(fused, expected, "ranx")
        calls = {
            "ours": partial(fn.fuse, runs, method, fusion_convention="ranx"),
            "theirs": partial(ranx.fuse, theirs, norm, name, params),
        }
        seconds = time_alternately(calls, options.repeat)
        ratio = seconds["theirs"] / seconds["ours"]
        rows.append(make_row(f"{method}, {what}", ratio, "× as fast", at_least=LEAST_RANX))
    return rows


def compare_with_evaluating(options: Options) -> list[Row]:
    """Compare a process that fuses two files with one that evaluates both."""
    columns = make_columns(max(2, round(QUERIES * options.scale)))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, f"run{number}.run")) for number in range(len(columns))]
        for run, path in zip(columns, paths, strict=True):
            fn.Run(*run).write(path)
        qrels = str(Path(folder, "qrels.txt"))
        queries, documents, _ = columns[0]
        fn.Qrels(queries[::10], documents[::10], np.ones(len(queries[::10]), "i1")).write(qrels)
        target = str(Path(folder, "fused.run"))
        commands = {"fuse": ["fuse", *paths, "-o", target], "evaluate": ["evaluate", qrels, *paths, "-m", "ndcg@10"]}
        seconds = time_alternately({name: partial(_call_process, c) for name, c in commands.items()}, options.repeat)
        verify = fn.read_run(target)
        fused = fuse_columns(columns, "rrf")
        if not np.array_equal(np.sort(verify.values), np.sort(fused.values)):
            raise SystemExit("the fused file must have the scores of fn.fuse, but they differ")
    ratio = seconds["fuse"] / seconds["evaluate"]
    return [make_row("two files, process", ratio, "× evaluating both", at_most=MOST_EVALUATIONS)]


def verify_with_reference(columns: list[Columns], method: str) -> None:
    """Raise SystemExit if a fused score of some queries differs from the reference."""
    from fastndcg.reference import fusion as reference

    some = [tuple(column[: N_VERIFIED * DOCUMENTS] for column in run) for run in columns]
    runs = [fn.Run(*run).to_dict() for run in some]
    expected = reference.fuse(runs, FusionMethod.parse(method), fn.fusion_conventions["default"])
    check_equal(fuse_columns(some, method).to_dict(), expected, "the reference")


def check_equal(fused: dict[Any, dict[Any, float]], expected: dict[Any, dict[Any, float]], name: str) -> None:
    """Raise SystemExit if fused scores differ by more than rounding."""
    for query, row in expected.items():
        if row.keys() != fused[query].keys() or any(abs(row[d] - fused[query][d]) > 1e-9 for d in row):
            raise SystemExit(f"fused scores must equal those of {name} before they are timed, but differ")


def _repeat(table: fn.Run) -> Array:
    """Return the query of each row."""
    queries: Array = np.repeat(np.arange(len(table.queries)), np.diff(table.offsets))
    return queries


def _call_process(arguments: list[str]) -> None:
    subprocess.run(
        [sys.executable, "-m", "fastndcg", *arguments], env=make_environment(), check=True, capture_output=True
    )


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "sorting": compare_with_sorting,
    "files": compare_with_evaluating,
    "ranx": compare_with_ranx,
}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("ranx",), is_published=True)
