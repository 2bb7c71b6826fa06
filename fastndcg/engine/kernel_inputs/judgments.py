"""Inputs of kernels that tell judged documents from unjudged ones (see the views in rankings/filters.py)."""

from __future__ import annotations

import numpy as np

from fastndcg.engine.buffers import F8, I4, I8, Hits
from fastndcg.engine.chunk import Chunk
from fastndcg.engine.kernel_inputs.basics import cutoffs, find_discounts
from fastndcg.engine.kernel_inputs.kernel_input import KernelInput, kernel_input, register_input
from fastndcg.engine.task import MetricTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array

NO_HITS = Hits(np.empty(0, F8), np.empty(0, I4), np.empty(0, I4), np.empty(0, I4), np.zeros(1, I8))


@kernel_input("n_judged", scope="labels", view="judged")
def n_judged(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the judged documents of each query, retrieved or not."""
    judged = chunk.view("judged")
    pool = judged.context.rankings.pool
    out[:] = judged.labels.sizes
    if pool is not None:
        np.maximum(out, np.diff(pool[1][judged.labels.first : judged.labels.stop + 1]), out=out)


def is_all_judged(chunk: Chunk) -> bool:
    """Return True if every document has a judgment, so that no unjudged one has a rank."""
    return chunk.context.views["unjudged"].rankings.n_documents == 0


@kernel_input("n_unjudged", scope="ranking", key=("k",), view="unjudged")
def n_unjudged(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected number of unjudged documents in the first k ranks of each query."""
    if is_all_judged(chunk):
        out.fill(0.0)
        return
    hits = chunk.view("unjudged").hits
    load_kernels("metrics.precision_recall").count_found(
        hits.queries, hits.above, hits.ties, hits.labels, 1.0, cutoffs(chunk, task), out
    )


@kernel_input("k_or_n_ranked", view="unjudged")
def k_or_n_ranked(chunk: Chunk, task: MetricTask) -> Array:
    """Return k, or the number of ranked documents for a metric without a cutoff."""
    return np.asarray(chunk.labels.sizes.astype(float)) if task.metric.k is None else cutoffs(chunk, task)


@kernel_input("unjudged_dcg", scope="ranking", key=("k", "discount"), view="unjudged")
def unjudged_dcg(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute DCG@k with a gain of 1 for each unjudged document and of 0 for the others."""
    if is_all_judged(chunk):
        out.fill(0.0)
        return
    hits = chunk.view("unjudged").hits
    discounts = find_discounts(chunk, task)
    load_kernels("metrics.dcg").dcg(
        hits.queries, hits.above, hits.ties, hits.labels, discounts.values, discounts.sums, discounts.rests, task.k, out
    )


def _register_view_hits(view: str, field: str) -> None:
    """Register an array of the hits of a view as an input."""

    def read(chunk: Chunk, task: MetricTask) -> Array:
        hits = NO_HITS if view == "unjudged" and is_all_judged(chunk) else chunk.view(view).hits
        return np.asarray(getattr(hits, field))

    register_input(KernelInput(f"{view}_hit_{field}", read, None, (), view=view))


for _view, _fields in (
    ("judged", ("above", "ties", "labels", "queries")),
    ("pooled", ("above", "ties")),
    ("unjudged", ("queries", "above", "ties", "offsets")),
):
    for _field in _fields:
        _register_view_hits(_view, _field)
