"""Metrics of subtopics: novelty and diversity, intent-aware means, coverage, nuggets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from fastndcg.engine.chunk import Chunk, ChunkLabels, compute_powers
from fastndcg.engine.compute.counts import precision_denominators
from fastndcg.engine.compute.gains import find_discounts
from fastndcg.engine.compute.memo import per_labels, per_ranking
from fastndcg.engine.scratch import F8, I4, I8
from fastndcg.engine.task import Task
from fastndcg.errors import Choice, InvalidInputError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import Value
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import Array, read_only

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import counts as count_kernels
    from fastndcg.kernels.metrics import subtopics as kernels
else:
    kernels = load_kernels("metrics.subtopics")
    count_kernels = load_kernels("metrics.counts")

VITAL = 1.0  # the least importance of a vital nugget


class SubtopicTable(NamedTuple):
    """The relevant subtopics of each label pattern, as kernels read them."""

    offsets: Array
    subtopics: Array
    n_slots: int


class IdealOrder(NamedTuple):
    """The greedy ideal ranking of the judged documents as hits (see `ChunkHits`)."""

    labels: Array
    above: Array
    ties: Array
    offsets: Array


def share_of_best(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute alpha-nDCG@k, nERR-IA@k or nNRBP: novelty over that of the ideal ranking."""
    best = ideal_novelty(chunk.labels, m.rel, m.numbers["alpha"], m.metric.get("beta"), m.discount, m.k)
    count_kernels.divide(find_novelty(chunk, m), best, out)


def share_of_limit(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute alpha-DCG@k, ERR-IA@k or NRBP: novelty over that of documents relevant to all subtopics."""
    count_kernels.divide(find_novelty(chunk, m), find_limit(chunk.labels, m), out)


def precision_ia(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute P-IA@k: the mean of the subtopics' P@k."""
    hits = chunk.hits
    labels = chunk.labels
    offsets, subtopics, _ = read_table(labels, m.rel)
    kernels.precision_ia(
        hits.labels, hits.above, hits.ties, hits.offsets, offsets, subtopics, n_subtopics(labels, m.rel),
        precision_denominators(labels, m), m.k, out,
    )  # fmt: skip


def average_precision_ia(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute AP-IA@k: the mean of the subtopics' AP@k."""
    hits = chunk.hits
    labels = chunk.labels
    pool = labels.pool_candidates
    kernels.average_precision_ia(
        hits.labels, hits.above, hits.ties, hits.offsets, pool.labels, pool.offsets, *read_table(labels, m.rel),
        n_subtopics(labels, m.rel), m.k, out,
    )  # fmt: skip


def subtopic_recall(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute S-recall@k: the share of the subtopics with a relevant document in the first k ranks."""
    table = read_table(chunk.labels, m.rel)
    n_covered = chunk.take(len(out))
    cover(chunk, table, np.ones(table.n_slots), np.zeros(len(out) + 1, I8), m.k, n_covered)
    kernels.subtopic_recall(n_covered, n_subtopics(chunk.labels, m.rel), out)


def all_evidence(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the probability that the first k ranks have a relevant document of every subtopic."""
    hits = chunk.hits
    labels = chunk.labels
    kernels.cover_all(
        hits.labels, hits.above, hits.ties, hits.offsets, *read_table(labels, m.rel), n_subtopics(labels, m.rel), m.k,
        out,
    )  # fmt: skip
    if (out < 0.0).any():
        query = labels.truth.query_name(labels.first + int(np.argmax(out < 0.0)))
        raise InvalidInputError(
            f"`scores` must not tie at rank {m.k} between documents of more than 16 missing subtopics for "
            f"{m.metric}, but those of {query} do: its mean over the orders of the tie goes over all sets of them. "
            "Take ",
            Choice("ties", ["id_descending", "input"]),
            ".",
        )


def nugget_recall(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the weight of the nuggets that the first k documents support, over that of all."""
    labels = chunk.labels
    choice = m.metric.get("importance")
    full = read_table(labels, m.rel)
    weights, offsets = weigh_subtopics(labels, choice)
    support = chunk.take(len(out))
    cover(chunk, full, weights, offsets, m.k, support)
    partial = m.numbers["partial"]
    if partial > 0.0:  # with a label above 0, by a share; with a label of `rel`, by the rest
        at_all = chunk.take(len(out))
        cover(chunk, read_table(labels, 0.0), weights, offsets, m.k, at_all)
        support += partial * (at_all - support)
    kernels.nugget_recall(support, total_importance(labels, choice), out)


def read_patterns(labels: ChunkLabels) -> Patterns:
    """Return the label patterns of the rankings."""
    return cast(Patterns, labels.truth.patterns)  # not None: `prepare` has refused plain labels


def read_table(labels: ChunkLabels, rel: float) -> SubtopicTable:
    """Return the subtopics with a label of `rel` or more."""
    patterns = read_patterns(labels)
    return SubtopicTable(*patterns.relevant(rel), patterns.n_subtopics)


@per_labels
def n_subtopics(labels: ChunkLabels, rel: float) -> Array:
    """Count the subtopics of each query that have a relevant document."""
    pool = labels.pool_candidates
    out = labels.take(labels.n_queries, F8)
    kernels.count_subtopics(pool.labels, pool.offsets, *read_table(labels, rel), out)
    return out


@per_labels
def total_importance(labels: ChunkLabels, choice: str) -> Array:
    """Sum up the weights of each query's subtopics."""
    if read_patterns(labels).importance is None:
        return n_subtopics(labels, 0.0)
    weights, offsets = weigh_subtopics(labels, choice)
    sizes = np.diff(offsets)
    queries = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(queries, weights[offsets[0] : offsets[-1]], minlength=len(sizes))


def weigh_subtopics(labels: ChunkLabels, choice: str) -> tuple[Array, Array]:
    """Return the weights of all subtopics, and the offsets of those of each query."""
    patterns = read_patterns(labels)
    if patterns.importance is None:
        return np.ones(patterns.n_subtopics), np.zeros(labels.n_queries + 1, I8)
    weights, offsets = patterns.importance
    if choice != "weighted":
        weights = (weights >= VITAL).astype("f8") if choice == "vital" else np.ones(len(weights))
    return weights, offsets[labels.first : labels.stop + 1]


def cover(chunk: Chunk, table: SubtopicTable, weights: Array, offsets: Array, k: int, out: Array) -> None:
    """Compute the expected weight of the subtopics of a table that the first k ranks cover."""
    hits = chunk.hits
    kernels.cover(
        hits.labels, hits.above, hits.ties, hits.offsets, *table, read_only(weights), read_only(offsets), k, out
    )


def find_weights(labels: ChunkLabels, beta: float | None, discount: Value | None) -> Array:
    """Return the weight of novelty at each rank, without use at 0: beta^(rank − 1), or a discount."""
    if beta is None:
        return find_discounts(labels, discount).values
    return np.append(0.0, compute_powers(float(beta), len(labels.discounts.values) - 1))


@per_labels
def greedy_order(labels: ChunkLabels, rel: float, alpha: float) -> IdealOrder:
    """
    Compute the greedy ideal ranking: the next document is the one that gains most.

    The true ideal ranking is NP-hard.
    """
    pool = labels.pool_candidates
    n = len(pool.labels)
    order = IdealOrder(labels.take(n, F8), labels.take(n, I4), labels.take(n, I4), labels.take(len(pool.offsets), I8))
    kernels.best_order(pool.labels, pool.offsets, *read_table(labels, rel), alpha, labels.depth, *order)
    return order


def find_novelty(chunk: Chunk, m: Task) -> Array:
    """Return the sum of gain · weight over the first k ranks."""
    return novelty(chunk, m.rel, m.numbers["alpha"], m.metric.get("beta"), m.discount, m.k)


@per_ranking
def novelty(chunk: Chunk, rel: float, alpha: float, beta: float | None, discount: Value | None, k: int) -> Array:
    """Compute the sum of gain · weight over the first k ranks."""
    hits = chunk.hits
    labels = chunk.labels
    out = chunk.take(labels.n_queries)
    kernels.novelty(
        hits.labels, hits.above, hits.ties, hits.offsets, *read_table(labels, rel),
        find_weights(labels, beta, discount), alpha, k, out,
    )  # fmt: skip
    return out


@per_labels
def ideal_novelty(
    labels: ChunkLabels, rel: float, alpha: float, beta: float | None, discount: Value | None, k: int
) -> Array:
    """Compute that sum for the greedy ideal ranking."""
    weights = find_weights(labels, beta, discount)
    out = labels.take(labels.n_queries, F8)
    kernels.novelty(*greedy_order(labels, rel, alpha), *read_table(labels, rel), weights, alpha, k, out)
    return out


def find_limit(labels: ChunkLabels, m: Task) -> Array:
    """Compute that sum for documents that are relevant to all subtopics."""
    share_left = 1.0 - m.numbers["alpha"]
    counts = n_subtopics(labels, m.rel)
    beta = m.metric.get("beta")
    if beta is not None:
        return np.asarray(counts / (1.0 - share_left * float(beta)))
    weights = find_weights(labels, None, m.discount)
    sums = np.cumsum(weights[1:] * compute_powers(share_left, len(weights) - 1))
    n_ranks = labels.sizes.astype("f8") if m.metric.k is None else np.full(labels.n_queries, m.cutoff)
    return np.asarray(counts * sums[np.clip(n_ranks, 1, len(sums)).astype("i8") - 1])
