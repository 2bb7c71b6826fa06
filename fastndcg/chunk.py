"""One chunk of queries: its documents that matter, ranked once for all metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from fastndcg.checks import check_labels
from fastndcg.conventions import Convention
from fastndcg.discounts import Discounts
from fastndcg.kernels import candidates, ideal, ties
from fastndcg.kernels.rank import rank
from fastndcg.kernels.vectors import WIDE
from fastndcg.metric import Metric
from fastndcg.rankings import Array, Rankings, read_only

UNLIMITED = 2**31 - 1  # stands for "no cutoff": no query has more documents


class Job(NamedTuple):
    """What the chunks of an evaluation share. In `rankings` the convention has been applied already."""

    rankings: Rankings
    metrics: tuple[Metric, ...]
    convention: Convention
    depth: int  # the deepest rank that any metric looks at
    discounts: Discounts
    scores: Array  # those of the rankings, made up to one vector: kernels compare whole vectors
    strategy: int
    values: Array  # (n_metrics, n_queries), filled in by the chunks


class Scratch:
    """Buffers that a worker uses again for every chunk: fresh memory costs more than filling it."""

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Array] = {}

    def take(self, name: Hashable, size: int, dtype: str) -> Array:
        """An uninitialised array, good until the same name is taken again."""
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size]


class Hits(NamedTuple):
    """Documents that matter, query after query in rank order; `above` is the rank less one."""

    labels: Array
    above: Array
    ties: Array
    offsets: Array


class Candidates(NamedTuple):
    """Documents whose label is not 0, query after query."""

    documents: Array
    labels: Array
    offsets: Array
    marks: Array
    before: Array


class Chunk:
    """Queries `first` up to `stop` of a job."""

    def __init__(self, job: Job, scratch: Scratch, first: int, stop: int) -> None:
        self.job = job
        self.first = first
        self.stop = stop
        self.sizes = np.diff(job.rankings.offsets[first : stop + 1])
        self._scratch = scratch
        self._made: dict[Hashable, Array] = {}
        self._candidates = self._collect("labels", job.rankings.labels, job.rankings.offsets)
        pool = job.rankings.pool
        self.judged = self._candidates if pool is None else self._collect("pool", *pool)
        self.hits, self.n_tied = self._rank()

    @functools.cached_property
    def ideal(self) -> Hits:
        """The best order of the judged documents; it has no ties."""
        labels, offsets = self.judged.labels, self.judged.offsets
        pool = self.job.rankings.pool
        sizes = self.sizes if pool is None else np.diff(pool[1][self.first : self.stop + 1])
        out_labels = self._scratch.take("ideal labels", len(labels), "f8")
        above = self._scratch.take("ideal above", len(labels), "i4")
        out_offsets = self._scratch.take("ideal offsets", len(offsets), "i8")
        ideal.best_order(labels, offsets, sizes, self.job.depth, out_labels, above, out_offsets)
        n = out_offsets[-1]
        return Hits(out_labels[:n], above[:n], above[:0], out_offsets)

    def once(self, key: Hashable, size: int, make: Callable[[Array], None]) -> Array:
        """A float64 array that is filled when it is first asked for."""
        if key not in self._made:
            out = self._scratch.take(key, size, "f8")
            make(out)
            self._made[key] = out
        return self._made[key]

    def _collect(self, name: str, labels: Array, offsets: Array) -> Candidates:
        n_documents = int(offsets[self.stop] - offsets[self.first])
        n_blocks = -(-n_documents // WIDE)
        found = Candidates(
            self._scratch.take((name, "documents"), n_documents, "i4"),
            self._scratch.take((name, "labels"), n_documents, "f8"),
            self._scratch.take((name, "offsets"), self.stop - self.first + 1, "i8"),
            self._scratch.take((name, "marks"), n_blocks, "u8"),
            self._scratch.take((name, "before"), n_blocks, "i8"),
        )
        extremes = np.empty(3)
        floor = 0.0 if self.job.convention.negative_labels == "keep" else -np.inf
        candidates.collect(labels, offsets, self.first, floor, found, extremes)
        n = found.offsets[-1]
        found = found._replace(documents=found.documents[:n], labels=found.labels[:n])
        check_labels(self.job.rankings, name, extremes, found.labels, self.job.metrics, self.job.convention)
        return found

    def _rank(self) -> tuple[Hits, int]:
        rankings, found = self.job.rankings, self._candidates
        n = len(found.labels)
        documents, above, tie_counts = (self._scratch.take(name, n, "i4") for name in ("documents", "above", "ties"))
        labels = self._scratch.take("hit labels", n, "f8")
        offsets = self._scratch.take("hit offsets", len(found.offsets), "i8")
        counts = np.empty(2, "i8")
        hits = (documents, labels, above, tie_counts)
        job = self.job
        rank(job.scores, rankings.offsets, self.first, found, job.depth, job.strategy, hits, offsets, counts)
        if counts[1]:
            rule = "not be NaN: find out where it comes from, or take convention.replace(nan_scores='last')"
            rankings.refuse("scores", np.isnan(rankings.scores), rule)
        self._order_ties(offsets, *hits)
        n = offsets[-1]
        return Hits(labels[:n], above[:n], tie_counts[:n], offsets), int(counts[0])

    def _order_ties(self, offsets: Array, *hits: Array) -> None:
        policy, rankings = self.job.convention.ties, self.job.rankings
        if policy == "best":
            ties.best_first(offsets, *hits)
        elif policy == "worst":
            ties.worst_first(offsets, *hits)
        elif policy != "average":
            keys = np.empty(0, "i8") if rankings.tie_keys is None or policy == "input" else rankings.tie_keys
            if policy == "id_ascending":
                keys = ~keys  # falls as the key rises, also for the lowest int64
            ties.highest_key_first(rankings.scores, read_only(keys), rankings.offsets, self.first, offsets, *hits)


def depth_of(metrics: tuple[Metric, ...]) -> int:
    """The deepest rank that any metric looks at."""
    return max(cutoff(metric) for metric in metrics)


def cutoff(metric: Metric) -> int:
    """How many ranks a metric looks at."""
    return UNLIMITED if metric.k is None else min(metric.k, UNLIMITED)
