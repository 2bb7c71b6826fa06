"""
What it costs to turn users' data into ours: each form against the best that reads or joins the same.

Usage: python benchmarks/inputs.py [--scale 1.0] [NAME ...]

Every figure is a ratio of the shortest times within one run, the two sides in turns. TREC text is a process from start
to printed table, less one that only imports. Data are made once, in a folder that is removed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing import about, digits, interleaved

import fastndcg as fn

METRICS = "ndcg@10,map,rr"
IMPORTS = """
import fastndcg.engine, fastndcg.inputs.files, fastndcg.inputs.join, fastndcg.kernels.lines, fastndcg.cli
import numba.core.entrypoints
numba.core.entrypoints.init_all()  # what extends numba, such as awkward: its first call imports it
"""


class Goal(NamedTuple):
    """Two calls, and how many times the second's time the first may take."""

    ours: Callable[[], Any]
    other: Callable[[], Any]
    most: float
    what: str


def trec(folder: Path, scale: float) -> dict[str, Goal]:
    """A run file like MS MARCO's: 6,980 topics of 1,000 documents; then the same evaluation from arrays."""
    random = np.random.default_rng(0)
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    topics = random.choice(10**6, max(2, int(6980 * scale)), replace=False).tolist()
    with qrels.open("w") as judged, run.open("w") as ranked:
        for topic in topics:
            documents = random.choice(8_841_823, 1000, replace=False).tolist()
            scores = np.sort(random.random(1000) * 20)[::-1].round(6).tolist()
            rows = zip(documents, scores, strict=True)
            ranked.write("".join(f"{topic} Q0 {d} {r} {s} anserini\n" for r, (d, s) in enumerate(rows, 1)))
            judged.write(f"{topic} 0 {documents[int(random.integers(1000))]} 1\n")
    command = [sys.executable, "-m", "fastndcg", "evaluate", str(qrels), str(run), "-m", METRICS]
    from fastndcg.conventions import conventions
    from fastndcg.inputs.join import join

    rankings = join(fn.read_qrels(qrels), fn.read_run(run), conventions["default"]).rankings
    return {
        "TREC text, whole process": Goal(
            lambda: subprocess.run(command, check=True, capture_output=True),
            lambda: subprocess.run([sys.executable, "-c", IMPORTS], check=True),
            np.inf, f"seconds above imports must be ≤ {scale:.3g}",
        ),
        "arrays against TREC text": Goal(
            lambda: fn.evaluate(rankings, metrics=METRICS),
            lambda: fn.evaluate(qrels, run, METRICS),
            0.2,
            "of the whole",
        ),
    }  # fmt: skip


def frames(folder: Path, scale: float) -> dict[str, Goal]:
    """Frames of 20 million rows with texts as ids, and 100,000 judgments, against Polars' join of the same."""
    del folder
    import polars as pl

    random = np.random.default_rng(1)
    n_queries = max(2, int(20_000 * scale))
    queries = np.repeat(random.choice(10**6, n_queries, replace=False), 1000)
    documents = random.integers(0, 8000, n_queries * 1000) + np.tile(np.arange(1000) * 8000, n_queries)
    run = pl.DataFrame({"query": queries, "document": documents, "score": random.random(len(queries), "f4")})
    run = run.with_columns(pl.col("query", "document").cast(pl.String))
    judged = np.sort(random.choice(len(run), min(100_000, len(run)), replace=False))
    qrels = run.select("query", "document")[judged].with_columns(label=pl.lit(1))
    arrow = [frame.to_arrow(compat_level=pl.CompatLevel.oldest()) for frame in (qrels, run)]
    join = lambda: run.join(qrels, on=["query", "document"], how="left")  # noqa: E731
    return {
        "Polars frames": Goal(lambda: fn.evaluate(qrels, run, "ndcg@10"), join, 1.5, "Polars' join"),
        "pyarrow tables": Goal(lambda: fn.evaluate(*arrow, "ndcg@10"), join, 1.5, "Polars' join"),
    }


def parquet(folder: Path, scale: float) -> dict[str, Goal]:
    """Parquet of 100 million rows sorted by query, against pyarrow's reading of the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(2)
    path, n = folder / "rows.parquet", 1_000_000
    writer = None
    for part in range(max(1, int(100 * scale))):
        queries = np.arange(part * n, (part + 1) * n) // 100
        labels = (random.random(n) < 0.05).astype("i1")
        table = pa.table(
            {"query": queries, "score": random.random(n, "f4"), "label": labels, "other": random.random(n)}
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()  # type: ignore[union-attr]
    columns = ["query", "score", "label"]
    return {
        "Parquet": Goal(
            lambda: fn.evaluate(path, metrics="ndcg@10", memory="500MB"),
            lambda: pq.read_table(path, columns=columns), 1.3, "pyarrow's reading",
        )
    }  # fmt: skip


def dicts(folder: Path, scale: float) -> dict[str, Goal]:
    """Dicts of dicts against pytrec_eval, its conversion included."""
    del folder
    import pytrec_eval

    random = np.random.default_rng(3)
    run = {
        f"q{query}": {f"d{d}": score for d, score in enumerate(random.random(1000).tolist(), 1000 * query)}
        for query in range(max(2, int(1000 * scale)))
    }
    qrels = {query: dict.fromkeys(list(row)[:50], 1) for query, row in run.items()}
    measures = {"ndcg_cut_10", "map", "recip_rank"}
    theirs = lambda: pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)  # noqa: E731
    return {"dicts of dicts": Goal(lambda: fn.evaluate(qrels, run, METRICS), theirs, 1.0, "pytrec_eval")}


def recommendations(folder: Path, scale: float) -> dict[str, Goal]:
    """A million users with 100 recommended and 10 relevant items each, against adding up those arrays."""
    del folder
    import scipy.sparse as sparse

    random = np.random.default_rng(4)
    n, n_items = max(2, int(1_000_000 * scale)), 50_000
    items = random.integers(0, n_items, 10 * n, dtype="i4")
    liked = sparse.csr_matrix((np.ones(10 * n, "f4"), items, np.arange(0, 10 * n + 1, 10)), shape=(n, n_items))
    liked.sum_duplicates()
    recommended = (random.integers(0, n_items, (n, 1), dtype="i4") + np.arange(100, dtype="i4") * 499) % n_items
    halves = [*np.array_split(recommended, 2), liked.indices, liked.data]

    def read() -> None:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(np.sum, halves))

    return {"recommendations": Goal(lambda: fn.evaluate(liked, recommended, "ndcg@20,r@20"), read, 3.0, "reading")}


FORMS = {form.__name__: form for form in (trec, frames, parquet, dicts, recommendations)}


def main() -> None:
    """Measure and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FORMS, []], metavar="NAME", help=", ".join(FORMS))
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    print("| form | ours, s | other, s | ratio | goal | |\n| :-- | --: | --: | --: | --: | :-- |")
    for name in arguments.names or FORMS:
        with tempfile.TemporaryDirectory() as folder:
            for form, goal in FORMS[name](Path(folder), arguments.scale).items():
                times = interleaved({"ours": goal.ours, "other": goal.other})
                ours, other = digits(times["ours"]), digits(times["other"])
                limit = "" if np.isinf(goal.most) else f"≤ {goal.most}"
                print(f"| {form} | {ours} | {other} | {digits(ours / other, 3)} | {limit} | {goal.what} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("", about(["polars", "pyarrow", "pytrec_eval-terrier"]), sep="\n")
    print(f"peak memory of this process, data included: {peak} MiB")


if __name__ == "__main__":
    main()
