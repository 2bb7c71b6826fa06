"""What a convention does to rankings, labels and values: changes, checks, and undefined values."""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import NoReturn, Protocol

import numpy as np

from fastndcg.errors import Choice, InvalidInputError
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import Value
from fastndcg.rankings.compact import CountedRankings, RankedLists, ScoreRowRankings
from fastndcg.rankings.rankings import Patterns, Rankings, of_documents, refuse_changed, without_negative_labels
from fastndcg.rankings.validation import EXACT_LIMIT, Array, compute_ordinals

HIGHEST_EXP2_LABEL = 1023.0  # 2^1024 leaves float64
HARMLESS_LABEL = 1000.0  # no formula overflows up to it: labels from 0 to it need no further check
FORMULAS = frozenset({"linear", "exp2", "binary"})


class Truth(Protocol):
    """What functions of labels may read of rankings: no scores."""

    @property
    def pool(self) -> tuple[Array, Array] | None:
        """The judged labels and their offsets, where they are not those of the ranked documents."""

    @property
    def patterns(self) -> Patterns | None:
        """The judgments by subtopic that the labels number."""

    def query_name(self, query: int) -> str:
        """Return the name of a query for messages."""

    def refuse(self, name: str, offenders: Array, rule: str, *choice: Choice) -> NoReturn:
        """Raise an error for the first offender in an array."""


def check_labels(
    rankings: Rankings,
    name: str,
    extremes: tuple[float, float, float],
    nonzero_labels: Array,
    gains: frozenset[Value],
    convention: Convention,
) -> None:
    """
    Raise an error for labels of the array `name` that a gain or the convention cannot take.

    `extremes` are the lowest label of a chunk, the highest one, and the number of NaN.
    """
    lowest, highest, n_nan = extremes
    labels = rankings.pool[0] if name == "pool" and rankings.pool else rankings.labels
    refuse = functools.partial(rankings.refuse, name)
    negative = convention.negative_labels
    if n_nan:
        refuse(np.isnan(labels), "not be NaN: Leave the document out, or give it the label 0")
    if lowest < 0 and negative == "raise":
        refuse(labels < 0, "not be negative: Set it to 0, or take ", Choice("negative_labels", ["zero"]))
    if highest >= EXACT_LIMIT or lowest <= -EXACT_LIMIT:  # 2**53 may have been 2**53 + 1 before it became a float64
        is_beyond = (labels > int(EXACT_LIMIT)) | (labels < -int(EXACT_LIMIT))
        if is_beyond.any():
            refuse(is_beyond, "be finite and at most 2**53 in size: Rescale the labels")
    for gain in gains:
        truncate = np.trunc if convention.label_fractions == "cut off" else np.asarray
        if gain == "exp2" and truncate(highest) > HIGHEST_EXP2_LABEL:
            is_beyond = truncate(labels) > HIGHEST_EXP2_LABEL
            refuse(is_beyond, "be at most 1023 for gain exp2, beyond float64: Take gain linear")
        if isinstance(gain, tuple):
            has_negative = truncate(lowest) < 0 and negative == "keep"
            if truncate(highest) >= len(gain) or has_negative:
                is_outside = (truncate(labels) >= len(gain)) | ((truncate(labels) < 0) & has_negative)
                refuse(is_outside, f"have a gain in the table of labels 0 to {len(gain) - 1}: Make the table longer")
            if (truncate(nonzero_labels) % 1 != 0).any():
                refuse(labels % 1 != 0, "be whole for a table of gains: Round the labels, or take gain linear")


def check_sums(gains: Array, offsets: Array, metric: Metric, rankings: Truth, first: int, weight: float = 1.0) -> None:
    """
    Raise an error if the gains of a query, each multiplied by `weight`, add up beyond float64.

    The gains begin with those of query `first` of the rankings.
    """
    if gains.max(initial=0.0) > np.finfo("f8").max / MAX_RANK / weight:
        with np.errstate(over="ignore"):
            sums = np.array([gains[start:stop].sum() for start, stop in pairwise(offsets.tolist())]) * weight
        check_finite(sums, metric, rankings, first)


def check_finite(sums: Array, metric: Metric, rankings: Truth, first: int) -> None:
    """Raise an error if the sum of a query is not finite."""
    if not np.isfinite(sums).all():
        query = rankings.query_name(first + int(np.argmax(~np.isfinite(sums))))
        raise InvalidInputError(
            f"gains of {metric} must add up within float64, but those of {query} do not. Take gain linear, or rescale "
            "the labels."
        )


def check_stops(pool_labels: Array, labels: Array, metric: Metric, rankings: Rankings) -> None:
    """Raise an error for labels above the highest one that a metric turns into a stop probability."""
    highest = find_highest_stop(metric)
    if max(pool_labels.max(initial=0.0), labels.max(initial=0.0)) <= highest:
        return
    remedy = (
        "Take stop='grades'" if metric.get("stop") == "labels" else "Take a higher max_grade, or rescale the labels"
    )
    rule = f"be at most {highest:g} for {metric}, the chance to stop at a document: {remedy}"
    for name, array in (("labels", rankings.labels), ("pool", rankings.pool[0] if rankings.pool else rankings.labels)):
        if (array > highest).any():
            rankings.refuse(name, array > highest, rule)
    refuse_changed("labels")


def check_unit_gains(extremes: Array, gains: Array, metric: Metric, rankings: Rankings) -> None:
    """Raise an error if the gain of an extreme label is below 0 or above 1."""
    for label, gain in zip(extremes.tolist(), gains.tolist(), strict=True):
        if not 0 <= gain <= 1:
            rule = (
                f"have a gain from 0 to 1 for {metric}, not {gain:g}: Take a table such as gain=[0,0.5,1], or rescale "
                "the labels"
            )
            rankings.refuse("labels", rankings.labels == label, rule)


def find_highest_stop(metric: Metric) -> float:
    """Return the highest label that a metric turns into a stop probability, infinity if it has none."""
    if metric.get("stop") is None:
        return math.inf
    return 1.0 if metric.get("stop") == "labels" else float(metric.get("max_grade"))


def keeps_rankings(convention: Convention) -> bool:
    """Return True if a convention changes no rankings: `apply_convention` then returns them as they are."""
    policy = TIES[convention.ties]
    return (
        policy.orders in ("group", "label", "input")
        and not (policy.orders == "input" and policy.falls)
        and convention.unjudged != "removed"
        and convention.pool == "judged"
        and not convention.removes_negative_labels
        and convention.score_dtype == "as given"
        and convention.nan_scores != "last"
    )


def apply_convention(rankings: Rankings, convention: Convention) -> Rankings:
    """
    Return the documents that count under the convention, with the scores that rank them.

    A plan knows by `keeps_rankings` whether there is anything to do. A new step below needs its line there.
    """
    if rankings.known_hits is not None:
        if isinstance(rankings, CountedRankings):
            return rankings if convention.pool == "judged" else rankings.without_pool()
        if not isinstance(rankings, RankedLists):
            return rankings
    elif isinstance(rankings, ScoreRowRankings):
        if not rankings.needs_documents(convention):
            return rankings if convention.pool == "judged" else rankings.without_pool()
        rankings = rankings.replace()
    policy = TIES[convention.ties]
    has_keys = rankings.tie_keys is not None or rankings.known_hits is not None  # documents in rank order have no ties
    if policy.orders == "id" and not has_keys and rankings.n_documents:
        raise InvalidInputError(
            f"`tie_keys` must be given for ties='{convention.ties}'. Give documents with ids, or Rankings(..., "
            "tie_keys=...), or take ",
            Choice("ties", ["average"]),
            ".",
        )
    if convention.unjudged == "removed" and rankings.judged is not None and not rankings.judged.all():
        rankings = of_documents(rankings, rankings.judged)
    if convention.pool == "retrieved" and rankings.pool is not None:
        rankings = rankings.replace(pool=None)
    if convention.negative_labels != "raise" and convention.removes_negative_labels:
        rankings = without_negative_labels(rankings)
    if policy.orders == "input" and policy.falls:
        rankings = rankings.replace(tie_keys=np.arange(rankings.n_documents))
    if rankings.known_hits is not None:
        return rankings
    scores = rankings.scores
    if convention.score_dtype == "float32" and scores.dtype != np.float32 and not rankings.are_ordinals:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, as in C
            scores = scores.astype("f4")
    if convention.nan_scores == "last" and np.isnan(scores).any():
        scores = compute_ordinals(scores)
    return rankings if scores is rankings.scores else rankings.replace(scores=scores)
