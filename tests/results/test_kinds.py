"""All kinds of results, however they were computed: each use has their values, or an error says why it cannot be."""

import copy
import inspect
import io
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import fastndcg as fn
from fastndcg.results.results import MeanTable

QUERIES = [f"q{place:02}" for place in range(12)]
DRAWS = np.random.default_rng(7)
LABELS, FIRST, SECOND = DRAWS.integers(0, 3, (12, 6)), DRAWS.random((12, 6)), DRAWS.random((12, 6))
LABELS[:, 0] = 1  # each query has a relevant document
QRELS, *RUNS = (
    {
        query: {f"d{place}": number for place, number in enumerate(numbers[q].tolist())}
        for q, query in enumerate(QUERIES)
    }
    for numbers in (LABELS, FIRST, SECOND)
)
GOLD = {query: [("a.txt", 0, 20 + place)] for place, query in enumerate(QUERIES)}
CHUNKS = [{query: [("a.txt", 5 * system, 30), ("b.txt", 0, place + 1)] for place, query in enumerate(QUERIES)}
          for system in (0, 1)]  # fmt: skip
VECTORS = DRAWS.normal(size=(2, 12, 3))
LIKED = fn.Interactions(np.arange(12) % 9, offsets=np.arange(13))
LISTS = [np.argsort(scores, axis=1)[:, :3] for scores in (FIRST, SECOND)]


def streamed(system, *, per_query):
    stream = fn.StreamingEvaluator("ndcg@3, rr", per_query=per_query)
    for rows in (slice(5), slice(5, None)):
        scores = (FIRST, SECOND)[system][rows]
        stream.update(LABELS[rows].ravel(), scores.ravel(), query_ids=np.repeat(QUERIES[rows], 6))
    return stream.result()


KINDS = {  # of each: the results of two systems
    "evaluate": lambda system: fn.evaluate(QRELS, RUNS[system], "ndcg@10, rr, dcg"),
    "arrays": lambda system: fn.evaluate(LABELS, (FIRST, SECOND)[system], "ndcg@3, P(rel=2)@5"),
    "no mean": lambda system: fn.evaluate(QRELS, RUNS[system], "gm(map), quantile(ndcg@10, q=0.2)"),
    "of documents": lambda system: fn.evaluate(QRELS, RUNS[system], "p@3", convention="implicit"),
    "pairs": lambda system: fn.evaluate_pairs(QRELS, RUNS[system], "rr, mean_rank"),
    "pairs by chance": lambda system: fn.evaluate_pairs(QRELS, RUNS[system], "amri"),
    "means of pairs": lambda system: fn.evaluate_pairs(QRELS, RUNS[system], "rr", rows="query"),
    "spans": lambda system: fn.evaluate_spans(GOLD, CHUNKS[system], "span_recall@1, span_iou@2, span_ndcg@2"),
    "spans counted": lambda system: fn.evaluate_spans(GOLD, CHUNKS[system], "span_iou@2", overlap="counted"),
    "agreement": lambda system: fn.agreement(FIRST, (SECOND, LABELS * 1.0)[system], "tau_b, rbo(p=0.9)@5"),
    "users": lambda system: fn.beyond_accuracy(
        LISTS[system], "popularity@2, novelty", popularity=np.arange(1, 7), n_users=9
    ),
    "all users": lambda system: fn.beyond_accuracy(LISTS[system], "coverage, gini", catalogue=9),
    "values of a stream": lambda system: streamed(system, per_query=True),
    "means of a stream": lambda system: streamed(system, per_query=False),
    "embeddings": lambda system: fn.evaluate(LIKED, fn.Embeddings(VECTORS[0], VECTORS[system, :9]), "ndcg@3, rr"),
    "recall of an index": lambda system: fn.index_recall(
        fn.Embeddings(VECTORS[0], VECTORS[1, :9]), [[0, 5, 2 + system]] * len(VECTORS[0]), "recall@1, recall@3"
    ),
    "scorer": lambda system: fn.evaluate(
        LIKED, fn.Scorer(lambda users: VECTORS[0][users] @ VECTORS[system, :9].T, n_items=9), "ndcg@3, rr"
    ),
    "tuned": lambda system: fn.tune_fusion(
        QRELS, {"a": RUNS[0], "b": RUNS[1]}, "ndcg@5", methods=("rrf", "wsum(norm=min_max)")[system], folds=2
    ).held_out,
}  # fmt: skip


def means_of_frame(result, frame):
    return [float(frame[str(metric)].mean()) for metric in result.metrics]


def save(result, _, path):
    result.save(path)
    again = fn.load_result(path)
    assert (type(again), str(again), again.to_json()) == (type(result), str(result), result.to_json())
    return again.means()


def copies(result, *_):
    others = [copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))]
    assert {(type(other), str(other)) for other in others} == {(type(result), str(result))}
    return others[-1].means()


def compare(first, second, path):
    compared = fn.compare({"a": first, "b": second}, replicates=20)
    again = fn.compare(None, {"a": first, "b": second}, ", ".join(map(str, first.metrics)), replicates=20)
    assert again.rows == compared.rows
    compared.to_html(path)
    assert all(str(metric) in path.read_text(encoding="utf-8") for metric in first.metrics)
    return [row.mean for row in compared.rows if row.system == "a"]


def gate(first, second, path):
    first.save(path)
    margin = {str(metric): 0.01 for metric in first.metrics}
    rows = fn.gate(None, path, second, margin=margin).rows
    assert str(rows) == str(fn.gate(None, first, second, first.metrics, margin=margin).rows)
    assert {row.verdict for row in rows} <= {"pass", "fail", "undecided"}
    return [row.baseline for row in rows]


def board(first, second, _):
    systems = {"a": {"x": first}, "b": {"x": second}}
    boards = [fn.leaderboard({"x": None}, systems, str(metric), replicates=20) for metric in first.metrics]
    return [next(row.mean for row in one.rows if row.system == "a") for one in boards]


def plan(result, *_):
    stds = [fn.plan(0.1, from_=result, metric=str(metric)).std for metric in result.metrics]
    assert stds == pytest.approx([math.sqrt(2) * std for std in result.std().values()])
    return result.means()


def interval(result, *_):
    intervals = [result.confidence_interval(str(metric)) for metric in result.metrics]
    assert intervals == [result.confidence_interval(metric) for metric in result.metrics]
    assert all(found.low < found.mean < found.high for found in intervals)
    return [found.mean for found in intervals]


USES = {  # of each: the means that it shows
    "save": save,
    "copies": copies,
    "compare": compare,
    "gate": gate,
    "leaderboard": board,
    "plan": plan,
    "interval": interval,
    "by": lambda result, *_: [row.mean for row in result.by(["all"] * len(result))],
    "to_dict": lambda result, *_: means_of_frame(result, pd.DataFrame(result.to_dict().values())),
    "to_pandas": lambda result, *_: means_of_frame(result, result.to_pandas()),
    "to_csv": lambda result, *_: means_of_frame(result, pd.read_csv(io.StringIO(result.to_csv()))),
    "to_json": lambda result, *_: list(json.loads(result.to_json())["mean"].values()),
    "to_markdown": lambda result, *_: [
        float(line.split("|")[2]) for line in result.to_markdown().splitlines()[2 : 2 + len(result.metrics)]
    ],
}
STATISTICS = {"compare", "gate", "leaderboard", "plan", "interval", "by"}
REFUSED = {  # of each kind: uses that cannot be, and why
    "no mean": (STATISTICS, r"of means over queries, but .* is no mean\. Take (AP|nDCG@10)\."),
    "of documents": (STATISTICS, "is averaged over documents under convention implicit"),
    "pairs": ({"leaderboard"}, "must not be results of pairs, .* Pass their comparison"),
    "pairs by chance": (STATISTICS, r"but adjusted\(Rank\) is no mean\. Take Rank\.|must not be results of pairs"),
    "all users": (STATISTICS, "coverage is no mean. Take the other metrics alone"),
    "means of a stream": (
        (STATISTICS | {"save", "to_dict"}) - {"interval"},
        r"values of single queries.* Take StreamingEvaluator\(\.\.\., per_query=True\)",
    ),
}
SHOWN = {"to_dict", "to_pandas", "to_csv"}  # the values of queries, of which these kinds have no mean
HAVE_NO_MEANS_OF_QUERIES = {"no mean", "of documents", "pairs by chance", "all users", "means of a stream"}


def test_every_kind_is_there():
    classes = {value for name in fn.__all__ if inspect.isclass(value := getattr(fn, name))}
    assert {one for one in classes if issubclass(one, MeanTable)} == {type(make(0)) for make in KINDS.values()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_use_has_the_values_or_says_why_not(kind, tmp_path):
    first, second = map(KINDS[kind], (0, 1))
    refused, message = REFUSED.get(kind, (set(), ""))
    for name, use in USES.items():
        path = tmp_path / f"{name}.json"
        if name in refused:
            with pytest.raises((fn.InvalidInputError, AttributeError), match=message):
                use(first, second, path)
        elif name not in SHOWN or kind not in HAVE_NO_MEANS_OF_QUERIES:
            digits = 4 if name == "to_markdown" else 14
            assert use(first, second, path) == pytest.approx(first.means(), rel=1e-12, abs=0.6 * 10**-digits), name
