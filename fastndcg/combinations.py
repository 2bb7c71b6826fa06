"""What a convention makes of the metrics that were asked for, and combinations that no definition covers."""

from __future__ import annotations

import functools

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.patterns import Patterns

HIGHEST_K_OF_BEST = 1 << 24  # ranks whose discounts are added up before any document is seen
FRACTIONS = ("P", "R", "Rprec")
OF_FULL_RANKS = frozenset({"alpha_DCG", "ERR_IA"})  # divided by what k documents with all subtopics would have


def check_combinations(metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Refuse metrics that have no definition under the convention."""
    for metric in metrics:
        if metric.aggregate is not None and metric.aggregate.name == "micro" and metric.name not in FRACTIONS:
            raise InvalidInputError(
                f"{metric} must be of {', '.join(FRACTIONS)}, whose numerators and denominators add up, not of "
                f"{metric.name}: take {metric.bare}"
            )
        if convention.ties != "average" and convention.ties not in metric.record.ties:
            raise InvalidInputError(
                f"{metric} must have a tie policy that it is defined for ({', '.join(metric.record.ties)}), not "
                f"{convention.ties}: take convention.replace(ties={metric.record.ties[0]!r})"
            )
        if metric.name in OF_FULL_RANKS and metric.k is not None and metric.k > HIGHEST_K_OF_BEST:
            raise InvalidInputError(f"`k` of {metric} must be at most {HIGHEST_K_OF_BEST}: leave it out to count all")
    if convention.ideal == "judged" and convention.ap_denominator != "k":
        return
    for metric in with_default_cutoff(metrics, convention):
        if metric.k is None and metric.name in ("AP", "Q") and convention.ap_denominator == "k":
            _refuse(
                metric, "ap_denominator='k'", f"give it one, such as {metric @ 10}, or take ap_denominator='n_relevant'"
            )
        if metric.name not in ("nDCG", "IDCG") or convention.ideal != "k best":
            continue
        if metric.k is None:
            _refuse(metric, "ideal='k best'", f"give it one, such as {metric @ 10}, or take ideal='judged'")
        elif metric.k > HIGHEST_K_OF_BEST:
            _refuse(metric, "ideal='k best'", f"it must be at most {HIGHEST_K_OF_BEST}", "a smaller cutoff")


def refuse_ties(metric: Metric) -> None:
    """Refuse equal scores of documents with different labels for a metric whose mean over their orders is not known."""
    raise InvalidInputError(
        f"`scores` must not tie between different labels for {metric}, which has no exact mean over the orders of a "
        f"tie: take convention.replace(ties=...) with one of {', '.join(metric.record.ties)}"
    )


def refuse_plain(metric: Metric) -> None:
    """Refuse one label a document for a metric that needs one for each subtopic."""
    raise InvalidInputError(
        f"`truth` must have judgments by subtopic for {metric}: give read_qrels(path, format='trec_diversity'), which "
        "is --qrels-format trec_diversity on the command line, or "
        "{query: {document: {subtopic: label}}}, a frame with a column of subtopics, or a label matrix of documents by "
        "subtopics with `offsets`"
    )


def check_patterns(patterns: Patterns, convention: Convention) -> None:
    """Refuse labels below 0 where the convention does; what labels stand for has them no more."""
    if patterns.negative and convention.negative_labels == "raise":
        raise InvalidInputError(
            f"labels must not be negative, but {patterns.negative}: set it to 0, or take "
            "convention.replace(negative_labels='zero')"
        )


def kernel_of(metric: Metric, convention: Convention) -> str:
    """Where the kernel of a metric is under a convention, and its twin in the reference."""
    place = metric.record.kernel
    for field, choice, variant in metric.record.variants:
        if choice == (metric.get(field) or getattr(convention, field, None)):
            place = variant
    return place


def with_default_cutoff(metrics: tuple[Metric, ...], convention: Convention) -> tuple[Metric, ...]:
    """The metrics with the convention's cutoff where they have none."""
    default = convention.default_k
    if not isinstance(default, int):
        return metrics
    return tuple(metric @ default if metric.k is None and metric.record.takes_k else metric for metric in metrics)


def n_ideal_ranks(metrics: tuple[Metric, ...], convention: Convention) -> int:
    """How many ranks an ideal has whatever there is to rank."""
    full = OF_FULL_RANKS if convention.ideal == "judged" else OF_FULL_RANKS | {"nDCG", "IDCG"}
    return max((metric.k or 0 for metric in metrics if metric.name in full), default=0)


@functools.lru_cache(maxsize=256)
def denominators_of(metrics: tuple[Metric, ...], convention: Convention) -> dict[int, Metric]:
    """By the place of a metric, the one whose values say what its own count in the mean, where they differ in that."""
    cut = enumerate(with_default_cutoff(metrics, convention))
    found = {place: weight_of(metric, convention) for place, metric in cut}
    return {place: metric for place, metric in found.items() if metric is not None}


def weight_of(metric: Metric, convention: Convention) -> Metric | None:
    """The metric whose values say what each value counts in the mean; None if all count the same."""
    if metric.get("weight") == "positives":
        return Metric("num_rel", rel=metric.get("rel"))
    if metric.get("weight") == "impressions":
        return Metric("num_ret")
    return _denominator(metric, convention) if is_micro(metric, convention) else None


def is_micro(metric: Metric, convention: Convention) -> bool:
    """Whether a metric's values count as often as what they divide by."""
    if metric.aggregate is not None:
        return metric.aggregate.name == "micro"
    return metric.name == "P" and convention.precision_mean == "micro"


def _denominator(fraction: Metric, convention: Convention) -> Metric | None:
    """What a fraction divides by; None if all queries have the same."""
    rel = fraction.get("rel")
    if fraction.name == "Rprec":
        return Metric("num_rel", fraction.k, rel=rel)
    if fraction.name == "R":
        return Metric("num_rel", None if convention.recall_denominator == "n_relevant" else fraction.k, rel=rel)
    if convention.precision_denominator == "min(k, n_relevant)":
        return Metric("num_rel", fraction.k, rel=rel)
    if convention.precision_denominator == "k" and fraction.k is not None:
        return None
    return Metric("num_ret", fraction.k)


def _refuse(metric: Metric, choice: str, remedy: str, needed: str = "a cutoff") -> None:
    raise InvalidInputError(f"{metric} must have {needed} under {choice}: {remedy}")
