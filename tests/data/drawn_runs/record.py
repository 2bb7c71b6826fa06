r"""
Draw judgments and runs, and record what trec_eval prints about them, in tests/data/drawn_runs.

Usage: python tests/data/drawn_runs/record.py TREC_EVAL_10 TREC_EVAL_9

The arguments are programs built from the sources of https://github.com/usnistgov/trec_eval, version 10.0 and tag
v9.0.8, that print 17 digits: sed -i 's/%6\.4f/%.17g/g' *.c && make
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
SEED = 20261126
N_TOPICS = 40
N_DOCUMENTS = 400
POOL_DEPTH = 30  # documents that a run brings to the judges


def write_gzip(path: Path, text: str) -> None:
    """Write a compressed file whose bytes depend on the text alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def draw_labels(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return labels from 0 to 3. Topics have different shares of relevant documents, and three have none."""
    share = random.choice([0.02, 0.08, 0.25], (shape[0], 1))
    share[[5, 17, 30]] = 0
    return np.where(random.random(shape) < share, random.choice([1, 1, 1, 2, 2, 3], shape), 0)


def draw_scores(random: np.random.Generator, labels: np.ndarray) -> dict[str, tuple[int, list[list[str]]]]:
    """Return the depth and the scores, as texts, of runs that differ in quality, digits, ties and signs."""

    def see(signal: float) -> np.ndarray:
        return signal * labels + random.normal(size=labels.shape)

    rough = see(1.6)
    close = see(2.0)
    is_close = random.random((len(labels), 1)) < 0.3  # topics with scores that float32 holds equal
    dense = np.where(is_close, 0.75 + np.round(close, 1) / 100 + close * 1e-9, 0.75 + close / 100)
    reranked = np.where(rough.argsort(axis=1).argsort(axis=1) >= N_DOCUMENTS - 50, 10 + see(2.5), np.round(rough))
    texts = {
        "bm25": (200, np.vectorize(lambda score: f"{score:.4f}")(12 + see(0.9))),
        "dense": (200, np.vectorize(lambda score: repr(float(score)))(dense)),
        "impacts": (100, np.vectorize(lambda score: f"{score:.1f}")(np.round(50 + 5 * see(1.2)))),
        "reranked": (150, np.vectorize(lambda score: f"{score:.3f}")(reranked)),
        "likelihood": (200, np.vectorize(lambda score: f"{score:.6e}")(-np.exp(-see(0.4)))),
    }
    return {name: (depth, rows.tolist()) for name, (depth, rows) in texts.items()}


def main() -> None:
    """Write judgments, runs and recorded values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version_10", type=Path)
    parser.add_argument("version_9", type=Path)
    programs = parser.parse_args()
    random = np.random.default_rng(SEED)
    topics = [str(number) for number in random.choice(10**6, N_TOPICS, replace=False)]
    documents = [random.permutation(10**6)[:N_DOCUMENTS].tolist() for _ in topics]  # ids of 1 to 6 digits
    labels = draw_labels(random, (N_TOPICS, N_DOCUMENTS))
    lines: dict[str, list[str]] = {}
    is_judged = random.random(labels.shape) < 0.05
    for name, (depth, rows) in draw_scores(random, labels).items():
        lines[name] = []
        for t, row in enumerate(rows):
            best = sorted(range(N_DOCUMENTS), key=lambda d: -float(row[d]))[:depth]
            is_judged[t, best[:POOL_DEPTH]] = True
            row_order = random.permutation(best).tolist() if name == "impacts" else best
            lines[name] += [
                f"{topics[t]} Q0 {documents[t][d]} {rank} {row[d]} {name}\n" for rank, d in enumerate(row_order, 1)
            ]
    labels[random.random(labels.shape) < 0.01] = -1  # in the pool, and left unjudged
    judgments = [
        f"{topics[t]} 0 {documents[t][d]} {labels[t, d]}\n"
        for t in range(N_TOPICS)
        for d in range(N_DOCUMENTS)
        if is_judged[t, d]
    ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_gzip(FOLDER / "qrels.txt.gz", "".join(judgments))
    options = {
        "v10.0": (programs.version_10, "1"),
        "v10.0.l2": (programs.version_10, "2"),
        "v9.0.8": (programs.version_9, "1"),
    }
    with tempfile.TemporaryDirectory() as scratch:
        qrels = Path(scratch) / "qrels"
        run = Path(scratch) / "run"
        qrels.write_text("".join(judgments), encoding="utf-8")
        for name, rows in lines.items():
            write_gzip(FOLDER / "runs" / f"{name}.gz", "".join(rows))
            run.write_text("".join(rows), encoding="utf-8")
            for version, (program, level) in options.items():
                command = [program.resolve(), "-q", "-m", "all_trec", "-l", level, qrels, run]
                printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                write_gzip(FOLDER / "expected" / f"{name}.{version}.txt.gz", printed)


if __name__ == "__main__":
    main()
