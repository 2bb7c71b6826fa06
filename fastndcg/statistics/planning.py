"""plan and audit: how many queries a decision takes, and what published means can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.exports import Printable, PrintedTable
from fastndcg.parsing import as_float, as_table
from fastndcg.rankings.validation import check_number, check_positive, check_whole_number
from fastndcg.results.results import Results
from fastndcg.statistics.alignment import check_aggregates_are_means, refuse_means
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.gate import Gate
from fastndcg.statistics.intervals import compute_clopper_pearson, compute_tango
from fastndcg.statistics.settings import Settings, check_power
from fastndcg.statistics.significance import (
    MOST_QUERIES,
    count_degrees,
    count_needed_queries,
    find_noncentrality,
    find_smallest_p_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastndcg.choices import Alternative
    from fastndcg.metrics.metric import Metric

ROUNDING = 0.00051  # of a published mean: half of its third digit


class Plan(NamedTuple):
    """
    The number of queries with which a paired test detects a difference. `plan` returns it.

    Parameters
    ----------
    difference : float
        The true mean difference that is detected.
    n : int
        The number of queries.
    n_clusters : int or None
        The number of clusters, if queries come in clusters.
    power, level : float
        The probability to detect the difference, and the confidence level of the test.
    alternative : str
        The alternative hypothesis.
    std : float
        The standard deviation of the differences, query by query.
    design_effect : float
        By how much clusters multiply the number of queries.
    source : str
        Where the standard deviation comes from.

    Examples
    --------
    >>> fn.plan(0.02, from_=0.2, clusters=(5, 0.3)).n_clusters
    347
    """

    difference: float
    n: int
    n_clusters: int | None
    power: float
    level: float
    alternative: str
    std: float
    design_effect: float
    source: str

    def __str__(self) -> str:
        clusters = "" if self.n_clusters is None else f" in {self.n_clusters} clusters"
        lines = [
            f"{self.n} queries{clusters} detect a difference of {self.difference:.4g} with power {self.power:g}",
            f"paired t test, {self.alternative}, level {self.level:g}; standard deviation of the differences "
            f"{self.std:.4g} ({self.source})",
        ]
        if self.design_effect != 1:
            lines.append(f"clusters multiply the number of queries by {self.design_effect:.3g}")
        return "\n".join(lines)


def plan(
    difference: float | None = None,
    *,
    n: int | None = None,
    from_: Any = None,
    metric: str | Metric | None = None,
    system: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    alternative: Alternative = "two-sided",
    clusters: tuple[float, float] | None = None,
) -> Plan:
    """
    Compute the number of queries that a paired comparison needs, or the difference that a number of queries can show.

    Parameters
    ----------
    difference : float, optional
        The true mean difference to detect, above 0, in the metric's unit.
    n : int, optional
        The number of queries, 2 or more. Pass exactly one of `difference` and `n`.
    from_ : float, Comparison, Gate or Results
        The standard deviation of the differences of two systems, query by query. That of a `Comparison` or a `Gate` is
        the one observed there. `Results` are of one system: two systems that are not correlated would have √2 times its
        standard deviation, which is nearly always too much, so that the plan is safe.
    metric : str or Metric, optional
        The metric to plan for. By default the first.
    system : str, optional
        The system of a `Comparison`. By default the first that is not the baseline.
    power : float
        The probability to find the difference, from 0.01 to 0.999999.
    level : float
        The confidence level of the test, from 0.51 to 0.999999.
    alternative : {'two-sided', 'greater', 'less'}
        The alternative hypothesis of the test.
    clusters : (float, float), optional
        The mean number of queries in a cluster, and the correlation of two queries of a cluster. The number of queries
        is multiplied by 1 + (size − 1) · correlation (L. Kish 1965).

    Returns
    -------
    Plan
        It prints as a sentence.

    Raises
    ------
    InvalidInputError
        If not exactly one of `difference` and `n` is given, or a number is out of its range.
    MissingPackageError
        If SciPy is not installed.

    Examples
    --------
    >>> print(fn.plan(0.02, from_=0.2))
    787 queries detect a difference of 0.02 with power 0.8
    paired t test, two-sided, level 0.95; standard deviation of the differences 0.2 (given)
    >>> round(fn.plan(n=50, from_=0.2).difference, 4)
    0.0808
    """
    settings = Settings(alternative=alternative, level=level)
    check_power(power)
    if (difference is None) == (n is None):
        raise InvalidInputError("`difference` or `n` must be given, and not both. Pass the one that is known.")
    std, source = _find_std(from_, metric, system)
    effect = 1.0 if clusters is None else _compute_design_effect(clusters)
    n_tails = 2 if alternative == "two-sided" else 1
    if difference is not None:
        difference = check_positive(difference, "difference", "0.02")
        n = count_needed_queries(std, difference, settings.alpha, power, n_tails=n_tails, design_effect=effect)
    else:
        n = check_whole_number(n, "n", 2, MOST_QUERIES)
        error = std * math.sqrt(effect / n)
        difference = find_noncentrality(count_degrees(n, effect), settings.alpha, power, n_tails) * error
    n_clusters = None if clusters is None else math.ceil(n / clusters[0])
    return Plan(float(difference), int(n), n_clusters, power, level, alternative, std, effect, source)


def _compute_design_effect(clusters: Any) -> float:
    numbers = as_table(clusters)
    if numbers is None or len(numbers) != 2:
        raise InvalidTypeError(
            f"`clusters` must be the mean size of a cluster and the correlation within it, got {shorten(clusters)}. "
            "Pass two numbers."
        )
    size = check_number(numbers[0], "clusters", 1, MOST_QUERIES, "(5, 0.3)")
    return 1 + (size - 1) * check_number(numbers[1], "clusters", 0, 1, "(5, 0.3)")


def _find_std(source: Any, metric: Any, system: str | None) -> tuple[float, str]:
    """Return the standard deviation of the differences of two systems, and where it comes from."""
    refuse_means(source)
    if as_float(source) is not None:
        return check_positive(source, "from_", "0.2"), "given"
    if isinstance(source, Comparison):
        name = system or next(name for name in source.systems if name != source.baseline)
        differences = source.differences(name, source.metrics[0] if metric is None else metric)
        about = f"of {np.count_nonzero(~np.isnan(differences))} queries"
    elif isinstance(source, Gate):
        differences = source.differences(metric)
        about = f"of {np.count_nonzero(~np.isnan(differences))} queries"
    elif isinstance(source, Results):
        place = 0 if metric is None else source._column(metric)
        check_aggregates_are_means(source, [source.metrics[place]])
        differences = math.sqrt(2) * source.values[:, place]
        about = f"√2 times that of one system in {np.count_nonzero(~np.isnan(differences))} queries"
    else:
        raise InvalidTypeError(
            "`from_` must be a standard deviation, a Comparison, a Gate or Results, got "
            f"{shorten(source)}. Compare a pilot, and pass its result."
        )
    defined = differences[~np.isnan(differences)]
    if len(defined) < 2 or not np.ptp(defined):
        raise InvalidInputError(
            "`from_` must have differences that vary, but has none or equal ones. Pass the standard deviation as a "
            "number."
        )
    return float(np.std(defined, ddof=1)), about


class Audit(Printable):
    """
    What published means of values that are 0 or 1 can show. `audit` returns it.

    Parameters
    ----------
    mean : float
        The published mean.
    n : int
        The number of queries.
    other : float
        The published mean of a second system, NaN without one.
    level : float
        The confidence level.

    Attributes
    ----------
    low, high, other_low, other_high : float
        The exact confidence intervals of the means, by Clopper and Pearson.
    difference_low, difference_high : float
        The widest interval of the difference that fits, by Tango: that of the fewest queries that differ.
    p : float
        The smallest p-value that the exact McNemar test can have, if no query got worse.

    Examples
    --------
    >>> fn.audit(1.0, 10, other=0.7).p
    0.25
    """

    def __init__(self, mean: float, n: int, other: float, level: float) -> None:
        self.mean = mean
        self.n = n
        self.other = other
        self.level = level
        hits = round(mean * n)
        self.low, self.high = (float(bound) for bound in compute_clopper_pearson(hits, n, level))
        self.other_low = self.other_high = self.difference_low = self.difference_high = self.p = math.nan
        if not math.isnan(other):
            others = round(other * n)
            self.other_low, self.other_high = (float(bound) for bound in compute_clopper_pearson(others, n, level))
            wins, losses = max(hits - others, 0), max(others - hits, 0)
            self.difference_low, self.difference_high = (
                float(bound) for bound in compute_tango(wins, losses, n, level)
            )
            self.p = find_smallest_p_value(wins + losses, "two-sided")

    def _export_columns(self) -> Mapping[str, Any]:
        return {name: [value] for name, value in self.__dict__.items()}

    def _print_table(self) -> PrintedTable:
        rows = [["", "mean", f"{100 * self.level:g} % interval"]]
        rows.append(["system", f"{self.mean:.4f}", f"[{self.low:.4f}, {self.high:.4f}]"])
        notes = [f"{self.n} queries; exact intervals of values that are 0 or 1 (Clopper–Pearson)"]
        if not math.isnan(self.other):
            rows.append(["other", f"{self.other:.4f}", f"[{self.other_low:.4f}, {self.other_high:.4f}]"])
            bounds = f"[{self.difference_low:+.4f}, {self.difference_high:+.4f}]"
            rows.append(["difference", f"{self.mean - self.other:+.4f}", bounds])
            notes.append(
                f"difference, if the same queries were asked and none changed the other way: p = {self.p:.4g} (exact "
                "McNemar, two-sided); with changes both ways p is larger"
            )
        return PrintedTable(rows, [True, False, False], notes)


def audit(mean: float, n: int, *, other: float | None = None, level: float = 0.95) -> Audit:
    """
    Return what published means can show: exact intervals, and the best possible p-value of their difference.

    Parameters
    ----------
    mean : float
        The mean of values that are 0 or 1, such as a hit rate, from 0 to 1.
    n : int
        The number of queries.
    other : float, optional
        The mean of a second system on the same queries.
    level : float
        The confidence level, from 0.51 to 0.999999.

    Returns
    -------
    Audit
        It prints as a table.

    Raises
    ------
    InvalidInputError
        If a mean is not that of n values that are 0 or 1, up to rounding to three digits.

    Examples
    --------
    >>> print(fn.audit(1.0, 10, other=0.7))
                   mean       95 % interval
    system       1.0000    [0.6915, 1.0000]
    other        0.7000    [0.3475, 0.9333]
    difference  +0.3000  [-0.0608, +0.6032]
    10 queries; exact intervals of values that are 0 or 1 (Clopper–Pearson)
    difference, if the same queries were asked and none changed the other way: p = 0.25 (exact McNemar, two-sided); \
with changes both ways p is larger
    """
    Settings(level=level)
    n = check_whole_number(n, "n", 1, MOST_QUERIES)
    for name, given in {"mean": mean, **({} if other is None else {"other": other})}.items():
        value = check_number(given, name, 0, 1, "0.7, the mean of hits")
        if abs(value * n - round(value * n)) > ROUNDING * n:
            raise InvalidInputError(
                f"`{name}` must be a mean of {n} values that are 0 or 1, but {value:g} · {n} is {value * n:g}, and no "
                "whole number. For other metrics take confidence_interval, from the values of the queries."
            )
    return Audit(float(mean), int(n), math.nan if other is None else float(other), level)
