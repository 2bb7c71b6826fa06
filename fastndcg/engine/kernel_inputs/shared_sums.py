"""
Sums over the hits down to a cutoff: DCG, precisions, and numbers of relevant documents.

A sum that a plan needs alone has a kernel. Several sums share passes over the hits. One pass adds up the gains of one
kind and counts the relevant documents of one threshold, at all cutoffs. The number of passes of a plan is the number of
its kinds of gains or of its thresholds, whichever is larger. Mostly it is 1.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.buffers import F8, U4
from fastndcg.engine.chunk import Chunk
from fastndcg.engine.kernel_inputs.basics import cutoffs, find_discounts
from fastndcg.engine.kernel_inputs.gains import hit_gains, merges_labels
from fastndcg.engine.kernel_inputs.kernel_input import kernel_input
from fastndcg.engine.kernel_inputs.relevance import n_relevant_ranked, tied_queries
from fastndcg.engine.task import MetricTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import UNLIMITED
from fastndcg.rankings.validation import Array


@kernel_input("dcg", scope="ranking", key=("k", "gain", "rel", "discount"))
def dcg(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute DCG@k."""
    kernels = load_kernels("metrics.dcg")
    hits = chunk.hits
    discounts = find_discounts(chunk, task)
    has_merged_ties = chunk.has_average_ties and merges_labels(chunk, task)
    kernel = kernels.dcg_with_equal_gains if has_merged_ties else kernels.dcg
    kernel(
        hits.queries, hits.above, hits.ties, hit_gains(chunk, task), discounts.values, discounts.sums, discounts.rests,
        task.k, out,
    )  # fmt: skip


@kernel_input("precision_sums", scope="ranking", key=("k", "rel"))
def precision_sums(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected sum of the precisions at the ranks of relevant documents, down to rank k."""
    hits = chunk.hits
    load_kernels("metrics.precision_recall").add_precisions(
        hits.queries, hits.above, hits.ties, hits.labels, task.rel, task.k, out
    )


@kernel_input("n_relevant_found", scope="ranking", key=("k", "rel"))
def n_relevant_found(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected number of relevant documents in the first k ranks of each query."""
    hits = chunk.hits
    if task.k == UNLIMITED:
        np.copyto(out, n_relevant_ranked(chunk, task))
    else:
        load_kernels("metrics.precision_recall").count_found(
            hits.queries, hits.above, hits.ties, hits.labels, task.rel, cutoffs(chunk, task), out
        )


class SharedSum(NamedTuple):
    """One sum that tasks share: the name of its kernel input, and its cutoff."""

    name: str
    k: int


class SumRows(NamedTuple):
    """
    The rows that a pass writes for its sums.

    Attributes
    ----------
    cutoffs : tuple of int
        In rising order, at most the longest query.
    ends_above : bool
        True if the longest query goes beyond the last cutoff.
    numbers : dict
        The row of each sum.
    """

    cutoffs: tuple[int, ...]
    ends_above: bool
    numbers: dict[SharedSum, int]


READ_KEY: dict[str, Callable[[MetricTask], Hashable]] = {
    "dcg": operator.attrgetter("gain", "rel", "discount"),
    "precision_sums": operator.attrgetter("rel"),
    "n_relevant_found": operator.attrgetter("rel"),
}


@dataclass(frozen=True, slots=True, eq=False)
class SharedSums:
    """
    The sums of one pass over the hits.

    Attributes
    ----------
    number : int
        The number of the pass in its plan.
    sums : tuple of SharedSum
        The sums that the pass computes.
    gain_task, count_task : MetricTask
        Tasks whose gains the pass adds up, and whose relevant documents it counts.
    """

    number: int
    sums: tuple[SharedSum, ...]
    gain_task: MetricTask
    count_task: MetricTask

    def make_argument(self, shared_sum: SharedSum) -> Callable[[Chunk, MetricTask], Array]:
        """Return a function that takes the place of a kernel input."""
        return lambda chunk, task: self.rows(chunk)[shared_sum]

    def rows(self, chunk: Chunk) -> dict[SharedSum, Array]:
        """Return the sums of each query, computed when the first of them is needed."""
        rows: dict[SharedSum, Array] | None = chunk.cache.get(self)
        if rows is None:
            rows = chunk.cache[self] = self._compute(chunk)
        return rows

    def _compute(self, chunk: Chunk) -> dict[SharedSum, Array]:
        n_queries = chunk.labels.n_queries
        layout = plan_rows(self.sums, chunk.labels.longest)
        size = (len(layout.cutoffs) + layout.ends_above) * n_queries
        names = {shared_sum.name for shared_sum in self.sums}
        out = [chunk.take((name, self.number), size if name in names else 0, F8) for name in READ_KEY]
        self._add_up(chunk, layout.cutoffs, layout.ends_above, out)
        rows = {name: sums.reshape(-1, n_queries) for name, sums in zip(READ_KEY, out, strict=True) if name in names}
        return {shared_sum: rows[shared_sum.name][number] for shared_sum, number in layout.numbers.items()}

    def _add_up(self, chunk: Chunk, distinct: tuple[int, ...], ends_above: bool, out: list[Array]) -> None:
        """Fill in one row for each cutoff."""
        kernels = load_kernels("metrics.multi_cutoff")
        hits = chunk.hits
        discounts = find_discounts(chunk, self.gain_task)
        gains = hit_gains(chunk, self.gain_task) if len(out[0]) else hits.labels
        cuts, rows = make_row_table(distinct, ends_above)
        rel = self.count_task.rel
        kernels.sum_at_cutoffs(
            hits.queries, hits.above, hits.labels, gains, rel, discounts.values, distinct[-1], rows,
            chunk.labels.n_queries, *out,
        )  # fmt: skip
        if chunk.has_average_ties:
            kernels.sum_at_cutoffs_with_ties(
                tied_queries(chunk, self.gain_task), hits.queries, hits.above, hits.ties, hits.labels, gains,
                hits.offsets, rel, discounts.values, discounts.sums, discounts.rests, cuts,
                merges_labels(chunk, self.gain_task), *out,
            )  # fmt: skip


@functools.lru_cache(maxsize=256)
def plan_rows(sums: tuple[SharedSum, ...], longest: int) -> SumRows:
    """Return the rows of sums where the longest query has so many documents."""
    cutoff_by_k = {k: min(k, max(longest, 1)) for _, k in sums}
    distinct = tuple(sorted(set(cutoff_by_k.values())))
    numbers = {shared_sum: distinct.index(cutoff_by_k[shared_sum.k]) for shared_sum in sums}
    return SumRows(distinct, distinct[-1] < longest, numbers)


@functools.lru_cache(maxsize=16)
def make_row_table(distinct: tuple[int, ...], ends_above: bool) -> tuple[Array, Array]:
    """
    Return the cutoffs, and by the number of documents above a hit the row of the first cutoff that counts it.

    The last entry is for all larger numbers. If the longest query goes beyond the last cutoff, it is a row for hits
    that no cutoff counts.
    """
    bounds = distinct if ends_above else distinct[:-1]
    rows = np.searchsorted(bounds, np.arange(max(bounds, default=0) + 1), side="right").astype(U4)
    return np.array(distinct), rows


def find_sum_name(argument: Any) -> str | None:
    """Return the name of a kernel input that is a sum of hits, or None for other arguments."""
    name = getattr(argument, "name", None)
    return name if name in READ_KEY else None


def share_sums(tasks: tuple[MetricTask, ...]) -> tuple[MetricTask, ...]:
    """Return the tasks with arguments from shared passes in place of sums that have company."""
    passes = plan_shared_sums(tasks)

    def replace_argument(task: MetricTask, argument: Any) -> Any:
        name = find_sum_name(argument)
        shared = None if name is None else passes.get((name, READ_KEY[name](task), task.k))
        return argument if shared is None or name is None else shared.make_argument(SharedSum(name, task.k))

    return tuple(
        replace(task, arguments=tuple(replace_argument(task, argument) for argument in task.arguments))
        for task in tasks
    )


def plan_shared_sums(tasks: tuple[MetricTask, ...]) -> dict[Hashable, SharedSums]:
    """Return the pass of each sum by its name, its key and its cutoff. A single sum has no pass."""
    by_gain: dict[Hashable, dict[SharedSum, MetricTask]] = {}
    by_threshold: dict[Hashable, dict[SharedSum, MetricTask]] = {}
    for task in tasks:
        for argument in task.arguments:
            name = find_sum_name(argument)
            if name is None or (name == "n_relevant_found" and task.k == UNLIMITED):  # counted from labels alone
                continue
            group = by_gain if name == "dcg" else by_threshold
            group.setdefault(READ_KEY[name](task), {})[SharedSum(name, task.k)] = task
    nothing: tuple[Hashable, dict[SharedSum, MetricTask]] = (None, {})
    passes: dict[Hashable, SharedSums] = {}
    for number, (gains, counts) in enumerate(zip_longest(by_gain.items(), by_threshold.items(), fillvalue=nothing)):
        tasks_by_sum = gains[1] | counts[1]
        if len(tasks_by_sum) > 1:
            first, *_, last = tasks_by_sum.values()
            shared = SharedSums(number, tuple(tasks_by_sum), first, last)
            for key, sums in (gains, counts):
                passes |= {(name, key, k): shared for name, k in sums}
    return passes
