"""Metrics for MLflow and ragas."""

import math
import sys
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from refusals import refused

from fastndcg.integrations import mlflow, ragas

RELEVANT = [["a", "b"], ["c"], [], ["d"]]
RETRIEVED = [["x", "a"], ["c"], ["y"], []]


class MetricValue(NamedTuple):
    """What MLflow's class has."""

    scores: list[float]
    aggregate_results: dict[str, float]


class EvaluationMetric(NamedTuple):
    """What `mlflow.metrics.make_metric` returns."""

    eval_fn: Any
    greater_is_better: bool
    name: str


@pytest.fixture
def _mlflow(monkeypatch):
    """A package with the two names that the adapter takes: tested by hand with MLflow 3.18.0."""
    package, metrics = ModuleType("mlflow"), ModuleType("mlflow.metrics")
    package.metrics, metrics.MetricValue, metrics.make_metric = metrics, MetricValue, EvaluationMetric
    monkeypatch.setitem(sys.modules, "mlflow", package)
    monkeypatch.setitem(sys.modules, "mlflow.metrics", metrics)


@pytest.mark.usefixtures("_mlflow")
def test_mlflow_metric():
    """One score a row, in the order of rows. A row without relevant ids is NaN and left out of the mean."""
    metric = mlflow.make_metric("ndcg@5")
    assert (metric.name, metric.greater_is_better) == ("nDCG_at_5", True)
    found = metric.eval_fn(RETRIEVED, RELEVANT)
    expected = [1 / math.log2(3) / (1 + 1 / math.log2(3)), 1, math.nan, 0]
    assert found.scores == pytest.approx(expected, rel=1e-15, nan_ok=True)
    assert found.aggregate_results == {"mean": pytest.approx(sum(expected[:2]) / 3, rel=1e-15)}
    theirs = mlflow.make_metric("P@5", convention="mlflow").eval_fn(RETRIEVED, RELEVANT)
    assert theirs.scores == [1 / 2, 1, 0, 0]
    assert not mlflow.make_metric("Rank").greater_is_better
    refused("no metric is called 'ndgc'", mlflow.make_metric, "ndgc")


def test_ragas_metric():
    """The function has ragas's names of arguments, and compares ids as texts."""
    metric = ragas.make_metric("recall@2")
    assert metric.__name__ == "R@2"
    found = [
        metric(retrieved_context_ids=ids, reference_context_ids=own)
        for ids, own in zip(RETRIEVED, RELEVANT, strict=True)
    ]
    assert found == pytest.approx([1 / 2, 1, math.nan, 0], nan_ok=True)
    assert metric([7, 8], ["8"]) == 1
    assert ragas.make_metric("P", convention="ragas")(["a", "b"], ["a"]) == 1 / 2
