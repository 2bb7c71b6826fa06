"""Tests of the difference of two systems: each gives a p-value, NaN where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, optional_import
from fastndcg.rankings import Array
from fastndcg.statistics.design import Design
from fastndcg.statistics.moments import Moments, tie_level
from fastndcg.statistics.resampling import sign_sums
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.sums import Quantity, Sums

MOST_ENUMERATED = 20  # units that differ: a million sums take a millisecond


class Tested(NamedTuple):
    """A p-value, whether it is exact where the test has an exact and a sampled form, and why there is none."""

    p: float
    exact: bool = False
    reason: str = ""


def without_spread(moments: Moments) -> Tested:
    """What tests that measure a difference by the spread of differences say where those are all alike."""
    if not (moments.wins or moments.losses):
        return Tested(1.0)
    return Tested(math.nan, reason="all differences are alike, so that their spread says nothing of chance")


def refuse_unsuited(test: str, design: Design) -> None:
    """Refuse a test of ranks or signs of queries that are weighted or clustered, for which it says nothing."""
    for name, given in (("weights", design.weights is not None), ("clusters", design.clustered)):
        if given and test in ("wilcoxon", "sign"):
            raise InvalidInputError(
                f"`{name}` have no meaning for the test {test!r}: take 'randomization', 'bootstrap' or 't'"
            )


def randomization(sums: Sums, quantities: Sequence[int], settings: Settings) -> list[Tested]:
    """
    The sign-flip test: if systems do not differ, each unit's difference could as well have the other sign.

    All signs are tried where at most 20 units differ; else as many as there are replicates, and the observed ones
    count among them, so that p is never 0. R. A. Fisher 1935.
    """
    totals = sums.totals()
    tests: dict[int, Tested] = {}
    for place in quantities:
        plan = sums.plans[place]
        differences = sums.unit_numerators(plan)
        differing = differences[differences != 0]
        if len(differing) <= MOST_ENUMERATED:
            tests[place] = Tested(_enumerated(differing, settings.alternative, sums.rounding), True)
    sampled = [place for place in quantities if place not in tests]
    if sampled:
        replicates = sign_sums(sums.rows, settings)
        for place in sampled:
            plan = sums.plans[place]
            observed = float(sums.numerators(totals, plan))
            signed = sums.numerators(replicates, plan)
            extreme = count_extreme(signed, observed, settings.alternative, sums.rounding)
            tests[place] = Tested((1 + extreme) / (1 + settings.replicates))
    return [tests[place] for place in quantities]


def count_extreme(replicates: Array, observed: float, alternative: str, rounding: float = 0.0) -> int:
    """How many replicates lie as far out as what was observed, or nearer by what rounding may make of them."""
    if alternative == "two-sided":
        replicates, observed = np.abs(replicates), abs(observed)
    elif alternative == "less":
        replicates, observed = -replicates, -observed
    return int(np.count_nonzero(replicates >= observed - rounding))


def _enumerated(differences: Array, alternative: str, rounding: float) -> float:
    from fastndcg.kernels import permute

    if not len(differences):
        return 1.0
    if alternative == "less":
        differences = -differences
    found = np.zeros(2, "i8")
    permute.count_extreme(differences, float(differences.sum()), rounding, np.empty(len(differences)), found)
    return float(found[1 if alternative == "two-sided" else 0]) / 2.0 ** len(differences)


def bootstrap(replicates: Array, observed: float, moments: Moments, settings: Settings) -> Tested:
    """
    The paired bootstrap test: resampled differences, moved so that their mean is 0, against what was observed.

    The share of replicates that lie as far out is taken back by as much as intervals are expanded (`expanded`): plain,
    twelve queries that do not differ are significant at 5 % in 9 % of the cases.
    """
    special = optional_import("scipy.special", "the paired bootstrap test", "statistics")
    known = replicates[~np.isnan(replicates)]
    extreme = count_extreme(known - observed, observed, settings.alternative)
    tails = 2 if settings.alternative == "two-sided" else 1
    reach = float(special.ndtri((1 + extreme) / (1 + len(known)) / tails)) * math.sqrt(
        moments.freedom / moments.n_units
    )
    return Tested(tails * float(special.stdtr(moments.freedom, reach)))


def student(moments: Moments, settings: Settings) -> Tested:
    """The paired t test; with weights or clusters, of the mean over its robust standard error."""
    special = optional_import("scipy.special", "the t test", "statistics")
    t = moments.mean / moments.error
    if settings.alternative == "two-sided":
        return Tested(float(2 * special.stdtr(moments.freedom, -abs(t))))
    return Tested(float(special.stdtr(moments.freedom, t if settings.alternative == "less" else -t)))


def of_queries(test: str, quantity: Quantity, columns: Sequence[Array], settings: Settings) -> Tested:
    """SciPy's test of the queries' differences: Wilcoxon's signed ranks, or the sign test; ties are left out."""
    stats = optional_import("scipy.stats", f"the test {test!r}", "statistics")
    differences = quantity.values(columns)
    level = tie_level(columns, quantity.metric)
    differing = differences[np.abs(differences) > level]  # NaN is not
    if not len(differing):
        return Tested(1.0, True)
    return _QUERY_TESTS[test](stats, differing, settings.alternative)


def _wilcoxon(stats: object, differing: Array, alternative: str) -> Tested:
    return Tested(float(stats.wilcoxon(differing, alternative=alternative).pvalue))  # type: ignore[attr-defined]


def _sign(stats: object, differing: Array, alternative: str) -> Tested:
    wins = int(np.count_nonzero(differing > 0))
    done = stats.binomtest(wins, len(differing), alternative=alternative)  # type: ignore[attr-defined]
    return Tested(float(done.pvalue), True)


_QUERY_TESTS: dict[str, Callable[[object, Array, str], Tested]] = {"wilcoxon": _wilcoxon, "sign": _sign}
