"""Run the function of a custom metric, and name the metric and the query in its errors."""

from __future__ import annotations

from typing import Any

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.task import MetricTask
from fastndcg.errors import RegisteredMetricError
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name


def evaluate_custom_metric(chunk: Chunk, task: MetricTask, arguments: list[Any], out: Array) -> None:
    """Fill in the values of a custom metric in a chunk."""
    *_, out_at = arguments
    try:
        task.kernel(*arguments, out)
    except Exception as error:
        query = chunk.context.rankings.query_name(chunk.labels.first + int(out_at[0]))
        raise RegisteredMetricError(
            f"the function of the registered metric {task.metric} failed at {query}: {type(error).__name__}: "
            f"{show_name(error)}"
        ) from error
