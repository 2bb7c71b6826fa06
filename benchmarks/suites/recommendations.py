"""
Recommendations suite: agreement of rankings, and metrics beyond accuracy, against SciPy, rbo, NumPy and pandas.

Theirs are as fast as these libraries allow: SciPy and rbo in a loop over queries, NumPy on arrays of users, pandas for
counts. Values are compared before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_row, measure_parts
from benchmarks.lib.timing import time_alternately, time_call

QUERIES = 2000
DOCUMENTS = 100
USERS = 1_000_000
PEER_USERS = 20_000  # users that the other libraries are timed on, in blocks that fit into memory
BLOCK = 500
LENGTH = 100
ITEMS = 50_000
DIMENSIONS = 32
CATEGORIES = 24
METRICS = ("popularity", "novelty", "ILD", "ILD(distance=jaccard)", "coverage", "gini", "entropy", "personalisation")
ITEM_DATA = {
    "popularity": ("popularity",),
    "novelty": ("popularity", "n_users"),
    "ILD": ("vectors",),
    "ILD(distance=jaccard)": ("categories",),
}


def compare_agreement(options: Options) -> list[Row]:
    """Compare Kendall's tau, Spearman's correlation and RBO of many queries with SciPy and rbo."""
    from rbo import RankingSimilarity
    from scipy import stats

    generator = np.random.default_rng(1)
    n_queries = max(20, int(QUERIES * options.scale))
    first = generator.normal(size=(n_queries, DOCUMENTS))
    second = first + generator.normal(size=first.shape)
    lists = [np.argsort(-scores, axis=1).tolist() for scores in (first, second)]
    calls: dict[str, tuple[str, Callable[[], Any]]] = {
        "tau_b": ("SciPy", lambda: [stats.kendalltau(x, y).statistic for x, y in zip(first, second, strict=True)]),
        "spearman": ("SciPy", lambda: [stats.spearmanr(x, y).statistic for x, y in zip(first, second, strict=True)]),
        "RBO": ("rbo", lambda: [RankingSimilarity(x, y).rbo_ext(p=0.9) for x, y in zip(*lists, strict=True)]),
    }
    rows = []
    for metric, (peer, theirs) in calls.items():
        what = f"{metric}: {n_queries:,} queries × {DOCUMENTS} documents"
        ours = lambda metric=metric: fn.agreement(first, second, metric)[metric]  # noqa: E731
        rows.append(compare_times(what, peer, theirs, ours, options.repeat))
    return rows


def make_item_data() -> dict[str, Any]:
    """Make the popularity, the vectors and the categories of items."""
    generator = np.random.default_rng(2)
    return {
        "popularity": np.maximum(generator.zipf(1.3, ITEMS), 1).clip(max=USERS),
        "n_users": USERS,
        "vectors": generator.normal(size=(ITEMS, DIMENSIONS)),
        "categories": generator.random((ITEMS, CATEGORIES)) < 0.1,
    }


def make_lists(n_users: int) -> np.ndarray:
    """Make lists of different items for each user, with some items far more frequent than others."""
    generator = np.random.default_rng(3)
    starts = generator.integers(0, ITEMS, (n_users, 1)) ** 2 // ITEMS
    steps = np.cumsum(generator.integers(1, 9, (n_users, LENGTH)), axis=1)
    return ((starts + steps) % ITEMS).astype("i4")


def prepare_numpy(lists: np.ndarray, data: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return calls that compute the metrics with NumPy and pandas."""
    import pandas as pd

    popularity = data["popularity"]
    unit = data["vectors"] / np.linalg.norm(data["vectors"], axis=1, keepdims=True)
    categories = data["categories"].astype("f4")
    information = -np.log2(popularity / data["n_users"])
    n_users, k = lists.shape
    upper = np.triu_indices(k, 1)

    def apply_in_blocks(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([function(lists[start : start + BLOCK]) for start in range(0, n_users, BLOCK)])

    def cosine(block: np.ndarray) -> np.ndarray:
        return 1 - (unit[block] @ unit[block].transpose(0, 2, 1))[:, *upper].mean(axis=1)

    def jaccard(block: np.ndarray) -> np.ndarray:
        sizes = categories[block].sum(axis=2)
        intersections = categories[block] @ categories[block].transpose(0, 2, 1)
        unions = sizes[:, :, None] + sizes[:, None, :] - intersections
        distances = np.where(unions > 0, 1 - intersections / np.maximum(unions, 1), 0)
        return distances[:, *upper].mean(axis=1, dtype="f8")

    def count_items() -> Any:
        return pd.Series(lists.ravel()).value_counts().reindex(range(ITEMS), fill_value=0).sort_values().to_numpy()

    def gini() -> float:
        counts = count_items()
        ranks = np.arange(1, ITEMS + 1)
        return float(((2 * ranks - ITEMS - 1) * counts).sum() / (ITEMS * counts.sum()))

    def personalisation() -> float:
        counts = count_items().astype("f8")
        return float(1 - (counts * (counts - 1) / 2).sum() / k / (n_users * (n_users - 1) / 2))

    return {
        "popularity": lambda: popularity[lists].mean(axis=1),
        "novelty": lambda: information[lists].mean(axis=1),
        "ILD": lambda: apply_in_blocks(cosine),
        "ILD(distance=jaccard)": lambda: apply_in_blocks(jaccard),
        "coverage": lambda: pd.unique(lists.ravel()).size / ITEMS,
        "gini": gini,
        "personalisation": personalisation,
    }


def compare_beyond_accuracy(options: Options) -> list[Row]:
    """Compare metrics beyond accuracy with NumPy and pandas."""
    data = make_item_data()
    lists = make_lists(max(100, int(PEER_USERS * options.scale)))
    rows = []
    for metric, theirs in prepare_numpy(lists, data).items():
        ours = prepare_beyond_accuracy(lists, metric, data)
        what = f"{metric}: {len(lists):,} users × {LENGTH} items"
        rows.append(compare_times(what, "NumPy and pandas", theirs, ours, options.repeat))
    return rows


def prepare_beyond_accuracy(lists: np.ndarray, metric: str, data: dict[str, Any]) -> Callable[[], Any]:
    """Return the call of a metric with the item data that it needs."""
    arguments = {"catalogue": ITEMS} | {name: data[name] for name in ITEM_DATA.get(metric, ())}
    return lambda: fn.beyond_accuracy(lists, metric, **arguments)[metric]


def measure_million_users(options: Options) -> list[Row]:
    """Measure each metric on a million users with a hundred items each."""
    data = make_item_data()
    lists = make_lists(max(100, int(USERS * options.scale)))
    rows = []
    for metric in METRICS:
        prepare_beyond_accuracy(lists[:10], metric, data)()  # compiles
        seconds = time_call(prepare_beyond_accuracy(lists, metric, data))[0]
        rows.append(make_row(f"{metric}: {len(lists):,} users × {LENGTH} items", seconds, "s"))
    return rows


def compare_times(what: str, peer: str, theirs: Callable[[], Any], ours: Callable[[], Any], repeat: int) -> Row:
    """Return the row of a ratio of times, after comparing the values."""
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-6 if "jaccard" in what else 1e-9, atol=1e-9)
    seconds = time_alternately({"ours": ours, "theirs": theirs}, repeat)
    detail = f"{seconds['ours']:.4g} s and {seconds['theirs']:.4g} s"
    return make_row(what, seconds["theirs"] / seconds["ours"], f"× as fast as {peer}", detail=detail)


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "agreement": compare_agreement,
    "beyond-accuracy": compare_beyond_accuracy,
    "million-users": measure_million_users,
}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("scipy", "pandas", "rbo"))
