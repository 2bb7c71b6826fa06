"""The loop over metrics that read no labels and scores, but text spans, pairs of rankings or recommended items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.engine.chunk import Span, cut_queries
from fastndcg.engine.plan import find_depth, find_function
from fastndcg.engine.scratch import Scratch
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import run_all


def evaluate_chunks(
    metrics: tuple[Metric, ...], offsets: Array, chunk_size: int, threads: int, read: Callable[[Span, Scratch], Any]
) -> Array:
    """
    Return the values of metrics, a row a query.

    `read` returns what the functions of the metrics take, for the queries of a span: about `chunk_size` of `offsets`.
    """
    values = np.empty((len(metrics), len(offsets) - 1))
    functions = [find_function(metric) for metric in metrics]
    spans = cut_queries(offsets, chunk_size, threads)

    def make_worker() -> Callable[[Span], None]:
        scratch = Scratch()

        def evaluate_chunk(span: Span) -> None:
            scratch.restart()
            chunk = read(span, scratch)
            for function, metric, row in zip(functions, metrics, values, strict=True):
                function(chunk, metric, find_depth(metric), row[slice(*span)])

        return evaluate_chunk

    run_all(spans, make_worker, min(threads, len(spans)))
    return values.T
