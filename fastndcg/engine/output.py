"""The output of all engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array


@dataclass(slots=True)
class EvaluationOutput:
    """
    Values of metrics, before they become `Results`.

    Attributes
    ----------
    values : (n_queries, n_metrics) float64 array
        One column a metric, then one for each denominator that was requested.
    n_tied : int
        The number of queries in which the order of equal scores matters.
    query_ids : array, optional
        One id a query, where the engine reads them together with the rankings.
    notes : tuple of str
        Remarks for the user.
    overall : mapping, optional
        Values of metrics that have one value for all queries together.
    document_ids : array, optional
        The document of each row, where rows are pairs.
    """

    values: Array
    n_tied: int = 0
    query_ids: Array | None = None
    notes: tuple[str, ...] = ()
    overall: Mapping[Metric, float] | None = None
    document_ids: Array | None = None
