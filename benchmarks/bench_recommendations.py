"""Agreement of rankings, metrics beyond accuracy and of text spans, against SciPy, NumPy, pandas and Python."""

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.proof import equals

USERS = 1_000_000
BLOCK = 500
LENGTH = 100
ITEMS = 50_000
ITEM_DATA = {
    "popularity": ("popularity",),
    "novelty": ("popularity", "n_users"),
    "ILD": ("vectors",),
    "ILD(distance=jaccard)": ("categories",),
}
METRICS = [*ITEM_DATA, "coverage", "gini", "personalisation", "entropy"]


@pytest.mark.parametrize("metric", ["tau_b", "spearman"])
@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
def test_agreement(race, metric, ties):
    """Time Kendall's tau and Spearman's correlation of many queries, against SciPy in a loop."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    first = rng.normal(size=(race.size(2_000, 20), 100))
    second = first + rng.normal(size=first.shape)
    if ties:
        first, second = np.round(first), np.round(second)
    function = {"tau_b": stats.kendalltau, "spearman": stats.spearmanr}[metric]

    def loop():
        return [function(x, y).statistic for x, y in zip(first, second, strict=True)]

    race(lambda: fn.agreement(first, second, metric)[metric], equals(loop()), peers={"SciPy": loop})


@pytest.mark.parametrize("chunks_of_query", [10, 40_000])
def test_spans(race, chunks_of_query):
    """Time IoU of ten chunks of each query or many of one, and of gold spans, against sorted spans in a loop."""
    chunks_of_query = chunks_of_query if chunks_of_query == 10 else race.size(chunks_of_query, 400)
    n_queries = race.size(200_000, 200) if chunks_of_query == 10 else 1
    rng = np.random.default_rng(4)
    length = 400 * chunks_of_query
    starts = {
        "gold": rng.permuted(np.tile(np.arange(0, length, 250), (n_queries, 1)), axis=1)[:, : chunks_of_query // 5],
        "chunks": rng.integers(0, length, (n_queries, chunks_of_query)),
    }
    gold, chunks = (
        {"query": np.repeat(np.arange(n_queries), own.shape[1]), "document": np.zeros(own.size, int),
         "start": own.ravel(), "end": own.ravel() + length}
        for own, length in zip(starts.values(), (200, 400), strict=True)
    )  # fmt: skip

    def unite(spans):
        total, end = 0, 0
        for start, stop in sorted(spans):
            total += max(stop - max(start, end), 0)
            end = max(end, stop)
        return total

    def loop():
        values = []
        for wanted, found in zip(starts["gold"].tolist(), starts["chunks"].tolist(), strict=True):
            gold_spans, chunk_spans = [(s, s + 200) for s in wanted], [(s, s + 400) for s in found]
            union = unite(gold_spans + chunk_spans)
            values.append((unite(gold_spans) + unite(chunk_spans) - union) / union)
        return values

    race(lambda: fn.evaluate_spans(gold, chunks, "span_iou")["span_iou"], equals(loop()), peers={"Python": loop})


def make_item_data():
    """Make the popularity, the vectors and the categories of items."""
    rng = np.random.default_rng(2)
    return {
        "popularity": np.maximum(rng.zipf(1.3, ITEMS), 1).clip(max=USERS),
        "n_users": USERS,
        "vectors": rng.normal(size=(ITEMS, 32)),
        "categories": rng.random((ITEMS, 24)) < 0.1,
    }


def make_lists(n_users):
    """Make lists of different items for each user, with some items far more frequent than others."""
    rng = np.random.default_rng(3)
    starts = rng.integers(0, ITEMS, (n_users, 1)) ** 2 // ITEMS
    return ((starts + np.cumsum(rng.integers(1, 9, (n_users, LENGTH)), axis=1)) % ITEMS).astype("i4")


def compute_by_numpy(metric, lists, data):
    """Compute a metric with NumPy and pandas, those of pairs in blocks of users."""
    import pandas as pd

    upper = np.triu_indices(LENGTH, 1)
    if metric in ("popularity", "novelty"):
        values = data["popularity"] if metric == "popularity" else -np.log2(data["popularity"] / data["n_users"])
        return values[lists].mean(axis=1)
    if metric.startswith("ILD"):
        vectors = data["vectors"] / np.linalg.norm(data["vectors"], axis=1, keepdims=True)
        categories = data["categories"].astype("f4")

        def compute_distances(block):
            if metric == "ILD":
                return 1 - (vectors[block] @ vectors[block].transpose(0, 2, 1))[:, *upper].mean(axis=1)
            sizes = categories[block].sum(axis=2)
            common = categories[block] @ categories[block].transpose(0, 2, 1)
            unions = sizes[:, :, None] + sizes[:, None, :] - common
            distances = np.where(unions > 0, 1 - common / np.maximum(unions, 1), 0)
            return distances[:, *upper].mean(axis=1, dtype="f8")

        return np.concatenate(
            [compute_distances(lists[start : start + BLOCK]) for start in range(0, len(lists), BLOCK)]
        )
    if metric == "coverage":
        return pd.unique(lists.ravel()).size / ITEMS
    counts = pd.Series(lists.ravel()).value_counts().reindex(range(ITEMS), fill_value=0).to_numpy().astype("f8")
    n_users = len(lists)
    if metric == "gini":
        return float(((2 * np.arange(1, ITEMS + 1) - ITEMS - 1) * np.sort(counts)).sum() / (ITEMS * counts.sum()))
    if metric == "personalisation":
        return float(1 - (counts * (counts - 1) / 2).sum() / LENGTH / (n_users * (n_users - 1) / 2))
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("users", [20_000, 500_000])
def test_beyond_accuracy(race, users, metric):
    """Time metrics beyond accuracy against NumPy and pandas, of many users against reading their lists."""
    data = make_item_data()
    lists = make_lists(race.size(users, 100))
    is_sample = metric in ITEM_DATA and users > 20_000  # what all lists have together takes NumPy seconds
    step = max(1, len(lists) // 1_000) if is_sample else 1
    arguments = {"catalogue": ITEMS} | {name: data[name] for name in ITEM_DATA.get(metric, ())}
    expected = compute_by_numpy(metric, lists[::step], data)
    race(
        lambda: fn.beyond_accuracy(lists, metric, **arguments)[metric],
        equals(expected, 1e-6, read=lambda values: values[::step] if is_sample else values),
        floors={"reading the lists": lists.sum},
        peers={"NumPy and pandas": lambda: compute_by_numpy(metric, lists, data)} if users == 20_000 else None,
    )
