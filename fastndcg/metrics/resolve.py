"""Resolve metrics under a convention: kernels, default cutoffs, denominators, and combinations without a definition."""

from __future__ import annotations

import functools
import math
from typing import NoReturn

from fastndcg.errors import Choice, InvalidInputError, Words
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.families import CATALOG
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention

HIGHEST_K_OF_BEST = 1 << 24  # such an ideal sums up k discounts before any document is read
MIN_K_N_RELEVANT = "min(k, n_relevant)"  # a choice of denominators
ADJUSTED = ("adjusted", "over_chance")  # aggregates that need it


def check_combinations(metrics: tuple[Metric, ...], convention: Convention) -> None:
    """
    Check that metrics have a definition under the convention.

    Raises
    ------
    InvalidInputError
        With the choice that another metric or convention has to make.
    """
    for metric in metrics:
        _check_aggregate(metric)
        _check_ties(metric, convention)
        _check_k(metric)
        divides_by_precision = metric.record.denominator == "precision_denominator"
        if metric.record.by_subtopic and divides_by_precision and convention.precision_denominator == MIN_K_N_RELEVANT:
            raise InvalidInputError(
                f"{metric} must have precision_denominator 'k' or 'min(k, n_retrieved)', not 'min(k, n_relevant)': "
                "subtopics have different numbers of relevant documents. Take ",
                Choice("precision_denominator", ["k"]),
                ".",
            )
    if convention.ideal != "k best" and convention.ap_denominator != "k":
        return
    for metric in add_default_cutoff(metrics, convention):
        if metric.k is None and metric.record.denominator == "ap_denominator" and convention.ap_denominator == "k":
            remedy = f"Give it one, such as {metric @ 10}, or take ap_denominator='n_relevant'."
            _refuse(metric, "a cutoff", "ap_denominator='k'", remedy)
        if metric.record.ideal != "by convention" or convention.ideal != "k best":
            continue
        if metric.k is None:
            remedy = f"Give it one, such as {metric @ 10}, or take ideal='judged'."
            _refuse(metric, "a cutoff", "ideal='k best'", remedy)
        elif metric.k > HIGHEST_K_OF_BEST:
            _refuse(metric, "a smaller cutoff", "ideal='k best'", f"It must be at most {HIGHEST_K_OF_BEST}.")


def _check_aggregate(metric: Metric) -> None:
    if metric.aggregate is not None and metric.aggregate.name == "micro" and not metric.record.has_micro_mean:
        names = [record.name for record in CATALOG.values() if record.has_micro_mean]
        raise InvalidInputError(
            f"{metric} must be of {', '.join(names)}, whose numerators and denominators add up, not of {metric.name}. "
            f"Take {metric.bare}."
        )
    if metric.aggregate is not None and metric.aggregate.name in ADJUSTED and not metric.record.chance:
        names = [record.name for record in CATALOG.values() if record.chance]
        raise InvalidInputError(
            f"{metric} must be of {', '.join(names)}, whose value in random order is known, not of {metric.name}. "
            f"Take {metric.bare}."
        )


def _check_ties(metric: Metric, convention: Convention) -> None:
    if convention.ties != "average" and convention.ties not in metric.record.ties:
        raise InvalidInputError(
            f"{metric} must have a tie policy that it is defined for ({', '.join(metric.record.ties)}), not "
            f"{convention.ties}. Take ",
            Choice("ties", metric.record.ties[:1]),
            ".",
        )


def _check_k(metric: Metric) -> None:
    if metric.record.ideal == "k documents" and metric.k is not None and metric.k > HIGHEST_K_OF_BEST:
        raise InvalidInputError(f"`k` of {metric} must be at most {HIGHEST_K_OF_BEST}. Leave it out to count all.")
    if metric.record.counts_empty_ranks and metric.k is not None and metric.k >= MAX_RANK:
        raise InvalidInputError(f"`k` of {metric} must be below {MAX_RANK}. Leave it out to count all.")


def _refuse(metric: Metric, requirement: str, choice: str, remedy: str) -> NoReturn:
    raise InvalidInputError(f"{metric} must have {requirement} under {choice}. {remedy}")


def refuse_ties(metric: Metric) -> NoReturn:
    """Raise the error for equal scores of different labels, over whose orders a metric has no exact mean."""
    raise InvalidInputError(
        f"`scores` must not tie between different labels for {metric}, which has no exact mean over the orders of a "
        "tie. Take ",
        Choice("ties", metric.record.ties),
        ".",
    )


def refuse_repeats(metrics: tuple[Metric, ...]) -> None:
    """Raise an error for a metric that has no value where a document counts several times."""
    for metric in metrics:
        if not metric.record.takes_repeats:
            raise InvalidInputError(
                f"documents must stand once in a query for {metric}, whose definition compares them with the judged "
                "ones. Take ",
                Words("fn.Run(…, duplicates='first')", "--duplicates first"),
                ".",
            )


def refuse_plain(metric: Metric) -> NoReturn:
    """Raise the error for one label a document, where a metric needs one for each subtopic."""
    raise InvalidInputError(
        f"`truth` must have judgments by subtopic for {metric}. Give ",
        Words(
            "Qrels(path, format='trec_diversity'), or {query: {document: {subtopic: label}}}, a frame with a "
            "column of subtopics, or a label matrix of documents by subtopics with `offsets`",
            "--qrels-format trec_diversity, or a file with a column of subtopics",
        ),
        ".",
    )


def find_place(metric: Metric, convention: Convention | None = None) -> str:
    """Return the place of a metric's function, which its twin in the reference has, too."""
    place = metric.record.place
    for field, choice, variant in metric.record.variants:
        if choice == (metric.get(field) or getattr(convention, field, None)):
            place = variant
    return place


def add_default_cutoff(metrics: tuple[Metric, ...], convention: Convention) -> tuple[Metric, ...]:
    """Return the metrics with the convention's cutoff where they have none."""
    default = convention.default_k
    if not isinstance(default, int):
        return metrics
    return tuple(metric @ default if metric.k is None and metric.record.has_cutoff else metric for metric in metrics)


def count_ideal_ranks(metrics: tuple[Metric, ...], convention: Convention) -> int:
    """Return the largest number of ranks of an ideal ranking that does not depend on the data."""
    ideals = ("k documents", "by convention") if convention.ideal == "k best" else ("k documents",)
    return max((metric.k or 0 for metric in metrics if metric.record.ideal in ideals), default=0)


@functools.lru_cache(maxsize=256)
def find_denominators(metrics: tuple[Metric, ...], convention: Convention) -> dict[int, Metric]:
    """
    Return the metrics whose values the aggregates of other metrics need: weights in a mean, or values by chance.

    Keys are the indices of the other metrics. A metric whose aggregate needs no other values has none.
    """
    weights = {
        place: find_chance_metric(metric) or find_weight_metric(metric, convention)
        for place, metric in enumerate(add_default_cutoff(metrics, convention))
    }
    return {place: weight for place, weight in weights.items() if weight is not None}


def find_chance_metric(metric: Metric) -> Metric | None:
    """Return the metric whose values are those of `metric` in random order, None if its aggregate needs none."""
    if metric.aggregate is None or metric.aggregate.name not in ADJUSTED:
        return None
    _check_aggregate(metric)
    return Metric(metric.record.chance, metric.k, **dict(metric.parameters))


def find_weight_metric(metric: Metric, convention: Convention) -> Metric | None:
    """Return the metric whose values weigh those of `metric` in the mean, None if all weights are equal."""
    if metric.get("weight") == "positives":
        return Metric("num_rel", rel=metric.get("rel"))
    if metric.get("weight") == "impressions":
        return Metric("num_ret")
    return _find_denominator(metric, convention) if is_micro(metric, convention) else None


def is_micro(metric: Metric, convention: Convention) -> bool:
    """Return True if the mean of a metric is the quotient of two sums: it weighs values by their denominators."""
    if metric.aggregate is not None:
        return metric.aggregate.name == "micro"
    record = metric.record
    return (
        record.has_micro_mean and record.denominator == "precision_denominator" and convention.precision_mean == "micro"
    )


def _find_denominator(fraction: Metric, convention: Convention) -> Metric | None:
    """Return the metric whose value is the denominator of a fraction, None if all queries have the same."""
    own = fraction.record.denominator
    choice = getattr(convention, own, own)
    if choice in ("n_relevant", MIN_K_N_RELEVANT):
        return Metric("num_rel", None if choice == "n_relevant" else fraction.k, rel=fraction.get("rel"))
    return None if choice == "k" and fraction.k is not None else Metric("num_ret", fraction.k)


def list_shares(metrics: tuple[Metric, ...], convention: Convention) -> tuple[Metric, ...]:
    """Return Judged at each cutoff of the metrics that take unjudged documents as not relevant, the lowest first."""
    every = add_default_cutoff(metrics, convention)
    cutoffs = {metric.k for metric in every if metric.record.view != "judgments"}
    return tuple(Metric("Judged", k) for k in sorted(cutoffs, key=lambda k: math.inf if k is None else k))
