"""
Every metric as a function of one order of a query's documents.

labels   labels in rank order, rank 1 first
judged   all judged labels of the query, retrieved or not
asked    what the metric's parameters and the convention say
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from fastndcg.conventions import Convention
from fastndcg.metric import Metric


class Asked(NamedTuple):
    """What a metric's parameters and the convention say; a `k` of None counts all ranks."""

    k: int | None
    beta: float
    is_relevant: Callable[[float], bool]
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    convention: Convention


def asked_of(metric: Metric, convention: Convention) -> Asked:
    """A metric's parameters, with the convention's choices where it has none."""
    k = convention.default_k if metric.k is None and isinstance(convention.default_k, int) else metric.k
    beta = float(metric.get("beta") or 1)
    is_relevant = relevance(metric, convention)
    return Asked(k, beta, is_relevant, gain_of(metric, convention), discount_of(convention), convention)


def relevance(metric: Metric, convention: Convention) -> Callable[[float], bool]:
    """Whether a label is relevant: by a threshold of the metric's own, or what the convention says."""
    if "rel" not in dict(metric.parameters) and convention.relevant != "at least 1":
        border = {"above 0": 0, "above 0.5": 0.5}[convention.relevant]
        return lambda label: label > border
    return lambda label: label >= (metric.get("rel") or 1)


def gain_of(metric: Metric, convention: Convention) -> Callable[[float], float]:
    """What a label gains."""
    chosen = metric.get("gain") or convention.gain
    is_relevant = relevance(metric, convention)

    def gain(label: float) -> float:
        if label < (metric.get("rel") or -math.inf):
            return 0.0
        if chosen == "binary":
            return float(is_relevant(label))
        if convention.label_fractions == "cut off":
            label = float(math.trunc(label))
        if isinstance(chosen, tuple):
            return chosen[int(label)]
        return label if chosen == "linear" else 2.0**label - 1 if abs(label) >= 1 else math.expm1(label * math.log(2))

    return gain


def discount_of(convention: Convention) -> Callable[[int], float]:
    """What a gain counts at a rank."""
    table = convention.discount
    if isinstance(table, tuple):
        return lambda rank: table[rank - 1] if rank <= len(table) else 0.0
    if table == "1/r":
        return lambda rank: 1 / rank
    if table == "log2(max(r, 2))":
        return lambda rank: 1 / math.log2(max(rank, 2))
    return lambda rank: 1 / math.log2(rank + 1)


def cg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of the gains at ranks 1 … k."""
    return math.fsum(asked.gain(label) for label in labels[: asked.k])


def dcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum over ranks r = 1 … k of gain · discount(r)."""
    return math.fsum(asked.gain(label) * asked.discount(r) for r, label in enumerate(labels[: asked.k], 1))


def idcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k of all judged documents, highest gain first."""
    return dcg(sorted(judged, key=asked.gain, reverse=True), judged, asked)


def idcg_of_k_best(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k of k documents that all have the highest gain."""
    highest = max(map(asked.gain, judged), default=0.0)
    return max(highest, 0.0) * math.fsum(asked.discount(r) for r in range(1, (asked.k or 0) + 1))


def ndcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k / IDCG@k; undefined where the ideal is 0."""
    ideal = idcg_of_k_best if asked.convention.ideal == "k best" else idcg
    best = ideal(labels, judged, asked)
    return math.nan if best == 0 else dcg(labels, judged, asked) / best


def n_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many documents the first k ranks hold."""
    return len(labels[: asked.k])


def n_relevant(labels: list[float], judged: list[float], asked: Asked) -> float:
    """The number of relevant documents, or k if that is less."""
    return n_relevant_retrieved(sorted(judged, reverse=True), judged, asked)


def n_relevant_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many of the first k documents are relevant."""
    return sum(asked.is_relevant(label) for label in labels[: asked.k])


def precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents among the first k, over k; over the number retrieved if there is no k, 0 if that is 0."""
    denominator = precision_denominator(labels, judged, asked)
    return n_relevant_retrieved(labels, judged, asked) / denominator if denominator else 0


def precision_denominator(labels: list[float], judged: list[float], asked: Asked) -> float:
    """What P divides by."""
    if asked.convention.precision_denominator == "min(k, n_relevant)":
        return n_relevant(labels, judged, asked)
    if asked.convention.precision_denominator == "k" and asked.k is not None:
        return asked.k
    return n_retrieved(labels, judged, asked)


def recall(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents among the first k, over the number of relevant documents, or over k if that is less."""
    n = n_relevant(labels, judged, asked._replace(k=None))
    if asked.convention.recall_denominator == "min(k, n_relevant)":
        n = n_relevant(labels, judged, asked)
    return n_relevant_retrieved(labels, judged, asked) / n if n else math.nan


def f_score(labels: list[float], judged: list[float], asked: Asked) -> float:
    """(1 + beta²) · P · R / (beta² · P + R); 0 where nothing relevant is found."""
    p, r = precision(labels, judged, asked), recall(labels, judged, asked)
    share = 1 / (1 + asked.beta * asked.beta)  # of precision; as numerator and denominator by 1 + beta²
    return p * r / ((1 - share) * p + share * r) if r > 0 else r


def r_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Precision at rank min(k, number of relevant documents)."""
    cut = int(n_relevant(labels, judged, asked))
    return n_relevant_retrieved(labels, judged, asked._replace(k=cut)) / cut if cut else math.nan


def average_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of P@r over the ranks r = 1 … k of relevant documents, over the number of relevant documents."""
    n = ap_denominator(labels, judged, asked)
    return math.fsum(precisions_at_hits(labels, asked)) / n if n else math.nan


def ap_denominator(labels: list[float], judged: list[float], asked: Asked) -> float:
    """What AP divides by, 0 where nothing is relevant."""
    choice = asked.convention.ap_denominator
    n = n_relevant(labels, judged, asked._replace(k=None))
    if choice == "n_relevant":
        return n
    if choice == "k" and asked.k is not None:
        return asked.k if n else 0
    if choice == "min(k, n_relevant, n_retrieved)":
        return min(n, n_retrieved(labels, judged, asked))
    return n_relevant(labels, judged, asked)


def average_precision_of_hits(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean of P@r over the ranks r = 1 … k of relevant documents; 0 where there are none."""
    precisions = precisions_at_hits(labels, asked)
    if not n_relevant(labels, judged, asked):
        return math.nan
    return math.fsum(precisions) / len(precisions) if precisions else 0


def precisions_at_hits(labels: list[float], asked: Asked) -> list[float]:
    """P@r at each rank r = 1 … k that holds a relevant document."""
    relevant = [asked.is_relevant(label) for label in labels[: asked.k]]
    return [sum(relevant[:r]) / r for r in range(1, len(relevant) + 1) if relevant[r - 1]]


def reciprocal_rank(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 / rank of the first relevant document, 0 if it is below rank k."""
    return next((1 / r for r, label in enumerate(labels[: asked.k], 1) if asked.is_relevant(label)), 0)


def success(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 if one of the first k documents is relevant."""
    return float(any(asked.is_relevant(label) for label in labels[: asked.k]))
