"""What drop-ins share: the evaluation of runs in dicts, and whole numbers of any library."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastndcg.engine import run as engine
from fastndcg.engine.plan import make_plan
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.table import Qrels, Run
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array


def as_whole_number(value: Any) -> int | None:
    """
    Return an integer of Python, NumPy or PyTorch as an int, and a bool as 0 or 1. Return None for other values.

    >>> as_whole_number(3), as_whole_number(True), as_whole_number(3.0), as_whole_number("3")
    (3, 1, None, None)
    """
    try:
        return operator.index(value)
    except TypeError:
        return None


def list_rows(table: Qrels | Run, number: type[int] | type[float]) -> dict[str, dict[str, Any]]:
    """Return a table as {query: {document: number}}. Raise InvalidInputError for a fraction that is to be an int."""
    if number is int and (table.values % 1 != 0).any():
        raise InvalidInputError(f"{table.source.name} must have whole numbers as labels. Round them")
    rows = table.to_dict()
    return {query: {document: number(value) for document, value in row.items()} for query, row in rows.items()}


def distinguish_unjudged(metrics: Sequence[Metric], convention: Convention) -> bool:
    """Return True if some metric treats an unjudged document differently from a document with label 0."""
    unique = tuple(dict.fromkeys(metrics))
    return convention.unjudged == "removed" or bool(unique and make_plan(unique, convention).views)


def evaluate_judged(
    judged: Any, metrics: Sequence[Metric], convention: Convention, threads: int | None = None
) -> Array:
    """
    Return the (n_queries, n_metrics) values of metrics, which may repeat, of a run joined with its judgments.

    `judged` has `queries`, `rankings`, and `with_tie_keys` as `Judged` of `dict_qrels` has them.
    """
    if not judged.queries or not metrics:
        return np.zeros((len(judged.queries), len(metrics)))
    unique = tuple(dict.fromkeys(metrics))
    if convention.ties.startswith("id_") and any(map(_reads_unjudged_ties, unique)):
        output = engine.run(judged.with_tie_keys(), unique, convention, threads=threads)
    elif convention.ties.startswith("id_"):
        # Sorting the ids of every query takes longer than an evaluation: of 1,000 queries with 1,000 documents each,
        # 100 to 700 ms against 12 ms on two CPUs. It is done only if the order of tied documents changes a value.
        output = engine.run(judged.rankings, unique, convention.replace(ties="input"), threads=threads)
        if output.n_tied:
            output = engine.run(judged.with_tie_keys(), unique, convention, threads=threads)
    else:
        output = engine.run(judged.rankings, unique, convention, threads=threads)
    values: Array = output.values[:, [unique.index(metric) for metric in metrics]]
    return values


def _reads_unjudged_ties(metric: Metric) -> bool:
    """Return True if the order of tied documents with label 0 changes the value, as that of `Judged`."""
    return metric.record.view == "judgments" and "best" not in metric.record.ties
