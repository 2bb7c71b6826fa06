"""
Agreement of rankings and metrics beyond accuracy: against SciPy query by query, and against NumPy and pandas.

Usage: python benchmarks/beyond.py [--scale X] [--json FILE]

Theirs are as fast as one writes them with these libraries: SciPy's functions in a loop over queries, rbo's likewise;
NumPy on whole arrays of users, pandas where it counts. Each value is compared before its time counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from timing import about, digits, interleaved, timed

import fastndcg as fn

QUERIES, DOCUMENTS = 2000, 100
USERS, LENGTH, ITEMS, DIMENSIONS, CATEGORIES = 1_000_000, 100, 50_000, 32, 24
FEW = 20_000  # users whom theirs are timed on, in parts that fit into memory

Row = dict[str, Any]


def agreements(scale: float, repeat: int) -> list[Row]:
    """Kendall's tau, Spearman's correlation and RBO of many queries."""
    from rbo import RankingSimilarity
    from scipy import stats

    generator = np.random.default_rng(1)
    n_queries = max(20, int(QUERIES * scale))
    first = generator.normal(size=(n_queries, DOCUMENTS))
    second = first + generator.normal(size=first.shape)
    lists = [np.argsort(-scores, axis=1).tolist() for scores in (first, second)]
    theirs = {
        "tau_b": lambda: [stats.kendalltau(x, y).statistic for x, y in zip(first, second, strict=True)],
        "spearman": lambda: [stats.spearmanr(x, y).statistic for x, y in zip(first, second, strict=True)],
        "RBO": lambda: [RankingSimilarity(x, y).rbo_ext(p=0.9) for x, y in zip(*lists, strict=True)],
    }
    size = f"{n_queries:,} queries × {DOCUMENTS} documents"
    return [
        compared(f"{metric}: {size}", "rbo" if metric == "RBO" else "SciPy", call,
                 lambda metric=metric: fn.agreement(first, second, metric)[metric], repeat)
        for metric, call in theirs.items()
    ]  # fmt: skip


def known_of_items() -> dict[str, Any]:
    """How popular items are, where they are and of which categories."""
    generator = np.random.default_rng(2)
    return {
        "popularity": np.maximum(generator.zipf(1.3, ITEMS), 1).clip(max=USERS),
        "n_users": USERS,
        "vectors": generator.normal(size=(ITEMS, DIMENSIONS)),
        "categories": generator.random((ITEMS, CATEGORIES)) < 0.1,
    }


def lists_of(n_users: int) -> np.ndarray:
    """Different items for each user, some of them far more often than others."""
    generator = np.random.default_rng(3)
    starts = generator.integers(0, ITEMS, (n_users, 1)) ** 2 // ITEMS
    steps = np.cumsum(generator.integers(1, 9, (n_users, LENGTH)), axis=1)
    return ((starts + steps) % ITEMS).astype("i4")


def numpy_ways(lists: np.ndarray, known: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The same by NumPy and pandas."""
    import pandas as pd

    popularity, vectors = known["popularity"], known["vectors"]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sets = known["categories"].astype("f4")
    information, k = -np.log2(popularity / known["n_users"]), lists.shape[1]
    upper = np.triu_indices(k, 1)

    def in_parts(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([function(lists[start : start + 500]) for start in range(0, len(lists), 500)])

    def cosine(part: np.ndarray) -> np.ndarray:
        return 1 - (unit[part] @ unit[part].transpose(0, 2, 1))[:, *upper].mean(axis=1)

    def jaccard(part: np.ndarray) -> np.ndarray:
        both = sets[part] @ sets[part].transpose(0, 2, 1)
        one = (sizes := sets[part].sum(axis=2))[:, :, None] + sizes[:, None, :] - both
        return np.where(one > 0, 1 - both / np.maximum(one, 1), 0)[:, *upper].mean(axis=1, dtype="f8")

    def counts() -> Any:
        return pd.Series(lists.ravel()).value_counts().reindex(range(ITEMS), fill_value=0).sort_values().to_numpy()

    def gini() -> float:
        found, ranks = counts(), np.arange(1, ITEMS + 1)
        return float(((2 * ranks - ITEMS - 1) * found).sum() / (ITEMS * found.sum()))

    def personalisation() -> float:
        found, n = counts().astype("f8"), len(lists)
        return float(1 - (found * (found - 1) / 2).sum() / k / (n * (n - 1) / 2))

    return {
        "popularity": lambda: popularity[lists].mean(axis=1),
        "novelty": lambda: information[lists].mean(axis=1),
        "ILD": lambda: in_parts(cosine),
        "ILD(distance=jaccard)": lambda: in_parts(jaccard),
        "coverage": lambda: pd.unique(lists.ravel()).size / ITEMS,
        "gini": gini,
        "personalisation": personalisation,
    }


def beyond(scale: float, repeat: int) -> list[Row]:
    """Metrics of recommended items, on as many users as theirs take in reasonable time."""
    known = known_of_items()
    lists = lists_of(max(100, int(FEW * scale)))
    size = f"{len(lists):,} users × {LENGTH} items"
    rows = []
    for metric, call in numpy_ways(lists, known).items():
        given = {"catalogue": ITEMS, **needed(metric, known)}
        ours = lambda metric=metric, given=given: fn.beyond_accuracy(lists, metric, **given)[metric]  # noqa: E731
        rows.append(compared(f"{metric}: {size}", "NumPy, pandas", call, ours, repeat))
    return rows


def needed(metric: str, known: dict[str, Any]) -> dict[str, Any]:
    """What a metric needs to know."""
    names = {"popularity": ["popularity"], "novelty": ["popularity", "n_users"], "ILD": ["vectors"]}
    names["ILD(distance=jaccard)"] = ["categories"]
    return {name: known[name] for name in names.get(metric, [])}


def million(scale: float) -> list[Row]:
    """The seconds of each metric on a million users with a hundred items each."""
    known = known_of_items()
    lists = lists_of(max(100, int(USERS * scale)))
    rows = []
    every = ("popularity", "novelty", "ILD", "ILD(distance=jaccard)", "coverage", "gini", "entropy", "personalisation")
    for metric in every:
        call = lambda metric=metric: fn.beyond_accuracy(lists, metric, catalogue=ITEMS, **needed(metric, known))  # noqa: E731
        fn.beyond_accuracy(lists[:10], metric, catalogue=ITEMS, **needed(metric, known))
        rows.append({"what": f"{metric}: {len(lists):,} users × {LENGTH} items", "seconds": digits(timed(call)[0], 3)})
    return rows


def compared(what: str, peer: str, theirs: Callable[[], Any], ours: Callable[[], Any], repeat: int) -> Row:
    """How many times as fast ours is, after it has been shown to give the same."""
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-6 if "jaccard" in what else 1e-9, atol=1e-9)
    seconds = interleaved({"ours": ours, "theirs": theirs}, repeat)
    times = digits(seconds["theirs"] / seconds["ours"], 3)
    return {"what": what, "seconds": digits(seconds["ours"]), "peer": peer, "times as fast": times}


def main() -> int:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of queries and users (default: 1)")
    parser.add_argument("--repeat", type=int, default=5, help="turns (default: 5)")
    parser.add_argument("--only", choices=("agreement", "beyond", "million"), help="one of the parts")
    parser.add_argument("--json", metavar="FILE", help="save the figures")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], list[Row]]] = {
        "agreement": lambda: agreements(arguments.scale, arguments.repeat),
        "beyond": lambda: beyond(arguments.scale, arguments.repeat),
        "million": lambda: million(arguments.scale),
    }
    rows = [row for name, part in parts.items() if arguments.only in (None, name) for row in part()]
    for row in rows:
        ratio = f"  {row['times as fast']:g} × as fast as {row['peer']}" if "peer" in row else ""
        print(f"{row['what']}: {row['seconds']:.4g} s{ratio}")
    if arguments.json:
        whole = {"about": about(["scipy", "pandas", "rbo"]), "rows": rows}
        Path(arguments.json).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
