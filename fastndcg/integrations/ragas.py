"""Metrics of context ids as ragas calls them: functions of `retrieved_context_ids` and `reference_context_ids`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metrics, parse_single_metric


def make_metric(metric: Metrics, **options: Any) -> Callable[..., float]:
    """
    Create a function for ragas's decorator of numbers: ``numeric_metric(name="ndcg@10")(make_metric("ndcg@10"))``.

    Parameters
    ----------
    metric : str or Metric
        One metric, such as "ndcg@10".
    **options
        Arguments of `evaluate`, such as ``convention="ragas"``.

    Returns
    -------
    callable
        A function of ``retrieved_context_ids``, the best first, and ``reference_context_ids``. It returns a float, NaN
        where the metric is undefined. Texts and whole numbers are compared as texts, as ragas does.

    Raises
    ------
    InvalidInputError
        If the metric is unknown. When it is called: if `evaluate` raises it.

    Examples
    --------
    >>> make_metric("recall@2")(retrieved_context_ids=["d9", "d1"], reference_context_ids=["d1", "d4"])
    0.5
    """
    first = parse_single_metric(metric, "Make one function of each.")

    def compute(retrieved_context_ids: list[Any], reference_context_ids: list[Any]) -> float:
        relevant = {str(name) for name in reference_context_ids}
        run = {"asked": [str(name) for name in retrieved_context_ids]}
        return float(evaluate({"asked": relevant}, run, first, **options)[first][0])

    compute.__name__ = str(first)
    return compute
