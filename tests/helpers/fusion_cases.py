"""Judged documents with two score lists, for tests of tuned fusions."""

import numpy as np

import fastndcg as fn
from fastndcg.fusion.tuning.line_search import judge_runs
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention


def draw_case(seed, *, n_queries=4, most=13, is_coarse=False, unit=1):
    rng = np.random.default_rng(seed)
    rows = []
    judgments = []
    for q in range(n_queries):
        for d in range(int(rng.integers(1, most))):
            name = f"d{rng.integers(1000)}_{d}"
            scores = rng.integers(0, 5, 2) / 4 if is_coarse else rng.random(2)
            rows.append((f"q{q}", name, *scores))
            if rng.random() < 0.6:
                judgments.append((f"q{q}", name, int(rng.integers(-1, 4)) * unit))
        judgments += [(f"q{q}", f"z{j}", int(rng.integers(0, 4)) * unit) for j in range(int(rng.integers(1, 4)))]
    queries, documents, x, y = zip(*rows, strict=True)
    run = fn.Run(list(queries), list(documents), np.arange(len(rows), dtype=float))
    return fn.Qrels(*map(list, zip(*judgments, strict=True))), run, np.array(x), np.array(y)


def judge(qrels, run, metric, convention="default"):
    parsed = parse_convention(convention).for_input(qrels=True)
    return judge_runs(qrels, run, parse_metrics(metric)[0], parsed, 1)


def draw_runs(seed, n_queries=30, n_documents=20, n_runs=2, signal=1.0):
    """Return qrels as a dict, and runs whose scores depend on the labels as far as `signal` says."""
    rng = np.random.default_rng(seed)
    qrels = {}
    runs = {f"run{r}": {} for r in range(n_runs)}
    for q in range(n_queries):
        labels = rng.integers(0, 3, n_documents) * (rng.random(n_documents) < 0.4)
        labels[0] = 1
        qrels[f"q{q}"] = {f"d{d}": int(label) for d, label in enumerate(labels)}
        for run in runs.values():
            scores = signal * labels + rng.normal(size=n_documents)
            has_document = rng.random(n_documents) < 0.9
            has_document[0] = True
            run[f"q{q}"] = {f"d{d}": float(scores[d]) for d in range(n_documents) if has_document[d]}
    return qrels, runs
