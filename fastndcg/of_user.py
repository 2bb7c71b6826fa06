"""Runs the function of a registered metric, and names the metric and the query where it fails."""

from __future__ import annotations

from typing import Any

from fastndcg.chunk import Chunk
from fastndcg.errors import RegisteredMetricError
from fastndcg.kernels import registered
from fastndcg.kernels.jit import compiled
from fastndcg.metric import Metric
from fastndcg.rankings import Array


def fill(chunk: Chunk, metric: Metric, arguments: list[Any], out: Array) -> None:
    """Fill in the metric's values of a chunk."""
    evaluate: Any = registered.of_user
    *_, out_at = arguments
    try:
        evaluate(compiled(metric.record.function), *arguments, out)
    except Exception as error:
        query = chunk.job.rankings.query_name(chunk.truth.first + int(out_at[0]))
        raise RegisteredMetricError(
            f"the function of the registered metric {metric} failed at {query}: {type(error).__name__}: {error}"
        ) from error
