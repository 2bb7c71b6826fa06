"""Metrics that depend on which documents were judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.compute.counts import count_relevant, n_found, repeat
from fastndcg.engine.compute.gains import find_discounts
from fastndcg.engine.compute.memo import per_ranking
from fastndcg.engine.task import Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import counts as count_kernels
    from fastndcg.kernels.metrics import gains as gain_kernels
    from fastndcg.kernels.metrics import judgments as kernels
else:
    kernels = load_kernels("metrics.judgments")
    count_kernels = load_kernels("metrics.counts")
    gain_kernels = load_kernels("metrics.gains")


def binary_preference(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute bpref: the mean over the relevant documents of the share of right preferences."""
    hits = chunk.view("judged").hits
    n = count_relevant(chunk.labels, m.rel)
    kernels.binary_preference(hits.queries, hits.above, hits.ties, hits.labels, m.rel, n, n_judged(chunk), out)


def inferred_average_precision(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute infAP: AP with each precision estimated from the judged documents above."""
    hits = chunk.hits
    pooled = chunk.view("pooled").hits
    judged = chunk.view("judged").hits
    kernels.inferred_average_precision(
        hits.queries, hits.above, hits.ties, hits.labels, pooled.above, pooled.ties, judged.above, judged.ties,
        m.rel, count_relevant(chunk.labels, m.rel), out,
    )  # fmt: skip


def n_nonrelevant_judged(chunk: Chunk, m: Task, out: Array) -> None:
    """Count the ranked documents that are judged and not relevant."""
    kernels.n_nonrelevant_judged(chunk.labels.sizes, n_found(chunk, m), n_unjudged(chunk, m.k), out)


def share_judged(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the expected share of the first k ranks that was judged, by the documents with a judgment or without."""
    sizes = chunk.labels.sizes
    marked = chunk.labels.view(chunk.context, "marked").candidates
    n_judged = len(marked.labels)
    if m.k < chunk.labels.longest and 2 * n_judged > sizes.sum():  # fewer are unjudged
        hits = chunk.view("unjudged").hits
        kernels.share_judged(hits.queries, hits.above, hits.ties, hits.offsets, sizes, m.k, out)
        return
    found = chunk.take(len(out))
    if m.k < chunk.labels.longest:
        hits = chunk.view("marked").hits
        ks = np.array([m.k])
        count_kernels.count_found(hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, 1.0, ks, found)
    else:
        found[:] = np.diff(marked.offsets)
    n_ranks = chunk.take(len(out))
    np.minimum(sizes, m.k, out=n_ranks)
    count_kernels.divide(found, n_ranks, out)


def share_unjudged(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the expected share of the first k ranks without a judgment."""
    labels = chunk.labels
    n_ranks = labels.sizes.astype("f8") if m.metric.k is None else repeat(labels, m.cutoff)
    kernels.share_unjudged(n_unjudged(chunk, m.k), n_ranks, out)


def rbp_residual(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute RBP's residual: the RBP of the ranks without a judgment and of all ranks below."""
    kernels.rbp_residual(unjudged_dcg(chunk, m.discount, m.k), chunk.labels.sizes, m.numbers["p"], m.k, out)


def rbp_residual_if_ranked(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute RBP's residual, but 0 for a query without ranked documents."""
    kernels.rbp_residual_if_ranked(unjudged_dcg(chunk, m.discount, m.k), chunk.labels.sizes, m.numbers["p"], m.k, out)


@per_ranking
def n_judged(chunk: Chunk) -> Array:
    """Count the judged documents of each query, retrieved or not."""
    judged = chunk.view("judged").labels
    pool = judged.truth.pool
    out = chunk.take(chunk.labels.n_queries)
    out[:] = judged.sizes
    if pool is not None:
        np.maximum(out, np.diff(pool[1][judged.first : judged.stop + 1]), out=out)
    return out


@per_ranking
def n_unjudged(chunk: Chunk, k: int) -> Array:
    """Compute the expected number of unjudged documents in the first k ranks of each query."""
    hits = chunk.view("unjudged").hits
    out = chunk.take(chunk.labels.n_queries)
    cutoffs = np.array([k])
    count_kernels.count_found(hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, 1.0, cutoffs, out)
    return out


@per_ranking
def unjudged_dcg(chunk: Chunk, discount: Value | None, k: int) -> Array:
    """Compute DCG@k with a gain of 1 for each unjudged document and of 0 for the others."""
    hits = chunk.view("unjudged").hits
    values, sums, rests, _ = find_discounts(chunk.labels, discount)
    out = chunk.take(chunk.labels.n_queries)
    gain_kernels.add_gains(
        hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, values, sums, rests, np.array([k]), out
    )
    return out
