"""Inputs of cascade metrics, such as ERR: stop probabilities, and labels of the pool in falling order."""

from __future__ import annotations

import numpy as np

from fastndcg.engine.buffers import F8
from fastndcg.engine.chunk import Chunk
from fastndcg.engine.kernel_inputs.gains import count_candidates
from fastndcg.engine.kernel_inputs.kernel_input import kernel_input, register_reader
from fastndcg.engine.label_checks import check_stops, find_highest_stop
from fastndcg.engine.task import MetricTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array

register_reader("judged_labels", lambda chunk, task: chunk.labels.pool_candidates.labels)
register_reader("judged_offsets", lambda chunk, task: chunk.labels.pool_candidates.offsets)


@kernel_input("hit_stops", scope="ranking", key=("metric.stop", "metric.max_grade"), size=count_candidates)
def hit_stops(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the stop probability at each hit."""
    stops = out[: len(chunk.hits.labels)]
    fill_stops(chunk, task, chunk.hits.labels, stops)
    return stops


def fill_stops(chunk: Chunk, task: MetricTask, labels: Array, out: Array) -> None:
    """Fill in the stop probabilities of labels, and raise an error for labels above the highest grade."""
    kernels = load_kernels("metrics.dcg")
    chunk_labels = chunk.labels
    check_stops(
        chunk_labels.pool_candidates.labels, chunk_labels.candidates.labels, task.metric, chunk.context.rankings
    )
    if task.metric.get("stop") == "labels":
        kernels.linear_gains(labels, 0.0, out)
    else:
        truncates = chunk.context.convention.label_fractions == "cut off"
        kernels.exp2_gains(np.trunc(labels) if truncates else labels, 0.0, out)
        np.ldexp(out, -int(find_highest_stop(task.metric)), out=out)


@kernel_input("ideal_err", scope="labels", key=("metric",))
def ideal_err(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute ERR@k of the ideal ranking."""
    kernels = load_kernels("metrics.cascade")
    ideal = chunk.labels.ideal(chunk.context)
    stops = chunk.take("ideal stops", len(ideal.labels), F8)
    fill_stops(chunk, task, ideal.labels, stops)
    kernels.ideal_err(stops, ideal.offsets, task.k, out)


@kernel_input("judged_sizes")
def judged_sizes(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of judged documents of each query."""
    pool = chunk.context.rankings.pool
    return chunk.labels.sizes if pool is None else np.diff(pool[1][chunk.labels.first : chunk.labels.stop + 1])
