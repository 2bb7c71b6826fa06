"""What metrics of judgments by subtopic need of a chunk, found once for all that agree in what it depends on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from fastndcg.chunk import Chunk, Truth
from fastndcg.discounts import discounts_of
from fastndcg.kernels import diversity, greedy
from fastndcg.memory import F8, I4, I8
from fastndcg.metric import Metric
from fastndcg.patterns import Patterns
from fastndcg.rankings import Array


class Asked(Protocol):
    """What a metric asks for: see `fastndcg.arguments.Step`."""

    @property
    def metric(self) -> Metric:
        """With its parameters, and the convention's cutoff where it has none."""

    @property
    def k(self) -> int:
        """How many ranks count."""

    @property
    def rel(self) -> float:
        """The lowest label that is relevant."""


class Best(NamedTuple):
    """The best order of the judged documents as hits: see `fastndcg.memory.Hits`."""

    labels: Array
    above: Array
    ties: Array
    offsets: Array


def pattern_offsets(chunk: Chunk, step: Asked) -> Array:
    """Where the subtopics of each pattern begin that a document is relevant to."""
    return patterns_of(chunk).relevant(step.rel)[0]


def pattern_subtopics(chunk: Chunk, step: Asked) -> Array:
    """Subtopics of patterns, one pattern after the other."""
    return patterns_of(chunk).relevant(step.rel)[1]


def n_slots(chunk: Chunk, _: Asked) -> int:
    """A number above those of all subtopics."""
    return patterns_of(chunk).n_subtopics


def n_subtopics(chunk: Chunk, step: Asked) -> Array:
    """How many subtopics of each query have a relevant document."""

    def fill(out: Array) -> None:
        judged = chunk.truth.judged
        diversity.count_subtopics(judged.labels, judged.offsets, *table_of(chunk, step), out)

    return kept(chunk.truth, ("n_subtopics", step.rel), chunk.truth.n_queries, fill)


def n_ranks(chunk: Chunk, step: Asked) -> Array:
    """How many ranks count: k, or as many as there are documents."""
    sizes = chunk.truth.sizes
    return sizes.astype("f8") if step.metric.k is None else np.full(len(sizes), float(step.k))


def weights(kind: str, chunk: Chunk, step: Asked) -> Array:
    """What novelty counts at each rank: the convention's discount, 1 / rank, or beta^(rank − 1); entry 0 is unused."""
    discounts = chunk.job.discounts.values
    if kind == "discount":
        return discounts
    if kind == "reciprocal":
        return discounts_of("1/r", len(discounts) - 1).values
    beta = float(step.metric.get("beta"))

    def fill(out: Array) -> None:
        np.power(beta, np.arange(-1.0, len(discounts) - 1), out=out)

    return kept(chunk.truth, ("decay", beta), len(discounts), fill)


def novelty_by(kind: str, chunk: Chunk, step: Asked) -> Array:
    """The sum over the first k ranks of what is new, weighted by rank."""
    hits, alpha = chunk.hits, alpha_of(step)

    def fill(out: Array) -> None:
        found = (hits.labels, hits.above, hits.ties, hits.offsets)
        diversity.novelty(*found, *table_of(chunk, step), weights(kind, chunk, step), alpha, step.k, out)

    return kept(chunk, key_of(kind, step), chunk.truth.n_queries, fill)


def best_by(kind: str, chunk: Chunk, step: Asked) -> Array:
    """The same of the best order."""
    alpha = alpha_of(step)

    def fill(out: Array) -> None:
        diversity.novelty(
            *best_order(chunk, step), *table_of(chunk, step), weights(kind, chunk, step), alpha, step.k, out
        )

    return kept(chunk.truth, ("best", *key_of(kind, step)), chunk.truth.n_queries, fill)


def best_order(chunk: Chunk, step: Asked) -> Best:
    """The judged document that gains most next to those before, again and again: the true best order is NP-hard."""
    truth, alpha = chunk.truth, alpha_of(step)
    judged, key = truth.judged, ("best order", alpha, step.rel)
    kinds = {"labels": F8, "above": I4, "ties": I4, "offsets": I8}
    if (key, "offsets") not in truth.made:
        sizes = dict.fromkeys(kinds, len(judged.labels)) | {"offsets": len(judged.offsets)}
        best = Best(**{name: truth.take((key, name), sizes[name], kind) for name, kind in kinds.items()})
        greedy.best_order(judged.labels, judged.offsets, *table_of(chunk, step), alpha, chunk.job.depth, *best)
        for name in kinds:  # now, when all is full, and last the one that is looked for: another thread may look
            truth.made[key, name] = getattr(best, name)
    return Best(**{name: truth.made[key, name] for name in kinds})


def limit_by(kind: str, chunk: Chunk, step: Asked) -> Array:
    """The same of documents that are relevant to all subtopics, which no order passes."""
    keep, counts = 1.0 - alpha_of(step), n_subtopics(chunk, step)
    if kind == "decay":
        return counts / (1.0 - keep * float(step.metric.get("beta")))
    by_rank = weights(kind, chunk, step)
    sums = np.cumsum(by_rank[1:] * np.power(keep, np.arange(len(by_rank) - 1)))
    ranks = np.clip(n_ranks(chunk, step), 1, len(sums)).astype("i8")
    return np.asarray(counts * sums[ranks - 1])


def patterns_of(chunk: Chunk) -> Patterns:
    """What labels stand for."""
    return cast(Patterns, chunk.job.rankings.patterns)  # the engine has looked


def table_of(chunk: Chunk, step: Asked) -> tuple[Array, Array, int]:
    """The patterns as kernels read them."""
    return pattern_offsets(chunk, step), pattern_subtopics(chunk, step), n_slots(chunk, step)


def alpha_of(step: Asked) -> float:
    """How much a repeated subtopic loses."""
    return float(step.metric.get("alpha"))


def key_of(kind: str, step: Asked) -> tuple[Hashable, ...]:
    """What weighted novelty depends on."""
    return kind, alpha_of(step), step.metric.get("beta"), step.rel, step.k


def kept(keeper: Chunk | Truth, key: Hashable, size: int, fill: Callable[[Array], None]) -> Array:
    """One float64 array, made once."""
    made = keeper.made.get(key)
    if made is None:
        made = keeper.take(key, size, F8)
        fill(made)
        keeper.made[key] = made  # now, when it is full: another thread may look
    return made


SOURCES: dict[str, Callable[[Chunk, Any], Any]] = {
    "judged_labels": lambda chunk, _: chunk.truth.judged.labels,
    "judged_offsets": lambda chunk, _: chunk.truth.judged.offsets,
    "pattern_offsets": pattern_offsets,
    "pattern_subtopics": pattern_subtopics,
    "n_slots": n_slots,
    "n_subtopics": n_subtopics,
    "n_ranks": n_ranks,
}
for _kind in ("discount", "reciprocal", "decay"):
    SOURCES[f"novelty_by_{_kind}"] = functools.partial(novelty_by, _kind)
    SOURCES[f"best_by_{_kind}"] = functools.partial(best_by, _kind)
    SOURCES[f"limit_by_{_kind}"] = functools.partial(limit_by, _kind)
