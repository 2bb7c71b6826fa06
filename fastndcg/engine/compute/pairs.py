"""Metrics of pairs of documents, of multi-label ranking, and of precision at a recall."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.chunk import Chunk, ChunkLabels
from fastndcg.engine.compute.counts import count_relevant, n_relevant_ranked, precision_sums
from fastndcg.engine.compute.gains import rank_ideal
from fastndcg.engine.compute.memo import per_ranking
from fastndcg.engine.scratch import I4, I8
from fastndcg.engine.task import Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import counts as count_kernels
    from fastndcg.kernels.metrics import pairs as kernels
else:
    kernels = load_kernels("metrics.pairs")
    count_kernels = load_kernels("metrics.counts")

# what is added to recall · R before its fraction is cut off: 0.07 · 100 is a little more than 7
RECALL_ROUNDING = {"up": 1.0 - 1e-9, "nearest": 0.5, "up from a tenth": 0.9}


def auc(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the area under the ROC curve: the share of right pairs."""
    kernels.auc(*_read_pairs(chunk, m), out)


def ranking_loss(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the share of wrong pairs of a relevant document and another one."""
    kernels.ranking_loss(*_read_pairs(chunk, m), out)


def partial_auc(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the area under the ROC curve up to a false positive rate, as a share of that rate."""
    buffers = chunk.take(len(out)), chunk.take(len(out)), chunk.take(len(out))
    kernels.partial_auc(*_read_pairs(chunk, m), m.numbers["max_fpr"], *buffers, out)


def partial_auc_mcclish(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the partial AUC on McClish's scale, where a random order has 1/2 and a perfect one 1."""
    buffers = chunk.take(len(out)), chunk.take(len(out)), chunk.take(len(out))
    kernels.partial_auc_mcclish(*_read_pairs(chunk, m), m.numbers["max_fpr"], *buffers, out)


def coverage_error(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the expected rank of the last relevant document, where documents not retrieved rank last."""
    kernels.coverage_error(*_read_pairs(chunk, m), out)


def pairwise_accuracy(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the share of right pairs of documents with different labels."""
    hits = chunk.hits
    labels = chunk.labels
    ideal = rank_ideal(labels)
    pool = labels.truth.pool
    judged_sizes = labels.sizes if pool is None else np.diff(pool[1][labels.first : labels.stop + 1])
    kernels.pairwise_accuracy(
        hits.above, hits.ties, hits.labels, hits.offsets, labels.sizes, judged_sizes, ideal.labels, ideal.offsets, out
    )


def label_ranking_precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute label ranking average precision: the mean precision at the ranks of relevant documents."""
    sums = precision_sums(chunk, m.rel, m.cutoffs)[m.place]
    count_kernels.divide(sums, count_relevant(chunk.labels, m.rel), out)


def precision_at_recall(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the expected precision at the first rank with the recall."""
    hits = chunk.hits
    n = count_relevant(chunk.labels, m.rel)
    kernels.precision_at_recall(hits.queries, hits.above, hits.ties, hits.labels, m.rel, n, m.numbers["recall"], out)


def interpolate(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the interpolated precision at one recall."""
    kernels.look_up(
        highest_precisions(chunk, m.rel), relevant_hits(chunk, m.rel)[2], count_relevant(chunk.labels, m.rel),
        m.numbers["recall"], find_rounding(chunk.labels), out,
    )  # fmt: skip


def average_over_recalls(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the mean interpolated precision."""
    recalls = m.metric.get("recalls")
    rounding = find_rounding(chunk.labels)
    n = count_relevant(chunk.labels, m.rel)
    kernels.average_over_recalls(
        *relevant_hits(chunk, m.rel), n, np.array(recalls, float), rounding, count_recalls_needing(recalls, rounding),
        out,
    )  # fmt: skip


def _read_pairs(chunk: Chunk, m: Task) -> tuple[Array, Array, Array, Array, float, Array, Array, Array]:
    """Return what kernels of pairs read: hits, the lowest relevant label, numbers of relevant and ranked documents."""
    hits = chunk.hits
    labels = chunk.labels
    n = count_relevant(labels, m.rel)
    return hits.queries, hits.above, hits.ties, hits.labels, m.rel, n, n_relevant_ranked(labels, m.rel), labels.sizes


def find_rounding(labels: ChunkLabels) -> float:
    """Return what is added to recall · R before its fraction is cut off."""
    return RECALL_ROUNDING[labels.convention.recall_rounding]


@per_ranking
def relevant_hits(chunk: Chunk, rel: float) -> tuple[Array, Array, Array]:
    """Return the queries, the ranks less one and the query offsets of the relevant hits."""
    hits = chunk.hits
    if not chunk.labels.is_pooled and chunk.labels.lowest_label >= rel:
        return hits.queries, hits.above, hits.offsets
    queries = chunk.take(len(hits.above), I4)
    above = chunk.take(len(hits.above), I4)
    offsets = chunk.take(chunk.labels.n_queries + 1, I8)
    kernels.keep_relevant(hits.queries, hits.above, hits.labels, rel, queries, above, offsets)
    n_hits = offsets.item(-1)
    return queries[:n_hits], above[:n_hits], offsets


@functools.lru_cache(maxsize=16)
def count_recalls_needing(recalls: tuple[float, ...], rounding: float) -> Array:
    """Return the table of `n_recalls_needing` (see kernels/metrics/pairs.py)."""
    wide = load_kernels("simd").WIDE
    counts = np.zeros((kernels.MAX_TABULATED + 1, wide))
    for n_relevant in range(kernels.MAX_TABULATED + 1):
        counts_needed = np.maximum(np.floor(np.array(recalls, float) * n_relevant + rounding), 1.0)
        counts[n_relevant] = np.bincount(counts_needed.astype(int), minlength=wide)[:wide]
    return read_only(counts.ravel())


@per_ranking
def highest_precisions(chunk: Chunk, rel: float) -> Array:
    """Compute for each relevant hit the highest precision at it or at a later one, and 0 at the end."""
    queries, above, offsets = relevant_hits(chunk, rel)
    out = chunk.take(len(chunk.hits.labels) + 1)[: len(above) + 1]
    kernels.find_highest(queries, above, offsets, out)
    return out
