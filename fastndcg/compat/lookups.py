"""Values of a run in dicts, for drop-ins of libraries that take dicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastndcg import engine
from fastndcg.arguments import plan_of
from fastndcg.compat.rows import JoinedRun
from fastndcg.compat.subtopics import JudgedBySubtopic
from fastndcg.conventions import Convention
from fastndcg.inputs.dicts import Judged
from fastndcg.metric import Metric
from fastndcg.rankings import Array


def look_at_judgments(metrics: Sequence[Metric], convention: Convention) -> bool:
    """Whether a document without a judgment is another to some metric than one with the label 0."""
    asked = tuple(dict.fromkeys(metrics))
    return convention.unjudged == "removed" or bool(asked and plan_of(asked, convention).views)


def values_of(
    judged: Judged | JudgedBySubtopic | JoinedRun, metrics: Sequence[Metric], convention: Convention,
    threads: int | None = None,
) -> Array:  # fmt: skip
    """One value a query and metric. Ids are ordered only where documents that tie make a difference."""
    if not judged.queries or not metrics:
        return np.zeros((len(judged.queries), len(metrics)))
    asked = tuple(dict.fromkeys(metrics))
    if convention.ties.startswith("id_"):
        values, n_tied = engine.run(judged.rankings, asked, convention.replace(ties="input"), threads=threads)
        if n_tied:
            values, _ = engine.run(judged.with_tie_keys(), asked, convention, threads=threads)
    else:
        values, _ = engine.run(judged.rankings, asked, convention, threads=threads)
    values = values[:, [asked.index(metric) for metric in metrics]]
    return judged.arranged(values) if isinstance(judged, JoinedRun) else values
