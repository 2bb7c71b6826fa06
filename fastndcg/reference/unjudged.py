"""What labels of unjudged documents allow, in plain Python, by every labelling: to check `bounds` and `judge_next`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.reference.definition import ORDERS_LIMIT

Truth = Mapping[Any, Mapping[Any, float]]
Systems = Mapping[str, Mapping[Any, Mapping[Any, float]]]
Outcome = dict[str, float]  # the value of each system, NaN if it is undefined


def bounds(
    truth: Truth, systems: Systems, metrics: Metrics, *, labels: Sequence[float] = (0, 1),
    convention: str | Convention = "default",
) -> dict[tuple[str, str | None], dict[str, tuple[float, float]]]:  # fmt: skip
    """
    Bound means and differences slowly, by evaluating every labelling of the unjudged documents of each query.

    Parameters
    ----------
    truth : {query: {document: label}}
        The judgments.
    systems : {name: {query: {document: score}}}
        The systems.
    metrics, labels, convention
        See `fastndcg.bounds`.

    Returns
    -------
    dict
        The lowest and the highest mean of each metric, by (system, None), and of differences by (system, against).

    Examples
    --------
    >>> systems = {"a": {"q": {"d2": 2, "new": 1}}, "b": {"q": {"d1": 2, "new": 1}}}
    >>> found = fn.reference.bounds({"q": {"d1": 1, "d2": 0}}, systems, "p@2")
    >>> found["a", None], found["b", "a"]
    ({'P@2': (0.0, 0.5)}, {'P@2': (0.5, 0.5)})
    """
    choices = parse_convention(convention)
    found: dict[tuple[str, str | None], dict[str, tuple[float, float]]] = {}
    for metric in parse_metrics(metrics):
        outcomes = {query: _list_outcomes(truth, systems, query, metric, labels, choices) for query in truth}
        for pair in [*((name, None) for name in systems), *itertools.permutations(systems, 2)]:
            own = [
                [_subtract(outcome, *pair) for _, outcome in outcomes[query]]
                for query in truth
                if all(name is None or _is_ranked(systems[name], query, choices) for name in pair)
            ]
            found.setdefault(pair, {})[str(metric)] = _find_mean(own, min), _find_mean(own, max)
    return found


def judge_next(
    truth: Truth, systems: Systems, metric: str | Metric, *, labels: Sequence[float] = (0, 1),
    convention: str | Convention = "default",
) -> dict[tuple[Any, Any], float]:  # fmt: skip
    """
    Compute by how much each unjudged document narrows the bounds of differences, by every labelling.

    Parameters
    ----------
    truth, systems, metric, labels, convention
        See `bounds` and `fastndcg.judge_next`.

    Returns
    -------
    {(query, document): float}
        The values of the method 'difference'.

    Examples
    --------
    >>> systems = {"a": {"q": {"d2": 2, "new": 1}}, "b": {"q": {"d1": 2, "d2": 1}}}
    >>> fn.reference.judge_next({"q": {"d1": 0}}, systems, "p@1")
    {('q', 'd2'): 1.0, ('q', 'new'): 0.0}
    """
    (parsed,) = parse_metrics(metric)
    choices = parse_convention(convention)
    of_all = bounds(truth, systems, parsed, labels=labels, convention=choices)
    pairs = list(itertools.combinations(systems, 2))
    is_open = [low <= 1e-12 and high >= -1e-12 for low, high in (of_all[pair][str(parsed)] for pair in pairs)]
    counted = [pair for pair, is_own in zip(pairs, is_open, strict=True) if is_own or not any(is_open)]
    values: dict[tuple[Any, Any], float] = {}
    for query in truth:
        outcomes = _list_outcomes(truth, systems, query, parsed, labels, choices)
        for document in outcomes[0][0]:
            values[query, document] = 0.0
            for pair in counted:
                own = [(chosen, _subtract(outcome, *pair)) for chosen, outcome in outcomes]
                n = sum(all(_is_ranked(systems[name], other, choices) for name in pair) for other in truth)
                if all(_is_ranked(systems[name], query, choices) for name in pair):
                    given = [_width(value for chosen, value in own if chosen[document] == label) for label in labels]
                    narrowing = _width(value for _, value in own) - math.fsum(given) / len(labels)
                    values[query, document] += narrowing / n
    return values


def _list_outcomes(
    truth: Truth, systems: Systems, query: Any, metric: Metric, labels: Sequence[float], convention: Convention
) -> list[tuple[dict[Any, float], Outcome]]:
    """Return the values of all systems for every labelling of a query's unjudged documents."""
    from fastndcg.reference import evaluate

    judged = {document: label for document, label in truth[query].items() if label >= 0}
    documents = sorted({document for run in systems.values() for document in run.get(query, {})} - set(judged))
    if len(labels) ** len(documents) > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} labellings a query. Call fastndcg.bounds"
        )
    outcomes = []
    for chosen in itertools.product(labels, repeat=len(documents)):
        labelled = dict(zip(documents, chosen, strict=True))
        own = {query: {**truth[query], **labelled}}
        outcome = {
            name: evaluate(own, {query: run.get(query, {})}, metric, convention=convention).values[0, 0].item()
            for name, run in systems.items()
        }
        outcomes.append((labelled, outcome))
    return outcomes


def _is_ranked(run: Mapping[Any, Any], query: Any, convention: Convention) -> bool:
    return query in run or convention.missing_in_run != "skip"


def _subtract(outcome: Outcome, system: str, against: str | None) -> float:
    return outcome[system] - (0 if against is None else outcome[against])


def _width(values: Iterator[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return max(defined) - min(defined) if defined else 0.0


def _find_mean(values: list[list[float]], choose: Callable[[Any], float]) -> float:
    """Return the lowest or the highest mean over one value of each query, without those that are NaN."""
    options = []
    for own in values:
        defined = [value for value in own if not math.isnan(value)]
        options.append([*([choose(defined)] if defined else []), *([math.nan] if len(defined) < len(own) else [])])
    means = []
    for chosen in itertools.product(*options):
        defined = [value for value in chosen if not math.isnan(value)]
        if defined:
            means.append(math.fsum(defined) / len(defined))
    return choose(means) if means else math.nan
