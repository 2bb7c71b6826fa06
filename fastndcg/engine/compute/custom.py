"""Metrics that users register."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.compute.counts import count_relevant
from fastndcg.engine.compute.gains import rank_ideal
from fastndcg.engine.task import Task
from fastndcg.errors import RegisteredMetricError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import custom as kernels
else:
    kernels = load_kernels("metrics.custom")


def evaluate_custom_metric(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute what the user's function returns for each query."""
    function = load_kernels("jit").compile_custom_metric(m.metric.record.function)
    hits = chunk.hits
    labels = chunk.labels
    ideal = rank_ideal(labels)
    parameters = tuple(m.numbers[parameter.name] for parameter in m.metric.record.parameters)
    place = np.zeros(1, "i8")
    n = count_relevant(labels, m.rel)
    try:
        kernels.evaluate_custom_metric(
            function, hits.labels, hits.above, hits.ties, hits.offsets, ideal.labels, ideal.above, ideal.offsets, n,
            labels.sizes, m.k, parameters, place, out,
        )  # fmt: skip
    except Exception as error:
        query = labels.truth.query_name(labels.first + int(place[0]))
        raise RegisteredMetricError(
            f"the function of the registered metric {m.metric} failed at {query}: {type(error).__name__}: "
            f"{show_name(error)}"
        ) from error
