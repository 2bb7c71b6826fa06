"""Arguments of kernels that look at which documents were judged: where each comes from. See documents.py."""

from __future__ import annotations

import functools

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.kernels import gain, judgments, precision
from fastndcg.kernels.vectors import WIDE
from fastndcg.memory import F8, I4, I8, Hits
from fastndcg.rankings import Array
from fastndcg.steps import Source, Step, cutoffs, discounts_for, once

NO_HITS = Hits(np.empty(0, F8), np.empty(0, I4), np.empty(0, I4), np.empty(0, I4), np.zeros(1, I8))


@once("truth", "views")
def n_judged(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query were judged, retrieved or not."""
    del step
    truth, pool = chunk.view("judged").truth, chunk.view("judged").job.rankings.pool
    out[:] = truth.sizes
    if pool is not None:
        np.maximum(out, np.diff(pool[1][truth.first : truth.stop + 1]), out=out)


@functools.cache
def preferences() -> Array:
    """Which share of `most` preferences is right where n are wrong, all where there are none to be had."""
    shares = np.zeros((judgments.FEW + 1, WIDE))
    for most in range(judgments.FEW + 1):
        shares[most, : most + 1] = (most - np.arange(most + 1.0)) / most if most else 1.0
    return shares.ravel()


def all_judged(chunk: Chunk) -> bool:
    """Whether no document is without a judgment, so that there is nothing to rank."""
    return chunk.job.views["unjudged"].rankings.n_documents == 0


@once("chunk", "k")
def n_unjudged(chunk: Chunk, step: Step, out: Array) -> None:
    """The expected number of documents without a judgment in the first k ranks of each query."""
    if all_judged(chunk):
        out.fill(0.0)
        return
    hits = chunk.view("unjudged").hits
    precision.count_found(hits.queries, hits.above, hits.ties, hits.labels, 1.0, cutoffs(chunk, step), out)


def n_looked_at(chunk: Chunk, step: Step) -> Array:
    """K, or the number of documents ranked where there is none."""
    return np.asarray(chunk.truth.sizes.astype(float)) if step.metric.k is None else cutoffs(chunk, step)


@once("chunk", "k", "discount")
def unjudged_reached(chunk: Chunk, step: Step, out: Array) -> None:
    """DCG@k if each document without a judgment gained 1, and no other one anything."""
    if all_judged(chunk):
        out.fill(0.0)
        return
    hits, (discounts, sums, rests, _) = chunk.view("unjudged").hits, discounts_for(chunk, step)
    gain.dcg(hits.queries, hits.above, hits.ties, hits.labels, discounts, sums, rests, step.k, out)


def hits_of(view: str, field: str) -> Source:
    """A field of the hits of a view."""

    def source(chunk: Chunk, step: Step) -> Array:
        del step
        hits = NO_HITS if view == "unjudged" and all_judged(chunk) else chunk.view(view).hits
        return np.asarray(getattr(hits, field))

    return source


# by the name of an argument: the view that it comes from, and its source
ARGUMENTS: dict[str, tuple[str, Source]] = {
    "judged_hit_above": ("judged", hits_of("judged", "above")),
    "judged_hit_ties": ("judged", hits_of("judged", "ties")),
    "judged_hit_labels": ("judged", hits_of("judged", "labels")),
    "judged_hit_queries": ("judged", hits_of("judged", "queries")),
    "n_judged": ("judged", n_judged),
    "preferences": ("judged", lambda chunk, _: preferences()),
    "out_most": ("judged", lambda chunk, _: chunk.take("most", chunk.truth.n_queries, I8)),
    "pooled_hit_above": ("pooled", hits_of("pooled", "above")),
    "pooled_hit_ties": ("pooled", hits_of("pooled", "ties")),
    "unjudged_hit_queries": ("unjudged", hits_of("unjudged", "queries")),
    "unjudged_hit_above": ("unjudged", hits_of("unjudged", "above")),
    "unjudged_hit_ties": ("unjudged", hits_of("unjudged", "ties")),
    "unjudged_hit_offsets": ("unjudged", hits_of("unjudged", "offsets")),
    "n_unjudged": ("unjudged", n_unjudged),
    "n_looked_at": ("unjudged", n_looked_at),
    "unjudged_reached": ("unjudged", unjudged_reached),
}
