"""One chunk of queries on its way through the kernels: ranks found once, then whatever a metric asks for by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.discounts import Discounts
from fastndcg.errors import InvalidInputError
from fastndcg.kernels import candidates, gain, ideal, ties
from fastndcg.kernels.rank import rank
from fastndcg.metric import Metric
from fastndcg.rankings import EXACT_LIMIT, Array, Rankings, read_only
from fastndcg.texts import Value

UNLIMITED = 2**31 - 1  # stands for "no cutoff": no query has more documents
HIGHEST_EXP2_LABEL = 1023.0  # 2^1024 leaves float64


class Job(NamedTuple):
    """What the chunks of an evaluation share. In `rankings` the convention has been applied already."""

    rankings: Rankings
    metrics: tuple[Metric, ...]
    convention: Convention
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
    """
    Queries `first` up to `stop` of a job.

    A kernel names what it wants by the names of its parameters; each is a method here, or an attribute, that knows
    the metric, and is worked out once for all metrics that want the same.
    """

    def __init__(self, job: Job, scratch: Scratch, first: int, stop: int) -> None:
        self.job = job
        self.scratch = scratch
        self.first = first
        self.stop = stop
        self._made: dict[Hashable, Array] = {}
        self._sizes = np.diff(job.rankings.offsets[first : stop + 1])
        self._candidates = self._collect("labels", job.rankings.labels, job.rankings.offsets)
        pool = job.rankings.pool
        self._judged = self._candidates if pool is None else self._collect("pool", *pool)
        self._hits, self.n_tied = self._rank()

    def evaluate(self) -> None:
        """Fill in this chunk's part of the job's values."""
        for row, metric in zip(self.job.values, self.job.metrics, strict=True):
            kernel, names = kernel_of(metric, self.job.convention)
            kernel(*(getattr(self, name)(metric) for name in names), row[self.first : self.stop])

    def hit_above(self, _: Metric) -> Array:
        return self._hits.above

    def hit_ties(self, _: Metric) -> Array:
        return self._hits.ties

    def hit_labels(self, _: Metric) -> Array:
        return self._hits.labels

    def hit_offsets(self, _: Metric) -> Array:
        return self._hits.offsets

    def hit_gains(self, metric: Metric) -> Array:
        return self._gains("hit_gains", self._hits.labels, metric)

    def ideal_above(self, _: Metric) -> Array:
        return self._ideal.above

    def ideal_gains(self, metric: Metric) -> Array:
        return self._gains("ideal_gains", self._ideal.labels, metric)

    def ideal_offsets(self, _: Metric) -> Array:
        return self._ideal.offsets

    def discounts(self, _: Metric) -> Array:
        return self.job.discounts.values

    def discount_sums(self, _: Metric) -> Array:
        return self.job.discounts.sums

    def discount_rests(self, _: Metric) -> Array:
        return self.job.discounts.rests

    def highest_ndcg(self, _: Metric) -> float:
        return np.inf if self.job.convention.negative_labels == "keep" else 1.0

    def sizes(self, _: Metric) -> Array:
        return self._sizes

    def k(self, metric: Metric) -> int:
        return UNLIMITED if metric.k is None else min(metric.k, UNLIMITED)

    def rel(self, metric: Metric) -> float:
        return float(metric.get("rel"))

    def beta(self, metric: Metric) -> float:
        return float(metric.get("beta"))

    def n_relevant(self, metric: Metric) -> Array:
        def count() -> Array:
            out = self.scratch.take(("n_relevant", self.rel(metric)), len(self._sizes), "f8")
            candidates.count_relevant(self._judged.labels, self._judged.offsets, self.rel(metric), out)
            return out

        return self._once(("n_relevant", self.rel(metric)), count)

    def ap_denominators(self, metric: Metric) -> Array:
        n_relevant = self.n_relevant(metric)
        if self.job.convention.ap_denominator == "n_relevant" or metric.k is None:
            return n_relevant
        return np.minimum(n_relevant, float(metric.k))

    def precision_denominators(self, metric: Metric) -> Array:
        if metric.k is None:
            return self._sizes.astype("f8")
        if self.job.convention.precision_denominator == "k":
            return np.full(len(self._sizes), float(metric.k))
        return np.minimum(self._sizes, float(metric.k))

    @functools.cached_property
    def _ideal(self) -> Hits:
        labels, offsets = self._judged.labels, self._judged.offsets
        pool = self.job.rankings.pool
        sizes = self._sizes if pool is None else np.diff(pool[1][self.first : self.stop + 1])
        out_labels = self.scratch.take("ideal labels", len(labels), "f8")
        above = self.scratch.take("ideal above", len(labels), "i4")
        out_offsets = self.scratch.take("ideal offsets", len(offsets), "i8")
        ideal.best_order(labels, offsets, sizes, depth_of(self.job.metrics), out_labels, above, out_offsets)
        n = out_offsets[-1]
        return Hits(out_labels[:n], above[:n], above[:0], out_offsets)

    def _collect(self, name: str, labels: Array, offsets: Array) -> Candidates:
        n_documents = int(offsets[self.stop] - offsets[self.first])
        documents = self.scratch.take((name, "documents"), n_documents, "i4")
        out_labels = self.scratch.take((name, "labels"), n_documents, "f8")
        out_offsets = self.scratch.take((name, "offsets"), self.stop - self.first + 1, "i8")
        n_blocks = -(-n_documents // 64)
        marks = self.scratch.take((name, "marks"), n_blocks, "u8")
        before = self.scratch.take((name, "before"), n_blocks, "i8")
        extremes = np.empty(3)
        floor = 0.0 if self.job.convention.negative_labels == "keep" else -np.inf
        candidates.collect(
            labels, offsets, self.first, floor, documents, out_labels, out_offsets, marks, before, extremes
        )
        n = out_offsets[-1]
        check_labels(self.job, name, labels, extremes, out_labels[:n])
        return Candidates(documents[:n], out_labels[:n], out_offsets, marks, before)

    def _rank(self) -> tuple[Hits, int]:
        rankings, found = self.job.rankings, self._candidates
        n = len(found.labels)
        documents, above, tie_counts = (self.scratch.take(name, n, "i4") for name in ("documents", "above", "ties"))
        labels = self.scratch.take("hit labels", n, "f8")
        offsets = self.scratch.take("hit offsets", len(found.offsets), "i8")
        counts = np.empty(2, "i8")
        depth = depth_of(self.job.metrics)
        hits = (documents, labels, above, tie_counts)
        rank(self.job.scores, rankings.offsets, self.first, found, depth, self.job.strategy, hits, offsets, counts)
        if counts[1]:
            rule = "not be NaN: find out where it comes from, or take convention.replace(nan_scores='last')"
            rankings.refuse("scores", np.isnan(rankings.scores), rule)
        self._order_ties(offsets, documents, labels, above, tie_counts)
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

    def _gains(self, name: str, labels: Array, metric: Metric) -> Array:
        chosen = gain_of(metric, self.job.convention)
        rel = -np.inf if metric.get("rel") is None else self.rel(metric)
        if chosen == "linear" and rel == -np.inf:
            return labels

        def make() -> Array:
            out = self.scratch.take((name, chosen, rel), len(labels), "f8")
            if chosen == "linear":
                gain.linear_gains(labels, rel, out)
            elif chosen == "exp2":
                gain.exp2_gains(labels, rel, out)
            else:
                gain.table_gains(labels, np.array(chosen), rel, out)
            self._refuse_overflow(out, metric)
            return out

        return self._once((name, chosen, rel), make)

    def _refuse_overflow(self, gains: Array, metric: Metric) -> None:
        """Refuse gains whose sum over a query may leave float64."""
        if gains.max(initial=0.0) > np.finfo("f8").max / UNLIMITED and not np.isfinite(gains.sum()):
            raise InvalidInputError(
                f"gains of {metric} must add up within float64, but those of queries {self.first} to {self.stop - 1} "
                "do not; take gain linear, or rescale the labels"
            )

    def _once(self, key: Hashable, make: Callable[[], Array]) -> Array:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def depth_of(metrics: tuple[Metric, ...]) -> int:
    """The deepest rank that any metric looks at."""
    return max(UNLIMITED if metric.k is None else min(metric.k, UNLIMITED) for metric in metrics)


@functools.cache
def kernel_of(metric: Metric, convention: Convention) -> tuple[Callable[..., None], tuple[str, ...]]:
    """The kernel of a metric under a convention, and the names of what it takes, `out` aside."""
    place = metric.record.kernel
    for field, choice, variant in metric.record.variants:
        if getattr(convention, field) == choice:
            place = variant
    file, _, name = place.partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    *names, _ = inspect.signature(getattr(kernel, "py_func", kernel)).parameters
    return kernel, tuple(names)


def check_labels(job: Job, name: str, labels: Array, extremes: Array, found: Array) -> None:
    """Refuse labels that no metric, or none of those asked for, has a gain for; `found` are this chunk's."""
    lowest, highest, n_nan = extremes.tolist()
    refuse = functools.partial(job.rankings.refuse, name)
    negative = job.convention.negative_labels
    if n_nan:
        refuse(np.isnan(labels), "not be NaN: leave the document out, or give it the label 0")
    if lowest < 0 and negative == "raise":
        refuse(labels < 0, "not be negative: set it to 0, or take convention.replace(negative_labels='zero')")
    if highest > EXACT_LIMIT or lowest < -EXACT_LIMIT:
        refuse(np.abs(labels) > EXACT_LIMIT, "be finite and at most 2**53 in size: rescale the labels")
    for chosen in {gain_of(metric, job.convention) for metric in job.metrics if has_gain(metric)}:
        if chosen == "exp2" and highest > HIGHEST_EXP2_LABEL:
            refuse(labels > HIGHEST_EXP2_LABEL, "be at most 1023 for gain exp2, beyond float64: take gain linear")
        if isinstance(chosen, tuple):
            if highest >= len(chosen) or lowest < 0 and negative == "keep":
                outside = (labels >= len(chosen)) | ((labels < 0) & (negative == "keep"))
                refuse(
                    outside,
                    f"have a gain in the table of labels 0 to {len(chosen) - 1}: make the table longer",
                )
            if (found % 1 != 0).any():
                refuse(labels % 1 != 0, "be whole for a table of gains: round the labels, or take gain linear")


def gain_of(metric: Metric, convention: Convention) -> Value:
    """The gain that a metric adds up: its own, or else the convention's."""
    own: Value | None = metric.get("gain")
    return convention.gain if own is None else own


def has_gain(metric: Metric) -> bool:
    """Whether a metric adds up gains."""
    return any(parameter.name == "gain" for parameter in metric.record.parameters)
