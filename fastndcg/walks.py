"""
What hits add up to down to a cutoff: discounted gains, precisions, and how many are relevant.

What is asked for alone has a kernel of its own. Of all else one walk over the hits adds up gains of one kind, and
counts what is relevant by one threshold: there are as many walks as a plan has kinds of gains or thresholds, whichever
are more, and mostly one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from fastndcg.chunk import Chunk
from fastndcg.gains import hit_gains, merges_labels
from fastndcg.kernels import gain, precision
from fastndcg.kernels import together as several
from fastndcg.memory import F8, U4
from fastndcg.metric import UNLIMITED
from fastndcg.rankings import Array
from fastndcg.relevant import has_ties, n_relevant_ranked, tied_queries
from fastndcg.steps import Fill, Kernel, Made, Step, bindable, cutoffs, discounts_for, once, values_of

REACHED, PRECISION_SUMS, N_FOUND = KINDS = "reached", "precision sums", "found"

Sum = tuple[str, int]  # its kind, and how many ranks count
Asked = dict[Sum, Step]


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """What one walk over the hits adds up for a plan."""

    number: int  # among those of the plan
    sums: tuple[Sum, ...]
    adding: Step  # whose gains it adds up, if any
    counting: Step  # whose relevant documents it counts, if any

    def rows(self, chunk: Chunk) -> dict[Any, Array]:
        """A value for each query, by sum; the walk is made when the first of them is asked for."""
        rows: dict[Any, Array] | None = chunk.made.get(self)
        if rows is None:
            rows = chunk.made[self] = self._rows(chunk)
        return rows

    def source(self, *wanted: Any) -> Made:
        """One of its sums as an argument."""
        return lambda chunk, _: self.rows(chunk)[wanted]

    def _rows(self, chunk: Chunk) -> dict[Any, Array]:
        longest = max(int(chunk.truth.sizes.max(initial=0)), 1)
        places = {k: min(k, longest) for _, k in self.sums}
        cuts = tuple(sorted(set(places.values())))
        n_queries, kinds = chunk.truth.n_queries, {kind for kind, _ in self.sums}
        size = (len(cuts) + (cuts[-1] < longest)) * n_queries
        out = [chunk.take((kind, self.number), size, F8) if kind in kinds else None for kind in KINDS]
        self._fill(chunk, cuts, cuts[-1] < longest, *out)
        rows = {kind: made.reshape(-1, n_queries) for kind, made in zip(KINDS, out, strict=True) if made is not None}
        return {(kind, k): rows[kind][cuts.index(places[k])] for kind, k in self.sums}

    def _fill(self, chunk: Chunk, points: tuple[int, ...], ends_above: bool, *out: Array | None) -> None:
        hits, (discounts, sums, rests, _) = chunk.hits, discounts_for(chunk, self.adding)
        gains = hits.labels if out[0] is None else hit_gains(chunk, self.adding)
        cuts, rows = rows_of(points, ends_above)
        ranked, rel = (hits.labels, gains), self.counting.rel
        several.add_up(hits.queries, hits.above, *ranked, rel, discounts, points[-1], rows, chunk.truth.n_queries, *out)
        if has_ties(chunk):
            where = (tied_queries(chunk), hits.queries, hits.above, hits.ties, *ranked, hits.offsets)
            merges = merges_labels(chunk, self.adding)
            several.add_up_tied(*where, rel, discounts, sums, rests, cuts, merges, *out)


@functools.lru_cache(maxsize=16)
def rows_of(cuts: tuple[int, ...], ends_above: bool) -> tuple[Array, Array]:
    """
    Cutoffs, and for each number of ranks above the place of the first cutoff below.

    The last of these stands for all others: if they end above the longest query, for what no cutoff counts.
    """
    bounds = cuts if ends_above else cuts[:-1]
    return np.array(cuts), np.searchsorted(bounds, np.arange(max(bounds, default=0) + 1), side="right").astype(U4)


def walks_of(steps: tuple[Step, ...]) -> dict[Hashable, Walk]:
    """The walk for each sum that steps ask for, by its kind, what it depends on and its cutoff; none for one alone."""
    adding: dict[Hashable, Asked] = {}
    counting: dict[Hashable, Asked] = {}
    source: Any
    for step in steps:
        for source in step.arguments:
            if hasattr(source, "kind") and (source.kind, step.k) != (N_FOUND, UNLIMITED):  # which labels tell
                asked = adding if source.kind == REACHED else counting
                asked.setdefault(source.depends(step), {})[source.kind, step.k] = step
    none: tuple[Hashable, Asked] = None, {}
    walks: dict[Hashable, Walk] = {}
    for number, (adds, counts) in enumerate(zip_longest(adding.items(), counting.items(), fillvalue=none)):
        steps_by_sum = adds[1] | counts[1]
        if len(steps_by_sum) > 1:
            first, *_, last = steps_by_sum.values()
            walk = Walk(number, tuple(steps_by_sum), first, last)
            walks |= {(kind, depended, k): walk for depended, part in (adds, counts) for kind, k in part}
    return walks


def summed(kind: str, *fields: str) -> Callable[[Fill], Made]:
    """Make what fills in sums of a kind down to a step's cutoff a source of them, or of those of a plan's walk."""

    def decorate(fill: Fill) -> Made:
        alone, depends = once("chunk", "k", *fields)(fill), values_of(fields)

        def bind(step: Step, shared: dict[Hashable, Any]) -> Made:
            walk = shared.get((kind, depends(step), step.k))
            return alone.bind(step, shared) if walk is None else walk.source(kind, step.k)  # type: ignore[attr-defined,no-any-return]

        source = bindable(fill, bind)
        source.kind, source.depends = kind, depends  # type: ignore[attr-defined]
        return source

    return decorate


@summed(REACHED, "gain", "rel", "discount")
def reached(chunk: Chunk, step: Step, out: Array) -> None:
    """DCG@k."""
    hits, (discounts, sums, rests, _) = chunk.hits, discounts_for(chunk, step)
    is_merged = chunk.n_tied and has_ties(chunk) and merges_labels(chunk, step)
    kernel: Kernel = gain.dcg_of_merged_labels if is_merged else gain.dcg
    kernel(hits.queries, hits.above, hits.ties, hit_gains(chunk, step), discounts, sums, rests, step.k, out)


@summed(PRECISION_SUMS, "rel")
def precision_sums(chunk: Chunk, step: Step, out: Array) -> None:
    """The expected sum of the precisions at the ranks of relevant documents, down to rank k."""
    hits = chunk.hits
    precision.add_precisions(hits.queries, hits.above, hits.ties, hits.labels, step.rel, step.k, out)


@summed(N_FOUND, "rel")
def n_found(chunk: Chunk, step: Step, out: Array) -> None:
    """The expected number of relevant documents in the first k ranks of each query."""
    hits = chunk.hits
    if step.k == UNLIMITED:
        np.copyto(out, n_relevant_ranked(chunk, step))
    else:
        precision.count_found(hits.queries, hits.above, hits.ties, hits.labels, step.rel, cutoffs(chunk, step), out)
