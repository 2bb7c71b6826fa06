"""Rankings that are made part by part: evaluated as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from fastndcg import engine
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
        make = parts.make_maker()

        def evaluate(span: tuple[int, int]) -> None:
            done = engine.run(make(*span), metrics, convention, threads=1)
            values[span[0] : span[1]] = done.values
            tied.append(done.n_tied)

        return evaluate

    run_all(parts.spans, make_worker, min(max(len(parts.spans), 1), checked_threads(threads)))
    return Evaluated(values, sum(tied), parts.query_ids, tuple(parts.notes()))


def _run_batches(
    batches: Generator[Batch, None, None], metrics: tuple[Metric, ...], convention: Convention, threads: int | None
) -> Evaluated:
    """Batches one after the other, each of them on threads: reading ahead has threads of its own."""
    values, n_tied = [np.empty((0, len(metrics)))], 0
    names: list[Array] = []
    first_rows: list[Array] = []
    with contextlib.closing(batches):  # so that temporary files are gone, whatever happens here
        for batch in batches:
            done = engine.run(batch.rankings, metrics, convention, threads=threads)
            values.append(done.values)
            n_tied += done.n_tied
            names.append(batch.query_ids)
            if batch.first_rows is not None:
                first_rows.append(batch.first_rows)
    ids = np.concatenate(names) if names else np.empty(0, object)
    joined = np.concatenate(values)
    if first_rows:
        order = np.argsort(np.concatenate(first_rows))
        ids, joined = ids[order], joined[order]
    return Evaluated(joined, n_tied, ids)
