"""Evaluate rankings that are built one partition after the other, so that memory stays small."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine import run as engine
from fastndcg.engine.plan import find_rel
from fastndcg.engine.run import EvaluationOutput
from fastndcg.engine.scratch import Scratch
from fastndcg.inputs.streams import Batch, NotSorted, Stream, StreamedTables
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.interactions import RankingPartitions
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all

Evaluate = Callable[..., EvaluationOutput]  # `engine.run` for the metrics of a call


class EvaluatedBatch(NamedTuple):
    """The values of a batch of queries, and the number of each query's first row."""

    query_ids: Array
    first_rows: Array
    values: Array

    def select(self, place: int) -> EvaluatedBatch:
        """Return one query of the batch."""
        return EvaluatedBatch(*(array[place : place + 1] for array in self))


def run(
    partitions: RankingPartitions | StreamedTables,
    metrics: tuple[Metric, ...],
    convention: Convention,
    threads: int | None = None,
    denominators: tuple[Metric, ...] = (),
) -> EvaluationOutput:
    """Evaluate every partition. The values are the same as for all rankings at once."""
    evaluate = functools.partial(
        engine.run, metrics=metrics, convention=convention, denominators=denominators, threads=1
    )
    n_columns = len(metrics) + len(denominators)
    n_threads = check_threads(threads)
    highest: list[float] = []
    output = _run_parts(partitions, functools.partial(_evaluate_part, evaluate, highest), n_columns, n_threads)
    notes = note_low_labels(max(highest, default=math.inf), metrics, convention)
    return dataclasses.replace(output, notes=(*partitions.notes(), *notes))


def _evaluate_part(
    evaluate: Evaluate, out_highest: list[float], rankings: Rankings, **options: Any
) -> EvaluationOutput:
    """Evaluate one part, and note its highest label."""
    output = evaluate(rankings, **options)
    out_highest.append(output.highest_label)
    return output


def _run_parts(
    partitions: RankingPartitions | StreamedTables, evaluate: Evaluate, n_columns: int, threads: int
) -> EvaluationOutput:
    if isinstance(partitions, RankingPartitions):
        return _run_recommendations(partitions, evaluate, n_columns, threads)
    with contextlib.suppress(NotSorted):
        return _run_stream(partitions.in_order(), evaluate, n_columns, threads)
    with partitions.by_query() as stream:  # outside the block above, whose error refers to the tables
        return _run_stream(stream, evaluate, n_columns, threads)


def note_low_labels(highest: float, metrics: tuple[Metric, ...], convention: Convention) -> tuple[str, ...]:
    """Return a note on metrics for which no document is relevant, as all labels are below 1 and below their `rel`."""
    if not 0 < highest < 1:
        return ()
    low = [metric for metric in metrics if metric.get("rel") is not None and highest < find_rel(metric, convention)]
    if not low:
        return ()
    names = ", ".join(map(str, low))
    lowest = min(find_rel(metric, convention) for metric in low)
    remedy = f"take a lower rel=, such as {low[0](rel=0.5)}"
    return (f"no label reaches {lowest:g}, so that no document is relevant for {names}: {remedy}",)


def run_each(
    partitions: RankingPartitions, evaluate: Callable[[Rankings, tuple[int, int], Scratch], None], threads: int
) -> None:
    """Call a function with the rankings and the span of each partition, on threads that build what they evaluate."""

    def make_worker() -> Callable[[tuple[int, int]], None]:
        build = partitions.new_builder()
        scratch = Scratch()
        return lambda span: evaluate(build(*span), span, scratch)

    with track(partitions.spans, "evaluating users", len(partitions.spans)) as spans:
        run_all(spans, make_worker, min(max(len(partitions.spans), 1), threads))


def _run_recommendations(
    partitions: RankingPartitions, evaluate: Evaluate, n_columns: int, threads: int
) -> EvaluationOutput:
    """Evaluate partitions, and return the values of all."""
    values = np.empty((n_columns, partitions.n_queries))
    tied_counts: list[int] = []

    def evaluate_part(rankings: Rankings, span: tuple[int, int], scratch: Scratch) -> None:
        tied_counts.append(evaluate(rankings, scratch=scratch, out=values[:, slice(*span)]).n_tied)

    run_each(partitions, evaluate_part, threads)
    return EvaluationOutput(values.T, sum(tied_counts), query_ids=partitions.query_ids)


def _run_stream(stream: Stream, evaluate: Evaluate, n_columns: int, threads: int) -> EvaluationOutput:
    """Evaluate the items of a stream on threads. Return queries in the order of their first rows."""
    whole: list[EvaluatedBatch] = []
    split: list[EvaluatedBatch] = []
    tied_counts: list[int] = []

    def evaluate_all(batches: Iterator[Batch], out: list[EvaluatedBatch], scratch: Scratch) -> None:
        for batch in batches:
            output = evaluate(batch.rankings, scratch=scratch)
            out.append(EvaluatedBatch(batch.query_ids, batch.first_rows, output.values))
            tied_counts.append(output.n_tied)

    def make_worker() -> Callable[[Any], None]:
        scratch = Scratch()
        return lambda item: evaluate_all(stream.batches(item), whole, scratch)

    with track(stream.items, "streaming rows", stream.n_items) as items:
        run_all(items, make_worker, min(stream.most_threads, threads))
    evaluate_all(stream.last(), split, Scratch())
    if not whole and not split:
        return EvaluationOutput(np.empty((0, n_columns)), query_ids=np.empty(0, object))
    ids, values = _sort_by_row(whole, split)
    return EvaluationOutput(values, sum(tied_counts), query_ids=ids)


def _sort_by_row(whole: list[EvaluatedBatch], split: list[EvaluatedBatch]) -> tuple[Array, Array]:
    """Return ids and values in the order of rows. The rows of `split` queries were in several items."""
    singles = (batch.select(place) for batch in split for place in range(len(batch.query_ids)))
    batches = [batch for batch in (*whole, *singles) if len(batch.query_ids)] or whole[:1]
    batches.sort(key=lambda batch: batch.first_rows[:1].tolist())
    ids = np.concatenate([batch.query_ids for batch in batches])
    values = np.concatenate([batch.values for batch in batches])
    first_rows = np.concatenate([batch.first_rows for batch in batches])
    if np.all(first_rows[1:] > first_rows[:-1]):
        return ids, values
    order = np.argsort(first_rows, kind="stable")
    return ids[order], values[order]
