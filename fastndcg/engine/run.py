"""Run an evaluation: from rankings, metrics and a convention to one value a query and metric, in chunks, on threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastndcg.engine.apply import apply_convention, check_labels, check_stops
from fastndcg.engine.chunk import (
    CHUNK_DOCUMENTS,
    MIN_DOCUMENTS_FOR_THREADS,
    Chunk,
    ChunkLabels,
    Discounts,
    EvaluationContext,
    Span,
    cut_queries,
    make_discounts,
)
from fastndcg.engine.compute.counts import count_relevant
from fastndcg.engine.plan import MIN_DISCOUNT_RANKS, MetricPlan, find_undefined_policy, make_plan
from fastndcg.engine.relevant_ranks import group_ranks
from fastndcg.engine.scratch import BOOL, F8, Scratch
from fastndcg.engine.task import Task
from fastndcg.errors import Choice, InvalidInputError, InvalidTypeError, UndefinedMetricError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import AUTO
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import refuse_plain, refuse_ties
from fastndcg.named_conventions import Convention
from fastndcg.rankings.compact import ScoreRowRankings
from fastndcg.rankings.rankings import Rankings, check_patterns, has_labels_below_0
from fastndcg.rankings.validation import Array
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_stopped, check_threads, run_all


@dataclass(slots=True)
class EvaluationOutput:
    """
    Values of metrics, before they become `Results`.

    Attributes
    ----------
    values : (n_queries, n_metrics) float64 array
        One column a metric, then one for each denominator that was requested.
    n_tied : int
        The number of queries in which the order of equal scores matters.
    highest_label : float
        The highest label of all judged documents, infinity if unknown.
    query_ids : array, optional
        One id a query, where the engine reads them together with the rankings.
    notes : tuple of str
        Remarks for the user.
    overall : mapping, optional
        Values of metrics that have one value for all queries together.
    """

    values: Array
    n_tied: int = 0
    highest_label: float = math.inf
    query_ids: Array | None = None
    notes: tuple[str, ...] = ()
    overall: Mapping[Metric, float] | None = None


GROWTH_SAMPLE = 4096  # labels that tell how sparse they are
MAX_GROWTH = 8
MAX_REUSED_SIZE = 1 << 15  # labels and queries of calls that share their buffers, some 1 MB; larger arrays cost little
MIN_HITS_BETWEEN_CHECKS = 1 << 20  # an error in another thread ends the work between two metrics of so many hits
# Buffers of small calls that have ended; a call takes one out while it works. On a loaded machine, one query of 100
# documents took 46 µs: 16 µs more without spare buffers, 14 µs more without ready arrays (inputs/arrays.py), and 6 µs
# more without cached slices of few hits (scratch.py). It takes a sixth of that now, so that each Python call counts.
_spare_buffers: list[Scratch] = []


# Everything that an evaluation decides before it reads scores: discounts for the ranks, the chunks
Prepared = tuple[MetricPlan, list[Span], Discounts]


class EvaluatorCache:
    """
    Results that evaluations of the same labels, metrics and convention share, in any number of threads at once.

    Attributes
    ----------
    labels : dict
        The labels of each chunk.
    prepared : dict
        By the number of threads.
    idle : list of Scratch
        Buffers of workers that have ended. A worker takes one out while it works.
    plain : EvaluatorCache, optional
        The cache of metrics that take one label a document, where others take labels by subtopic.
    plan : MetricPlan, optional
        That of small calls, which would take a tenth of their time to find it.
    """

    __slots__ = ("idle", "labels", "plain", "plan", "prepared")

    def __init__(self) -> None:
        self.labels: dict[Span, ChunkLabels] = {}
        self.prepared: dict[int, Prepared] = {}
        self.idle: list[Scratch] = []
        self.plain: EvaluatorCache | None = None
        self.plan: MetricPlan | None = None


def run(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    *,
    denominators: tuple[Metric, ...] = (),
    undefined: Array | None = None,
    threads: int | None = None,
    chunk_documents: int = CHUNK_DOCUMENTS,
    strategy: int = AUTO,
    cache: EvaluatorCache | None = None,
    scratch: Scratch | None = None,
    out: Array | None = None,
) -> EvaluationOutput:
    """
    Evaluate every metric on every query.

    Neither threads nor chunks nor the strategy change a bit of the values.

    Parameters
    ----------
    denominators : tuple of Metric
        Counts that micro means weigh values by. Their columns follow those of the metrics, defined for all queries.
    undefined : (n_queries,) bool array, optional
        Queries in which no metric has a value.
    cache : EvaluatorCache, optional
        Shared by evaluations of the same labels, metrics and convention.
    scratch : Scratch, optional
        Buffers that consecutive calls reuse, with ``threads=1``. By default they are the cache's, new ones, or those of
        an earlier small call.
    out : (n_metrics + n_denominators, n_queries) float64 array, optional
        Where the values go. Each row is contiguous.
    """
    if rankings.patterns is not None:
        check_patterns(rankings.patterns, convention)
        plain = [place for place, metric in enumerate((*metrics, *denominators)) if not metric.record.by_subtopic]
        if plain:
            return run_both_kinds(
                rankings, (metrics, denominators), convention, plain, undefined=undefined, threads=threads,
                chunk_documents=chunk_documents, strategy=strategy, cache=cache, scratch=scratch, out=out,
            )  # fmt: skip
    if convention.ties == "mean_rank" and not getattr(rankings, "has_whole_groups", False):
        # ranks are known from here on, so that `apply_convention` below returns at once
        rankings = group_ranks(apply_convention(rankings, convention), metrics, convention)
        cache = None  # labels are in rank order: none can be shared
    n_threads = 1 if rankings.n_documents < MIN_DOCUMENTS_FOR_THREADS else check_threads(threads)
    given = rankings
    rankings = apply_convention(rankings, convention)
    prepared = None if cache is None else cache.prepared.get(n_threads)
    if prepared is None:
        plan = make_plan(metrics, convention, denominators)
        if rankings.n_labels > chunk_documents:
            chunk_documents *= enlarge_sparse_chunks(rankings)
        prepared = prepare(rankings, plan, n_threads, chunk_documents, given)
        if cache is not None:
            cache.prepared[n_threads] = prepared
    plan, chunks, discounts = prepared
    values = np.empty((len(plan.tasks), rankings.n_queries)) if out is None else out
    is_small = rankings.n_labels + rankings.n_queries <= MAX_REUSED_SIZE
    own_scratch = borrow_scratch(is_small, cache) if scratch is None else scratch
    try:
        context = EvaluationContext(rankings, plan, discounts, strategy, values, own_scratch)
        if len(chunks) == 1:
            n_tied, highest_label = evaluate_chunk(plan, context, chunks[0], own_scratch, cache)
        else:
            if scratch is not None:
                found = [evaluate_chunk(plan, context, span, own_scratch, cache) for span in chunks]
            else:
                found = evaluate_on_threads(prepared, context, n_threads, cache)
            n_tied = sum(n for n, _ in found)
            highest_label = max((label for _, label in found), default=math.inf)
        if undefined is not None:
            values[: len(metrics), undefined] = np.nan
        if plan.has_undefined_policy:
            apply_undefined_policy(
                rankings, convention, metrics, values, own_scratch, has_undefined_queries=undefined is not None
            )
    finally:
        if cache is not None:
            cache.idle.append(own_scratch)
        elif scratch is None and is_small:
            _spare_buffers.append(own_scratch)
    if rankings.patterns is not None:  # labels are their numbers
        highest_label = rankings.patterns.labels.max(initial=0.0)
    return EvaluationOutput(values.T, n_tied, highest_label)


def run_small(
    rankings: Rankings, plan: MetricPlan, cache: EvaluatorCache | None = None, out: Array | None = None
) -> EvaluationOutput | None:
    """
    Evaluate metrics on few documents in arrays, or return None where `run` has to do more.

    It leaves out what `run` decides about threads, chunks and the documents that count, and gives the same bits.
    """
    n_queries = rankings.n_queries
    n = rankings.n_documents + n_queries
    has_all_discounts = min(plan.reach.n_ranks, n) <= MIN_DISCOUNT_RANKS
    if not (plan.needs_kernels_only and n <= MAX_REUSED_SIZE and has_all_discounts and n_queries):
        return None
    values = np.empty((len(plan.tasks), n_queries)) if out is None else out
    scratch = borrow_scratch(True, cache)
    try:
        context = EvaluationContext(rankings, plan, plan.discounts, AUTO, values, scratch)
        n_tied, highest_label = evaluate_chunk(plan, context, (0, n_queries), scratch, cache)
    finally:
        (_spare_buffers if cache is None else cache.idle).append(scratch)
    return EvaluationOutput(values.T, n_tied, highest_label)


def run_both_kinds(
    rankings: Rankings,
    metrics: tuple[tuple[Metric, ...], tuple[Metric, ...]],
    convention: Convention,
    plain: list[int],
    *,
    cache: EvaluatorCache | None,
    out: Array | None,
    **options: Any,
) -> EvaluationOutput:
    """
    Evaluate metrics that take one label a document and metrics by subtopic in a call each, and join their columns.

    `metrics` are the metrics and the denominators. `plain` are the places of those that take one label.
    """
    every = (*metrics[0], *metrics[1])
    values = np.empty((len(every), rankings.n_queries)) if out is None else out
    n_tied, highest_label = 0, 0.0
    if cache is not None and cache.plain is None:
        cache.plain = EvaluatorCache()
    by_subtopic = [place for place in range(len(every)) if place not in plain]
    plain_cache = None if cache is None else cache.plain
    for places, view, own in ((plain, rankings.without_patterns(), plain_cache), (by_subtopic, rankings, cache)):
        n = sum(place < len(metrics[0]) for place in places)
        some = tuple(every[place] for place in places)
        if some:
            output = run(view, some[:n], convention, denominators=some[n:], cache=own, **options)
            values[places] = output.values.T
            n_tied = max(n_tied, output.n_tied)
            highest_label = max(highest_label, output.highest_label)
    return EvaluationOutput(values.T, n_tied, highest_label)


def borrow_scratch(is_small: bool, cache: EvaluatorCache | None) -> Scratch:
    """Return the buffers of a call: idle ones of the cache, spare ones for few documents, or new ones."""
    try:
        if cache is not None:
            return cache.idle.pop()
        return _spare_buffers.pop() if is_small else Scratch()
    except IndexError:
        return Scratch()


def prepare(rankings: Rankings, plan: MetricPlan, threads: int, chunk_documents: int, given: Rankings) -> Prepared:
    """
    Return the chunks of rankings and the discounts for their ranks.

    `given` are the rankings before the convention removes documents: another call with the same cache may keep more.
    """
    if plan.subtopic_metric is not None and rankings.patterns is None:
        refuse_plain(plan.subtopic_metric)
    discounts = plan.discounts
    if max(plan.reach.n_ranks, plan.n_ideal_ranks) > MIN_DISCOUNT_RANKS:
        n_ranks = min(plan.reach.n_ranks, given.longest()) + 1  # one more: the sum down to the last rank is read there
        discounts = make_discounts(plan.convention.discount, max(n_ranks, plan.n_ideal_ranks))
    n_queries = rankings.n_queries
    if threads == 1 and rankings.n_labels <= chunk_documents and n_queries <= chunk_documents:
        return plan, [(0, n_queries)] if n_queries else [], discounts
    return plan, make_chunks(rankings, chunk_documents, threads), discounts


def enlarge_sparse_chunks(rankings: Rankings) -> int:
    """
    Return how many times larger chunks may be where few labels are other than 0, by the first of them.

    Each metric reads the hits of a chunk again, so that they must stay in the processor's cache: twelve metrics of
    dense labels take 1.2 times as long in chunks eight times as large. Those of sparse labels take 4 % less.
    """
    if rankings.known_hits is not None or isinstance(rankings, ScoreRowRankings):
        return 1
    sample = rankings.labels[:GROWTH_SAMPLE]
    return min(max(len(sample) // max(int(np.count_nonzero(sample)), 1), 1), MAX_GROWTH)


def needs_all_documents(metrics: tuple[Metric, ...], convention: Convention, score_dtype: Any, labels: Array) -> bool:
    """
    Return True if counts of higher scores are not enough.

    A metric or the convention reads unlabelled documents, or scores that are not those of the counts.
    """
    return (
        bool(make_plan(metrics, convention).views)
        or any(metric.record.function is not None for metric in metrics)
        or convention.unjudged == "removed"
        or (convention.score_dtype == "float32" and score_dtype != np.float32)
        or (convention.removes_negative_labels and has_labels_below_0(labels))
    )


def check_truth(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> None:
    """
    Raise an error for labels that metrics or the convention refuse, before scores are computed.

    Gains outside a metric's range, and sums beyond float64, are found when gains are computed.
    """
    plan = make_plan(metrics, convention)
    if plan.subtopic_metric is not None:
        refuse_plain(plan.subtopic_metric)
    labels = rankings.known_hits.labels
    pool_labels = labels if rankings.pool is None else rankings.pool[0]
    for name, array in {"labels": labels, "pool": pool_labels}.items():
        extremes = array.min(initial=0), array.max(initial=0), int(np.isnan(array).sum())
        check_labels(rankings, name, extremes, array, plan.gains, convention)
    for metric in metrics:
        check_stops(pool_labels, labels, metric, rankings)


def make_chunks(rankings: Rankings, chunk_documents: int, threads: int) -> list[Span]:
    """Return spans of queries with about `chunk_documents` documents, judged ones of the pool included."""
    source = rankings.rows if isinstance(rankings, ScoreRowRankings) else rankings.known_hits
    offsets = rankings.offsets if source is None else source.offsets
    work = offsets if rankings.pool is None else offsets + rankings.pool[1]
    return cut_queries(work, chunk_documents, threads)


def evaluate_on_threads(
    prepared: Prepared, context: EvaluationContext, threads: int, cache: EvaluatorCache | None
) -> list[tuple[int, float]]:
    """Evaluate all chunks on threads, and return what `evaluate_chunk` returns of each."""
    plan, chunks, _ = prepared
    found: list[tuple[int, float]] = []
    borrowed: list[Scratch] = []

    def make_worker() -> Callable[[Span], None]:
        scratch = borrow_scratch(False, cache)
        borrowed.append(scratch)

        def work(span: Span) -> None:
            found.append(evaluate_chunk(plan, context, span, scratch, cache))

        return work

    n_workers = min(threads, len(chunks))
    try:
        with track(chunks, "evaluating queries", len(chunks)) as tracked_chunks:
            run_all(tracked_chunks, make_worker, n_workers)
    finally:
        if cache is not None:
            n_late = n_workers - len(borrowed)  # threads that found no chunk left. They may find one next time
            borrowed += [Scratch() for _ in range(n_late)]
            Scratch.equalize(borrowed)
            cache.idle.extend(borrowed)
    return found


def evaluate_chunk(
    plan: MetricPlan, context: EvaluationContext, span: Span, scratch: Scratch, cache: EvaluatorCache | None
) -> tuple[int, float]:
    """Evaluate metrics on a span of queries. Return how many have ties that matter, and the highest label."""
    first, stop = span
    scratch.restart()
    if cache is None:
        labels = ChunkLabels(context, scratch, first, stop)
    elif span in cache.labels:
        labels = cache.labels[span]
        labels.check_offsets(context.rankings)
    else:
        labels = cache.labels[span] = ChunkLabels(context, None, first, stop)
    chunk = Chunk(context, labels, scratch)
    values = context.values
    if stop - first < context.rankings.n_queries:
        values = values[:, first:stop]
    compute_values(plan, chunk, values)
    return chunk.n_tied, labels.highest_label


def compute_values(plan: MetricPlan, chunk: Chunk, values: Array) -> None:
    """Compute each metric, which fills a row of the values of a chunk."""
    is_large = len(chunk.hits.labels) > MIN_HITS_BETWEEN_CHECKS
    for row, task in enumerate(plan.tasks):  # an iterator over an array takes 0.3 µs to end
        out = values[row]
        source = plan.same_values_as[row]
        if source is not None:
            out[:] = values[source]
            continue
        if is_large:
            check_stopped()
        if task.is_undefined_at_ties and chunk.n_tied:
            refuse_ties(task.metric)
        task.compute(chunk, task, out)
        if not task.has_plain_values:
            replace_values(chunk, task, out)


def replace_values(chunk: Chunk, task: Task, out: Array) -> None:
    """Write the values that the convention gives to queries without relevant documents, and in place of NaN."""
    if task.min_relevant_label is not None:
        counts = count_relevant(chunk.labels, task.min_relevant_label)
        np.copyto(out, np.nan, where=np.equal(counts, 0, out=chunk.take(len(out), BOOL)))
    if task.undefined_value is not None:  # now, while the processor's cache holds the values
        load_kernels("metrics.gains").replace_undefined(task.undefined_value, out)


def apply_undefined_policy(
    rankings: Rankings,
    convention: Convention,
    metrics: tuple[Metric, ...],
    values: Array,
    scratch: Scratch,
    *,
    has_undefined_queries: bool,
    reason: str = "",
) -> None:
    """
    Replace NaN by the convention's value in queries without judgments, or raise an error for any NaN.

    Chunks have replaced NaN in the other queries. `reason` says why a query has no value, if metrics do not.
    """
    for metric, row in zip(metrics, values, strict=False):  # rows of denominators follow those of metrics
        policy = find_undefined_policy(metric, convention)
        if policy == "nan" or (policy != "raise" and not has_undefined_queries):
            continue
        is_undefined = np.isnan(row, out=scratch.take(len(row), BOOL))
        if policy != "raise":
            np.copyto(row, policy, where=is_undefined)
        elif is_undefined.any():
            query = rankings.query_name(int(np.argmax(is_undefined)))
            own_reason = metric.record.undefined  # "never": the convention leaves the query out
            why = reason or ("nothing is relevant" if own_reason == "never" else own_reason)
            raise UndefinedMetricError(
                f"{metric} must have a value for every query, but {query} has none ({why}). Drop the query, or take ",
                Choice("undefined", ["nan"]),
                ".",
            )


def check_out(out: Array, rankings: Rankings, n_metrics: int) -> None:
    """Raise an error if the values cannot be written to the array `out`."""
    shape = (n_metrics, rankings.n_queries)
    if not isinstance(out, np.ndarray):
        raise InvalidTypeError(f"`out` must be a NumPy array, not {type(out).__name__}. Use np.empty({shape}).")
    if out.dtype != F8 or not out.dtype.isnative:
        raise InvalidTypeError(f"`out` must be of dtype float64, not {out.dtype}. Use np.empty({shape}).")
    if out.shape != shape:
        raise InvalidInputError(
            f"`out` must have the shape (n_metrics, n_queries), {shape}, not {out.shape}. Use np.empty({shape})."
        )
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        problem = "not contiguous, row after row" if not flags.c_contiguous else "not aligned"
        problem = problem if flags.writeable else "read-only"
        raise InvalidInputError(
            f"`out` must be an array that kernels can write to, but is {problem}. Use np.empty({shape})."
        )
    for name in ("scores", "labels"):
        if np.may_share_memory(out, getattr(rankings, name)):
            raise InvalidInputError(f"`out` must not share memory with `{name}`. Use np.empty({shape}).")
