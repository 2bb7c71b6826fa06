"""Rankings that are made part by part: evaluated as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg import engine
from fastndcg.conventions import Convention
from fastndcg.inputs.batches import Batch, NotSorted, Stream
from fastndcg.inputs.items import Parts
from fastndcg.inputs.parquet import ParquetTruth
from fastndcg.memory import Scratch, Take, fresh
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
    n_tied: int


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
    values = np.empty((parts.n_queries, len(metrics)))
    tied: list[int] = []

    def make_worker() -> Callable[[tuple[int, int]], None]:
        make, reused = parts.make_maker(), (Scratch().take, Scratch())

        def evaluate(span: tuple[int, int]) -> None:
            done = engine.run(make(*span), metrics, convention, threads=1, reused=reused)
            values[span[0] : span[1]] = done.values
            tied.append(done.n_tied)

        return evaluate

    run_all(parts.spans, make_worker, min(max(len(parts.spans), 1), checked_threads(threads)))
    return Evaluated(values, sum(tied), parts.query_ids, tuple(parts.notes()))


def _run_stream(stream: Stream, metrics: tuple[Metric, ...], convention: Convention, threads: int | None) -> Evaluated:
    """Items of a stream on threads, each of them read and evaluated by one; queries come in the order of their rows."""
    done: list[_Done] = []

    def take(batches: Iterator[Batch], reused: tuple[Take, Scratch]) -> None:
        for batch in batches:
            found = engine.run(batch.rankings, metrics, convention, threads=1, reused=reused)
            done.append(_Done(batch.query_ids, batch.first_rows, *found))

    def make_worker() -> Callable[[Any], None]:
        reused = (Scratch().take, Scratch())
        return lambda item: take(stream.batches(item), reused)

    run_all(stream.items, make_worker, min(stream.most_threads, checked_threads(threads)))
    take(stream.last(), (fresh, Scratch()))
    if not done:
        return Evaluated(np.empty((0, len(metrics))), 0, np.empty(0, object))
    done.sort(key=lambda batch: batch.first_rows[:1].tolist())
    order = np.argsort(np.concatenate([batch.first_rows for batch in done]), kind="stable")  # soon done: nearly sorted
    ids = np.concatenate([batch.query_ids for batch in done])[order]
    values = np.concatenate([batch.values for batch in done])[order]
    return Evaluated(values, sum(batch.n_tied for batch in done), ids)
