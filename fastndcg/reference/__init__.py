"""
Every metric and every tie policy in plain Python, as the textbook reads: slow, and there to check the package with.

Nothing here is shared with the kernels. Where scores tie, 'average' takes the mean over every order of equal scores,
one by one. A metric is a function of one order of a query's documents, in a file called as its kernel's:

labels   labels in rank order, rank 1 first
judged   all judged labels of the query, retrieved or not
asked    what the metric's parameters and the convention say
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.combinations import (
    check_combinations,
    check_patterns,
    is_micro,
    kernel_of,
    refuse_plain,
    refuse_ties,
)
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, UndefinedMetricError
from fastndcg.inputs.prepare import Options, all_at_once, prepare_truth
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import EXACT_LIMIT, Array, Rankings
from fastndcg.reference.agreement import agreement as agreement
from fastndcg.reference.asked import Asked, asked_of, chosen_gain
from fastndcg.reference.beyond import beyond_accuracy as beyond_accuracy
from fastndcg.reference.counts import n_relevant
from fastndcg.reference.orders import is_ranked, is_tied, label_of, orders_of, query_of
from fastndcg.reference.precision import precision_denominator, recall_denominator
from fastndcg.results import Results
from fastndcg.texts import Value


def evaluate(
    truth: Any, predictions: Any = None, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None, columns: Any = None, convention: str | Convention = "default", threads: int | None = None,
) -> Results:  # fmt: skip
    """
    Evaluate ranking metrics slowly, in plain Python: `fastndcg.evaluate` must give the same.

    Parameters
    ----------
    truth, predictions, metrics, offsets, groups, query_ids, columns, convention
        See `evaluate`.
    threads : int, optional
        Taken so that both functions are called alike, and not used.

    Returns
    -------
    Results

    Raises
    ------
    InvalidInputError, UndefinedMetricError
        As `evaluate`; and if the tied scores of a query have more than 100,000 orders under the tie policy 'average',
        which goes through all of them here and through none in `evaluate`.

    Examples
    --------
    >>> fn.reference.evaluate([2, 1, 0], [0.5, 0.5, 0.1], "DCG, RR(rel=2)", offsets=[0, 3]).mean()
    {'DCG': 2.4463946303571866, 'RR(rel=2)': 0.75}
    """
    asked_for = parse_metrics(metrics)
    named = parse_convention(convention)
    check_combinations(asked_for, named)
    prepared = prepare_truth(truth, options := Options(offsets, groups, query_ids, columns))
    applied = named.for_labels_of(qrels=isinstance(prepared, Qrels))
    rankings, unjudged, n_missing_in_run, n_missing_in_qrels = all_at_once(prepared, predictions, named, options)
    if rankings.patterns is not None:
        check_patterns(rankings.patterns, applied)
    values = np.empty((rankings.n_queries, len(asked_for)))
    weights, n_tied = np.ones_like(values), 0
    for by_subtopic, seen in ((False, rankings.without_patterns()), (True, rankings)):
        places = [place for place, metric in enumerate(asked_for) if metric.record.by_subtopic == by_subtopic]
        if places:
            some = tuple(asked_for[place] for place in places)
            values[:, places], weights[:, places], n = columns_of(seen, some, applied)
            n_tied = max(n_tied, n)
    if unjudged is not None:
        values[unjudged] = math.nan
    settle_undefined(values, asked_for, rankings, applied)
    counts: Any = {"n_tied": n_tied, "n_missing_in_run": n_missing_in_run, "n_missing_in_qrels": n_missing_in_qrels}
    return Results(values, asked_for, rankings.query_ids, named, value_weights=weights, **counts)


def columns_of(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention
) -> tuple[Array, Array, int]:  # fmt: skip
    """Values and weights of metrics that see documents alike, by one label or by subtopic; how many queries tie."""
    if metrics[0].record.by_subtopic and rankings.patterns is None:
        refuse_plain(metrics[0])
    check(rankings, metrics, convention)
    queries = [query_of(rankings, q, convention) for q in range(rankings.n_queries)]
    values = np.empty((len(queries), len(metrics)))
    weights = np.ones_like(values)
    for view in {metric.record.view for metric in metrics}:
        places = [place for place, metric in enumerate(metrics) if metric.record.view == view]
        for q in range(rankings.n_queries):
            query = query_of(rankings, q, convention, view)
            orders, judged = seen_in(view, rankings, orders_of(query, convention.ties), query.judged)
            values[q, places] = [expectation(metrics[i], orders, judged, convention) for i in places]
            weights[q, places] = [weight_in_mean(metrics[i], orders[0], judged, convention) for i in places]
    cutoffs = [asked_of(metric, convention).k for metric in metrics]
    deepest = max(math.inf if k is None else k for k in cutoffs)
    n_tied = sum(is_tied(query.tie_groups, deepest) for query in queries)
    if n_tied and (untied := next((one for one in metrics if convention.ties not in one.record.ties), None)):
        refuse_ties(untied)
    return values, weights, n_tied


def seen_in(
    view: str, rankings: Rankings, orders: list[list[float]], judged: list[float]
) -> tuple[list[list[Any]], list[Any]]:  # fmt: skip
    """The documents of orders, and all that are judged: their labels, or their judgments by subtopic."""
    if view != "subtopics" or rankings.patterns is None:
        return orders, judged
    meaning = rankings.patterns.judgments
    return [[meaning(label) for label in order] for order in orders], [meaning(label) for label in judged]


def expectation(metric: Metric, orders: list[list[Any]], judged: list[Any], convention: Convention) -> float:
    """The mean of a metric's values over all orders."""
    file, _, name = kernel_of(metric, convention).partition(".")
    module = importlib.import_module(f"fastndcg.reference.{file}")
    function: Callable[[list[Any], list[Any], Asked], float] = getattr(module, name)
    asked = asked_of(metric, convention)
    if is_left_out(metric, convention) and not n_relevant([], judged, asked):
        return math.nan
    return math.fsum(function(order, judged, asked) / len(orders) for order in orders)


def is_left_out(metric: Metric, convention: Convention) -> bool:
    """Whether the convention, not the metric's own definition, leaves out a query where nothing is relevant."""
    if metric.record.by_subtopic:
        return False
    if convention.no_relevant == "undefined":
        return metric.record.looks_for_relevant
    return convention.no_relevant == "skipped"


def weight_in_mean(metric: Metric, labels: list[float], judged: list[float], convention: Convention) -> float:
    """What a query counts in the mean of a metric: 1, the weight asked for, or the denominator of a fraction."""
    asked = asked_of(metric, convention)
    if metric.get("weight") in ("positives", "impressions"):
        return n_relevant([], judged, asked) if metric.get("weight") == "positives" else len(labels)
    if not is_micro(metric, convention):
        return 1
    if metric.name == "P":
        return precision_denominator(labels, judged, asked)
    return recall_denominator(labels, judged, asked) if metric.name == "R" else n_relevant(labels, judged, asked)


def check(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Refuse what has no meaning under the convention."""
    if convention.ties.startswith("id_") and rankings.tie_keys is None and rankings.n_documents:
        raise InvalidInputError(f"`tie_keys` are needed for ties={convention.ties!r}: give Rankings(tie_keys=…)")
    ranked = np.array([is_ranked(rankings, d, convention) for d in range(rankings.n_documents)], bool)
    nan = np.isnan(rankings.scores) & ranked
    if convention.nan_scores == "raise" and nan.any():
        rankings.refuse("scores", nan, "not be NaN: take convention.replace(nan_scores='last')")
    adding = [one for one in metrics if any(parameter.name == "gain" for parameter in one.record.parameters)]
    gains = {chosen_gain(metric, convention) for metric in adding}
    has_pool = rankings.pool is not None and convention.pool == "judged"
    pool = [("pool", rankings.pool[0], np.True_)] if rankings.pool is not None and has_pool else []
    stops = [metric for metric in metrics if metric.get("stop") is not None]
    highest = min((1 if one.get("stop") == "labels" else one.get("max_grade") for one in stops), default=math.inf)
    for name, labels, counted in [("labels", rankings.labels, ranked), *pool]:
        known = [label <= highest and has_meaning(float(label), gains, convention) for label in labels]
        unknown = ~np.array(known, bool) & counted
        if unknown.any():
            rankings.refuse(name, unknown, "have a meaning under the convention: see fastndcg.evaluate")


def has_meaning(label: float, gains: set[Value], convention: Convention) -> bool:
    """Whether a label is a number that every gain is known for."""
    if label < 0 and convention.negative_labels == "removed":
        return True
    if not abs(label) <= EXACT_LIMIT or (label < 0 and convention.negative_labels == "raise"):
        return False
    label = label_of(label, convention)
    if convention.label_fractions == "cut off":
        label = math.trunc(label)
    in_tables = all(label in range(len(table)) for table in gains if isinstance(table, tuple))
    return in_tables and ("exp2" not in gains or label <= 1023)


def settle_undefined(values: Array, metrics: tuple[Metric, ...], rankings: Rankings, convention: Convention) -> None:
    """Put the convention's value where a metric has none."""
    for metric, column in zip(metrics, values.T, strict=True):
        choice = convention.undefined
        if metric.name == "AP" and convention.undefined_ap != "as undefined":
            choice = convention.undefined_ap
        undefined = np.isnan(column)
        if choice == "raise" and undefined.any():
            raise UndefinedMetricError(
                f"{metric} must have a value, but {rankings.query_name(undefined.argmax())} has none"
            )
        if isinstance(choice, int):
            column[undefined] = choice
