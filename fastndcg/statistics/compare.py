"""compare: compare several systems on the same queries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastndcg.choices import (
    Alternative,
    ConventionName,
    Correction,
    Family,
    IntervalMethod,
    TestName,
)
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, reworded, shorten, suggest_name
from fastndcg.evaluation import Evaluator, Request, check_model, make_evaluator, make_options, parse_request
from fastndcg.forms.named_systems import check_names, pair_names, refuse_one_run
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.inputs.table import Run
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, Metrics, check_direction, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.models import Model
from fastndcg.results.kinds import PairResults
from fastndcg.results.per_query import keep_known
from fastndcg.results.results import MeanTable, Results
from fastndcg.runtime.progress import track, use_progress
from fastndcg.statistics.alignment import AlignedValues, align, find_clusters, refuse_means
from fastndcg.statistics.comparison import ComparedInputs, Comparison
from fastndcg.statistics.sampling_design import Design, read_design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import check_test_fits_design
from fastndcg.vector_index import measure_recall


@answer_keywords
def compare(
    truth: Any,
    systems: Any = None,
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    interval: IntervalMethod = "auto",
    test: TestName = "randomization",
    correction: Correction = "holm",
    family: Family = "table",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    replicates: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: bool = True,
) -> Comparison:
    """
    Compare systems with a baseline: means, differences, confidence intervals and significance tests.

    Systems are aligned by query id. Means are over queries. A difference is the system minus the baseline. What is
    better, and which queries are won, follows the direction of the metric. Without direction nothing is won or lost.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels or None
        See `evaluate`. None, or left out, if all systems are `Results`: ``fn.compare({"a": results, "b": others})``.
    systems : {name: predictions}, iterable of (name, predictions), or list of paths
        Two or more systems. Predictions are of any kind that `evaluate` takes, `Rankings`, or `Results`.
        A run in a list of paths has the name that TREC's sixth column gives it, if no other run has the same one.
        Otherwise its name is that of the file without suffixes.
    metrics : str, Metric, or iterable of them, optional
        See `evaluate`. By default those of the first system that is `Results`, else
        "ndcg@10, map, mrr, p@5, recall@10".
    baseline : str, optional
        The name of the system that the others are compared with. By default the first.
    offsets, groups, query_ids : array, optional
        See `evaluate`.
    convention : str or Convention
        See `evaluate`.
    weights : (n_queries,) array or {query id: weight}, optional
        How much each query counts, such as its traffic: finite, 0 or more, not all 0. A query of weight 0 is left out
        everywhere. Degrees of freedom come from Kish's effective number of queries.
    clusters : (n_queries,) array or {query id: cluster}, optional
        Queries that are not independent, such as those of one user. They are resampled together.
        By default, the pairs of a query are a cluster in `PairResults`.
    strata : (n_queries,) array or {query id: stratum}, optional
        Groups of queries with a fixed size in the sample. Each is resampled separately.
    interval : {'auto', 't', 'percentile', 'betting'}
        'auto' takes the method whose coverage holds for the values: Clopper–Pearson for 0/1 values, Tango's score for
        their differences, Korn–Graubard for other values in a known range, Student's t with pseudo-observations at the
        ends for their differences, and Student's t for values without a known range, such as DCG.
        'percentile' is the bootstrap, expanded for small samples (T. C. Hesterberg 2015,
        doi:10.1080/00031305.2015.1089789). No interval leaves the range of its metric.
        'betting' holds for any values in a known range, also if large differences are too rare to be seen
        (I. Waudby-Smith and A. Ramdas 2024, doi:10.1093/jrsssb/qkad009). It is wide, takes no weights, clusters or
        strata, and depends a little on the order of the queries.
        docs/how_it_works/statistics_calibration.md has the coverage of each.
    test : {'randomization', 't', 'wilcoxon', 'sign', 'mcnemar', 'bootstrap', 'tukey'}
        'randomization' flips signs and is exact if at most 20 queries differ.
        't' is paired, 'wilcoxon' uses signed ranks, 'bootstrap' is paired. 'sign' is exact. Of 0/1 values it is
        McNemar's test, so that 'mcnemar' is another name of it.
        'tukey' tests the honestly significant difference over all pairs, by randomisation.
        If all differences are equal and not 0, 't' and 'bootstrap' give no p-value.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        The correction of p-values for the number of tests of a family: Holm, Bonferroni, or Benjamini–Hochberg.
        The p-values of 'tukey' hold for all pairs of a metric and are not corrected again.
    family : {'table', 'metric'}
        The tests that are corrected together: all systems and metrics of the table, or the systems of each metric.
        Take 'metric' if the metrics answer different questions.
    alternative : {'two-sided', 'greater', 'less'}
        The alternative hypothesis. 'greater': the system is better than the baseline, whichever values are.
    level : float
        The confidence level of the intervals, from 0.51 to 0.999999. A difference is significant if its corrected
        p-value is below 1 − level, which is computed as a decimal number: p = 0.05 is not below 1 − 0.95.
    replicates : int
        The number of replicates of bootstrap and randomisation, 1 to 1,000,000. No p-value of theirs is below
        1 / (replicates + 1): a note says if this makes three stars impossible.
    seed : int
        The seed of the random numbers, 0 or more. It determines the results on any machine, for any number of threads.
    threads : int, optional
        See `evaluate`.
    progress : bool
        Whether a bar may appear on a terminal or in a notebook, after some seconds and if tqdm is installed.
        The environment variable FASTNDCG_PROGRESS=0 switches all bars off.

    Returns
    -------
    Comparison
        It prints as a table, and has reports, plots, segments (`by`), curves, and tests of equivalence.

    Raises
    ------
    InvalidInputError
        If there are fewer than two systems, two with the same name, or none with the baseline's name.
        If a system lacks queries that others have and its convention does not skip them, or has no value at all.
        If weights, clusters or strata do not fit the queries.
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
        interval=interval,
        test=test,
        correction=correction,
        family=family,
        alternative=alternative,
        level=level,
        replicates=replicates,
        seed=seed,
        threads=threads,
    )
    if systems is None and _holds_only_results(truth):
        systems = truth
        truth = None
    if _is_run(metrics):
        raise InvalidTypeError(
            f"`metrics` must be texts or Metric values, not {type(metrics).__name__}. Give each system a name: "
            'compare(truth, {"old": run, "new": other_run}, metrics).'
        )
    named_systems = read_systems(systems)
    baseline_name = find_baseline(baseline, named_systems)
    selected = select_metrics(metrics, named_systems, "recall@10" if isinstance(truth, Model) else DEFAULT_METRICS)
    if alternative != "two-sided":
        check_direction(selected, "a one-sided test")
    first_predictions = next((own for own in named_systems.values() if not isinstance(own, Results | Rankings)), None)
    options = make_options(offsets, groups, query_ids, threads, other=first_predictions, is_alone=False)
    again = partial(evaluate_systems, truth, named_systems, options, convention, progress)
    with use_progress(progress):
        results = again(selected)
        aligned = align(results, selected)
        first = next(iter(results.values()))
        every_id = aligned.query_ids
        clusters = find_clusters(first, every_id, clusters)
        design, weighted, notes = _make_design(every_id, {"weights": weights, "clusters": clusters, "strata": strata})
        if len(weighted) < len(every_id):
            values = [column[weighted] for column in aligned.columns]
            aligned = aligned._replace(query_ids=every_id[weighted], columns=values)
        check_test_fits_design(test, design)
        check_has_values(results, aligned)
        inputs = None
        if not isinstance(first, PairResults):
            inputs = ComparedInputs(truth, named_systems, options, parse_convention(convention), again)
        return Comparison(
            results,
            aligned,
            baseline_name,
            design,
            settings,
            inputs=inputs,
            weighted=(every_id, weighted),
            notes=notes,
        )


def _make_design(query_ids: Array, values: Mapping[str, Any]) -> tuple[Design, Array, list[str]]:
    """Return the sampling design, the indices of its queries, those of a weight above 0, and notes on other queries."""
    given: dict[str, Any] = {}
    notes: list[str] = []
    for name, own_values in values.items():
        given[name], own_notes = keep_known(own_values, name, query_ids)
        notes += own_notes
    return *read_design(query_ids, **given), notes


def _holds_only_results(truth: Any) -> bool:
    return isinstance(truth, Mapping) and bool(truth) and all(isinstance(value, MeanTable) for value in truth.values())


def read_systems(
    systems: Any, least: int = 2, remedy: str = "For one system, take evaluate(…).confidence_interval(metric)"
) -> dict[str, Any]:
    """Return the systems by name, in the given order. `least` is 1 or 2."""
    if systems is None or isinstance(systems, str | Results | Rankings):
        raise InvalidInputError(
            f"`systems` must be {{name: predictions}} with {'two systems' if least > 1 else 'one system'} or more, got "
            f"{'none' if systems is None else shorten(systems)}. Give each system a "
            "name, such as {'old': run, 'new': other_run}"
        )
    if isinstance(systems, Mapping):
        refuse_one_run(systems, "systems")
    pairs = pair_names(systems, "systems", "predictions")
    for _, predictions in pairs:
        refuse_means(predictions)
    return check_names(pairs, "systems", "system", remedy, least)


def find_baseline(baseline: str | None, named_systems: Mapping[str, Any]) -> str:
    """Return the name of the baseline, by default that of the first system. Raise an error for an unknown name."""
    if baseline is None:
        return next(iter(named_systems))
    if not isinstance(baseline, str) or baseline not in named_systems:
        hint = suggest_name(baseline, named_systems)
        raise InvalidInputError(
            f"`baseline` must be the name of a system, got {shorten(baseline)}.{hint} "
            f"There are {join_names(named_systems)}."
        )
    return baseline


def select_metrics(metrics: Metrics | None, named_systems: Mapping[str, Any], default: Metrics) -> tuple[Metric, ...]:
    """Parse the metrics. By default they are those of the first results, or the usual ones."""
    if metrics is None:
        finished = (system.metrics for system in named_systems.values() if isinstance(system, Results))
        metrics = next(finished, default)
    return parse_metrics(metrics, None)  # `Evaluator` refuses those that it does not compute


def _is_run(metrics: Any) -> bool:
    """Return True for a second run in the place of metrics."""
    if metrics is None or isinstance(metrics, str | Metric):
        return False
    if isinstance(metrics, Mapping | Run | Rankings | Results | Path) or hasattr(metrics, "columns"):
        return True
    if isinstance(metrics, np.ndarray):
        return metrics.ndim > 1
    return isinstance(metrics, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in metrics[:1])


def evaluate_systems(
    truth: Any, named_systems: Mapping[str, Any], options: Options, convention: str | Convention, progress: bool,
    metrics: tuple[Metric, ...],
) -> dict[str, Results]:  # fmt: skip
    """Return the results of all systems. The truth is prepared once, and results are kept as they are."""
    needs_truth = [not isinstance(predictions, Results | Rankings) for predictions in named_systems.values()]
    if truth is not None and not any(needs_truth):
        raise InvalidInputError(
            "`truth` must be None if all systems are Results or Rankings. Leave it out, or pass predictions."
        )
    if truth is None and any(needs_truth):
        name = list(named_systems)[needs_truth.index(True)]
        raise InvalidInputError(
            f"`truth` is missing, but system {shorten(name)} has predictions to evaluate. Pass the true labels."
        )
    if all(isinstance(predictions, Results) for predictions in named_systems.values()):
        return dict(named_systems)
    if isinstance(truth, Model):
        options.check_no_cuts()
        if parse_convention(convention).name != "default":
            raise InvalidInputError(
                f"`convention` must be left out for the recall of an index, which has no choices, not "
                f"{shorten(convention)}. Give judgments in place of the model to compare by them"
            )
        found = {name: own for name, own in named_systems.items() if not isinstance(own, Results)}
        return {**named_systems, **measure_recall(truth, found, metrics, options)}
    request = parse_request(metrics, convention)
    evaluator = None if truth is None else make_evaluator(truth, request, options)
    for name, predictions in named_systems.items():
        if evaluator is not None and isinstance(predictions, Model):
            with reworded(before=f"system {shorten(name)}: "):
                check_model(evaluator, predictions)
    n_systems = len(named_systems)
    with use_progress(progress), track(named_systems.items(), "evaluating systems", n_systems) as systems:
        return {name: _evaluate_system(name, predictions, evaluator, request, options) for name, predictions in systems}


def _evaluate_system(
    name: str, predictions: Any, evaluator: Evaluator | None, request: Request, options: Options
) -> Results:
    if isinstance(predictions, Results):
        return predictions
    with reworded(before=f"system {shorten(name)}: "):
        if isinstance(predictions, Rankings):
            return make_evaluator(predictions, request, Options(threads=options.threads)).evaluate()
        assert evaluator is not None
        return evaluator.evaluate(predictions)


def check_has_values(results: Mapping[str, Results], aligned: AlignedValues) -> None:
    """Raise for a system without a value of some metric."""
    for (name, result), column in zip(results.items(), aligned.columns, strict=True):
        for place, metric in enumerate(aligned.metrics):
            if np.isnan(column[:, place]).all():
                notes = "; ".join(result.own_notes)
                reason = f": {notes}." if notes else ". Check its query ids, and that some document is relevant."
                raise InvalidInputError(
                    f"each system must have a value for some query, but {shorten(name)} has none of {metric} "
                    f"({len(column)} queries){reason}"
                )
