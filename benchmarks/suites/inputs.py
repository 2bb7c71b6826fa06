"""
Inputs suite: the cost of reading and joining each form of input, against the fastest library for the same data.

TREC text is a process from start to printed table, minus a process that only imports. Memory is the peak of a process
minus the peak after its imports. Data are made once, in a temporary folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.machine import make_environment
from benchmarks.lib.suite import Options, Row, Suite, make_row, measure_parts
from benchmarks.lib.timing import round_figure, time_alternately

Measurements = list[Callable[[], Row]]

METRICS = "ndcg@10,map,rr"
PACKAGES = ("polars", "pyarrow", "pytrec_eval-terrier", "scipy")
IMPORTS = """
import fastndcg.engine.run, fastndcg.inputs.text.formats, fastndcg.inputs.join, fastndcg.kernels.inputs.text_lines
import fastndcg.cli
"""
PRINT_PEAK = """
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
MEMORY_ABOVE_LIMIT = 150  # MB that a process may hold beside its `memory=`
MIN_SECONDS = 4.0  # of the rounds, so that one slow moment of the machine does not decide


def measure_form(name: str, options: Options) -> list[Row]:
    """Measure one form of input, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return [measure() for measure in FORMS[name](Path(folder), options.scale)]


def compare_times(
    what: str, ours: Callable[[], Any], theirs: Callable[[], Any], at_most: float, unit: str
) -> Row:  # fmt: skip
    """Return the row of fastndcg's time in multiples of another call's."""
    seconds = time_alternately({"ours": ours, "theirs": theirs}, min_seconds=MIN_SECONDS)
    detail = f"{round_figure(seconds['ours'], 3)} s and {round_figure(seconds['theirs'], 3)} s"
    ratio = seconds["ours"] / seconds["theirs"]
    return make_row(what, ratio, f"× {unit}", at_most=at_most, goal_unit="", detail=detail)


def subtract_times(what: str, ours: list[str], base: list[str], at_most: float) -> Row:
    """Return the row of one process's time minus another's, in seconds."""

    def prepare(command: list[str]) -> Callable[[], Any]:
        return lambda: subprocess.run(command, env=make_environment(), check=True, capture_output=True)

    seconds = time_alternately({"ours": prepare(ours), "base": prepare(base)})
    detail = f"{round_figure(seconds['ours'], 3)} s and {round_figure(seconds['base'], 3)} s"
    return make_row(what, seconds["ours"] - seconds["base"], "s", at_most=at_most, detail=detail)


def subtract_memory(what: str, imports: str, work: str, at_most: float, detail: str) -> Row:
    """Return the row of a process's peak of memory minus its peak after the imports, in MB."""
    peaks = []
    for code in (imports, imports + work):
        command = [sys.executable, "-c", code + PRINT_PEAK]
        completed = subprocess.run(command, env=make_environment(), check=True, capture_output=True)
        peaks.append(int(completed.stdout.split()[-1]))
    megabytes = (peaks[1] - peaks[0]) * 1024 / 1e6
    return make_row(what, megabytes, "MB", at_most=round(at_most), detail=detail)


def prepare_trec(folder: Path, scale: float) -> Measurements:
    """Prepare a run file like MS MARCO's, 6,980 topics of 1,000 documents, and the same data as arrays."""
    random = np.random.default_rng(0)
    qrels = folder / "qrels.txt"
    run = folder / "run.txt"
    topics = random.choice(10**6, max(2, int(6980 * scale)), replace=False).tolist()
    with qrels.open("w") as qrels_file, run.open("w") as run_file:
        for topic in topics:
            documents = random.choice(8_841_823, 1000, replace=False).tolist()
            scores = np.sort(random.random(1000) * 20)[::-1].round(6).tolist()
            rows = zip(documents, scores, strict=True)
            run_file.write("".join(f"{topic} Q0 {d} {r} {s} anserini\n" for r, (d, s) in enumerate(rows, 1)))
            qrels_file.write(f"{topic} 0 {documents[int(random.integers(1000))]} 1\n")
    from fastndcg.conventions import conventions
    from fastndcg.inputs.join import join

    table = fn.read_run(run)
    data_mb = (len(table.documents.ids.data) + sum(len(str(topic)) for topic in topics) * 1000 + 8 * len(table)) / 1e6
    text_mb = run.stat().st_size / 1e6
    rankings = join(fn.read_qrels(qrels), table, conventions["default"]).rankings
    arguments = ["evaluate", str(qrels), str(run), "-m", METRICS]
    return [
        lambda: subtract_times(
            "TREC text, process above its imports", [sys.executable, "-m", "fastndcg", *arguments],
            [sys.executable, "-c", IMPORTS], round_figure(scale, 3),
        ),
        lambda: compare_times(
            "arrays against TREC text", lambda: fn.evaluate(rankings, metrics=METRICS),
            lambda: fn.evaluate(qrels, run, METRICS), 0.2, "the whole",
        ),
        lambda: subtract_memory(
            "TREC text, memory", IMPORTS, f"fastndcg.cli.main({arguments})", 4 * data_mb,
            f"ids and scores are {round_figure(data_mb, 3)} MB, the text {round_figure(text_mb, 3)} MB",
        ),
    ]  # fmt: skip


def prepare_frames(folder: Path, scale: float) -> Measurements:
    """Prepare frames of 20 million rows with text ids, and 100,000 judgments, against Polars' join of both."""
    del folder
    import polars as pl

    random = np.random.default_rng(1)
    n_queries = max(2, int(20_000 * scale))
    queries = np.repeat(random.choice(10**6, n_queries, replace=False), 1000)
    documents = random.integers(0, 8000, n_queries * 1000) + np.tile(np.arange(1000) * 8000, n_queries)
    run = pl.DataFrame({"query": queries, "document": documents, "score": random.random(len(queries), "f4")})
    run = run.with_columns(pl.col("query", "document").cast(pl.String))
    rows = np.sort(random.choice(len(run), min(100_000, len(run)), replace=False))
    qrels = run.select("query", "document")[rows].with_columns(label=pl.lit(1))
    tables = [frame.to_arrow(compat_level=pl.CompatLevel.oldest()) for frame in (qrels, run)]

    def join() -> Any:
        return run.join(qrels, on=["query", "document"], how="left")

    def evaluate_frames() -> Any:
        return fn.evaluate(qrels, run, "ndcg@10")

    def evaluate_tables() -> Any:
        return fn.evaluate(*tables, "ndcg@10")

    return [
        lambda: compare_times("Polars frames", evaluate_frames, join, 1.5, "Polars' join"),
        lambda: compare_times("pyarrow tables", evaluate_tables, join, 1.5, "Polars' join"),
    ]


def prepare_parquet(folder: Path, scale: float) -> Measurements:
    """Prepare 100 million Parquet rows sorted by query, against pyarrow's reading of the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(2)
    path = folder / "rows.parquet"
    n_rows = 1_000_000
    schema = pa.schema({"query": pa.int64(), "score": pa.float32(), "label": pa.int8(), "other": pa.float64()})
    with pq.ParquetWriter(path, schema) as writer:
        for part in range(max(1, int(100 * scale))):
            columns = {
                "query": np.arange(part * n_rows, (part + 1) * n_rows) // 100,
                "label": (random.random(n_rows) < 0.05).astype("i1"),
                "score": random.random(n_rows, "f4"),
                "other": random.random(n_rows),
            }
            writer.write_table(pa.table(columns).select(schema.names))
    work = f"\nimport fastndcg\nfastndcg.evaluate({str(path)!r}, metrics='ndcg@10', memory='500MB')"
    imports = IMPORTS + "import fastndcg.engine.partitions, pyarrow.dataset"
    megabytes = 13 * pq.read_metadata(path).num_rows / 1e6
    return [
        lambda: compare_times(
            "Parquet", lambda: fn.evaluate(path, metrics="ndcg@10", memory="500MB"),
            lambda: pq.read_table(path, columns=["query", "score", "label"]), 1.3, "pyarrow's reading",
        ),
        lambda: subtract_memory(
            "Parquet, memory", imports, work, 500 + MEMORY_ABOVE_LIMIT,
            f"memory='500MB'; the columns are {megabytes:.3g} MB",
        ),
    ]  # fmt: skip


def prepare_dicts(folder: Path, scale: float) -> Measurements:
    """Prepare dicts of dicts, against pytrec_eval with its conversion."""
    del folder
    import pytrec_eval

    random = np.random.default_rng(3)
    run = {
        f"q{query}": {f"d{d}": score for d, score in enumerate(random.random(1000).tolist(), 1000 * query)}
        for query in range(max(2, int(1000 * scale)))
    }
    qrels = {query: dict.fromkeys(list(row)[:50], 1) for query, row in run.items()}
    measures = {"ndcg_cut_10", "map", "recip_rank"}

    def evaluate_theirs() -> Any:
        return pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)

    return [
        lambda: compare_times(
            "dicts of dicts", lambda: fn.evaluate(qrels, run, METRICS), evaluate_theirs, 1.0, "pytrec_eval"
        )
    ]


def prepare_recommendations(folder: Path, scale: float) -> Measurements:
    """Prepare a million users with 100 recommended and 10 relevant items each, against summing those arrays."""
    del folder
    import scipy.sparse as sparse

    random = np.random.default_rng(4)
    n_users = max(2, int(1_000_000 * scale))
    n_items = 50_000
    items = random.integers(0, n_items, 10 * n_users, dtype="i4")
    bounds = np.arange(0, 10 * n_users + 1, 10)
    relevant = sparse.csr_matrix((np.ones(10 * n_users, "f4"), items, bounds), shape=(n_users, n_items))
    relevant.sum_duplicates()
    starts = random.integers(0, n_items, (n_users, 1), dtype="i4")
    recommended = (starts + np.arange(100, dtype="i4") * 499) % n_items
    arrays = [*np.array_split(recommended, 2), relevant.indices, relevant.data]

    def sum_arrays() -> None:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(np.sum, arrays))

    def evaluate() -> Any:
        return fn.evaluate(relevant, recommended, "ndcg@20,r@20")

    return [lambda: compare_times("recommendations", evaluate, sum_arrays, 3.0, "adding up the arrays")]


FORMS: dict[str, Callable[[Path, float], Measurements]] = {
    "trec": prepare_trec,
    "frames": prepare_frames,
    "parquet": prepare_parquet,
    "dicts": prepare_dicts,
    "recommendations": prepare_recommendations,
}
PARTS = {name: partial(measure_form, name) for name in FORMS}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=PACKAGES, is_published=True)
