"""What is chosen by numbers, not by the user: how large chunks are, and which way many candidates are ranked."""

from math import ceil

import numpy as np
import pytest

import fastndcg as fn
from fastndcg import engine
from fastndcg.conventions import parse_convention
from fastndcg.kernels.open import is_counted
from fastndcg.metric import parse_metrics


@pytest.mark.parametrize(("n_metrics", "factor"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 4), (100, 4)])
def test_several_metrics_share_larger_chunks(monkeypatch, n_metrics, factor):
    """Twice the documents for two metrics, four times for four and more: each has its calls."""
    asked = []
    monkeypatch.setattr(engine, "cut", lambda rankings, chunk_documents, threads: asked.append(chunk_documents) or [])
    metrics = parse_metrics([f"P@{k}" for k in range(1, n_metrics + 1)])
    engine.prepare(fn.Rankings([1], [1.0], [0, 1]), metrics, parse_convention("default"), 1, 1000)
    assert asked == [factor * 1000]


@pytest.mark.parametrize("n_bytes", [4, 8])
def test_many_candidates_are_sorted_and_few_counted(n_bytes):
    """Counting takes a pass for each candidate; sorting as long for any number of them."""
    choose = getattr(is_counted, "py_func", is_counted)
    for n_documents in (1000, 10_000, 100_000):
        assert choose(n_documents, 65, n_bytes)
        assert not choose(n_documents, n_documents // 2, n_bytes)


@pytest.mark.parametrize("n_relevant", [31, 32, 33, 70])
@pytest.mark.parametrize("rel", [1, 2])
def test_recalls_of_few_and_of_many_relevant_documents(n_relevant, rel):
    """IAP where it is looked up how many recalls ask for each number of documents, and where it is counted."""
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
