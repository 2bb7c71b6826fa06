"""Rankings that are made part by part: evaluated as they come, on threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg import engine
from fastndcg.conventions import Convention
from fastndcg.engine import Evaluated
from fastndcg.inputs.items import Parts
from fastndcg.metric import Metric
from fastndcg.threads import checked_threads, run_all


def run(parts: Parts, metrics: tuple[Metric, ...], convention: Convention, *, threads: int | None = None) -> Evaluated:
    """Evaluate every part; the values are those of all rankings at once."""
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
    return Evaluated(values, sum(tied))
