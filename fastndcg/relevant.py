"""Arguments of kernels that count relevant documents: where each comes from."""

from __future__ import annotations

import functools

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.errors import InvalidInputError
from fastndcg.kernels import candidates, highest, multiples, precision, ties
from fastndcg.kernels import interpolated as kernels
from fastndcg.kernels.vectors import WIDE
from fastndcg.memory import F8, I4, I8, U8
from fastndcg.rankings import Array
from fastndcg.steps import Step, cutoffs, once, together

# what is added to recall · R before its fraction is cut off; 0.7 · 10 is a little more than 7
RECALL_ROUNDING = {"up": 1.0 - 1e-9, "nearest": 0.5, "up from a tenth": 0.9}
NONE_TIED = (np.empty(0, I4), np.empty((0, 0)))


@once("truth", "rel")
def n_relevant(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query are relevant, retrieved or not."""
    truth = chunk.truth
    labels, offsets = truth.judged.labels, truth.judged.offsets
    if truth.least_label >= step.rel:
        np.subtract(offsets[1:], offsets[:-1], out=out)
    else:
        candidates.count_relevant(labels, offsets, step.rel, out)


def n_relevant_ranked(chunk: Chunk, step: Step) -> Array:
    """How many of the documents ranked are relevant."""
    return n_relevant(chunk, step) if chunk.job.rankings.pool is None else counted_ranked(chunk, step)


@once("truth", "rel")
def counted_ranked(chunk: Chunk, step: Step, out: Array) -> None:
    """The same where there may be others."""
    candidates.count_relevant(chunk.truth.candidates.labels, chunk.truth.candidates.offsets, step.rel, out)


def r_cutoffs(chunk: Chunk, step: Step) -> Array:
    """How many documents of each query are relevant, k at the most."""
    return n_relevant(chunk, step) if most_relevant(chunk, step) <= step.k else lowered(chunk, step)


@once("truth", "k", "rel")
def lowered(chunk: Chunk, step: Step, out: Array) -> None:
    """The same where k is less for some queries."""
    np.minimum(n_relevant(chunk, step), step.k, out=out)


def most_relevant(chunk: Chunk, step: Step) -> float:
    """How many documents are relevant in the query of the chunk that has most of them."""
    truth, key = chunk.truth, ("most relevant", step.rel)
    if key not in truth.made:
        truth.made[key] = float(n_relevant(chunk, step).max(initial=0.0))
    return float(truth.made[key])


def relevant_hits(chunk: Chunk, step: Step) -> tuple[Array, Array, Array]:
    """Queries, ranks above and offsets of the hits that are relevant."""
    hits = chunk.hits
    if chunk.job.rankings.pool is None and chunk.truth.least_label >= step.rel:
        return hits.queries, hits.above, hits.offsets
    n, key = len(hits.above), ("relevant", step.rel)
    offsets = chunk.made.get(key)
    queries, above = (chunk.take((key, name), n, I4) for name in ("queries", "above"))
    if offsets is None:
        offsets = chunk.take(key, chunk.truth.n_queries + 1, I8)
        kernels.keep_relevant(hits.queries, hits.above, hits.labels, step.rel, queries, above, offsets)
        chunk.made[key] = offsets
    n = offsets.item(-1)
    return queries[:n], above[:n], offsets


def recalls_of(step: Step) -> tuple[float, ...]:
    """The recalls that a metric asks for."""
    return step.metric.get("recalls") or (step.metric.get("recall"),)


def n_asking(chunk: Chunk, step: Step) -> Array:
    """How many recalls ask for each number of relevant documents, by how many there are."""
    return counts_of_asking(recalls_of(step), recall_rounding(chunk, step))


@functools.lru_cache(maxsize=16)
def counts_of_asking(recalls: tuple[float, ...], rounding: float) -> Array:
    """The same for as few as kernels/interpolated.py looks up."""
    counts = np.zeros((kernels.FEW + 1, WIDE))
    for n_relevant in range(kernels.FEW + 1):
        asked = np.maximum(np.floor(np.array(recalls, float) * n_relevant + rounding), 1.0)
        counts[n_relevant] = np.bincount(asked.astype(int), minlength=WIDE)[:WIDE]
    return counts.ravel()


def recall_rounding(chunk: Chunk, _: Step) -> float:
    """What is added to recall · R before its fraction is cut off."""
    return RECALL_ROUNDING[chunk.job.convention.recall_rounding]


@together(recalls_of, "rel")
def interpolated(chunk: Chunk, step: Step, points: tuple[float, ...], out: Array) -> None:
    """The highest precision at a recall, or each of several, or beyond it."""
    found = relevant_hits(chunk, step)
    out, highest = out.reshape(len(points), -1), chunk.take("highest precisions", len(found[1]) + 1, F8)
    where = (n_relevant(chunk, step), np.array(points, float), recall_rounding(chunk, step))
    kernels.interpolate(*found, *where, highest, out)
    if has_ties(chunk):
        queries, means = interpolate_tied(chunk, step, points)
        out[:, queries] = means


def has_ties(chunk: Chunk) -> bool:
    """Whether any hits share their ranks."""
    return chunk.n_tied > 0 and chunk.job.convention.ties == "average"


def tied_queries(chunk: Chunk) -> Array:
    """The queries in which scores tie between different labels and have no order."""
    made: Array | None = chunk.made.get("tied queries")
    if made is None:
        room = chunk.take("tied queries", chunk.truth.n_queries, I4)
        made = chunk.made["tied queries"] = room[: ties.find_tied(chunk.hits.queries, chunk.hits.ties, room)]
    return made


@functools.lru_cache(maxsize=16)
def rising(points: tuple[float, ...]) -> tuple[Array, Array]:
    """Different points in rising order, and where each of those given is among them."""
    return np.unique(np.array(points, float), return_inverse=True)


def interpolate_tied(chunk: Chunk, step: Step, points: tuple[float, ...]) -> tuple[Array, Array]:
    """The queries where scores tie, and the same for them alone."""
    hits, rounding, (recalls, places) = chunk.hits, recall_rounding(chunk, step), rising(points)
    queries = tied_queries(chunk)
    found = np.empty((len(recalls), len(queries)))
    where = (hits.labels, hits.offsets, step.rel, n_relevant(chunk, step), recalls, rounding)
    highest.interpolate_tied(queries, hits.above, hits.ties, *where, found)
    if (found[0] < 0).any():
        query = chunk.job.rankings.query_name(chunk.truth.first + queries.item(np.argmax(found[0] < 0)))
        raise InvalidInputError(
            f"`scores` must not tie so many documents of {query} for {step.metric}: the square of the relevant ones of "
            f"a tie group times the others must be at most {highest.MOST_WORK:.0f}; take "
            "convention.replace(ties='input')"
        )
    return queries, found[places]


def tied(chunk: Chunk, step: Step) -> tuple[Array, Array]:
    """The same for the recalls of a metric; no queries where no scores tie."""
    return interpolate_tied(chunk, step, recalls_of(step)) if has_ties(chunk) else NONE_TIED


@together(lambda step: (step.metric.get("mult"),), "k", "rel")
def n_found_at_multiple(chunk: Chunk, step: Step, points: tuple[float, ...], out: Array) -> None:
    """The same as `n_found` in as many ranks as a multiple of the number of relevant documents is."""
    hits, n = chunk.hits, n_relevant(chunk, step)
    where = (hits.queries, hits.above, hits.ties, hits.labels)
    if len(points) > 1:
        masks = chunk.take("masks", out.shape[1], U8)
        multiples.count_found_at_multiples(
            *where, hits.offsets, step.rel, n, np.array(points, float), step.k, masks, out
        )
    else:  # one walk without masks
        ranks = np.multiply(n, points[0], out=chunk.take("ranks", len(n), F8))
        ranks = np.minimum(np.floor(np.add(ranks, 0.9, out=ranks), out=ranks), float(step.k), out=ranks)
        precision.count_found(*where, step.rel, ranks, out)


def ap_denominators(chunk: Chunk, step: Step) -> Array:
    """What AP divides by, 0 where nothing is relevant; a number of hits found is known to a kernel of its own."""
    choice = chunk.job.convention.ap_denominator
    if choice == "n_relevant":
        return n_relevant(chunk, step)
    return r_cutoffs(chunk, step) if choice in ("min(k, n_relevant)", "n_hits") else further_denominators(chunk, step)


@once("truth", "k", "rel")
def further_denominators(chunk: Chunk, step: Step, out: Array) -> None:
    """k, and 0 where nothing is relevant; or how many documents are relevant, k or those retrieved at the most."""
    if chunk.job.convention.ap_denominator == "k":
        np.multiply(n_relevant(chunk, step) > 0, float(step.k), out=out)
    else:
        np.minimum(r_cutoffs(chunk, step), chunk.truth.sizes, out=out)


@once("truth", "k")
def retrieved_cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query were retrieved, k at the most."""
    np.minimum(chunk.truth.sizes, float(step.k), out=out)


def precision_denominators(chunk: Chunk, step: Step) -> Array:
    """What P divides by; without k, the number retrieved."""
    choice = chunk.job.convention.precision_denominator
    if choice == "min(k, n_relevant)":
        return r_cutoffs(chunk, step)
    if choice == "k" and step.metric.k is not None:
        return cutoffs(chunk, step)
    return retrieved_cutoffs(chunk, step)


def recall_denominators(chunk: Chunk, step: Step) -> Array:
    """What R divides by, 0 where nothing is relevant."""
    is_all = chunk.job.convention.recall_denominator == "n_relevant"
    return n_relevant(chunk, step) if is_all else r_cutoffs(chunk, step)


def relative_denominators(chunk: Chunk, step: Step) -> Array:
    """What RelP divides by, 0 where nothing is relevant; 1 where nothing is retrieved."""
    if step.metric.k is not None:
        return r_cutoffs(chunk, step)
    return np.asarray(np.minimum(n_relevant(chunk, step), np.maximum(chunk.truth.sizes, 1)))
