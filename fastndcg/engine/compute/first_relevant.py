"""Metrics of the first relevant document, and their values in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.compute.counts import n_relevant_ranked
from fastndcg.engine.task import Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import first_relevant as kernels
else:
    kernels = load_kernels("metrics.first_relevant")


def reciprocal_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute RR@k: the expected 1 / rank of the first relevant document."""
    hits = chunk.hits
    kernels.reciprocal_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, m.k, out)


def success(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute Success@k: the probability that a relevant document is among the first k ranks."""
    hits = chunk.hits
    kernels.success(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, m.k, out)


def first_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the expected rank of the first relevant document."""
    hits = chunk.hits
    kernels.first_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, out)


def first_mean_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the mean rank of the tie group of the first relevant document."""
    hits = chunk.hits
    kernels.first_mean_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, out)


def reciprocal_mean_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute RR@k at the mean rank of the first relevant document."""
    hits = chunk.hits
    kernels.reciprocal_mean_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, m.k, out)


def success_at_mean_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute Success@k at the mean rank of the first relevant document."""
    hits = chunk.hits
    kernels.success_at_mean_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, m.k, out)


def n_retrieved_at_mean_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Count the relevant documents with a mean rank of k or less."""
    hits = chunk.hits
    kernels.n_retrieved_at_mean_rank(hits.above, hits.ties, hits.labels, hits.offsets, m.rel, m.k, out)


def chance_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the mean rank of the first relevant document over all orders."""
    kernels.chance_rank(chunk.labels.sizes, n_relevant_ranked(chunk.labels, m.rel), out)


def chance_reciprocal_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the mean of RR@k over all orders."""
    kernels.chance_reciprocal_rank(chunk.labels.sizes, n_relevant_ranked(chunk.labels, m.rel), m.k, out)


def chance_success(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the share of all orders with a relevant document among the first k ranks."""
    kernels.chance_success(chunk.labels.sizes, n_relevant_ranked(chunk.labels, m.rel), m.k, out)
