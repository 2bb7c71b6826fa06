"""Inputs of diversity metrics, whose judgments are by subtopic."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.discounts import make_discounts
from fastndcg.engine.kernel_inputs.registry import KernelInput, MetricTask, kernel_input, register_input
from fastndcg.engine.scratch import F8, I4, I8
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import Array


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
