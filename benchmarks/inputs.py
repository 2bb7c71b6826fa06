"""
What it costs to turn users' data into ours: each form against the best that reads or joins the same.

Usage: python benchmarks/inputs.py [--scale 1.0] [--json FILE] [NAME ...]

Every time is the shortest of some within one run, the two sides in turns. TREC text is a process from start to printed
table, less one that only imports. Memory is the highest that a process holds, less what importing leaves it with. Data
are made once, in a folder that is removed. Figures are saved beside those of the other forms, as long as these are of
the same commit and scale.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from render import goals
from timing import LEAST_REPEATS, about, digits, interleaved

import fastndcg as fn

Row = dict[str, Any]
Measured = list[Callable[[], Row]]

METRICS = "ndcg@10,map,rr"
PACKAGES = ("polars", "pyarrow", "pytrec_eval-terrier", "scipy")
IMPORTS = """
import fastndcg.engine, fastndcg.inputs.files, fastndcg.inputs.join, fastndcg.kernels.lines, fastndcg.cli
"""
PEAK = """
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
MEMORY_ABOVE = 150  # MB beside what `memory=` allows
LEAST_SECONDS = 4.0  # of turns, so that a slow moment of the machine is not all that is seen


def ratio(what: str, ours: Callable[[], Any], other: Callable[[], Any], most: float, of: str) -> Row:
    """How many times the time of another call ours takes."""
    times = interleaved({"ours": ours, "other": other}, least_seconds=LEAST_SECONDS)
    value = times["ours"] / times["other"]
    detail = f"{digits(times['ours'], 3)} s and {digits(times['other'], 3)} s"
    return {
        "what": what, "value": digits(value, 3), "unit": f"× {of}", "goal": f"≤ {most}", "met": value <= most,
        "detail": detail,
    }  # fmt: skip


def seconds_above(what: str, ours: list[str], other: list[str], most: float) -> Row:
    """How many seconds longer than another process ours takes."""
    run = lambda command: lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: E731
    times = interleaved({"ours": run(ours), "other": run(other)})
    value = times["ours"] - times["other"]
    detail = f"{digits(times['ours'], 3)} s and {digits(times['other'], 3)} s"
    return {
        "what": what, "value": digits(value, 3), "unit": "s", "goal": f"≤ {most:.3g} s", "met": value <= most,
        "detail": detail,
    }  # fmt: skip


def memory_above(what: str, imports: str, work: str, most: float, detail: str) -> Row:
    """How many MB more than after its imports a process holds at the most."""
    peaks = [
        int(subprocess.run([sys.executable, "-c", code + PEAK], check=True, capture_output=True).stdout.split()[-1])
        for code in (imports, imports + work)
    ]
    value = (peaks[1] - peaks[0]) * 1024 / 1e6
    return {
        "what": what, "value": digits(value, 3), "unit": "MB", "goal": f"≤ {most:.0f} MB", "met": value <= most,
        "detail": detail,
    }  # fmt: skip


def trec(folder: Path, scale: float) -> Measured:
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
    from fastndcg.conventions import conventions
    from fastndcg.inputs.join import join

    read = fn.read_run(run)
    needed = (len(read.documents.ids.data) + sum(len(str(topic)) for topic in topics) * 1000 + 8 * len(read)) / 1e6
    rankings = join(fn.read_qrels(qrels), read, conventions["default"]).rankings
    arguments = ["evaluate", str(qrels), str(run), "-m", METRICS]
    return [
        lambda: seconds_above(
            "TREC text, process above its imports", [sys.executable, "-m", "fastndcg", *arguments],
            [sys.executable, "-c", IMPORTS], scale,
        ),
        lambda: ratio(
            "arrays against TREC text", lambda: fn.evaluate(rankings, metrics=METRICS),
            lambda: fn.evaluate(qrels, run, METRICS), 0.2, "the whole",
        ),
        lambda: memory_above(
            "TREC text, memory", IMPORTS, f"fastndcg.cli.main({arguments})", 4 * needed,
            f"ids and scores are {digits(needed, 3)} MB, the text {digits(run.stat().st_size / 1e6, 3)} MB",
        ),
    ]  # fmt: skip


def frames(folder: Path, scale: float) -> Measured:
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
    ours = {"Polars frames": (qrels, run), "pyarrow tables": arrow}
    return [
        lambda what=what, both=both: ratio(what, lambda: fn.evaluate(*both, "ndcg@10"), join, 1.5, "Polars' join")
        for what, both in ours.items()
    ]


def parquet(folder: Path, scale: float) -> Measured:
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
    read = f"\nimport fastndcg\nfastndcg.evaluate({str(path)!r}, metrics='ndcg@10', memory='500MB')"
    imports = IMPORTS + "import fastndcg.parts, pyarrow.dataset"
    return [
        lambda: ratio(
            "Parquet", lambda: fn.evaluate(path, metrics="ndcg@10", memory="500MB"),
            lambda: pq.read_table(path, columns=columns), 1.3, "pyarrow's reading",
        ),
        lambda: memory_above(
            "Parquet, memory", imports, read, 500 + MEMORY_ABOVE,
            f"memory='500MB'; the columns are {13 * pq.read_metadata(path).num_rows / 1e6:.3g} MB",
        ),
    ]  # fmt: skip


def dicts(folder: Path, scale: float) -> Measured:
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
    return [lambda: ratio("dicts of dicts", lambda: fn.evaluate(qrels, run, METRICS), theirs, 1.0, "pytrec_eval")]


def recommendations(folder: Path, scale: float) -> Measured:
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

    ours = lambda: fn.evaluate(liked, recommended, "ndcg@20,r@20")  # noqa: E731
    return [lambda: ratio("recommendations", ours, read, 3.0, "adding up the arrays")]


FORMS = {form.__name__: form for form in (trec, frames, parquet, dicts, recommendations)}


def main() -> int:
    """Measure, print, save; 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*FORMS, []], metavar="NAME", help=", ".join(FORMS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--json", type=Path, default=Path(__file__).with_suffix(".json"))
    asked = parser.parse_args()
    found = about(PACKAGES) | {"scale": asked.scale, "repeat": LEAST_REPEATS}
    forms = kept(asked.json, found)
    for name in asked.names or FORMS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            forms[name] = [measure() for measure in FORMS[name](Path(folder), asked.scale)]
    found["forms"] = {name: forms[name] for name in FORMS if name in forms}
    found["figures"] = [row for rows in found["forms"].values() for row in rows]
    print(goals(found))
    asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(not all(row["met"] for row in found["figures"]))


def kept(path: Path, found: Row) -> dict[str, list[Row]]:
    """What was saved before under the same conditions."""
    if not path.exists():
        return {}
    saved = json.loads(path.read_text(encoding="utf-8"))
    same = all(saved[name] == found[name] for name in ("scale", "commit", "date", "machine", "versions"))
    return dict(saved["forms"]) if same else {}


if __name__ == "__main__":
    sys.exit(main())
