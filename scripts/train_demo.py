"""
Make the demo data: two rankers trained on LightGBM's ranking example, and what they say about its test queries.

Usage: python scripts/train_demo.py FOLDER

FOLDER holds rank.train, rank.train.query, rank.test and rank.test.query of LightGBM's examples/lambdarank.
Needs lightgbm and scikit-learn. The same versions give the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from sklearn.datasets import load_svmlight_file

TARGET = Path(__file__).resolve().parents[1] / "fastndcg" / "demo"
N_FEATURES = 300
ROUNDS = 100
SHARED = {
    "num_leaves": 15,
    "min_data_in_leaf": 20,
    "learning_rate": 0.05,
    "seed": 7,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
RANKERS = {
    "lambdarank": {"objective": "lambdarank"},
    "pointwise": {"objective": "regression"},
}


def main() -> None:
    """Train, rank, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    features, labels, groups = load(folder, "train")
    test_features, test_labels, test_groups = load(folder, "test")
    queries = np.repeat(np.arange(len(test_groups)), test_groups)
    write_qrels(TARGET / "qrels.txt", queries, test_labels)
    for name, objective in RANKERS.items():
        train = lightgbm.Dataset(features, labels, group=groups)
        ranker = lightgbm.train(SHARED | objective, train, num_boost_round=ROUNDS)
        write_run(TARGET / f"{name}.run", queries, ranker.predict(test_features, num_threads=1), name)


def load(folder: Path, part: str) -> tuple[Any, Any, Any]:
    """Features, labels and group sizes of a part of the data."""
    features, labels = load_svmlight_file(str(folder / f"rank.{part}"), n_features=N_FEATURES, zero_based=False)
    return features, labels, np.loadtxt(folder / f"rank.{part}.query", dtype=int)


def write_qrels(path: Path, queries: Any, labels: Any) -> None:
    """Write judgments in TREC's format. Documents are numbered in the order of the file."""
    rows = zip(queries, labels, strict=True)
    lines = (f"q{query + 1:02} 0 d{row + 1:03} {int(label)}\n" for row, (query, label) in enumerate(rows))
    path.write_text("".join(lines), encoding="utf-8")


def write_run(path: Path, queries: Any, scores: Any, name: str) -> None:
    """Write a run in TREC's format: best first, all digits of the scores."""
    lines = []
    for query in range(queries[-1] + 1):
        rows = np.flatnonzero(queries == query)
        for rank, row in enumerate(rows[np.argsort(-scores[rows], kind="stable")], start=1):
            lines.append(f"q{query + 1:02} Q0 d{row + 1:03} {rank} {float(scores[row])!r} {name}\n")
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
