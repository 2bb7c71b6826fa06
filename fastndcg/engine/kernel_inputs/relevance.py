"""Inputs of kernels that count relevant documents: numbers of them, denominators, interpolated precision."""

from __future__ import annotations

import functools

import numpy as np

from fastndcg.engine.buffers import F8, I4, I8
from fastndcg.engine.chunk import Chunk
from fastndcg.engine.kernel_inputs.basics import cutoffs, read_cutoff
from fastndcg.engine.kernel_inputs.kernel_input import KernelInput, kernel_input, point_input
from fastndcg.engine.task import MetricTask
from fastndcg.errors import InvalidInputError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_stopped

# what is added to recall · R before its fraction is cut off: 0.7 · 10 is a little more than 7
RECALL_ROUNDING = {"up": 1.0 - 1e-9, "nearest": 0.5, "up from a tenth": 0.9}


@kernel_input("n_relevant", scope="labels", key=("rel",))
def n_relevant(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the relevant documents of each query, retrieved or not."""
    count_relevant(chunk, task.rel, out)


def count_relevant(chunk: Chunk, rel: float, out: Array) -> None:
    """Count the pool's candidates of each query with a label of `rel` or more."""
    pool = chunk.labels.pool_candidates
    if chunk.labels.lowest_label >= rel:
        np.subtract(pool.offsets[1:], pool.offsets[:-1], out=out)
    else:
        load_kernels("ranking.candidates").count_relevant(pool.labels, pool.offsets, rel, out)


def _count_min_labels(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the documents of each query whose label makes the value of a metric defined."""
    if task.min_relevant_label is not None:
        count_relevant(chunk, task.min_relevant_label, out)


# of the same name as `n_relevant`, so that both share one cached array where the labels agree
n_with_min_label = KernelInput("n_relevant", _count_min_labels, "labels", ("min_relevant_label",))


@kernel_input("n_relevant_ranked")
def n_relevant_ranked(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of relevant documents among those ranked."""
    is_pooled = chunk.context.rankings.pool is not None
    return n_relevant_candidates(chunk, task) if is_pooled else n_relevant(chunk, task)


@kernel_input("n_relevant_candidates", scope="labels", key=("rel",))
def n_relevant_candidates(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the relevant documents of each query among those ranked."""
    candidates = chunk.labels.candidates
    load_kernels("ranking.candidates").count_relevant(candidates.labels, candidates.offsets, task.rel, out)


@kernel_input("min_k_n_relevant")
def min_k_n_relevant(chunk: Chunk, task: MetricTask) -> Array:
    """Return the smaller of k and the number of relevant documents."""
    is_below = most_relevant(chunk, task) <= task.k
    return n_relevant(chunk, task) if is_below else computed_min_k_n_relevant(chunk, task)


@kernel_input("computed_min_k_n_relevant", scope="labels", key=("k", "rel"))
def computed_min_k_n_relevant(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the smaller of k and the number of relevant documents."""
    np.minimum(n_relevant(chunk, task), task.k, out=out)


@kernel_input("most_relevant", scope="labels", key=("rel",))
def most_relevant(chunk: Chunk, task: MetricTask) -> float:
    """Return the largest number of relevant documents of a query in the chunk."""
    return float(n_relevant(chunk, task).max(initial=0.0))


@kernel_input("relevant_hits", scope="ranking", key=("rel",))
def relevant_hits(chunk: Chunk, task: MetricTask) -> tuple[Array, Array, Array]:
    """Return the queries, the ranks less one and the query offsets of the relevant hits."""
    hits = chunk.hits
    if chunk.context.rankings.pool is None and chunk.labels.lowest_label >= task.rel:
        return hits.queries, hits.above, hits.offsets
    queries = chunk.take(("relevant queries", task.rel), len(hits.above), I4)
    above = chunk.take(("relevant above", task.rel), len(hits.above), I4)
    offsets = chunk.take(("relevant offsets", task.rel), chunk.labels.n_queries + 1, I8)
    load_kernels("metrics.interpolated_precision").keep_relevant(
        hits.queries, hits.above, hits.labels, task.rel, queries, above, offsets
    )
    n_hits = offsets.item(-1)
    return queries[:n_hits], above[:n_hits], offsets


@kernel_input("relevant_queries")
def relevant_queries(chunk: Chunk, task: MetricTask) -> Array:
    """Return the query of each relevant hit."""
    return relevant_hits(chunk, task)[0]


@kernel_input("relevant_above")
def relevant_above(chunk: Chunk, task: MetricTask) -> Array:
    """Return the rank less one of each relevant hit."""
    return relevant_hits(chunk, task)[1]


@kernel_input("relevant_offsets")
def relevant_offsets(chunk: Chunk, task: MetricTask) -> Array:
    """Return the query offsets of the relevant hits."""
    return relevant_hits(chunk, task)[2]


@kernel_input("recalls")
def recalls(chunk: Chunk, task: MetricTask) -> Array:
    """Return the recalls of a metric that averages over several."""
    return np.array(task.metric.get("recalls"), float)


@kernel_input("n_recalls_needing")
def n_recalls_needing(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of recalls that need n of R relevant documents, for small R."""
    return count_recalls_needing(task.metric.get("recalls"), recall_rounding(chunk, task))


@functools.lru_cache(maxsize=16)
def count_recalls_needing(recalls: tuple[float, ...], rounding: float) -> Array:
    """Return the table of `n_recalls_needing` (see kernels/metrics/interpolated_precision.py)."""
    few = load_kernels("metrics.interpolated_precision").FEW
    wide = load_kernels("simd").WIDE
    counts = np.zeros((few + 1, wide))
    for n_relevant in range(few + 1):
        counts_needed = np.maximum(np.floor(np.array(recalls, float) * n_relevant + rounding), 1.0)
        counts[n_relevant] = np.bincount(counts_needed.astype(int), minlength=wide)[:wide]
    return read_only(counts.ravel())


@kernel_input("recall_rounding")
def recall_rounding(chunk: Chunk, task: MetricTask) -> float:
    """Return the number that is added to recall · R before its fraction is cut off."""
    return RECALL_ROUNDING[chunk.context.plan.convention.recall_rounding]


@point_input("interpolated", key=("rel",), point=lambda task: task.metric.get("recall"))
def interpolated(chunk: Chunk, task: MetricTask, points: tuple[float, ...], out: Array) -> None:
    """Compute the highest precision at each recall or above it."""
    queries, above, offsets = relevant_hits(chunk, task)
    highest = chunk.take("highest precisions", len(above) + 1, F8)
    load_kernels("metrics.interpolated_precision").interpolate(
        queries, above, offsets, n_relevant(chunk, task), np.array(points, float), recall_rounding(chunk, task),
        highest, out,
    )  # fmt: skip
    if chunk.has_average_ties:
        queries_with_ties, means = interpolate_tied(chunk, task, points)
        out[:, queries_with_ties] = means


@kernel_input("tied_queries", scope="ranking")
def tied_queries(chunk: Chunk, task: MetricTask) -> Array:
    """Return the queries in which scores tie between different labels and have no order."""
    out = chunk.take("tied queries", chunk.labels.n_queries, I4)
    return out[: load_kernels("ranking.tie_policies").find_tied_queries(chunk.hits.queries, chunk.hits.ties, out)]


@functools.lru_cache(maxsize=16)
def sort_distinct(points: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the distinct points in rising order, and the index of each point among them."""
    return np.unique(np.array(points, float), return_inverse=True)


def interpolate_tied(chunk: Chunk, task: MetricTask, recalls: tuple[float, ...]) -> tuple[Array, Array]:
    """
    Return the queries with ties, and their mean interpolated precision at each recall over the orders of the ties.

    Raise an error if a tie group is too large.
    """
    kernels = load_kernels("metrics.interpolated_ties")
    hits = chunk.hits
    levels, indices = sort_distinct(recalls)
    queries = tied_queries(chunk, task)
    means = np.empty((len(levels), len(queries)))
    rounding = recall_rounding(chunk, task)
    n_done = 0
    while n_done < len(queries):
        check_stopped()
        n_done = kernels.interpolate_tied(
            queries, hits.above, hits.ties, hits.labels, hits.offsets, task.rel, n_relevant(chunk, task), levels,
            rounding, n_done, means,
        )  # fmt: skip
    if (means[0] < 0).any():
        query = chunk.context.rankings.query_name(chunk.labels.first + queries.item(np.argmax(means[0] < 0)))
        raise InvalidInputError(
            f"`scores` must not tie so many documents of {query} for {task.metric}: relevant × (relevant + "
            f"{kernels.STEPS_PER_VALUE}) × other documents of its tie groups must add up to at most "
            f"{kernels.MAX_STEPS:.0f}. Take convention.replace(ties='input')."
        )
    return queries, means[indices]


@kernel_input("tied_expectations")
def interpolated_at_ties(chunk: Chunk, task: MetricTask) -> tuple[Array, Array]:
    """Return the queries with ties and their interpolated precisions, empty arrays where nothing ties."""
    if chunk.has_average_ties:
        return interpolate_tied(chunk, task, task.metric.get("recalls"))
    return np.empty(0, I4), np.empty((0, 0))


@point_input("n_relevant_at_multiple", key=("k", "rel"), point=lambda task: task.metric.get("mult"))
def n_relevant_at_multiples(chunk: Chunk, task: MetricTask, points: tuple[float, ...], out: Array) -> None:
    """Compute the expected number of relevant hits in the first ⌈multiple · R⌉ ranks, for R relevant documents."""
    hits = chunk.hits
    counts = n_relevant(chunk, task)
    if len(points) > 1:
        load_kernels("metrics.rprec_multiples").count_found_at_multiples(
            hits.above, hits.ties, hits.labels, hits.offsets, task.rel, counts, np.array(points, float), task.k, out
        )
    else:
        ranks = np.multiply(counts, points[0], out=chunk.take("ranks", len(counts), F8))
        ranks = np.minimum(np.floor(np.add(ranks, 0.9, out=ranks), out=ranks), float(task.k), out=ranks)
        load_kernels("metrics.precision_recall").count_found(
            hits.queries, hits.above, hits.ties, hits.labels, task.rel, ranks, out[0]
        )


@kernel_input("ap_denominators")
def ap_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """
    Return the denominators of AP, 0 where nothing is relevant.

    The choice 'n_hits' has a kernel that counts hits itself.
    """
    choice = chunk.context.plan.convention.ap_denominator
    if choice == "n_relevant":
        return n_relevant(chunk, task)
    if choice in ("min(k, n_relevant)", "n_hits"):
        return min_k_n_relevant(chunk, task)
    return other_ap_denominators(chunk, task)


@kernel_input("other_ap_denominators", scope="labels", key=("k", "metric.k", "rel"))
def other_ap_denominators(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """
    Compute the denominators of the other choices.

    They are k, or 0 where nothing is relevant, or the smallest of k and the numbers of relevant and ranked documents.
    """
    if chunk.context.plan.convention.ap_denominator == "k":
        out[:] = np.where(n_relevant(chunk, task) > 0, read_cutoff(task.metric), 0.0)
    else:
        np.minimum(min_k_n_relevant(chunk, task), chunk.labels.sizes, out=out)


@kernel_input("min_k_n_retrieved", scope="labels", key=("k",))
def min_k_n_retrieved(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the smaller of k and the number of ranked documents."""
    np.minimum(chunk.labels.sizes, float(task.k), out=out)


@kernel_input("precision_denominators")
def precision_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of P. Without k they are the numbers of ranked documents."""
    choice = chunk.context.plan.convention.precision_denominator
    if choice == "min(k, n_relevant)":
        return min_k_n_relevant(chunk, task)
    if choice == "k" and task.metric.k is not None:
        return cutoffs(chunk, task)
    return min_k_n_retrieved(chunk, task)


@kernel_input("recall_denominators")
def recall_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of R, 0 where nothing is relevant."""
    if chunk.context.plan.convention.recall_denominator == "n_relevant":
        return n_relevant(chunk, task)
    return min_k_n_relevant(chunk, task)


@kernel_input("relative_denominators")
def relative_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of RelP, 0 where nothing is relevant and 1 where nothing is ranked."""
    if task.metric.k is not None:
        return min_k_n_relevant(chunk, task)
    return np.asarray(np.minimum(n_relevant(chunk, task), np.maximum(chunk.labels.sizes, 1)))
