"""From rankings, metrics and a convention to one value a query and metric: in chunks, on threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastndcg.arguments import FEW_RANKS, Plan, choice_of, evaluate_chunk, plan_of
from fastndcg.chunk import Chunk, Job, Truth
from fastndcg.combinations import check_patterns, refuse_plain
from fastndcg.conventions import Convention
from fastndcg.discounts import Discounts, discounts_of
from fastndcg.documents import VIEWS, of_documents, without_negative_labels
from fastndcg.errors import InvalidInputError, InvalidTypeError, UndefinedMetricError
from fastndcg.kernels.rank import AUTO
from fastndcg.kernels.vectors import WIDE
from fastndcg.memory import BOOL, F8, FRESH, Memory, Scratch
from fastndcg.metric import Metric
from fastndcg.ordinals import ordinals
from fastndcg.rankings import Array, Rankings
from fastndcg.threads import checked_threads, run_all

CHUNK_DOCUMENTS = 1 << 19  # smaller ones pay for calls from Python, larger ones leave the processor's cache
SMALL = 1 << 17  # documents that are evaluated sooner than a thread starts
FEW = 1 << 12  # documents and queries that are evaluated so soon that making memory for them would be felt
NO_SCORES = np.empty(0, "f4")  # where ranks are known
BY_ID = frozenset({"id_ascending", "id_descending"})

Span = tuple[int, int]
Evaluated = tuple[Array, int]  # values (n_queries, n_metrics), and in how many queries ties between labels decide


@dataclass(slots=True)
class Prepared:
    """What an evaluation has settled before it looks at scores."""

    plan: Plan
    spans: list[Span]
    discounts: Discounts


Reused = tuple[Memory, Scratch]

_spare: list[Reused] = []  # memory for a few documents, of calls that have ended: one takes it out while it works


class Kept:
    """
    What evaluations of the same labels, metrics and convention share, in any number of threads at once.

    `truths` and `prepared` depend on the labels alone. `idle` is the memory of workers: one takes it out for as long
    as it works, so that each works in its own, and after the first evaluation no other is needed.
    """

    __slots__ = ("idle", "prepared", "truths")

    def __init__(self) -> None:
        self.truths: dict[Span, Truth] = {}
        self.prepared: dict[int, Prepared] = {}  # by the number of threads
        self.idle: list[Scratch] = []

    def borrow(self) -> Scratch:
        """Memory that no other worker has, to be given back to `idle`."""
        try:
            return self.idle.pop()
        except IndexError:
            return Scratch()


def run(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    *,
    undefined: Array | None = None,
    threads: int | None = None,
    chunk_documents: int = CHUNK_DOCUMENTS,
    strategy: int = AUTO,
    kept: Kept | None = None,
    out: Array | None = None,
    reused: Reused | None = None,
) -> Evaluated:
    """
    Evaluate every metric on every query, those in the mask `undefined` aside, which no metric has a value for.

    Gives the (n_queries, n_metrics) values, and in how many queries ties between different labels decide.

    Neither threads nor chunks nor strategy change a bit of the values. What depends on the labels alone is put in
    `kept`, and taken from there by the next call with the same labels, metrics and convention. The values go to the
    (n_metrics, n_queries) array `out`, where there is one, each row of which is contiguous. With `threads` = 1,
    `reused` gives memory for the truth and for the rest, that one call after the other works in.
    """
    if rankings.patterns is not None:
        check_patterns(rankings.patterns, convention)
        if not all(metric.record.by_subtopic for metric in metrics):
            options: dict[str, Any] = {"undefined": undefined, "threads": threads, "chunk_documents": chunk_documents}
            return run_both(rankings, metrics, convention, out, strategy=strategy, **options)
    rankings = apply_convention(rankings, convention)
    n_threads = 1 if rankings.n_documents < SMALL else checked_threads(threads)
    prepared = None if kept is None else kept.prepared.get(n_threads)
    if prepared is None:
        prepared = prepare(rankings, metrics, convention, n_threads, chunk_documents)
        if kept is not None:
            kept.prepared[n_threads] = prepared
    values = np.empty((len(metrics), rankings.n_queries)) if out is None else out
    memory = (FRESH, kept.borrow()) if kept is not None else reused or memory_for(rankings)
    of_truth, scratch = memory
    try:
        job = job_of(rankings, prepared, strategy, values, scratch)
        if len(prepared.spans) == 1:
            n_tied = evaluate_span(job, prepared.plan, prepared.spans[0], of_truth, scratch, kept)
        elif reused:
            n_tied = sum(evaluate_span(job, prepared.plan, span, of_truth, scratch, kept) for span in prepared.spans)
        else:
            n_tied = evaluate_spans(job, prepared, n_threads, kept)
        if undefined is not None:
            values[:, undefined] = np.nan
        if prepared.plan.settles_undefined:
            settle_undefined(job, metrics, scratch, and_queries=undefined is not None)
    finally:
        if kept is not None:
            kept.idle.append(scratch)
        elif reused is None and of_truth is not FRESH:
            _spare.append(memory)
    return values.T, n_tied


def memory_for(rankings: Rankings) -> Reused:
    """Memory for the truth and for the rest, which calls on a few documents use in turns."""
    if rankings.n_labels + rankings.n_queries > FEW:
        return FRESH, Scratch()
    try:
        return _spare.pop()
    except IndexError:
        return Scratch(), Scratch()


def prepare(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, threads: int, chunk_documents: int
) -> Prepared:
    """Settle what to do, for which queries at a time, and how deep."""
    plan = plan_of(metrics, convention)
    if plan.by_subtopic is not None and rankings.patterns is None:
        refuse_plain(plan.by_subtopic)
    discounts = plan.discounts
    if plan.depth > FEW_RANKS:
        n_ranks = min(plan.depth, rankings.longest()) + 1  # with the one below all that count
        discounts = discounts_of(convention.discount, max(n_ranks, plan.n_ideal_ranks))
    return Prepared(plan, cut(rankings, chunk_documents << plan.n_doubled, threads), discounts)


def run_both(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, out: Array | None, **options: Any
) -> Evaluated:
    """Evaluate metrics by subtopic, and the others on the highest label of each document."""
    values = np.empty((len(metrics), rankings.n_queries)) if out is None else out
    n_tied = 0
    for by_subtopic, seen in ((False, rankings.without_patterns()), (True, rankings)):
        places = [place for place, metric in enumerate(metrics) if metric.record.by_subtopic == by_subtopic]
        if places:
            found, n_tied_here = run(seen, tuple(metrics[place] for place in places), convention, **options)
            values[places] = found.T
            n_tied = max(n_tied, n_tied_here)
    return values.T, n_tied


def check_out(out: Array, rankings: Rankings, n_metrics: int) -> None:
    """Refuse an array that the caller wants the values in and that cannot take them, saying what it must be."""
    shape = (n_metrics, rankings.n_queries)
    if not isinstance(out, np.ndarray):
        raise InvalidTypeError(f"`out` must be a NumPy array, not {type(out).__name__}")
    if out.dtype != F8 or not out.dtype.isnative:
        raise InvalidTypeError(f"`out` must be of dtype float64, not {out.dtype}: use np.empty({shape})")
    if out.shape != shape:
        raise InvalidInputError(f"`out` must have a row for each metric, {shape}, but its shape is {out.shape}")
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        why = "not contiguous, row after row" if not flags.c_contiguous else "not aligned"
        why = why if flags.writeable else "read-only"
        raise InvalidInputError(
            f"`out` must be an array that kernels can write to, but is {why}; use np.empty({shape})"
        )
    for name in ("scores", "labels"):
        if np.may_share_memory(out, getattr(rankings, name)):
            raise InvalidInputError(f"`out` must not share memory with `{name}`, which are read while it is written")


def evaluate_spans(job: Job, prepared: Prepared, threads: int, kept: Kept | None) -> int:
    """Evaluate all spans, on threads; in how many queries ties decide."""
    plan, spans = prepared.plan, prepared.spans
    tied: list[int] = []
    borrowed: list[Scratch] = []

    def make_worker() -> Callable[[Span], None]:
        of_truth, scratch = Scratch(), Scratch() if kept is None else kept.borrow()
        borrowed.append(scratch)
        return lambda span: tied.append(evaluate_span(job, plan, span, of_truth, scratch, kept))

    n_workers = min(threads, len(spans))
    try:
        run_all(spans, make_worker, n_workers)
    finally:
        if kept is not None:
            borrowed += [Scratch() for _ in range(n_workers - len(borrowed))]  # for those that found nothing left to do
            Scratch.make_alike(borrowed)
            kept.idle.extend(borrowed)
    return sum(tied)


def evaluate_span(job: Job, plan: Plan, span: Span, of_truth: Memory, scratch: Scratch, kept: Kept | None) -> int:
    """Evaluate a span of queries, with memory for its truth and for the rest; in how many of them ties decide."""
    truth = None if kept is None else kept.truths.get(span)
    if truth is None:
        truth = Truth(job, of_truth if kept is None else FRESH, *span)
        if kept is not None:
            kept.truths[span] = truth
    chunk = Chunk(job, truth, scratch)
    evaluate_chunk(chunk, plan)
    return chunk.n_tied


def job_of(rankings: Rankings, prepared: Prepared, strategy: int, values: Array, scratch: Scratch) -> Job:
    """What the chunks share, with room for their values."""
    plan, scores = prepared.plan, rankings.scores if rankings.found is None else NO_SCORES
    if rankings.n_documents < WIDE:
        scores = scratch.padded(scores, WIDE)
    convention, cuts = plan.convention, plan.convention.label_fractions == "cut off" and has_fractions(rankings)
    job = Job(
        rankings, convention, plan.depth, plan.gains, prepared.discounts, scores, strategy, values, plan.points, {},
        cuts,
    )  # fmt: skip
    for view in plan.views:
        shown = VIEWS[view](rankings, plan.convention)
        if shown is not rankings:
            scores = scratch.view(view).padded(shown.scores, WIDE)
            job.views[view] = replace(job, rankings=shown, gains=frozenset(), scores=scores, views={})
    return job


def has_fractions(rankings: Rankings) -> bool:
    """Whether the dtype of labels leaves room for fractions."""
    found, pool = rankings.found, rankings.pool
    labels = rankings.labels if found is None else found.labels
    return labels.dtype.kind == "f" or (pool is not None and pool[0].dtype.kind == "f")


def cut(rankings: Rankings, chunk_documents: int, threads: int) -> list[Span]:
    """Spans of queries with about so many documents, judged ones of the pool included; the largest first."""
    n_queries, n_documents = rankings.n_queries, rankings.n_labels
    if threads == 1 and n_documents <= chunk_documents and n_queries <= chunk_documents:
        return [(0, n_queries)] if n_queries else []
    places = places_to_cut(n_documents, chunk_documents, threads)
    found = rankings.found
    of_documents = rankings.offsets if found is None else found.offsets
    work = of_documents if rankings.pool is None else of_documents + rankings.pool[1]
    of_queries = range(chunk_documents, n_queries, chunk_documents)  # those without documents take time too
    bounds = sorted({0, n_queries, *work.searchsorted(places).tolist(), *of_queries})
    documents = dict(zip(bounds, work[bounds].tolist(), strict=True))
    return sorted(itertools.pairwise(bounds), key=lambda span: documents[span[0]] - documents[span[1]])


def places_to_cut(n_documents: int, chunk_documents: int, threads: int) -> list[int]:
    """
    After how many documents each chunk but the last ends.

    With threads, what is left is shared among them until a share is not worth a thread: chunks are few, since each
    takes some calls from Python, and the last of them are small, so that no thread waits long for another.
    """
    if threads == 1:
        n_chunks = -(-n_documents // chunk_documents)
        return [n_documents * place // n_chunks for place in range(1, n_chunks)]
    places, left = [], n_documents
    while left > chunk_documents or left >= 2 * SMALL:
        left -= min(max(left // threads, SMALL), chunk_documents)
        places.append(n_documents - left)
    return places


def apply_convention(rankings: Rankings, convention: Convention) -> Rankings:
    """The rankings as the convention sees them: which documents there are, and what their scores are."""
    if convention.ties in BY_ID and rankings.tie_keys is None and rankings.n_documents:
        raise InvalidInputError(
            f"`tie_keys` are needed for ties={convention.ties!r}: give documents that have ids, or Rankings(..., "
            "tie_keys=...), or take convention.replace(ties='average')"
        )
    if convention.unjudged == "removed" and rankings.judged is not None and not rankings.judged.all():
        rankings = of_documents(rankings, rankings.judged)
    if convention.pool == "retrieved" and rankings.pool is not None:
        rankings = rankings.replace(pool=None)
    if convention.negative_labels == "removed":
        rankings = without_negative_labels(rankings)
    if convention.ties == "input_reversed":
        rankings = rankings.replace(tie_keys=np.arange(rankings.n_documents))
    if rankings.found is not None:
        return rankings
    scores = rankings.scores
    if convention.score_dtype == "float32" and scores.dtype != np.float32 and not rankings.are_ordinals:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, as in C
            scores = scores.astype("f4")
    if convention.nan_scores == "last" and np.isnan(scores).any():
        scores = ordinals(scores)
    return rankings if scores is rankings.scores else rankings.replace(scores=scores)


def settle_undefined(job: Job, metrics: tuple[Metric, ...], scratch: Scratch, *, and_queries: bool) -> None:
    """Raise where a metric has no value, if the convention says so; put its value there where queries have none."""
    for metric, row in zip(metrics, job.values, strict=True):
        choice = choice_of(metric, job.convention)
        if choice == "nan" or (choice != "raise" and not and_queries):
            continue
        undefined = np.isnan(row, out=scratch.take("undefined", len(row), BOOL))
        if choice != "raise":
            np.copyto(row, choice, where=undefined)
        elif undefined.any():
            query = job.rankings.query_name(int(np.argmax(undefined)))
            raise UndefinedMetricError(
                f"{metric} must have a value for every query, but {query} has none ({metric.record.undefined}); "
                "drop the query, or take convention.replace(undefined='nan')"
            )
