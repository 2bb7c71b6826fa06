"""compare: the face of the comparison of systems."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, nearest
from fastndcg.evaluate import Evaluator
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array, Rankings
from fastndcg.results import Results
from fastndcg.statistics.alignment import align
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.curves import at_all_cutoffs, curve_metrics, points
from fastndcg.statistics.design import make_design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import refuse_unsuited


def compare(
    truth: Any,
    systems: Any = None,
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: str | Convention = "default",
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    segments: Any = None,
    curves: Metrics | None = None,
    interval: str = "percentile",
    test: str = "randomization",
    correction: str = "holm",
    alternative: str = "two-sided",
    level: float = 0.95,
    power: float = 0.8,
    replicates: int = 10_000,
    seed: int = 0,
    mixed_conventions: bool = False,
    threads: int | None = None,
) -> Comparison:
    """
    Compare systems: means, differences from a baseline, intervals, tests.

    Systems are brought together by query id, never by position.

    Parameters
    ----------
    truth, metrics, offsets, groups, query_ids, convention, threads
        See `evaluate`. The truth is left out, or None, where all systems are finished `Results`:
        ``fn.compare({"a": results, "b": others})``; their metrics are then those compared, unless some are named.
    systems : {name: predictions}, or iterable of (name, predictions)
        Two or more; predictions are whatever `evaluate` takes, `Rankings`, or finished `Results`.
    baseline : str, optional
        The system that the others are compared with; by default the first.
    weights : (n_queries,) array or {query id: weight}, optional
        How much each query counts, such as its traffic: finite, not negative, not all 0.
    clusters : (n_queries,) array or {query id: cluster}, optional
        Queries that came together, such as those of one user: they are resampled, and change signs, together.
    strata : (n_queries,) array or {query id: stratum}, optional
        Groups whose sizes were fixed when queries were drawn: each is resampled on its own.
    segments : (n_queries,) array or {query id: segment}, optional
        Kinds of queries for `Comparison.by` and reports.
    curves : metrics, optional
        Such as "ndcg": evaluated at cutoffs 1 to 100, too, for reports and plots. Ranking so deep takes several times
        as long as nDCG@10 alone; tied queries are then counted down to rank 100.
    interval : {'percentile', 'bca', 't'}
        Bootstrap intervals, plain or corrected for bias and skew, which reach as much further as Student's do for few
        queries (T. C. Hesterberg 2015, doi:10.1080/00031305.2015.1089789), or Student's. In 100,000 simulations each of
        200 queries, 95 % intervals held the true difference in 94.4 % to 94.9 % of the cases by percentiles, in 94.6 %
        to 95.1 % by Student's, and in 94.3 % to 94.9 % by BCa, but for one: BCa held it in 93.0 % where four in five
        queries did not differ. Where nine in ten did not, 10,000 simulations gave 93.3 % by percentiles, 90.4 % by BCa
        and 95.0 % by Student's, and where one in ten was won and none lost, 91.4 %, 93.5 % and 90.4 %: twenty queries
        say little of their skew. `scripts/calibration.py` has the simulations.
    test : {'randomization', 't', 'wilcoxon', 'sign', 'bootstrap', 'tukey'}
        Sign-flip randomisation (exact where at most 20 queries differ), paired t, Wilcoxon's signed ranks, the sign
        test, the paired bootstrap test, or Tukey's honestly significant difference over all pairs by randomisation.
        Differences that are all alike have no p-value by t and bootstrap, which go by their spread. The bootstrap
        test reaches out as intervals do, so that few queries that do not differ are not significant too often.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        Of the p-values, over all systems and metrics of the table; Tukey's hold for all pairs of a metric already.
    alternative : {'two-sided', 'greater', 'less'}
        'greater': that the system is better than the baseline.
    level : float
        Of the intervals; a difference is significant if its corrected p-value is below 1 − level.
    power : float
        With which the smallest detectable difference would have been found.
    replicates, seed : int
        Of bootstrap and randomisation. The same seed gives the same numbers on any machine, with any threads.
    mixed_conventions : bool
        Whether finished results may have been evaluated under different conventions.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInputError
        If there are fewer than two systems, two of one name, or no system with the baseline's; if a system lacks
        queries that others have, unless its convention skips them, or has no value at all; if weights, clusters,
        strata or segments do not fit the queries.
    MissingPackageError
        If SciPy, which the smallest detectable difference needs, is not installed.

    Examples
    --------
    >>> qrels = {q: {"d1": 2, "d2": 1} for q in "abcdefgh"}
    >>> good = {q: {"d1": 3, "d2": 2, "d3": 1} for q in qrels}
    >>> bad = {q: {"d1": 1 + (q < "c"), "d2": 1.5, "d3": 3} for q in qrels}
    >>> for row in fn.compare(qrels, {"bad": bad, "good": good}, "rr", baseline="bad").rows:
    ...     print(row.system, round(row.mean, 4), round(row.difference, 4), row.p, (row.wins, row.ties, row.losses))
    bad 0.5 nan nan (0, 0, 0)
    good 1.0 0.5 0.0078125 (8, 0, 0)
    """
    settings = Settings(
        interval=interval, test=test, correction=correction, alternative=alternative, level=level, power=power,
        replicates=replicates, seed=seed, threads=threads,
    )  # fmt: skip
    if systems is None and _are_results(truth):
        truth, systems = None, truth
    named = _named(systems)
    base = _baseline(baseline, named)
    wanted = _metrics(metrics, named)
    extra = at_all_cutoffs(parse_metrics(curves)) if curves else ()
    shown = curve_metrics(tuple(dict.fromkeys((*wanted, *extra))))
    every = tuple(dict.fromkeys((*wanted, *shown)))
    given = {"offsets": offsets, "groups": groups, "query_ids": query_ids, "convention": convention, "threads": threads}
    results = _evaluated(truth, named, every, given)
    _refuse_mixed(results, mixed_conventions)
    aligned = align(results, every)
    design = make_design(aligned.query_ids, clusters=clusters, strata=strata, weights=weights)
    refuse_unsuited(test, design)
    columns = [column[:, : len(wanted)] for column in aligned.columns]
    _refuse_empty(list(named), wanted, columns)
    curved = [column[:, [every.index(metric) for metric in shown]] for column in aligned.columns]
    drawn = points(list(named), curved, shown, design, level)
    if len(every) > len(wanted):  # the values of curves have said what they had to, and are many
        columns = [column.copy(order="K") for column in columns]
        results = {name: one if one is named[name] else _first(one, len(wanted)) for name, one in results.items()}
    return Comparison(
        results, aligned._replace(columns=columns), wanted, base, design, settings, segments=segments, curves=drawn
    )


def _are_results(truth: Any) -> bool:
    return isinstance(truth, Mapping) and bool(truth) and all(isinstance(one, Results) for one in truth.values())


def _named(systems: Any) -> dict[str, Any]:
    """The systems by name, in the order given."""
    if systems is None or isinstance(systems, str | Results | Rankings):
        raise InvalidInputError("`systems` must be {name: predictions} with two systems or more")
    pairs = list(systems.items()) if isinstance(systems, Mapping) else _pairs(systems)
    named: dict[str, Any] = {}
    for name, predictions in pairs:
        if not isinstance(name, str) or not name:
            raise InvalidTypeError(f"`systems` must have texts as names, not {name!r}")
        if name in named:
            raise InvalidInputError(f"`systems` must have names of their own, but {name!r} stands for two")
        named[name] = predictions
    if len(named) < 2:
        raise InvalidInputError(
            f"`systems` must be two or more to be compared, not {len(named)}; for one, take "
            "evaluate(…).confidence_interval(metric)"
        )
    return named


def _pairs(systems: Iterable[Any]) -> list[tuple[Any, Any]]:
    try:
        return [(name, predictions) for name, predictions in systems]
    except (TypeError, ValueError):
        raise InvalidTypeError("`systems` must be {name: predictions}, or pairs of a name and predictions") from None


def _baseline(baseline: str | None, named: Mapping[str, Any]) -> str:
    if baseline is None:
        return next(iter(named))
    if baseline not in named:
        hint = nearest(str(baseline), named)
        raise InvalidInputError(f"`baseline` must be a system, but is {baseline!r}.{hint} There are {', '.join(named)}")
    return baseline


def _metrics(metrics: Metrics | None, named: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Those asked for; those of the first system where all are finished results."""
    if metrics is None and all(isinstance(one, Results) for one in named.values()):
        first: Results = next(iter(named.values()))
        return first.metrics
    return parse_metrics(metrics)


def _first(results: Results, n_metrics: int) -> Results:
    """The results of the first metrics alone."""
    kept = copy.copy(results)
    kept.metrics = results.metrics[:n_metrics]
    kept.values = results.values[:, :n_metrics].copy(order="K")
    if results.value_weights is not None:
        kept.value_weights = results.value_weights[:, :n_metrics].copy(order="K")
    return kept


def _evaluated(
    truth: Any, named: Mapping[str, Any], metrics: tuple[Metric, ...], given: dict[str, Any]
) -> dict[str, Results]:
    """Every system's results: those finished as they are, the others from one truth prepared once."""
    needs_truth = [not isinstance(one, Results | Rankings) for one in named.values()]
    if truth is not None and not any(needs_truth):
        raise InvalidInputError("`truth` must be None where all systems are finished Results or Rankings")
    if truth is None and any(needs_truth):
        name = list(named)[needs_truth.index(True)]
        raise InvalidInputError(f"`truth` is missing: system {name!r} has to be evaluated against it")
    evaluator = Evaluator(truth, metrics, **given) if truth is not None else None
    return {name: _evaluated_one(name, one, evaluator, metrics, given) for name, one in named.items()}


def _evaluated_one(
    name: str, predictions: Any, evaluator: Evaluator | None, metrics: tuple[Metric, ...], given: dict[str, Any]
) -> Results:
    if isinstance(predictions, Results):
        return predictions
    try:
        if isinstance(predictions, Rankings) or evaluator is None:
            own = {key: given[key] for key in ("convention", "threads")}
            return Evaluator(predictions, metrics, **own).evaluate()
        return evaluator.evaluate(predictions)
    except FastndcgError as error:
        raise type(error)(f"system {name!r}: {error}") from None


def _refuse_mixed(results: Mapping[str, Results], mixed_conventions: bool) -> None:
    first, *others = results
    for name in others:
        if results[name].convention != results[first].convention and not mixed_conventions:
            raise InvalidInputError(
                f"systems must be evaluated under one convention, but {first!r} is under {results[first].convention} "
                f"and {name!r} under {results[name].convention}; evaluate them alike, or say mixed_conventions=True"
            )


def _refuse_empty(names: list[str], metrics: tuple[Metric, ...], columns: list[Array]) -> None:
    for name, column in zip(names, columns, strict=True):
        for place, metric in enumerate(metrics):
            if np.isnan(column[:, place]).all():
                raise InvalidInputError(
                    f"systems must have a value for some query, but {name!r} has none of {metric} "
                    f"({len(column)} queries): check that its ids are those of the judgments"
                )
