"""Explain a fused score: what each run gives to a document, and how that adds up."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.fusion.joined_runs import JoinedRuns, join_runs
from fastndcg.fusion.methods import AppliedMethod
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.table import Run
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.table import Column, Table

NOTHING = "–"
FUSED = "fused"


class FusionInputs(NamedTuple):
    """What a fused run was made of: see `fuse`."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    applied: AppliedMethod
    weights: Array | None
    depth: int | None


class FusionShare(NamedTuple):
    """
    What a run gives to a document, and in the last row the fused rank and score.

    `rank` and `score` are None if the run lacks the document, or `depth` cut it. `normalised` is the run's part before
    weights: a normalised score, or points by rank. It is None if the run does not count. `weight` is that of the run,
    and None in the last row. `points` add up to the fused score, unless a note says how the method combines them.
    """

    run: str
    rank: float | None
    score: float | None
    normalised: float | None
    weight: float | None
    points: float | None


def explain_fusion(inputs: FusionInputs, fused: Run, query: Any, document: Any) -> Table[FusionShare]:
    """Return a row for each run with what it gives to a document, and a row with the fused rank and score."""
    applied = inputs.applied
    place = _find(fused.queries, query, "query", "the fused run")
    first, stop = fused.offsets[place : place + 2].tolist()
    documents = fused.documents.take(np.arange(first, stop))
    fused_place = _find(documents, document, "document", f"query {show_name(fused.queries.name(place))}")
    convention = applied.convention.replace(queries="union")
    runs = [run.filter([query]) for run in inputs.runs]
    joined = join_runs(runs, inputs.names, convention, depth=inputs.depth)
    names = joined.row_documents.take(joined.document_rows).names().tolist()
    d = names.index(documents.name(fused_place))
    ranks = joined.rank(convention.ties).ranks[:, d].tolist()
    ties = joined.rank(convention.ties).ties[:, d].tolist()
    weights = np.ones(len(inputs.names)) if inputs.weights is None else inputs.weights
    values, points = _find_points(joined, applied, weights, inputs.weights, d)
    rows = [
        FusionShare(name, rank + (size - 1) / 2 if rank else None, score if rank else None, value, weight, own)
        for name, rank, size, score, weight, value, own in zip(
            inputs.names, ranks, ties, joined.scores[:, d].tolist(), weights.tolist(), values, points, strict=True
        )
    ]
    score = fused.values[first + fused_place].item()
    rows.append(FusionShare(FUSED, fused_place + 1, None, None, None, score))
    notes = [f"document {show_name(names[d])} of query {show_name(fused.queries.name(place))}, {applied.method}"]
    record = applied.record
    notes.append("the fused score is " + ("the sum of the points" if record.kernel in ADDS else record.formula))
    n_cut = sum(rank == 0 and names[d] in run.documents.names().tolist() for rank, run in zip(ranks, runs, strict=True))
    if n_cut:
        notes.append(f"runs whose document is below the depth of {inputs.depth}: {n_cut}")
    return Table(rows, COLUMNS, notes)


def _find(ids: IdColumn, wanted: Any, what: str, where: str) -> int:
    """Return the place of an id, or raise an error."""
    names: list[Any] = ids.names().tolist()
    if wanted in names:
        return names.index(wanted)
    if ids.are_texts != isinstance(wanted, str):
        kind = "texts" if ids.are_texts else "whole numbers"
        raise InvalidTypeError(f"`{what}` must be one of the ids, which are {kind}, not {shorten(wanted)}. Convert it")
    hint = suggest_name(str(wanted), [str(name) for name in names]) or " Check that the id is written alike"
    raise InvalidInputError(f"`{what}` must be in {where}, but {shorten(wanted)} is not.{hint}")


def _find_points(
    joined: JoinedRuns, applied: AppliedMethod, weights: Array, given_weights: Array | None, d: int
) -> tuple[list[float | None], list[float | None]]:
    """Return what each run gives to a document before and after weights, None where it does not count."""
    if applied.compares_ranks:
        return [None] * len(weights), [None] * len(weights)
    column = applied.score(joined, given_weights)[:, d]
    counts = ~np.isnan(column)
    values = [value if own else None for value, own in zip(column.tolist(), counts.tolist(), strict=True)]
    factors = _find_factors(applied, weights, counts)
    if factors is None:
        return values, values
    return values, [
        None if value is None else value * factor for value, factor in zip(values, factors.tolist(), strict=True)
    ]


def _find_factors(applied: AppliedMethod, weights: Array, counts: Array) -> Array | None:
    """Return the factor of each run's value in a sum, None for a method that does not add up."""
    if applied.record.kernel not in ADDS:
        return None
    n = int(np.count_nonzero(counts))
    own = np.ones(len(weights)) if applied.has_weighted_points or not applied.record.is_weighted else weights
    total = float(own[counts].sum())
    factors: dict[str, Array] = {
        "weighted_sum": own,
        "arithmetic_mean": own / total if total else own,
        "comb_anz": own / max(n, 1),
        "comb_mnz": own * n,
        "comb_gmnz": own * n**applied.number,
        "log_mnz": own * math.log(n + applied.number) if n + applied.number > 0 else own,
        "wmnz": np.full(len(own), total),
    }
    return factors[applied.record.kernel]


ADDS = ("weighted_sum", "arithmetic_mean", "comb_anz", "comb_mnz", "comb_gmnz", "log_mnz", "wmnz")


def _format(number: float | None) -> str:
    return NOTHING if number is None else f"{number:.6g}"


COLUMNS = (
    Column("run", lambda row: show_name(row.run), left=True),
    Column("rank", lambda row: _format(row.rank)),
    Column("score", lambda row: _format(row.score)),
    Column("normalised", lambda row: _format(row.normalised)),
    Column("weight", lambda row: "" if row.run == FUSED and row.weight is None else _format(row.weight)),
    Column("points", lambda row: _format(row.points)),
)
