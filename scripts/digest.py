"""
Write a digest of the values that the package computes, to show that a change of its code changes no bit.

Usage: python scripts/digest.py [--every N] > FILE

Each line is the name of a case and a hash of its values. A case is a metric under a convention and a tie policy, a form
of input, a drop-in, a statistic or a report. `diff` shows the cases that differ from an earlier digest. `--every N`
computes one case of N. Only public names are used, so that the code may move.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this tree, whatever is installed

import fastndcg as fn  # noqa: E402

DRAWN_RUNS = ROOT / "tests" / "data" / "drawn_runs"
TIES = ("average", "input", "id_descending", "id_ascending", "best", "worst", "input_reversed")
CUTOFFS = (None, 1, 3, 10, 64)
FIELDS = {
    "gain": ("exp2", "binary"), "label_fractions": ("cut off",),
    "discount": ("log2(max(r, 2))", "1/r", "none", [1.0, 0.5, 0.25]), "ideal": ("k best", "min(k, n_retrieved)"),
    "pool": ("retrieved",), "relevant": ("above 0", "above 0.5"), "default_k": (5,), "undefined": (0, 1, "raise"),
    "unjudged": ("removed",), "negative_labels": ("zero", "keep", "removed"), "missing_in_run": ("skip", "raise"),
    "missing_in_qrels": ("undefined", "raise"), "nan_scores": ("last",), "score_dtype": ("float32",),
    "ap_denominator": ("min(k, n_relevant)", "n_hits", "k"), "precision_denominator": ("min(k, n_retrieved)",),
    "no_relevant": ("skipped", "undefined"), "precision_mean": ("micro",),
}  # fmt: skip
DESIGNS = ({}, {"clusters": np.arange(300) // 3}, {"weights": np.arange(1, 301), "strata": np.arange(300) % 4})
TORCHMETRICS = (
    "normalized_dcg", "average_precision", "reciprocal_rank", "precision", "recall", "hit_rate", "fall_out",
)  # fmt: skip
REPLACED = {"missing_in_run": "zero", "negative_labels": "zero"}  # so that each convention takes the same data
Lines = Iterator[tuple[str, Any]]


def hash_value(value: Any) -> str:
    """Return a hash of numbers, texts and nested tables of them, equal only where all are equal to the bit."""
    digest = hashlib.sha256()
    _add(digest, value)
    return digest.hexdigest()[:16]


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, dict):
        for key in value:
            _add(digest, str(key))
            _add(digest, value[key])
    elif isinstance(value, str):
        digest.update(value.encode("utf-8", "surrogatepass") + b"\0")
    elif isinstance(value, (list, tuple)):
        for item in value:
            _add(digest, item)
        digest.update(b"|")
    elif value is None:
        digest.update(b"None\0")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "OUST":
        _add(digest, [str(item) for item in value.tolist()])
    else:
        array = np.asarray(value, dtype=np.float64)
        array = np.where(np.isnan(array), np.nan, array)  # NaN has many bit patterns
        digest.update(np.ascontiguousarray(array).tobytes())


def attempt(compute: Callable[[], Any]) -> Any:
    """Return a value, or the name of the error that the computation raises."""
    try:
        return compute()
    except (fn.FastndcgError, ValueError, TypeError, ZeroDivisionError, RuntimeError) as error:
        names = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        return f"raises {names[0]}"


def values(*arguments: Any, **options: Any) -> Callable[[], Any]:
    """Return a function that evaluates, for its values."""
    return lambda: fn.evaluate(*arguments, **options).values


def random_rankings(n_queries: int, most: int, seed: int, *, lowest: int = 0) -> fn.Rankings:
    """Return seeded ragged rankings with ties, a pool, unjudged documents and empty queries."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, most, n_queries) * (random.random(n_queries) < 0.95)
    n = int(sizes.sum())
    share = np.repeat(random.choice([0.02, 0.1, 0.6], n_queries), sizes)
    labels = random.integers(lowest, 5, n) * (random.random(n) < share)
    n_scores = np.repeat(random.choice([1, 9, 10 * most], n_queries), sizes)
    scores = np.floor(random.random(n) * n_scores) / 8
    owners = np.concatenate([np.repeat(np.arange(n_queries), sizes), np.repeat(np.arange(n_queries), 2)])
    pool = np.append(labels, random.integers(0, 5, 2 * n_queries))[np.argsort(owners, kind="stable")]
    return fn.Rankings(
        labels,
        scores,
        np.cumsum([0, *sizes]),
        judged=(labels != 0) | (random.random(n) < 0.7),
        pool=(pool, np.cumsum([0, *(sizes + 2)])),
        tie_keys=random.permutation(n),
    )


def plain_metrics() -> list[fn.Metric]:
    """Return every metric of one label a document, at every cutoff that it takes."""
    records = {
        name: record
        for name, record in fn.CATALOG.items()
        if record.function_name == "evaluate" and not record.by_subtopic
    }
    metrics = [fn.Metric(name, k if record.has_cutoff else None) for name, record in records.items() for k in CUTOFFS]
    texts = ("nDCG(gain=exp2)@5", "DCG(rel=2)@4", "P(rel=2)@5", "F(beta=2)@7", "AP(rel=3)@9", "RBP(p=0.5)")
    return [*dict.fromkeys(metrics), *map(fn.Metric.parse, texts)]


def metrics_by_convention() -> Lines:
    """Yield every metric under every convention and tie policy."""
    metrics = plain_metrics()
    rankings = random_rankings(60, 80, 7)
    small = random_rankings(40, 12, 8)
    for name, convention in fn.conventions.items():
        for ties in dict.fromkeys((convention.ties, *TIES)):
            variant = convention.replace(ties=ties)
            for metric in metrics:
                for data, cases in (("long", rankings), ("short", small)):
                    yield f"{name} {ties} {metric} {data}", values(cases, metrics=[metric], convention=variant)


def metrics_by_field() -> Lines:
    """Yield every metric under each choice of each field of a convention."""
    metrics = plain_metrics()
    for field, choices in FIELDS.items():
        for choice in choices:
            rankings = random_rankings(60, 60, 9, lowest=-1 if field == "negative_labels" else 0)
            for ties in ("average", "id_descending", "best"):
                own = {field: tuple(choice) if isinstance(choice, list) else choice}
                convention = fn.conventions["default"].replace(ties=ties, **own)
                for metric in metrics:
                    yield f"{field}={choice} {ties} {metric}", values(rankings, metrics=[metric], convention=convention)


def threads_and_dtypes() -> Lines:
    """Yield values for dtypes of labels and scores, and for large inputs on several threads."""
    random = np.random.default_rng(10)
    labels = random.integers(0, 5, 400_000) * (random.random(400_000) < 0.2)
    scores = random.integers(0, 5000, 400_000) / 8
    offsets = np.arange(0, 400_001, 100)
    metrics = "ndcg@10,ndcg,map,rr,p@5,recall@100,auc,err@20,bpref,rbp"
    for threads in (1, 2, 3):
        yield f"threads {threads}", values(labels, scores, metrics, offsets=offsets, threads=threads)
    for dtype in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "longdouble"):
        yield f"labels {dtype}", values(labels.astype(dtype), scores, metrics, offsets=offsets)
        if dtype not in ("u1", "i1", "f2"):
            yield f"scores {dtype}", values(labels, scores.astype(dtype), metrics, offsets=offsets)
    long = np.array([0, 300_000, 400_000])
    yield "two long queries", values(labels, scores, metrics, offsets=long)
    evaluator = fn.Evaluator(labels, metrics, offsets=offsets)
    systems = (scores, -scores, scores.astype("f4"))
    yield "evaluator", lambda: [evaluator.evaluate(system).values for system in systems]
    for name in ("ndcg", "dcg", "average_precision", "reciprocal_rank", "precision", "recall", "success", "f_score"):
        yield f"fn.{name}", partial(getattr(fn, name), labels, scores, offsets, k=10)
    yield "fn.r_precision", partial(fn.r_precision, labels, scores, offsets)


def columns(rows: list[Any], value: str) -> dict[str, list[Any]]:
    """Return rows as columns."""
    return dict(zip(("query_id", "doc_id", value), map(list, zip(*rows, strict=True)), strict=True))


def nested(rows: list[Any]) -> dict[str, dict[str, Any]]:
    """Return rows as a dict of dicts."""
    table: dict[str, dict[str, Any]] = {}
    for query, document, value in rows:
        table.setdefault(query, {})[document] = value
    return table


def forms() -> Lines:
    """Yield the same judgments and run in each form of input."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    random = np.random.default_rng(11)
    queries = range(60)
    documents = range(200)
    qrels = [(f"q{q}", f"d{d}", int(random.integers(-1, 4)))
             for q in queries for d in random.choice(documents, 15, replace=False)]  # fmt: skip
    run = [(f"q{q}", f"d{d}", float(random.integers(0, 40)) / 4)
           for q in range(3, 64) for d in random.choice(documents, 30, replace=False)]  # fmt: skip
    metrics = "ndcg,ndcg@10,map,rr,p@5,recall@100,bpref,judged@10,infap"

    sides = columns(qrels, "label"), columns(run, "score")
    dicts = nested(qrels), nested(run)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inputs: dict[str, Any] = {"dicts": dicts, "values": (fn.Qrels(dicts[0]), fn.Run(dicts[1]))}
        for maker in (pd.DataFrame, pl.DataFrame, pa.table):
            inputs[maker.__module__] = map(maker, sides)
        texts = {
            "trec": (
                "".join(f"{q} 0 {d} {v}\n" for q, d, v in qrels),
                "".join(f"{q} Q0 {d} 0 {v!r} t\n" for q, d, v in run),
            ),
            "json": tuple(map(json.dumps, dicts)),
            "jsonl": tuple("\n".join(json.dumps({q: row}) for q, row in table.items()) for table in dicts),
            "csv": tuple(pl.DataFrame(side).write_csv() for side in sides),
        }
        for name, pair in texts.items():
            paths = [folder / f"{name}-{side}.gz" for side in ("qrels", "run")]
            for path, text in zip(paths, pair, strict=True):
                path.write_bytes(gzip.compress(text.encode()))
            inputs[name] = paths
        paths = [folder / f"{side}.parquet" for side in ("qrels", "run")]
        for path, table in zip(paths, sides, strict=True):
            pl.DataFrame(table).write_parquet(path, row_group_size=100)
        inputs["parquet"] = paths
        for name, (truth, predictions) in inputs.items():
            for convention in ("default", "trec_eval", "trec_eval_9_c", "ranx", "sklearn"):
                for ties in ("average", "id_descending"):
                    variant = fn.conventions[convention].replace(ties=ties, **REPLACED)
                    evaluate = partial(fn.evaluate, truth, predictions, metrics, convention=variant)
                    yield f"form {name} {convention} {ties}", partial(summarise, evaluate)


def summarise(evaluate: Callable[[], fn.Results]) -> list[Any]:
    """Return the values, the queries and the means of results."""
    result = evaluate()
    return [result.values, result.query_ids, list(result.mean().values())]


def scored_frames() -> Lines:
    """Yield rows of query, label and score as a frame, as Parquet, as lists and as a stream."""
    import polars as pl

    random = np.random.default_rng(15)
    queries = [f"q{place // 15}" for place in range(900)]
    scored = pl.DataFrame({"query": queries, "label": random.integers(0, 4, 900), "score": random.random(900).round(1)})
    shuffled = scored.sample(fraction=1.0, shuffle=True, seed=1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, table in (("sorted", scored), ("shuffled", shuffled)):
            table.write_parquet(folder / f"{name}.parquet", row_group_size=70)
            yield f"scored frame {name}", values(table, metrics="ndcg@5,map")
            rows = fn.Rows(folder / f"{name}.parquet", memory="1MB")
            yield f"scored parquet {name}", values(rows, metrics="ndcg@5,map")
    lists = scored.group_by("query", maintain_order=True).agg("label", "score")
    yield "ragged", values(lists["label"], lists["score"], "ndcg@5,map")
    yield "arrow lists", values(lists.to_arrow(), metrics="ndcg@5,map")
    stream = fn.StreamingEvaluator("ndcg@5,map")
    for start, stop in pairwise((0, 150, 300, 450, len(scored))):
        attempt(lambda start=start, stop=stop: stream.update(scored[start:stop]))
    yield "streaming", lambda: list(stream.result().mean().values())


def recommendations() -> Lines:
    """Yield recommended items against interactions, and metrics beyond accuracy."""
    from scipy import sparse

    random = np.random.default_rng(12)
    matrix = sparse.random(300, 500, 0.03, "csr", random_state=12)
    matrix.data = np.ceil(matrix.data * 5)
    recommended = np.array([random.permutation(500)[:20] for _ in range(300)])
    metrics = "ndcg@10,map,rr,p@5,recall@20,success@3"
    for convention in ("default", "rectools", "replay", "implicit", "lenskit", "recommenders"):
        if convention in fn.conventions:
            yield f"recommended {convention}", values(matrix, recommended, metrics, convention=convention)
    ragged = fn.Recommendations([row[: i % 20].tolist() for i, row in enumerate(recommended)])
    yield "recommended ragged", values(matrix, ragged, metrics)
    names = "coverage, gini, entropy, personalisation, popularity, novelty@10, serendipity@10, ILD@5"
    beyond = fn.beyond_accuracy(recommended, names, interactions=matrix, liked=matrix, vectors=random.random((500, 8)))
    yield "beyond accuracy", lambda: beyond.values
    yield "beyond accuracy: means", lambda: str(beyond.means())
    first = {f"q{q}": {f"d{d}": float(random.integers(0, 9)) for d in range(30)} for q in range(20)}
    second = {f"q{q}": {f"d{d}": float(random.integers(0, 9)) for d in range(5, 35)} for q in range(20)}
    yield "agreement", lambda: str(fn.agreement(first, second))


def drop_ins() -> Lines:
    """Yield what each drop-in returns."""
    random = np.random.default_rng(13)
    truth = random.integers(0, 4, (40, 12))
    scores = random.integers(0, 9, (40, 12)) / 4
    binary = (truth > 2).astype(int)
    from fastndcg.compat import pytrec_eval, ranx, sklearn

    for k in (None, 3):
        for is_ignored in (False, True):
            for name, function in (("ndcg", sklearn.ndcg_score), ("dcg", sklearn.dcg_score)):
                yield f"sklearn {name} {k} {is_ignored}", partial(function, truth, scores, k=k, ignore_ties=is_ignored)
    yield "sklearn lrap", partial(sklearn.label_ranking_average_precision_score, binary, scores)
    qrels = {f"q{q}": {f"d{d}": int(truth[q, d]) for d in range(12) if d % 5} for q in range(40)}
    run = {f"q{q}": {f"d{d}": float(scores[q, d]) for d in range(12)} for q in range(40)}
    measures = set(pytrec_eval.supported_measures) - {"runid", "relstring"}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    yield "pytrec_eval", lambda: {query: dict(sorted(own.items())) for query, own in sorted(found.items())}
    names = ["ndcg@10", "map", "mrr", "precision@5", "recall@3", "hit_rate@2", "f1@4", "r-precision", "ndcg_burges"]
    for name in names:
        yield f"ranx {name}", partial(ranx.evaluate, ranx.Qrels(qrels), ranx.Run(run), name)
    yield "explain", lambda: str(fn.explain(qrels, run, "ndcg@5", query="q3"))
    if find_spec("torch") is None:
        return
    import torch

    from fastndcg.compat import torchmetrics

    indexes = torch.arange(40).repeat_interleave(12)
    preds = torch.tensor(scores.ravel() + 0.1)
    target = torch.tensor(binary.ravel())
    for name in TORCHMETRICS:
        function = getattr(torchmetrics, f"retrieval_{name}")
        for top_k in (None, 3):
            yield f"torchmetrics {name} {top_k}", partial(function, preds, target, top_k=top_k, indexes=indexes)
            yield f"torchmetrics {name} {top_k} one", partial(function, preds[:12], target[:12], top_k=top_k)


def statistics() -> Lines:
    """Yield comparisons of systems with every interval, test and correction."""
    random = np.random.default_rng(14)
    labels = random.integers(0, 4, 6000) * (random.random(6000) < 0.3)
    systems = {name: random.integers(0, 50, 6000) + labels * weight for name, weight in (("a", 1), ("b", 2), ("c", 3))}
    offsets = np.arange(0, 6001, 20)
    for interval in ("auto", "percentile", "t"):
        for test in ("randomization", "t", "wilcoxon", "sign", "bootstrap", "tukey"):
            for correction in ("holm", "bh"):
                for extra in DESIGNS:
                    options = {"interval": interval, "test": test, "correction": correction, "replicates": 500, **extra}
                    compare = partial(fn.compare, labels, systems, "ndcg@10,map", offsets=offsets, **options)
                    name = f"compare {interval} {test} {correction} {'-'.join(extra)}"
                    yield name, lambda compare=compare: compare().to_json()
    for aggregate in ("ndcg@10", "gm_map", "median(ndcg@10)", "q10(ndcg@10)"):
        evaluate = partial(fn.evaluate, labels, systems["a"], aggregate, offsets=offsets)
        yield f"aggregate {aggregate}", lambda evaluate=evaluate: list(evaluate().mean().values())
    comparison = fn.compare(labels, systems, "ndcg@10", offsets=offsets, replicates=200)
    yield "markdown", comparison.to_markdown
    yield "latex", comparison.to_latex


def recorded_runs() -> Lines:
    """Yield every metric on the recorded runs and judgments."""
    qrels = DRAWN_RUNS / "qrels.txt.gz"
    metrics = [metric for metric in plain_metrics() if metric.k in (None, 10)]
    for path in sorted((DRAWN_RUNS / "runs").iterdir()):
        for convention, step in (("trec_eval", 1), ("trec_eval_9", 7), ("default", 7)):
            for metric in metrics[::step]:
                yield f"{path.name} {convention} {metric}", values(qrels, path, [metric], convention=convention)


GROUPS = (
    metrics_by_convention, metrics_by_field, threads_and_dtypes, forms, scored_frames, recommendations, drop_ins,
    statistics, recorded_runs,
)  # fmt: skip


def main() -> None:
    """Print the digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="compute one case of N (default: 1)")
    every = parser.parse_args().every
    lines: dict[str, str] = {}
    n_errors = 0
    for group in GROUPS:
        for name, compute in islice(group(), 0, None, every):
            value = attempt(compute)
            n_errors += isinstance(value, str) and value.startswith("raises ")
            lines[name] = hash_value(value)
            print(name, lines[name], sep="\t")
    print("all", hash_value(lines), sep="\t")
    print(f"{len(lines)} cases, {n_errors} of them errors", file=sys.stderr)


if __name__ == "__main__":
    main()
