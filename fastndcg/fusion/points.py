"""The points that runs give to documents, by which methods fuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.method import FusionMethod
from fastndcg.fusion.normalization import NO_TABLES, OWN, fill_absent, leave_out_runs, normalize, score_ranks
from fastndcg.fusion.training import NO_RELEVANT, SEGFUSE_ENDS, TrainedTables
from fastndcg.fusion.union import Union
from fastndcg.rankings.validation import Array


def find_treatment(method: FusionMethod, convention: FusionConvention, absent: str | None) -> str:
    """Return what a method does with absent documents: the argument, the convention, or the method's definition."""
    if absent is not None:
        return absent
    if convention.absent != "method":
        return convention.absent
    return OWN if method.norm == "borda" else method.record.absent


def compute_points(
    union: Union,
    method: FusionMethod,
    convention: FusionConvention,
    *,
    absent: str | None = None,
    weights: Array | None = None,
    trained: TrainedTables | None = None,
) -> Array:
    """
    Compute what each run gives to each document.

    For a linear fusion (`is_linear`) the fused score is the sum of the runs' weights times their points, or their
    weighted mean. Points of a linear fusion have NaN only where a run lacks a query. What it gives to all documents of
    that query alike does not change their order, so 0 and the method's own points stay.

    Parameters
    ----------
    union : Union
        See `unite`.
    method : FusionMethod
        Any but condorcet and wcondorcet, which compare ranks.
    convention : FusionConvention
        The choices for ties, equal scores and ranks.
    absent : {'zero', 'minimum', 'mean', 'skip'}, optional
        What a run gives to documents that it lacks, in place of what the convention or the method says.
    weights : (n_runs,) array, optional
        Needed where the convention divides ranks by weights (`has_weighted_points`).
    trained : TrainedTables, optional
        For methods that need training.

    Returns
    -------
    (n_runs, n_documents) float64 array
        NaN where a run does not count.
    """
    treatment = find_treatment(method, convention, absent)
    if method.record.points == "scores":
        points = normalize(union, method.norm, convention, treatment)
    elif method.record.points == "segfuse" and trained is not None:
        points = _score_segments(union, method, convention, trained, treatment)
    else:
        points = _score_by_rule(union, method, convention, weights, trained, treatment)
    if not is_linear(method, convention, absent):
        leave_out_runs(union, points)
    elif treatment in ("skip", OWN):
        fill_absent(union, points, "zero")
    return points


def is_linear(method: FusionMethod, convention: FusionConvention, absent: str | None) -> bool:
    """
    Return True if fused scores are the weighted sum of points, or its quotient by the sum of all weights.

    A mean without the runs that lack a document has another divisor for each document.
    """
    is_mean = method.record.kernel == "combine.arithmetic_mean"
    return method.record.is_linear and not (is_mean and find_treatment(method, convention, absent) == "skip")


def has_weighted_points(method: FusionMethod, convention: FusionConvention) -> bool:
    """Return True if points depend on the weights, which then are not factors."""
    return method.name == "rrf" and convention.rrf_weights == "divisor"


def _score_by_rule(
    union: Union,
    method: FusionMethod,
    convention: FusionConvention,
    weights: Array | None,
    trained: TrainedTables | None,
    treatment: str,
) -> Array:
    """Return the points of a method that reads ranks."""
    name = method.record.points
    if name == "borda":
        return score_ranks(union, "BORDA", convention, NO_TABLES, absent=treatment)
    if trained is not None:
        if name == "probfuse":
            return score_ranks(union, "SEGMENT", convention, trained.values, absent=treatment)
        if name == "slidefuse":
            number = float(method.get("w"))
            return score_ranks(union, "WINDOW", convention, trained.values, number=number, absent=treatment)
        if name == "bayesfuse":
            tables = _lengthen(trained.values, union, NO_RELEVANT)
            return score_ranks(union, "TABLE", convention, tables, absent=treatment, absent_points=NO_RELEVANT)
        if name == "posfuse":
            return score_ranks(union, "TABLE", convention, trained.values, absent=treatment)
        ranks = np.arange(1.0, _count_ranks(union) + 1)
        return score_ranks(union, "TABLE", convention, trained.values[:, :1] / ranks, absent=treatment)
    tables = TABLES[name](method, convention, np.arange(_count_ranks(union), dtype="f8"), weights)
    return score_ranks(union, "TABLE", convention, tables, absent=treatment)


def _make_rrf(method: FusionMethod, convention: FusionConvention, places: Array, weights: Array | None) -> Array:
    """Return 1 / (k + rank) for each rank, a row for each run where weights divide ranks."""
    k = method.get("k")
    constant = float(convention.rrf_k if k is None else k)
    if convention.rrf_weights == "factor" or weights is None:
        if constant + convention.first_rank == 0:
            raise InvalidInputError(
                f"rrf must have k + rank above 0, but k is 0, and ranks begin at 0 in the fusion convention "
                f"{convention}. Take a larger k"
            )
        ranks = places + convention.first_rank
        return 1.0 / (constant + ranks)[None]
    shift = constant + convention.first_rank - 1
    rows = [_divide((places + 1) / weight + shift) if weight > 0 else np.zeros(len(places)) for weight in weights]
    return np.array(rows).reshape(len(weights), len(places))


def _divide(divisors: Array) -> Array:
    """Return 1 divided by each number, infinity for 0."""
    with np.errstate(divide="ignore"):
        inverse: Array = 1.0 / divisors
    return inverse


def _make_isr(method: FusionMethod, convention: FusionConvention, places: Array, weights: Array | None) -> Array:
    """Return 1 / rank² for each rank."""
    del method, convention, weights
    points: Array = 1.0 / (places[None] + 1.0) ** 2
    return points


def _make_rbc(method: FusionMethod, convention: FusionConvention, places: Array, weights: Array | None) -> Array:
    """Return (1 − phi) · phi^(rank − 1) for each rank."""
    del convention, weights
    phi = float(method.get("phi"))
    points: Array = (1.0 - phi) * phi ** places[None]
    return points


TABLES: dict[str, Callable[[FusionMethod, FusionConvention, Array, Array | None], Array]] = {
    "rrf": _make_rrf,
    "isr": _make_isr,
    "rbc": _make_rbc,
}


def _score_segments(
    union: Union, method: FusionMethod, convention: FusionConvention, trained: TrainedTables, treatment: str
) -> Array:
    """Return the points of SegFuse: the precision of the rank's segment times the score plus 1."""
    n_ranks = _count_ranks(union)
    segments = np.searchsorted(SEGFUSE_ENDS, np.arange(n_ranks), side="right")
    padded = np.pad(trained.values, ((0, 0), (0, 1)))  # ranks behind the last segment
    tables = padded[:, segments]
    points = score_ranks(union, "TABLE", convention, tables, absent="skip")
    points *= normalize(union, method.norm, convention, "skip") + 1.0
    fill_absent(union, points, treatment)
    return points


def _lengthen(tables: Array, union: Union, value: float) -> Array:
    """Return tables with an entry for each rank of the union."""
    n_missing = max(_count_ranks(union) - tables.shape[1], 0)
    return np.pad(tables, ((0, 0), (0, n_missing)), constant_values=value)


def _count_ranks(union: Union) -> int:
    """Return the number of documents of the longest ranking."""
    return int(union.sizes.max(initial=0))
