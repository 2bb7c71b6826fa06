"""Choices that are made by numbers, not by the user: the size of chunks, and the method that ranks many candidates."""

from math import ceil

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.conventions import parse_convention
from fastndcg.engine import run as engine
from fastndcg.engine.plan import make_plan
from fastndcg.kernels.ranking import many_candidates
from fastndcg.kernels.ranking.many_candidates import is_counting_faster
from fastndcg.kernels.ranking.rank import SORT
from fastndcg.metrics.metric import parse_metrics


@pytest.mark.parametrize(("n_metrics", "factor"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 4), (100, 4)])
def test_several_metrics_share_larger_chunks(monkeypatch, n_metrics, factor):
    """Twice the documents for two metrics, four times for four and more: each has its calls."""
    asked = []
    monkeypatch.setattr(
        engine, "make_chunks", lambda rankings, chunk_documents, threads: asked.append(chunk_documents) or []
    )
    metrics = parse_metrics([f"P@{k}" for k in range(1, n_metrics + 1)])
    plan = make_plan(metrics, parse_convention("default"))
    engine.prepare(fn.Rankings([1], [1.0], [0, 1]), plan, 1, 1000, lambda: 1)
    assert asked == [factor * 1000]


@pytest.mark.parametrize("n_bytes", [4, 8])
def test_ranking_sorts_many_candidates_and_counts_few(n_bytes):
    """Ranking counts if candidates are few, and sorts if they are many."""
    choose = getattr(is_counting_faster, "py_func", is_counting_faster)
    for n_documents in (1000, 10_000, 100_000):
        assert choose(n_documents, 65, n_bytes)
        assert not choose(n_documents, n_documents // 2, n_bytes)


@pytest.mark.parametrize("n_relevant", [31, 32, 33, 70])
@pytest.mark.parametrize("rel", [1, 2])
def test_recalls_of_few_and_of_many_relevant_documents(n_relevant, rel):
    """IAP equals its definition for few relevant documents and for many."""
    rng = np.random.default_rng(n_relevant)
    labels = np.concatenate([np.full(n_relevant, 2), np.ones(20), np.zeros(90)])
    ranked = [rng.permutation(labels) for _ in range(3)]
    labels, scores = np.concatenate(ranked), np.tile(-np.arange(len(labels), dtype="f8"), 3)
    offsets, recalls = np.arange(4) * (n_relevant + 110), np.arange(11) / 10

    found = fn.evaluate(labels, scores, f"IAP(rel={rel})", offsets=offsets).values[:, 0]

    for value, own in zip(found, ranked, strict=True):
        relevant = own >= rel
        precisions = np.cumsum(relevant) / np.arange(1, len(own) + 1)
        asked = [max(ceil(recall * relevant.sum() - 1e-9), 1) for recall in recalls]
        highest = [precisions[np.cumsum(relevant) >= n].max() for n in asked]
        assert value == pytest.approx(np.mean(highest), rel=1e-13)


@pytest.mark.parametrize("n_levels", [1, 2, 6])
@pytest.mark.parametrize("n_relevant", [1, 40, 64, 65, 130])
def test_select_counts_queries_that_tie_at_the_threshold(n_levels, n_relevant, monkeypatch):
    """Selection counts up to 64 candidates if over 64 documents reach its threshold. Values equal those of sorting."""
    generator = np.random.default_rng(n_relevant)
    n_documents, n_queries = 200, 20
    labels = np.tile(np.arange(n_documents) < n_relevant, n_queries) * generator.integers(1, 4, n_documents * n_queries)
    scores = generator.integers(0, n_levels, n_documents * n_queries).astype("f4")
    rankings = fn.Rankings(labels, scores, np.arange(n_queries + 1) * n_documents)
    metrics, convention = parse_metrics("ndcg@10,P@5,RR@10"), parse_convention("default")
    expected = engine.run(rankings, metrics, convention, strategy=SORT).values
    open_queries = []
    rank_remaining = many_candidates.rank_remaining
    monkeypatch.setattr(
        many_candidates, "rank_remaining", lambda *arguments: open_queries.append(1) or rank_remaining(*arguments)
    )

    values = engine.run(rankings, metrics, convention).values

    assert values.tobytes() == expected.tobytes()
    if n_relevant <= 64:
        assert not open_queries
