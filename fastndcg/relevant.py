"""Arguments of kernels that count relevant documents: where each comes from."""

from __future__ import annotations

import functools

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.errors import InvalidInputError
from fastndcg.kernels import candidates, highest, precision
from fastndcg.kernels import together as several
from fastndcg.rankings import Array
from fastndcg.steps import Step, cutoff, cutoffs, once, together

# what is added to recall · R before its fraction is cut off; 0.7 · 10 is a little more than 7
RECALL_ROUNDING = {"up": 1.0 - 1e-9, "nearest": 0.5, "up from a tenth": 0.9}


@once("truth", "rel")
def n_relevant(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query are relevant, retrieved or not."""
    truth = chunk.truth
    labels, offsets = truth.judged.labels, truth.judged.offsets
    if truth.only_label >= step.rel:
        np.subtract(offsets[1:], offsets[:-1], out=out)
    else:
        candidates.count_relevant(labels, offsets, step.rel, out)


@once("truth", "rel")
def n_relevant_ranked(chunk: Chunk, step: Step, out: Array) -> None:
    """How many of the documents ranked are relevant."""
    if chunk.job.rankings.pool is None:
        out[:] = n_relevant(chunk, step)
    else:
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
    made = chunk.truth.most_relevant.get(step.rel)
    if made is None:
        made = chunk.truth.most_relevant[step.rel] = float(n_relevant(chunk, step).max(initial=0.0))
    return made


@functools.lru_cache(maxsize=16)
def cuts_of(points: tuple[int, ...]) -> tuple[Array, Array]:
    """Several cutoffs, and for each number of ranks above, to the last cutoff but one, the place of the first below."""
    cuts = np.array(points)
    return cuts, np.searchsorted(cuts[:-1], np.arange(points[-2] + 1), side="right")


@together(cutoff, "rel", ranks=True)
def n_found(chunk: Chunk, step: Step, points: tuple[int, ...], out: Array) -> None:
    """The expected number of relevant documents in the first k ranks of each query."""
    hits = chunk.hits
    where = (hits.queries, hits.above, hits.ties, hits.labels)
    if len(points) > 1:
        several.count_found(*where, step.rel, *cuts_of(points), out)
    else:
        precision.count_found(*where, step.rel, cutoffs(chunk, step), out[0])


@together(cutoff, "rel", ranks=True)
def precision_sums(chunk: Chunk, step: Step, points: tuple[int, ...], out: Array) -> None:
    """The expected sum of the precisions at the ranks of relevant documents, down to rank k."""
    hits = chunk.hits
    where = (hits.queries, hits.above, hits.ties, hits.labels)
    if len(points) > 1:
        several.add_precisions(*where, step.rel, *cuts_of(points), out)
    else:
        precision.add_precisions(*where, step.rel, points[0], out[0])


@together(lambda step: step.metric.get("recalls") or (step.metric.get("recall"),), "rel")
def interpolated(chunk: Chunk, step: Step, points: tuple[float, ...], out: Array) -> None:
    """The highest precision at a recall, or each of several, or beyond it."""
    hits, n, recalls = chunk.hits, n_relevant(chunk, step), np.array(points, float)
    rounding = RECALL_ROUNDING[chunk.job.convention.recall_rounding]
    where = (hits.labels, hits.offsets, step.rel, n, recalls, rounding)
    several.interpolate(hits.queries, hits.above, *where, out)
    if not chunk.n_tied or chunk.job.convention.ties != "average":
        return
    highest.interpolate_tied(hits.queries, hits.above, hits.ties, *where, out)
    if (out[0] < 0).any():
        query = chunk.job.rankings.query_name(chunk.truth.first + int(np.argmax(out[0] < 0)))
        raise InvalidInputError(
            f"`scores` must not tie so many documents of {query} for {step.metric}: the square of the relevant ones of "
            f"a tie group times the others must be at most {highest.MOST_WORK:.0f}; take "
            "convention.replace(ties='input')"
        )


@once("truth", "metric", "k", "rel")
def multiple_cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many ranks a multiple of the number of relevant documents is, rounded up from a tenth; k at the most."""
    np.multiply(n_relevant(chunk, step), float(step.metric.get("mult")), out=out)
    np.floor(np.add(out, 0.9, out=out), out=out)
    np.minimum(out, float(step.k), out=out)


@together(lambda step: (step.metric.get("mult"),), "k", "rel")
def n_found_at_multiple(chunk: Chunk, step: Step, points: tuple[float, ...], out: Array) -> None:
    """The same as `n_found` in as many ranks."""
    hits = chunk.hits
    where = (hits.queries, hits.above, hits.ties, hits.labels)
    if len(points) > 1:
        multiples, n = np.array(points, float), n_relevant(chunk, step)
        several.count_found_at_multiples(*where, hits.offsets, step.rel, n, multiples, step.k, out)
    else:
        precision.count_found(*where, step.rel, multiple_cutoffs(chunk, step), out[0])


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
