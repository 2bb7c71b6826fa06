"""Metrics of users who may stop, adapt, or compare with an ideal ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.apply import check_stops, check_unit_gains, find_highest_stop
from fastndcg.engine.chunk import Chunk, ChunkLabels
from fastndcg.engine.compute.gains import fill_gains, hit_gains, rank_ideal
from fastndcg.engine.compute.memo import per_labels, per_ranking
from fastndcg.engine.scratch import F8
from fastndcg.engine.task import Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import cascades as kernels
else:
    kernels = load_kernels("metrics.cascades")


def expected_reciprocal_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute ERR@k: the expected 1 / rank of the rank where a user stops."""
    hits = chunk.hits
    kernels.expected_reciprocal_rank(hits.queries, hits.above, hits.ties, find_stops(chunk, m), m.k, out)


def normalised_reciprocal_rank(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute nERR@k: ERR@k over that of the ideal ranking."""
    hits = chunk.hits
    stops = find_stops(chunk, m)
    best = ideal_err(chunk.labels, m.metric, m.k)
    kernels.normalised_reciprocal_rank(hits.queries, hits.above, hits.ties, stops, best, m.k, out)


def pfound(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute PFound@k: the probability that a user finds a relevant document before they give up."""
    hits = chunk.hits
    kernels.pfound(hits.queries, hits.above, hits.ties, find_stops(chunk, m), m.numbers["decay"], m.k, out)


def time_biased_gain(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute time-biased gain: the expected gain of relevant documents, halved after each `half_life` seconds."""
    hits = chunk.hits
    kernels.time_biased_gain(
        hits.queries, hits.above, hits.ties, hits.labels, m.rel, m.numbers["half_life"], m.numbers["words"], m.k, out
    )


def inst(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute INST: the mean gain of the ranks, weighted by the probability that a user looks at them."""
    hits = chunk.hits
    kernels.inst(hits.queries, hits.above, unit_gains(chunk, m), m.numbers["goal"], m.k, out)


def bejeweled_player(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute BPM: the mean gain of the ranks down to the one where the gains reach the goal, or down to rank k."""
    hits = chunk.hits
    kernels.bejeweled_player(hits.above, hit_gains(chunk, m.gain), hits.offsets, m.numbers["goal"], m.k, out)


def compatibility(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute the overlap with the nearest ideal ranking, over the overlap of that ranking with itself."""
    hits = chunk.hits
    ideal = rank_ideal(chunk.labels)
    kernels.compatibility(
        hits.above, hits.ties, hits.labels, hits.offsets, ideal.labels, ideal.offsets, m.numbers["p"], m.k, out
    )


def unit_gains(chunk: Chunk, m: Task) -> Array:
    """Return the gains of the hits, and raise an error if one is below 0 or above 1."""
    labels = chunk.labels.candidates.labels
    gain = m.gain
    if gain.formula != "binary" and len(labels):
        extremes = np.unique(labels) if gain.falls else np.array([labels.min(), labels.max()])
        gains = np.empty(len(extremes))
        truncates = chunk.labels.convention.label_fractions == "cut off"
        fill_gains(gain.formula, np.trunc(extremes) if truncates else extremes, -np.inf if truncates else m.rel, gains)
        check_unit_gains(extremes, gains, m.metric, chunk.context.rankings)
    return hit_gains(chunk, gain)


def find_stops(chunk: Chunk, m: Task) -> Array:
    """Return the stop probability at each hit, and raise an error for labels above the highest grade."""
    labels = chunk.labels
    check_stops(labels.pool_candidates.labels, labels.candidates.labels, m.metric, chunk.context.rankings)
    return hit_stops(chunk, m.metric.get("stop"), find_highest_stop(m.metric))


@per_ranking
def hit_stops(chunk: Chunk, stop: str, highest: float) -> Array:
    """Compute the stop probability at each hit."""
    labels = chunk.hits.labels
    out = chunk.take(len(chunk.labels.candidates.labels))[: len(labels)]  # as large for all rankings
    fill_stops(chunk.labels, labels, stop, highest, out)
    return out


@per_labels
def ideal_err(labels: ChunkLabels, metric: Metric, k: int) -> Array:
    """Compute ERR@k of the ideal ranking."""
    ideal = rank_ideal(labels)
    stops = labels.take(len(ideal.labels), F8)
    fill_stops(labels, ideal.labels, metric.get("stop"), find_highest_stop(metric), stops)
    out = labels.take(labels.n_queries, F8)
    kernels.ideal_err(stops, ideal.offsets, k, out)
    return out


def fill_stops(labels: ChunkLabels, of: Array, stop: str, highest: float, out: Array) -> None:
    """Fill in the stop probabilities of the labels `of`."""
    if stop == "labels":
        fill_gains("linear", of, 0.0, out)
    else:
        truncates = labels.convention.label_fractions == "cut off"
        fill_gains("exp2", np.trunc(of) if truncates else of, 0.0, out)
        np.ldexp(out, -int(highest), out=out)
