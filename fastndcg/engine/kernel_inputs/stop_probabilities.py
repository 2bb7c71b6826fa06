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
register_reader("constant_label", lambda chunk, task: chunk.labels.constant_label)


@kernel_input("hit_stops", scope="ranking", key=("metric.stop", "metric.max_grade"), size=count_candidates)
def hit_stops(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the stop probability at each hit."""
    stops = out[: len(chunk.hits.labels)]
    if np.isnan(chunk.labels.constant_label):
        fill_stops(chunk, task, chunk.hits.labels, stops)
    else:
        stops.fill(constant_stop(chunk, task))
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
        truncates = chunk.context.plan.convention.label_fractions == "cut off"
        kernels.exp2_gains(np.trunc(labels) if truncates else labels, 0.0, out)
        np.ldexp(out, -int(find_highest_stop(task.metric)), out=out)


def constant_stop(chunk: Chunk, task: MetricTask) -> float:
    """Return the stop probability of all candidates, which have the same label."""
    stop = np.empty(1)
    fill_stops(chunk, task, np.array([chunk.labels.constant_label]), stop)
    return float(stop[0])


@kernel_input("ideal_err", scope="labels", key=("metric",))
def ideal_err(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute ERR@k of the ideal ranking."""
    kernels = load_kernels("metrics.cascade")
    labels = chunk.labels
    if np.isnan(labels.constant_label):
        ideal = labels.ideal(chunk.context)
        stops = chunk.take("ideal stops", len(ideal.labels), F8)
        fill_stops(chunk, task, ideal.labels, stops)
        kernels.ideal_err(stops, ideal.offsets, task.k, out)
    else:
        kernels.ideal_err_with_equal_labels(constant_stop(chunk, task), labels.pool_candidates.offsets, task.k, out)


@kernel_input("falling_labels")
def falling_labels(chunk: Chunk, task: MetricTask) -> Array:
    """Return the judged labels other than 0 in falling order, for metrics without a cutoff."""
    labels = chunk.labels
    return labels.ideal(chunk.context).labels if np.isnan(labels.constant_label) else labels.pool_candidates.labels


@kernel_input("ideal_order_labels")
def ideal_labels_or_pool(chunk: Chunk, task: MetricTask) -> Array:
    """Return the labels of the ideal ranking, down to the deepest cutoff or further."""
    labels = chunk.labels
    return labels.pool_candidates.labels if labels.constant_label > 0.0 else labels.ideal(chunk.context).labels


@kernel_input("ideal_order_offsets")
def ideal_offsets_or_pool(chunk: Chunk, task: MetricTask) -> Array:
    """Return the query offsets of `ideal_order_labels`."""
    labels = chunk.labels
    return labels.pool_candidates.offsets if labels.constant_label > 0.0 else labels.ideal(chunk.context).offsets


@kernel_input("judged_sizes")
def judged_sizes(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of judged documents of each query."""
    pool = chunk.context.rankings.pool
    return chunk.labels.sizes if pool is None else np.diff(pool[1][chunk.labels.first : chunk.labels.stop + 1])
