"""Rankings that are made part by part: evaluated as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg import engine
from fastndcg.conventions import Convention
from fastndcg.inputs.batches import Batch, NotSorted, Stream
from fastndcg.inputs.items import Parts
from fastndcg.inputs.parquet import ParquetTruth
from fastndcg.memory import FRESH, Scratch
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.threads import checked_threads, run_all


class Evaluated(NamedTuple):
    """The values (n_queries, n_metrics) of all parts, and what else a result has."""

    values: Array
    n_tied: int
    query_ids: Array | None
    notes: tuple[str, ...] = ()


class _Done(NamedTuple):
    """What is left of a batch."""

    query_ids: Array
    first_rows: Array
    values: Array

    def query(self, place: int) -> _Done:
        """One of the queries."""
        return _Done(*(array[place : place + 1] for array in self))


def run(
    parts: Parts | ParquetTruth, metrics: tuple[Metric, ...], convention: Convention, threads: int | None = None
) -> Evaluated:
    """Evaluate every part; the values are those of all rankings at once."""
    if isinstance(parts, Parts):
        return _run_parts(parts, metrics, convention, threads)
    try:
        return _run_stream(parts.in_order(), metrics, convention, threads)
    except NotSorted:
        with parts.spilled() as stream:  # so that temporary files are gone, whatever happens here
            return _run_stream(stream, metrics, convention, threads)


def _run_parts(parts: Parts, metrics: tuple[Metric, ...], convention: Convention, threads: int | None) -> Evaluated:
    """Parts on threads, each of them made and evaluated by one."""
    values = np.empty((len(metrics), parts.n_queries))
    tied: list[int] = []

    def make_worker() -> Callable[[tuple[int, int]], None]:
        make, reused = parts.make_maker(), (Scratch(), Scratch())

        def evaluate(span: tuple[int, int]) -> None:
            out = values[:, slice(*span)]
            _, n_tied = engine.run(make(*span), metrics, convention, threads=1, out=out, reused=reused)
            tied.append(n_tied)

        return evaluate

    run_all(parts.spans, make_worker, min(max(len(parts.spans), 1), checked_threads(threads)))
    return Evaluated(values.T, sum(tied), parts.query_ids, tuple(parts.notes()))


def _run_stream(stream: Stream, metrics: tuple[Metric, ...], convention: Convention, threads: int | None) -> Evaluated:
    """Items of a stream on threads, each of them read and evaluated by one; queries come in the order of their rows."""
    whole: list[_Done] = []
    kept: list[_Done] = []
    tied: list[int] = []

    def take(batches: Iterator[Batch], done: list[_Done], reused: engine.Reused) -> None:
        for batch in batches:
            values, n_tied = engine.run(batch.rankings, metrics, convention, threads=1, reused=reused)
            done.append(_Done(batch.query_ids, batch.first_rows, values))
            tied.append(n_tied)

    def make_worker() -> Callable[[Any], None]:
        reused = (Scratch(), Scratch())
        return lambda item: take(stream.batches(item), whole, reused)

    run_all(stream.items, make_worker, min(stream.most_threads, checked_threads(threads)))
    take(stream.last(), kept, (FRESH, Scratch()))
    if not whole and not kept:
        return Evaluated(np.empty((0, len(metrics))), 0, np.empty(0, object))
    ids, values = _in_order(whole, kept)
    return Evaluated(values, sum(tied), ids)


def _in_order(whole: list[_Done], kept: list[_Done]) -> tuple[Array, Array]:
    """Ids and values in the order of rows: batches one after the other, and between them the queries that were kept."""
    singles = (batch.query(place) for batch in kept for place in range(len(batch.query_ids)))
    batches = [batch for batch in (*whole, *singles) if len(batch.query_ids)] or whole[:1]
    batches.sort(key=lambda batch: batch.first_rows[:1].tolist())
    ids = np.concatenate([batch.query_ids for batch in batches])
    values = np.concatenate([batch.values for batch in batches])
    if all(before.first_rows[-1] < after.first_rows[0] for before, after in pairwise(batches)):
        return ids, values
    order = np.argsort(np.concatenate([batch.first_rows for batch in batches]), kind="stable")
    return ids[order], values[order]
