"""Run an evaluation: from rankings, metrics and a convention to one value a query and metric, in chunks, on threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastndcg.engine import spans
from fastndcg.engine.buffers import BOOL, F8, Scratch
from fastndcg.engine.chunk import Chunk, ChunkLabels, EvaluationContext
from fastndcg.engine.custom_metrics import evaluate_custom_metric
from fastndcg.engine.discounts import Discounts, make_discounts
from fastndcg.engine.hits import HitSource, make_hit_source
from fastndcg.engine.kernel_inputs.relevance import n_with_min_label
from fastndcg.engine.label_checks import check_labels, check_stops
from fastndcg.engine.output import EvaluationOutput
from fastndcg.engine.pairs import find_common_rel, group_ranks
from fastndcg.engine.plan import MIN_DISCOUNT_RANKS, Plan, make_plan
from fastndcg.engine.spans import Span
from fastndcg.engine.transforms import apply_convention, apply_undefined_policy, may_change_rankings
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import refuse_plain, refuse_ties
from fastndcg.named_conventions import Convention
from fastndcg.rankings.filters import VIEWS, has_labels_below_0
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.score_rows import ScoreRowRankings
from fastndcg.rankings.subtopics import check_patterns
from fastndcg.rankings.validation import Array
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_stopped, check_threads, run_all

AUTO = 0  # the ranking method is chosen by its cost; see kernels/ranking/rank.py
CHUNK_DOCUMENTS = 1 << 19  # smaller chunks pay for calls from Python, larger ones leave the processor's cache
MAX_REUSED_SIZE = 1 << 12  # labels and queries of calls that share their buffers; larger arrays cost little to make
MIN_HITS_BETWEEN_CHECKS = 1 << 20  # an error in another thread ends the work between two metrics of so many hits
SUBTOPICS = "subtopics"  # the view that metrics by subtopic read next to plain metrics

TiedCounts = tuple[int, int]  # queries in which ties matter, for plain labels and for labels by subtopic

_spare_buffers: list[Scratch] = []  # of small calls that have ended; a call takes one out while it works


@dataclass(slots=True)
class Prepared:
    """
    Everything that an evaluation decides before it reads scores.

    `may_change_rankings` is False if the convention leaves all rankings as they are. One query feels that question.
    """

    plan: Plan
    spans: list[Span]
    discounts: Discounts
    may_change_rankings: bool


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
    """

    __slots__ = ("idle", "labels", "prepared")

    def __init__(self) -> None:
        self.labels: dict[Span, ChunkLabels] = {}
        self.prepared: dict[int, Prepared] = {}
        self.idle: list[Scratch] = []

    def borrow(self) -> Scratch:
        """Return buffers that no other worker uses. The caller returns them to `idle`."""
        try:
            return self.idle.pop()
        except IndexError:
            return Scratch()


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
    memory: EvaluatorCache | Scratch | None = None,
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
    memory : EvaluatorCache or Scratch, optional
        A cache for evaluations of the same labels, metrics and convention, or buffers that consecutive calls reuse,
        with ``threads=1``. By default, buffers are new or come from an earlier small call.
    out : (n_metrics + n_denominators, n_queries) float64 array, optional
        Where the values go. Each row is contiguous.
    """
    if rankings.patterns is not None:
        check_patterns(rankings.patterns, convention)
    if convention.ties == "mean_rank" and not getattr(rankings, "has_whole_groups", False):
        rankings = group_ranks(apply_convention(rankings, convention), metrics, convention)
        memory = None if isinstance(memory, EvaluatorCache) else memory  # labels are in rank order: none can be shared
    cache = memory if isinstance(memory, EvaluatorCache) else None
    n_threads = 1 if rankings.n_documents < spans.MIN_DOCUMENTS_FOR_THREADS else check_threads(threads)
    prepared = None if cache is None else cache.prepared.get(n_threads)
    find_longest = rankings.longest
    if prepared is None or prepared.may_change_rankings:
        rankings = apply_convention(rankings, convention)
    if prepared is None:
        plan = make_plan(metrics, convention, denominators)
        prepared = prepare(rankings, plan, n_threads, chunk_documents, find_longest)
        if cache is not None:
            cache.prepared[n_threads] = prepared
    values = np.empty((len(prepared.plan.tasks), rankings.n_queries)) if out is None else out
    scratch = find_scratch(rankings, memory) if cache is None else cache.borrow()
    try:
        context = make_context(rankings, prepared, strategy, values, scratch)
        if len(prepared.spans) == 1:
            tied_counts = evaluate_chunk(prepared.plan, context, prepared.spans[0], scratch, cache)
        elif isinstance(memory, Scratch):
            tied_counts = add_counts(
                [evaluate_chunk(prepared.plan, context, span, scratch, cache) for span in prepared.spans]
            )
        else:
            tied_counts = add_counts(evaluate_on_threads(prepared, context, n_threads, cache))
        if undefined is not None:
            values[: len(metrics), undefined] = np.nan
        if prepared.plan.has_undefined_policy:
            apply_undefined_policy(context, metrics, scratch, has_undefined_queries=undefined is not None)
    finally:
        if cache is not None:
            cache.idle.append(scratch)
        elif memory is None and is_small(rankings):
            _spare_buffers.append(scratch)
    plain, by_subtopic = tied_counts
    return EvaluationOutput(values.T, plain if plain > by_subtopic else by_subtopic)


def add_counts(counts: list[TiedCounts]) -> TiedCounts:
    """Return the counts of all chunks together."""
    return sum(plain for plain, _ in counts), sum(by_subtopic for _, by_subtopic in counts)


def is_small(rankings: Rankings) -> bool:
    """Return True if a call reuses the buffers of an earlier one."""
    return rankings.n_labels + rankings.n_queries <= MAX_REUSED_SIZE


def find_scratch(rankings: Rankings, memory: EvaluatorCache | Scratch | None) -> Scratch:
    """Return the buffers of a call without a cache: the caller's, spare ones for few documents, or new ones."""
    if isinstance(memory, Scratch):
        return memory
    try:
        return _spare_buffers.pop() if is_small(rankings) else Scratch()
    except IndexError:
        return Scratch()


def prepare(
    rankings: Rankings, plan: Plan, threads: int, chunk_documents: int, find_longest: Callable[[], int]
) -> Prepared:
    """
    Return the chunks of rankings and the discounts for their ranks.

    `find_longest` returns the size of the longest query before the convention removes documents: another call with the
    same cache may keep more of them.
    """
    if plan.subtopic_metric is not None and rankings.patterns is None:
        refuse_plain(plan.subtopic_metric)
    discounts = plan.discounts
    if plan.depth > MIN_DISCOUNT_RANKS:
        n_ranks = min(plan.depth, find_longest()) + 1  # one more, for the sum of all
        discounts = make_discounts(plan.convention.discount, max(n_ranks, plan.n_ideal_ranks))
    chunks = make_chunks(rankings, chunk_documents << plan.chunk_size_shift, threads)
    return Prepared(plan, chunks, discounts, may_change_rankings(plan.convention))


def needs_all_documents(metrics: tuple[Metric, ...], convention: Convention, score_dtype: Any, labels: Array) -> bool:
    """Return True if metrics or the convention read more than the labelled documents and their ranks."""
    return (
        bool(make_plan(metrics, convention).views)
        or any(metric.record.function is not None for metric in metrics)
        or convention.unjudged == "removed"
        or (convention.score_dtype == "float32" and score_dtype != np.float32)
        or (convention.removes_negative_labels and has_labels_below_0(labels))
    )


def check_truth(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, *, has_pairs: bool) -> None:
    """
    Raise an error for labels that metrics or the convention refuse, before scores are computed.

    Gains outside a metric's range, and sums beyond float64, are found when gains are computed.
    """
    if has_pairs:
        find_common_rel(metrics, convention)
    plan = make_plan(metrics, convention)
    if plan.subtopic_metric is not None:
        refuse_plain(plan.subtopic_metric)
    labels = rankings.judged_hits.labels
    pool_labels = labels if rankings.pool is None else rankings.pool[0]
    for name, array in {"labels": labels, "pool": pool_labels}.items():
        extremes = array.min(initial=0), array.max(initial=0), int(np.isnan(array).sum())
        check_labels(rankings, name, extremes, array, plan.gains, convention)
    for metric in metrics:
        check_stops(pool_labels, labels, metric, rankings)


def make_chunks(rankings: Rankings, chunk_documents: int, threads: int) -> list[Span]:
    """Return spans of queries with about `chunk_documents` documents, judged ones of the pool included."""
    is_small = rankings.n_labels <= chunk_documents and rankings.n_queries <= chunk_documents
    if threads == 1 and is_small:
        return [(0, rankings.n_queries)] if rankings.n_queries else []
    source = rankings.rows if isinstance(rankings, ScoreRowRankings) else rankings.judged_hits
    offsets = rankings.offsets if source is None else source.offsets
    work = offsets if rankings.pool is None else offsets + rankings.pool[1]
    return spans.cut_queries(work, chunk_documents, threads)


def make_context(
    rankings: Rankings, prepared: Prepared, strategy: int, values: Array, scratch: Scratch
) -> EvaluationContext:
    """Return the context of all chunks. Next to plain metrics, metrics by subtopic read a view."""
    plan = prepared.plan
    plain = rankings
    if rankings.patterns is not None and plan.has_plain_metrics:
        plain = rankings.without_patterns()
    source = make_hit_source(plain, plan.convention, strategy, scratch)
    truncates = plan.convention.label_fractions == "cut off" and may_have_fractions(plain, source)
    has_both = plain is not rankings and plan.subtopic_metric is not None
    depth = plan.plain_depth if has_both else plan.depth
    context = EvaluationContext(
        plan.convention, depth, plain, source, prepared.discounts, plan.gains, values, truncates, {}
    )
    for name in plan.views:
        add_view(context, name, VIEWS[name](plain, plan.convention), strategy, scratch)
    if has_both:
        add_view(context, SUBTOPICS, rankings, strategy, scratch)
        context.views[SUBTOPICS].depth = plan.subtopic_depth
    return context


def add_view(context: EvaluationContext, name: str, selection: Rankings, strategy: int, scratch: Scratch) -> None:
    """Add a selection of documents or labels to a context, unless it is the context's own."""
    if selection is not context.rankings:
        source = make_hit_source(selection, context.convention, strategy, scratch.view(name))
        context.views[name] = replace(context, rankings=selection, hit_source=source, gains=frozenset(), views={})


def may_have_fractions(rankings: Rankings, source: HitSource) -> bool:
    """Return True if the labels are floats."""
    return source.labels.dtype.kind == "f" or (rankings.pool is not None and rankings.pool[0].dtype.kind == "f")


def evaluate_on_threads(
    prepared: Prepared, context: EvaluationContext, threads: int, cache: EvaluatorCache | None
) -> list[TiedCounts]:
    """Evaluate all chunks on threads."""
    chunks = prepared.spans
    tied_counts: list[TiedCounts] = []
    borrowed: list[Scratch] = []

    def make_worker() -> Callable[[Span], None]:
        scratch = Scratch() if cache is None else cache.borrow()
        borrowed.append(scratch)
        return lambda span: tied_counts.append(evaluate_chunk(prepared.plan, context, span, scratch, cache))

    n_workers = min(threads, len(chunks))
    try:
        with track(chunks, "evaluating queries", len(chunks)) as tracked_chunks:
            run_all(tracked_chunks, make_worker, n_workers)
    finally:
        if cache is not None:
            n_late = n_workers - len(borrowed)  # workers that began after the last chunk was taken
            borrowed += [Scratch() for _ in range(n_late)]
            Scratch.equalize(borrowed)
            cache.idle.extend(borrowed)
    return tied_counts


def evaluate_chunk(
    plan: Plan, context: EvaluationContext, span: Span, scratch: Scratch, cache: EvaluatorCache | None
) -> TiedCounts:
    """Evaluate all metrics on a span of queries, and return the number of queries in which ties matter."""
    labels = None if cache is None else cache.labels.get(span)
    if labels is None:
        labels = ChunkLabels(context, scratch.view("labels") if cache is None else Scratch(), *span)
        if cache is not None:
            cache.labels[span] = labels
    else:
        labels.check_size(context.rankings)
    chunk = Chunk(context, labels, scratch)
    by_subtopic = chunk.view(SUBTOPICS) if context.views else chunk
    is_large = len(chunk.hits.labels) > MIN_HITS_BETWEEN_CHECKS
    values = context.values
    if span[1] - span[0] < context.rankings.n_queries:
        values = values[:, span[0] : span[1]]
    for place, task in enumerate(plan.tasks):
        ranking = by_subtopic if task.is_by_subtopic else chunk
        out = values[place]
        source = plan.same_values_as[place]
        if source != place:
            out[:] = values[source]
            continue
        if task.is_undefined_at_ties and ranking.n_tied:
            refuse_ties(task.metric)
        if is_large:
            check_stopped()
        arguments = [argument(ranking, task) for argument in task.arguments]
        if task.is_custom:
            evaluate_custom_metric(ranking, task, arguments, out)
        else:
            task.kernel(*arguments, out)
        if task.min_relevant_label is not None:
            counts = n_with_min_label(ranking, task)
            np.copyto(out, np.nan, where=np.equal(counts, 0, out=ranking.take("left out", len(out), BOOL)))
        if task.undefined_value is not None:  # now, while the processor's cache holds the values
            load_kernels("metrics.dcg").replace_undefined(task.undefined_value, out)
    return chunk.n_tied, by_subtopic.n_tied


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
