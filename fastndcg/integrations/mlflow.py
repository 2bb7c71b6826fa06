"""
Adapter to MLflow: a metric of ranked ids for `mlflow.models.evaluate`.

Columns of predictions and targets hold a list of ids in each row, as for MLflow's own `ndcg_at_k`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metrics, check_direction, parse_single_metric
from fastndcg.runtime.imports import optional_import


def make_metric(metric: Metrics, **options: Any) -> Any:
    """
    Create a metric for ``mlflow.models.evaluate(..., extra_metrics=[make_metric("ndcg@10")])``.

    Parameters
    ----------
    metric : str or Metric
        One metric, such as "ndcg@10".
    **options
        Arguments of `evaluate`, such as ``convention="mlflow"``.

    Returns
    -------
    mlflow.models.EvaluationMetric
        Its name is the metric's, with _at_ for @. It gives one score a row, NaN where the metric is undefined, and the
        mean without those.

    Raises
    ------
    InvalidInputError
        If the metric is unknown or has no direction. When MLflow calls it: if `evaluate` raises it.
    MissingPackageError
        If mlflow is not installed.

    Examples
    --------
    >>> make_metric("ndgc@10")
    Traceback (most recent call last):
    ...
    fastndcg.errors.UnknownMetricError: no metric is called 'ndgc'. Did you mean 'ndcg'? ...
    """
    first = parse_single_metric(metric, "Make one function of each.")
    check_direction([first], "MLflow")
    module = optional_import("mlflow.metrics", "a metric for MLflow", "")

    def compute(predictions: Sequence[Any], targets: Sequence[Any]) -> Any:
        relevant = {row: set(ids) for row, ids in enumerate(targets)}
        result = evaluate(relevant, {row: list(ids) for row, ids in enumerate(predictions)}, first, **options)
        return module.MetricValue(scores=result[first].tolist(), aggregate_results={"mean": result.means()[0]})

    name = str(first).replace("@", "_at_")
    return module.make_metric(eval_fn=compute, greater_is_better=first.sign > 0, name=name)
