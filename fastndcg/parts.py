"""Rankings that are made part by part: evaluated as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from fastndcg import engine
from fastndcg.chunk import Scratch
from fastndcg.conventions import Convention
from fastndcg.inputs.items import Parts
from fastndcg.inputs.parquet import Batch, NotSorted, ParquetTruth
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
    first_rows: Array | None
    values: Array
    n_tied: int


def run(
    parts: Parts | ParquetTruth, metrics: tuple[Metric, ...], convention: Convention, threads: int | None = None
) -> Evaluated:
    """Evaluate every part; the values are those of all rankings at once."""
    if isinstance(parts, Parts):
        return _run_parts(parts, metrics, convention, threads)
    try:
        return _run_batches(parts.batches(), metrics, convention, threads)
    except NotSorted:
        return _run_batches(parts.spilled(), metrics, convention, threads)


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


def _run_batches(
    batches: Generator[Batch, None, None], metrics: tuple[Metric, ...], convention: Convention, threads: int | None
) -> Evaluated:
    """Batches on threads, each of them evaluated by one while the next is read."""
    done: dict[int, _Done] = {}

    def make_worker() -> Callable[[tuple[int, Batch]], None]:
        reused = (Scratch().take, Scratch())

        def evaluate(numbered: tuple[int, Batch]) -> None:
            number, batch = numbered
            found = engine.run(batch.rankings, metrics, convention, threads=1, reused=reused)
            done[number] = _Done(batch.query_ids, batch.first_rows, *found)

        return evaluate

    with contextlib.closing(batches):  # so that temporary files are gone, whatever happens here
        run_all(enumerate(batches), make_worker, checked_threads(threads))
    ordered = [done[number] for number in sorted(done)]
    ids = np.concatenate([batch.query_ids for batch in ordered]) if ordered else np.empty(0, object)
    values = np.concatenate([np.empty((0, len(metrics))), *(batch.values for batch in ordered)])
    first_rows = [batch.first_rows for batch in ordered if batch.first_rows is not None]
    if first_rows:
        order = np.argsort(np.concatenate(first_rows))
        ids, values = ids[order], values[order]
    return Evaluated(values, sum(batch.n_tied for batch in ordered), ids)
