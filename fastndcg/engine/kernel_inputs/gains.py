"""Inputs that are read from a chunk or a task, and those of kernels that add up gains or follow a user who may stop."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from fastndcg.engine.apply import check_finite, check_stops, check_sums, check_unit_gains, find_highest_stop
from fastndcg.engine.chunk import Chunk, Discounts, make_discounts
from fastndcg.engine.kernel_inputs.registry import Call, MetricTask, kernel_input
from fastndcg.engine.scratch import BOOL, F8, I8, IdealHits
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array


def find_discounts(chunk: Chunk, task: MetricTask) -> Discounts:
    """Return the metric's own discounts, or the convention's. Raise an error if they lift gains beyond float64."""
    discounts = chunk.context.discounts if task.discount is None else make_similar_discounts(chunk, task.discount)
    if discounts.highest > 1.0:
        chunk.recording = None  # gains are checked for each ranking
        ideal = find_ideal(chunk, task)
        for gains, offsets in ((hit_gains(chunk, task), chunk.hits.offsets), (ideal_gains(chunk, task), ideal.offsets)):
            check_sums(gains, offsets, task.metric, chunk.context.rankings, chunk.labels.first, discounts.highest)
    return discounts


def make_similar_discounts(chunk: Chunk, discount: Value) -> Discounts:
    """Return other discounts for the same number of ranks as the convention's."""
    return make_discounts(discount, len(chunk.context.discounts.values) - 1)


kernel_input(name="sizes")(lambda chunk, task: chunk.labels.sizes)


for _field in ("above", "labels", "offsets"):
    kernel_input(name=f"ideal_{_field}")(
        lambda chunk, task, read=operator.attrgetter(_field): read(chunk.labels.ideal(chunk.context))
    )


def _register_discounts(names: tuple[str, str, str], find: Callable[[Chunk, MetricTask], Discounts]) -> None:
    """Register discounts by rank, their running sums, and the rounding errors of the sums."""
    for name, field in zip(names, ("values", "sums", "rests"), strict=True):
        read = operator.attrgetter(field)
        kernel_input(name=name)(lambda chunk, task, read=read: read(find(chunk, task)))


_register_discounts(("discounts", "discount_sums", "discount_rests"), find_discounts)
_register_discounts(
    ("log2_discounts", "log2_sums", "log2_rests"), lambda chunk, task: make_similar_discounts(chunk, "log2")
)


@kernel_input(scope="labels", key=("cutoff",))
def cutoffs(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Fill in the number of ranks of each query that count."""
    out.fill(task.cutoff)


@kernel_input()
def function(chunk: Chunk, task: MetricTask) -> Callable[..., float]:
    """Return the compiled function of a custom metric."""
    return load_kernels("jit").compile_custom_metric(task.metric.record.function)


@kernel_input()
def out_at(chunk: Chunk, task: MetricTask) -> Array:
    """Return an array for the number of the query that a custom metric evaluates."""
    return np.zeros(1, "i8")


for _name in ("counted", "whole", "rest", "dcg"):  # scratch arrays of one float64 a query
    kernel_input(name=f"out_{_name}")(lambda chunk, task, name=_name: chunk.take(name, chunk.labels.n_queries, F8))


GAIN_KEY = ("gain", "rel")


@kernel_input()
def hit_gains(chunk: Chunk, task: MetricTask) -> Array:
    """Return the gains of the hits."""
    if task.gains_are_labels and not chunk.context.truncates_labels:
        return chunk.hits.labels
    return computed_hit_gains(chunk, task)


def count_candidates(chunk: Chunk, task: MetricTask) -> int:
    """Return the number of candidates, which no number of hits exceeds."""
    return len(chunk.labels.candidates.labels)


@kernel_input(scope="ranking", key=GAIN_KEY, size=count_candidates)
def computed_hit_gains(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the gains of the hits from their labels."""
    hits = chunk.hits
    return fill_checked_gains(chunk, task, hits.labels, hits.offsets, out)


@kernel_input(scope="ranking", key=("k", "gain", "rel", "discount"), is_call=True)
def dcg(chunk: Chunk, task: MetricTask, out: Array) -> Call:
    """Compute DCG@k."""
    kernels = load_kernels("metrics.gains")
    hits = chunk.hits
    values, sums, rests, _ = find_discounts(chunk, task)
    gains = hit_gains(chunk, task)
    has_merged_ties = chunk.has_average_ties and merges_labels(chunk, task)
    if has_merged_ties or chunk.context.depth <= task.k or chunk.labels.longest <= task.k:
        kernel = kernels.add_equal_gains if has_merged_ties else kernels.add_all_gains
        return kernel, (hits.queries, hits.above, hits.ties, gains, values, sums, rests, task.k, out)
    return kernels.add_gains, (hits.above, hits.ties, gains, hits.offsets, values, sums, rests, task.k, out)


@kernel_input()
def hit_unit_gains(chunk: Chunk, task: MetricTask) -> Array:
    """Return the gains of the hits, and raise an error if one is below 0 or above 1."""
    labels = chunk.labels.candidates.labels
    if task.gain != "binary" and len(labels):
        extremes = np.unique(labels) if task.gain_falls else np.array([labels.min(), labels.max()])
        gains = np.empty(len(extremes))
        truncates = chunk.context.convention.label_fractions == "cut off"
        fill_gains(task.gain, np.trunc(extremes) if truncates else extremes, -np.inf if truncates else task.rel, gains)
        check_unit_gains(extremes, gains, task.metric, chunk.context.rankings)
    return hit_gains(chunk, task)


def find_ideal(chunk: Chunk, task: MetricTask) -> IdealHits:
    """
    Return the ideal ranking for the task's gain.

    It is sorted by label, or by gain where a higher label may gain less. Then its labels are gains.
    """
    labels = chunk.labels
    if not task.gain_falls:
        return labels.ideal(chunk.context)
    return labels.ideal_by_gain(chunk.context, pool_gains(chunk, task), (task.gain, task.rel))


@kernel_input(scope="labels", key=GAIN_KEY, size=lambda chunk, task: len(chunk.labels.pool_candidates.labels))
def pool_gains(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the gains of the pool's candidates."""
    pool = chunk.labels.pool_candidates
    return fill_checked_gains(chunk, task, pool.labels, pool.offsets, out)


@kernel_input()
def ideal_gains(chunk: Chunk, task: MetricTask) -> Array:
    """Return the gains of the ideal ranking."""
    ideal = find_ideal(chunk, task)
    if task.gain_falls or (task.gains_are_labels and not chunk.context.truncates_labels):
        return ideal.labels
    return computed_ideal_gains(chunk, task)


@kernel_input(scope="labels", key=GAIN_KEY, size=lambda chunk, task: len(find_ideal(chunk, task).labels))
def computed_ideal_gains(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the gains of the ideal ranking from its labels."""
    ideal = find_ideal(chunk, task)
    return fill_checked_gains(chunk, task, ideal.labels, ideal.offsets, out)


@kernel_input(
    scope="labels",
    key=GAIN_KEY,
    size=lambda chunk, task: len(chunk.labels.ideal(chunk.context, True).labels),
)
def varied_ideal_gains(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the gains of the ideal ranking without the queries in which all labels are 1."""
    ideal = chunk.labels.ideal(chunk.context, True)
    return fill_checked_gains(chunk, task, ideal.labels, ideal.offsets, out)


def fill_checked_gains(chunk: Chunk, task: MetricTask, labels: Array, offsets: Array, out: Array) -> Array:
    """
    Fill in the gains of labels and return them.

    Raise an error if gains of a query may add up beyond float64.
    """
    gains = out[: len(labels)]
    if task.gain == "binary":
        load_kernels("metrics.gains").binary_gains(labels, task.rel, gains)
    elif chunk.context.truncates_labels:
        fill_gains(task.gain, np.trunc(labels, out=gains), -np.inf, gains)
        is_below = chunk.take("labels below rel", len(out), BOOL)[: len(labels)]
        np.copyto(gains, 0.0, where=np.less(labels, task.rel, out=is_below))
    else:
        fill_gains(task.gain, labels, task.rel, gains)
    check_sums(gains, offsets, task.metric, chunk.context.rankings, chunk.labels.first)
    return gains


def fill_gains(gain: Value, labels: Array, rel: float, out: Array) -> None:
    """Fill in the gains of labels, 0 for those below `rel`."""
    kernels = load_kernels("metrics.gains")
    if gain == "linear":
        kernels.linear_gains(labels, rel, out)
    elif gain == "exp2":
        kernels.exp2_gains(labels, rel, out)
    else:
        kernels.table_gains(labels, np.array(gain), rel, out)


def merges_labels(chunk: Chunk, task: MetricTask) -> bool:
    """Return True if different labels may have the same gain other than 0."""
    if isinstance(task.gain, tuple):
        return len(set(task.gain)) < len(task.gain)
    return task.gain == "binary" or chunk.context.truncates_labels


@kernel_input(scope="labels", key=("gain", "rel"))
def highest_gains(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the highest gain of each query's judged documents, 0 where none gains."""
    load_kernels("metrics.gains").find_highest_gains(ideal_gains(chunk, task), find_ideal(chunk, task).offsets, out)


@kernel_input(scope="labels", key=("k", "gain", "rel", "discount"))
def idcg(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """
    Compute IDCG@k.

    A convention may replace the ideal ranking. Next, all labels may be 1: no ranking is needed. Next, some queries may
    have labels of 1 alone, which need no ranking either. The order of these cases is that of their speed.
    """
    kernels = load_kernels("metrics.gains")
    labels = chunk.labels
    pool_offsets = labels.pool_candidates.offsets
    discounts = find_discounts(chunk, task)
    if chunk.context.convention.ideal == "k best":
        with np.errstate(over="ignore"):
            np.multiply(highest_gains(chunk, task), discounts.sums[task.k], out=out)
        check_finite(out, task.metric, chunk.context.rankings, chunk.labels.first)
    elif chunk.context.convention.ideal == "min(k, n_retrieved)":
        ideal = find_ideal(chunk, task)
        gains = ideal_gains(chunk, task)
        kernels.idcg_of_retrieved(ideal.above, gains, ideal.offsets, labels.sizes, discounts.values, task.k, out)
    elif labels.are_all_ones and task.has_unit_gain:
        kernels.idcg_with_unit_gains(pool_offsets, discounts.sums, task.k, out)
    elif labels.lowest_label > 0 and task.has_unit_gain:
        ideal = labels.ideal(chunk.context, True)
        are_labels = task.gains_are_labels and not chunk.context.truncates_labels
        gains = ideal.labels if are_labels else varied_ideal_gains(chunk, task)
        kernels.add_ideal_gains(
            ideal.above, gains, ideal.offsets, pool_offsets, discounts.values, discounts.sums, task.k, out
        )
    else:
        ideal = find_ideal(chunk, task)
        gains = ideal_gains(chunk, task)
        kernels.add_ideal_gains(
            ideal.above, gains, ideal.offsets, ideal.offsets, discounts.values, discounts.sums, task.k, out
        )


@kernel_input()
def ideal_gain_offsets(chunk: Chunk, task: MetricTask) -> Array:
    """Return the query offsets of `ideal_gains`."""
    return find_ideal(chunk, task).offsets


@kernel_input(scope="labels", key=("gain", "rel"))
def n_gaining(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the documents of each query with a gain above 0, retrieved or not."""
    load_kernels("metrics.gains").count_gaining(ideal_gains(chunk, task), find_ideal(chunk, task).offsets, out)


@kernel_input()
def n_gaining_ranked(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of ranked documents with a gain above 0."""
    is_pooled = chunk.context.rankings.pool is not None
    return n_gaining_hits(chunk, task) if is_pooled else n_gaining(chunk, task)


@kernel_input(scope="ranking", key=("gain", "rel"))
def n_gaining_hits(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the hits of each query with a gain above 0."""
    out[:] = np.bincount(chunk.hits.queries, hit_gains(chunk, task) > 0.0, len(out))


@kernel_input(
    scope="labels",
    key=("gain", "rel", "discount"),
    size=lambda chunk, task: len(ideal_gains(chunk, task)) + chunk.labels.n_queries,
)
def idcg_by_rank(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute IDCG at each rank of each query, beginning with 0 at rank 0."""
    offsets = find_ideal(chunk, task).offsets
    discounts = find_discounts(chunk, task)
    load_kernels("metrics.gains").sum_ideal_gains(ideal_gains(chunk, task), offsets, discounts.values, out)


@kernel_input(scope="labels", key=("gain", "rel"))
def idcg_starts(chunk: Chunk, task: MetricTask) -> Array:
    """Return the index in `idcg_by_rank` of each query's rank 0."""
    labels = chunk.labels
    starts = labels.take(("idcg_starts", task.gain, task.rel), labels.n_queries, I8)
    np.add(find_ideal(chunk, task).offsets[:-1], np.arange(labels.n_queries), out=starts)
    return starts


kernel_input(name="judged_labels")(lambda chunk, task: chunk.labels.pool_candidates.labels)
kernel_input(name="judged_offsets")(lambda chunk, task: chunk.labels.pool_candidates.offsets)


@kernel_input(scope="ranking", key=("metric.stop", "metric.max_grade"), size=count_candidates)
def hit_stops(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute the stop probability at each hit."""
    stops = out[: len(chunk.hits.labels)]
    fill_stops(chunk, task, chunk.hits.labels, stops)
    return stops


def fill_stops(chunk: Chunk, task: MetricTask, labels: Array, out: Array) -> None:
    """Fill in the stop probabilities of labels, and raise an error for labels above the highest grade."""
    kernels = load_kernels("metrics.gains")
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


@kernel_input(scope="labels", key=("metric",))
def ideal_err(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute ERR@k of the ideal ranking."""
    kernels = load_kernels("metrics.cascades")
    ideal = chunk.labels.ideal(chunk.context)
    stops = chunk.take("ideal stops", len(ideal.labels), F8)
    fill_stops(chunk, task, ideal.labels, stops)
    kernels.ideal_err(stops, ideal.offsets, task.k, out)


@kernel_input()
def judged_sizes(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of judged documents of each query."""
    pool = chunk.context.rankings.pool
    return chunk.labels.sizes if pool is None else np.diff(pool[1][chunk.labels.first : chunk.labels.stop + 1])
