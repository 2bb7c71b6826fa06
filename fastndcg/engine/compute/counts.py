"""Metrics that count relevant documents, and what they share: counts, sums of precisions, and denominators."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.chunk import Chunk, ChunkLabels
from fastndcg.engine.compute.memo import per_labels, per_ranking
from fastndcg.engine.scratch import F8
from fastndcg.engine.task import Cutoffs, Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import counts as kernels
    from fastndcg.kernels.ranking import candidates as candidate_kernels
else:
    kernels = load_kernels("metrics.counts")
    candidate_kernels = load_kernels("ranking.candidates")


def average_precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute AP@k: the sum of the precisions at relevant documents, over the convention's denominator."""
    denominators = ap_denominators(chunk.labels, m.rel, m.k, m.cutoff)
    kernels.divide(precision_sums(chunk, m.rel, m.cutoffs)[m.place], denominators, out)


def average_precision_over_hits(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the mean of the precisions at the relevant documents of the first k ranks."""
    hits = chunk.hits
    n = count_relevant(chunk.labels, m.rel)
    kernels.average_precision_over_hits(
        hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, m.rel, n, m.k, out
    )


def precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute P@k: the share of the first k ranks that is relevant."""
    kernels.precision(n_found(chunk, m), precision_denominators(chunk.labels, m), out)


def recall(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute R@k: the share of the relevant documents that is in the first k ranks."""
    kernels.divide(n_found(chunk, m), recall_denominators(chunk.labels, m), out)


def f_score(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute F@k: the weighted harmonic mean of precision and recall."""
    labels = chunk.labels
    of_recall = recall_denominators(labels, m)
    kernels.f_score(n_found(chunk, m), m.numbers["beta"], of_recall, precision_denominators(labels, m), out)


def r_precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute Rprec: the precision at rank mult · R, or at rank k if that is lower."""
    mult = m.numbers["mult"]
    found = n_relevant_at_multiple(chunk, m.rel, m.k, mult)
    kernels.r_precision(found, count_relevant(chunk.labels, m.rel), mult, m.k, out)


def relative_precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute RelP@k: the relevant documents in the first k ranks, over the highest possible number."""
    labels = chunk.labels
    if m.metric.k is None:
        denominators = np.minimum(count_relevant(labels, m.rel), np.maximum(labels.sizes, 1))
    else:
        denominators = min_k_n_relevant(labels, m.rel, m.k)
    kernels.divide(n_found(chunk, m), denominators, out)


def n_retrieved(chunk: Chunk, m: Task, out: Array) -> None:
    """Count the documents in the first k ranks."""
    kernels.n_retrieved(chunk.labels.sizes, m.k, out)


def n_relevant(chunk: Chunk, m: Task, out: Array) -> None:
    """Count the relevant documents, at most k."""
    np.minimum(count_relevant(chunk.labels, m.rel), m.k, out=out)


def n_relevant_retrieved(chunk: Chunk, m: Task, out: Array) -> None:
    """Count the relevant documents in the first k ranks."""
    out[:] = n_found(chunk, m)


def precision_times_recall(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute precision times recall of the retrieved set."""
    labels = chunk.labels
    kernels.precision_times_recall(n_found(chunk, m), count_relevant(labels, m.rel), labels.sizes, out)


def utility(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the worth of the four parts of the collection."""
    labels = chunk.labels
    worths = (m.numbers["a"], m.numbers["b"], m.numbers["c"], m.numbers["d"])
    n = count_relevant(labels, m.rel)
    kernels.utility(n_found(chunk, m), n, labels.sizes, *worths, m.numbers["documents"], out)


def classification_accuracy(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the share of documents, ranked or relevant, that a cut at rank k classifies right."""
    labels = chunk.labels
    n_ranked = n_relevant_ranked(labels, m.rel)
    kernels.classification_accuracy(n_found(chunk, m), count_relevant(labels, m.rel), n_ranked, labels.sizes, m.k, out)


def fall_out(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the share of the documents that are not relevant in the first k ranks."""
    labels = chunk.labels
    kernels.fall_out(n_found(chunk, m), n_relevant_ranked(labels, m.rel), labels.sizes, m.k, out)


@per_labels
def count_relevant(labels: ChunkLabels, rel: float) -> Array:
    """Count the relevant documents of each query, retrieved or not."""
    pool = labels.pool_candidates
    counts = labels.take(labels.n_queries, F8)
    if labels.lowest_label >= rel:
        np.subtract(pool.offsets[1:], pool.offsets[:-1], out=counts)
    else:
        candidate_kernels.count_relevant(pool.labels, pool.offsets, rel, counts)
    return counts


def n_relevant_ranked(labels: ChunkLabels, rel: float) -> Array:
    """Return the number of relevant documents among those ranked."""
    return n_relevant_candidates(labels, rel) if labels.is_pooled else count_relevant(labels, rel)


@per_labels
def n_relevant_candidates(labels: ChunkLabels, rel: float) -> Array:
    """Count the relevant documents of each query among those ranked."""
    candidates = labels.candidates
    counts = labels.take(labels.n_queries, F8)
    candidate_kernels.count_relevant(candidates.labels, candidates.offsets, rel, counts)
    return counts


@per_labels
def min_k_n_relevant(labels: ChunkLabels, rel: float, k: int) -> Array:
    """Compute the smaller of k and the number of relevant documents."""
    out = labels.take(labels.n_queries, F8)
    np.minimum(count_relevant(labels, rel), k, out=out)
    return out


@per_labels
def min_k_n_retrieved(labels: ChunkLabels, k: int) -> Array:
    """Compute the smaller of k and the number of ranked documents."""
    out = labels.take(labels.n_queries, F8)
    np.minimum(labels.sizes, float(k), out=out)
    return out


@per_labels
def repeat(labels: ChunkLabels, number: float) -> Array:
    """Return a number for each query."""
    out = labels.take(labels.n_queries, F8)
    out.fill(number)
    return out


def n_found(chunk: Chunk, m: Task) -> Array:
    """Return the expected number of relevant documents in the first k ranks of each query."""
    if m.k == MAX_RANK or m.k >= chunk.labels.longest:
        return n_relevant_ranked(chunk.labels, m.rel)
    return n_found_at(chunk, m.rel, m.cutoffs)[m.place]


@per_ranking
def n_found_at(chunk: Chunk, rel: float, cutoffs: Cutoffs) -> list[Array]:
    """Count the relevant documents down to each cutoff above the last rank."""
    hits = chunk.hits
    n = bisect_left(cutoffs.ks, chunk.labels.longest)
    out = chunk.take(chunk.labels.n_queries * n)
    kernels.count_found(hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, rel, cutoffs.array[:n], out)
    return [out] if n == 1 else list(out.reshape(n, -1))


@per_ranking
def n_relevant_at_multiple(chunk: Chunk, rel: float, k: int, mult: float) -> Array:
    """Compute the expected number of relevant documents in the first ranks, ⌊mult · R + 0.9⌋ and at most k."""
    hits = chunk.hits
    out = chunk.take(chunk.labels.n_queries)
    ranks = multiples(chunk.labels, rel, k, mult)
    kernels.count_found_at_ranks(hits.queries, hits.above, hits.ties, hits.labels, rel, ranks, out)
    return out


@per_labels
def multiples(labels: ChunkLabels, rel: float, k: int, mult: float) -> Array:
    """Compute ⌊mult · R + 0.9⌋ for R relevant documents, at most k."""
    out = labels.take(labels.n_queries, F8)
    np.multiply(count_relevant(labels, rel), mult, out=out)
    np.minimum(np.floor(np.add(out, 0.9, out=out), out=out), float(k), out=out)
    return out


@per_ranking
def precision_sums(chunk: Chunk, rel: float, cutoffs: Cutoffs) -> list[Array]:
    """Compute the expected sum of the precisions at the ranks of relevant documents down to each cutoff."""
    hits = chunk.hits
    n_cutoffs = len(cutoffs.ks)
    out = chunk.take(chunk.labels.n_queries * n_cutoffs)
    kernels.add_precisions(hits.queries, hits.above, hits.ties, hits.labels, rel, cutoffs.array, out)
    return [out] if n_cutoffs == 1 else list(out.reshape(n_cutoffs, -1))


def ap_denominators(labels: ChunkLabels, rel: float, k: int, cutoff: float) -> Array:
    """
    Return the denominators of AP, 0 where nothing is relevant.

    The choice 'n_hits' has a kernel that counts hits itself.
    """
    choice = labels.convention.ap_denominator
    if choice == "n_relevant":
        return count_relevant(labels, rel)
    if choice == "k":
        return np.where(count_relevant(labels, rel) > 0, cutoff, 0.0)
    smaller = min_k_n_relevant(labels, rel, k)
    return smaller if choice in ("min(k, n_relevant)", "n_hits") else np.asarray(np.minimum(smaller, labels.sizes))


def precision_denominators(labels: ChunkLabels, m: Task) -> Array:
    """Return the denominators of P. Without k they are the numbers of ranked documents."""
    choice = labels.convention.precision_denominator
    if choice == "min(k, n_relevant)":
        return min_k_n_relevant(labels, m.rel, m.k)
    if choice == "k" and m.metric.k is not None:
        return repeat(labels, m.cutoff)
    return min_k_n_retrieved(labels, m.k)


def recall_denominators(labels: ChunkLabels, m: Task) -> Array:
    """Return the denominators of R, 0 where nothing is relevant."""
    if labels.convention.recall_denominator == "n_relevant":
        return count_relevant(labels, m.rel)
    return min_k_n_relevant(labels, m.rel, m.k)
