"""Normalise the scores of a union, and give documents that a run lacks their share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastndcg.engine.spans import Span
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.fusion.catalog import NORMALIZATIONS
from fastndcg.fusion.conventions import ABSENT, FusionConvention
from fastndcg.fusion.method import find_normalization
from fastndcg.fusion.union import Union
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array

NO_TABLES = np.zeros((1, 0))
OWN = "own"  # points by the method's rule


def normalize(union: Union, normalization: str, convention: FusionConvention, absent: str = "zero") -> Array:
    """
    Normalise the scores of each run in each query.

    Parameters
    ----------
    union : Union
        See `unite`.
    normalization : str
        Its name in the catalogue, such as 'min_max'.
    convention : FusionConvention
        The choices for equal scores, single documents and divisors.
    absent : {'zero', 'minimum', 'mean', 'skip', 'own'}
        What a run gives to documents that it lacks: 0, its lowest or its mean normalised score in the query, or NaN.
        'own' is what the normalisation says, for 'borda', and NaN for others.

    Returns
    -------
    (n_runs, n_documents) float64 array
        Without NaN unless `absent` leaves it, or a run lacks a query.

    Raises
    ------
    InvalidInputError
        If a score divided by the run's highest score overflows.
    """
    record = NORMALIZATIONS[find_normalization(normalization)]
    file, _, rule = record.kernel.partition(".")
    if file == "points":
        return score_ranks(union, rule, convention, NO_TABLES, absent=absent)
    kernels = load_kernels("fusion.normalize")
    rules = read_rules(convention)
    out = np.empty(union.scores.shape)
    kind = getattr(kernels, rule)

    def work(span: Span) -> None:
        kernels.normalize(union.scores, union.offsets, kind, rules, *span, out)

    union.run_on_queries(work)
    if record.name == "max":
        _refuse_infinite(union, out)
    has_mean_zero = record.name == "z_score" and not convention.lowest_score
    fill_absent(union, out, "zero" if absent == "mean" and has_mean_zero else absent)  # a computed mean may be 1e-17
    return out


def score_ranks(
    union: Union,
    rule: str,
    convention: FusionConvention,
    tables: Array,
    *,
    number: float = 0.0,
    absent: str = "zero",
    absent_points: float = 0.0,
) -> Array:
    """
    Give the documents of each run points by their ranks.

    Parameters
    ----------
    union : Union
        See `unite`.
    rule : str
        The name of a constant of kernels/fusion/points.py.
    convention : FusionConvention
        Its `ties` rank equal scores.
    tables : (n_runs, n_entries) float64 array
        What the rule reads, such as the points of each rank.
    number : float
        A parameter of the rule.
    absent : {'zero', 'minimum', 'mean', 'skip', 'own'}
        See `normalize`.
    absent_points : float
        What 'own' gives to absent documents, unless the rule has its points.
    """
    kernels = load_kernels("fusion.points")
    ranked = union.rank(convention.ties)
    out = np.empty(union.scores.shape)
    kind = getattr(kernels, rule)
    entries = np.ascontiguousarray(np.broadcast_to(tables, (len(union.names), tables.shape[1])))
    share = {OWN: absent_points, "zero": 0.0}.get(absent, math.nan)

    def work(span: Span) -> None:
        kernels.score_ranks(
            *ranked, union.offsets, union.sizes, entries, kind, number, share, absent == OWN, *span, out
        )

    union.run_on_queries(work)
    if absent != "zero":
        fill_absent(union, out, absent)
    return out


def fill_absent(union: Union, out: Array, absent: str) -> None:
    """
    Replace NaN by what `absent` says, in place.

    A run that lacks a whole query has neither a lowest nor a mean score there: NaN stays, and the run does not count.
    """
    if absent in ("skip", OWN):
        return
    kernels = load_kernels("fusion.normalize")
    treatment = {"zero": kernels.ZERO, "minimum": kernels.MINIMUM, "mean": kernels.MEAN}[absent]

    def work(span: Span) -> None:
        kernels.fill_absent(union.offsets, treatment, *span, out)

    union.run_on_queries(work)
    if absent != "zero":
        leave_out_runs(union, out)


def leave_out_runs(union: Union, out: Array) -> None:
    """Write NaN for each run in the queries that it lacks."""
    lacks_query = union.sizes == 0
    if lacks_query.any():
        out[np.repeat(lacks_query, np.diff(union.offsets), axis=1)] = np.nan


def _refuse_infinite(union: Union, out: Array) -> None:
    """Raise for a score that is too large to be divided by the run's highest score."""
    is_infinite = np.isinf(out)
    if not is_infinite.any():
        return
    run, document = np.argwhere(is_infinite)[0].tolist()
    raise InvalidInputError(
        f"the normalisation max must give finite scores, but that of {union.describe(document)} in run "
        f"{shorten(union.names[run])} is {out[run, document]}, because the highest score is so small. Take norm=min_max"
    )


def check_absent(absent: str | None) -> str | None:
    """Return what `absent` says, or raise an error."""
    if absent is not None and (not isinstance(absent, str) or absent not in ABSENT):
        names = ", ".join(map(repr, ABSENT))
        raise InvalidInputError(
            f"`absent` must be one of {names}, not {shorten(absent)}. Leave it out for the method's"
        )
    return absent


def read_rules(convention: FusionConvention) -> Any:
    """Return the numbers of a convention."""
    single = convention.single_document
    return load_kernels("fusion.normalize").Rules(
        float(convention.smallest_divisor),
        float(convention.equal_within),
        float(convention.equal_scores),
        float(convention.equal_scores if isinstance(single, str) else single),
        float(convention.lowest_score),
        int(convention.deviation == "sample"),
    )
