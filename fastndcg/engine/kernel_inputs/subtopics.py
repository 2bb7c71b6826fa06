"""Inputs of diversity metrics, whose judgments are by subtopic."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from fastndcg.engine.chunk import Chunk, make_discounts
from fastndcg.engine.kernel_inputs.registry import KernelInput, MetricTask, kernel_input, register_input
from fastndcg.engine.scratch import F8, I4, I8
from fastndcg.errors import Choice, InvalidInputError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import Array, read_only

VITAL = 1.0  # the least importance of a vital nugget


class SubtopicTable(NamedTuple):
    """The relevant subtopics of each label pattern, as kernels read them."""

    offsets: Array
    subtopics: Array
    n_slots: int


class IdealOrder(NamedTuple):
    """The greedy ideal ranking of the judged documents as hits (see `HitArrays`)."""

    labels: Array
    above: Array
    ties: Array
    offsets: Array


def read_patterns(chunk: Chunk) -> Patterns:
    """Return the label patterns of the rankings."""
    return cast(Patterns, chunk.context.rankings.patterns)  # not None: `prepare` has refused plain labels


def read_table(chunk: Chunk, task: MetricTask) -> SubtopicTable:
    """Return the subtopics with a label of `rel` or more."""
    patterns = read_patterns(chunk)
    return SubtopicTable(*patterns.relevant(task.rel), patterns.n_subtopics)


@kernel_input()
def pattern_offsets(chunk: Chunk, task: MetricTask) -> Array:
    """Return the offsets of each pattern's relevant subtopics."""
    return read_table(chunk, task).offsets


@kernel_input()
def pattern_subtopics(chunk: Chunk, task: MetricTask) -> Array:
    """Return the relevant subtopics of all patterns."""
    return read_table(chunk, task).subtopics


@kernel_input()
def n_slots(chunk: Chunk, task: MetricTask) -> int:
    """Return a number above those of all subtopics."""
    return read_patterns(chunk).n_subtopics


@kernel_input(scope="labels", key=("rel",))
def n_subtopics(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the subtopics of each query that have a relevant document."""
    pool = chunk.labels.pool_candidates
    load_kernels("metrics.subtopics").count_subtopics(pool.labels, pool.offsets, *read_table(chunk, task), out)


@kernel_input(scope="ranking", key=("rel", "k"))
def n_covered(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected number of subtopics with a relevant document in the first k ranks."""
    table = read_table(chunk, task)
    cover(chunk, task, table, np.ones(table.n_slots), np.zeros(len(out) + 1, I8), out)


@kernel_input(scope="ranking", key=("rel", "k", "metric.importance", "metric.partial"))
def support(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected weight of the supported subtopics, of which a partly supported one has a share."""
    full = read_table(chunk, task)
    weights, offsets = weigh_subtopics(chunk, task)
    cover(chunk, task, full, weights, offsets, out)
    partial = float(task.metric.get("partial"))
    if partial > 0.0:  # with a label above 0, by a share; with a label of `rel`, by the rest
        patterns = read_patterns(chunk)
        at_all = np.empty(len(out))
        cover(chunk, task, SubtopicTable(*patterns.relevant(0.0), full.n_slots), weights, offsets, at_all)
        out += partial * (at_all - out)


@kernel_input(scope="labels", key=("metric.importance",))
def total_importance(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Sum up the weights of each query's subtopics."""
    patterns = read_patterns(chunk)
    if patterns.importance is None:
        pool = chunk.labels.pool_candidates
        table = SubtopicTable(*patterns.relevant(0.0), patterns.n_subtopics)
        load_kernels("metrics.subtopics").count_subtopics(pool.labels, pool.offsets, *table, out)
    else:
        weights, offsets = weigh_subtopics(chunk, task)
        sizes = np.diff(offsets)
        queries = np.repeat(np.arange(len(sizes)), sizes)
        out[:] = np.bincount(queries, weights[offsets[0] : offsets[-1]], minlength=len(sizes))


def weigh_subtopics(chunk: Chunk, task: MetricTask) -> tuple[Array, Array]:
    """Return the weights of all subtopics, and the offsets of those of each query."""
    patterns = read_patterns(chunk)
    if patterns.importance is None:
        return np.ones(patterns.n_subtopics), np.zeros(chunk.labels.n_queries + 1, I8)
    weights, offsets = patterns.importance
    choice = task.metric.get("importance")
    if choice != "weighted":
        weights = (weights >= VITAL).astype("f8") if choice == "vital" else np.ones(len(weights))
    return weights, offsets[chunk.labels.first : chunk.labels.stop + 1]


def cover(chunk: Chunk, task: MetricTask, table: SubtopicTable, weights: Array, offsets: Array, out: Array) -> None:
    """Compute the expected weight of the subtopics of a table that the first k ranks cover."""
    hits = chunk.hits
    load_kernels("metrics.subtopics").cover(
        hits.labels, hits.above, hits.ties, hits.offsets, *table, read_only(weights), read_only(offsets), task.k, out
    )


@kernel_input(scope="ranking", key=("rel", "k"))
def all_covered(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the probability that the first k ranks have a relevant document of every subtopic."""
    hits = chunk.hits
    load_kernels("metrics.subtopics").cover_all(
        hits.labels, hits.above, hits.ties, hits.offsets, *read_table(chunk, task), n_subtopics(chunk, task), task.k,
        out,
    )  # fmt: skip
    if (out < 0.0).any():
        query = chunk.context.rankings.query_name(chunk.labels.first + int(np.argmax(out < 0.0)))
        raise InvalidInputError(
            f"`scores` must not tie at rank {task.k} between documents of more than 16 missing subtopics for "
            f"{task.metric}, but those of {query} do: its mean over the orders of the tie goes over all sets of them. "
            "Take ",
            Choice("ties", ["id_descending", "input"]),
            ".",
        )


@kernel_input(scope="labels", key=("metric.beta",), size=lambda chunk, task: len(chunk.context.discounts.values))
def novelty_decay(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute beta^(rank − 1) for each rank. Entry 0 is unused."""
    np.power(float(task.metric.get("beta")), np.arange(-1.0, len(out) - 1), out=out)


def find_weights(kind: str, chunk: Chunk, task: MetricTask) -> Array:
    """Return the weight of novelty at each rank: the convention's discount, 1 / rank, or a decay."""
    discounts = chunk.context.discounts.values
    if kind == "discount":
        return discounts
    if kind == "reciprocal":
        return make_discounts("1/r", len(discounts) - 1).values
    return novelty_decay(chunk, task)


def read_alpha(task: MetricTask) -> float:
    """Return the share of its gain that a repeated subtopic loses."""
    return float(task.metric.get("alpha"))


@kernel_input(scope="labels", key=("metric.alpha", "rel"))
def greedy_order(chunk: Chunk, task: MetricTask) -> IdealOrder:
    """
    Compute the greedy ideal ranking: the next document is the one that gains most.

    The true ideal ranking is NP-hard.
    """
    labels = chunk.labels
    pool = labels.pool_candidates
    alpha = read_alpha(task)
    n_documents = len(pool.labels)
    order = IdealOrder(
        labels=labels.take(("greedy labels", alpha, task.rel), n_documents, F8),
        above=labels.take(("greedy above", alpha, task.rel), n_documents, I4),
        ties=labels.take(("greedy ties", alpha, task.rel), n_documents, I4),
        offsets=labels.take(("greedy offsets", alpha, task.rel), len(pool.offsets), I8),
    )
    load_kernels("metrics.subtopics").best_order(
        pool.labels, pool.offsets, *read_table(chunk, task), alpha, chunk.context.depth, *order
    )
    return order


def _register_novelty(kind: str) -> None:
    """Register novelty with weights of a kind, its value for the ideal ranking, and its upper bound."""

    def novelty(chunk: Chunk, task: MetricTask, out: Array) -> None:
        hits = chunk.hits
        load_kernels("metrics.subtopics").novelty(
            hits.labels, hits.above, hits.ties, hits.offsets, *read_table(chunk, task),
            find_weights(kind, chunk, task), read_alpha(task), task.k, out,
        )  # fmt: skip

    def ideal_novelty(chunk: Chunk, task: MetricTask, out: Array) -> None:
        load_kernels("metrics.subtopics").novelty(
            *greedy_order(chunk, task), *read_table(chunk, task), find_weights(kind, chunk, task), read_alpha(task),
            task.k, out,
        )  # fmt: skip

    def max_novelty(chunk: Chunk, task: MetricTask) -> Array:
        share_left = 1.0 - read_alpha(task)
        counts = n_subtopics(chunk, task)
        if kind == "decay":
            return counts / (1.0 - share_left * float(task.metric.get("beta")))
        weights = find_weights(kind, chunk, task)
        sums = np.cumsum(weights[1:] * np.power(share_left, np.arange(len(weights) - 1)))
        ranks = np.clip(count_ranks(chunk, task), 1, len(sums)).astype("i8")
        return np.asarray(counts * sums[ranks - 1])

    key = ("metric.alpha", "metric.beta", "rel", "k")
    register_input(KernelInput(f"novelty_by_{kind}", novelty, "ranking", key))
    register_input(KernelInput(f"ideal_novelty_by_{kind}", ideal_novelty, "labels", key))
    register_input(KernelInput(f"max_novelty_by_{kind}", max_novelty, None, ()))


def count_ranks(chunk: Chunk, task: MetricTask) -> Array:
    """Return k, or the number of ranked documents for a metric without a cutoff."""
    sizes = chunk.labels.sizes
    return sizes.astype("f8") if task.metric.k is None else np.full(len(sizes), task.cutoff)


for _kind in ("discount", "reciprocal", "decay"):
    _register_novelty(_kind)
