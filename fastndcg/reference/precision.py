"""Metrics that count relevant documents, as functions of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant, n_relevant_retrieved, n_retrieved


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
    n = recall_denominator(labels, judged, asked)
    return n_relevant_retrieved(labels, judged, asked) / n if n else math.nan


def recall_denominator(labels: list[float], judged: list[float], asked: Asked) -> float:
    """What R divides by."""
    is_all = asked.convention.recall_denominator == "n_relevant"
    return n_relevant(labels, judged, asked._replace(k=None) if is_all else asked)


def f_score(labels: list[float], judged: list[float], asked: Asked) -> float:
    """(1 + beta²) · P · R / (beta² · P + R); 0 where nothing relevant is found."""
    p, r = precision(labels, judged, asked), recall(labels, judged, asked)
    beta = asked.get("beta")
    share = 1 / (1 + beta * beta)  # of precision; as numerator and denominator by 1 + beta²
    return p * r / ((1 - share) * p + share * r) if r > 0 else r


def r_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Precision at a multiple of the number of relevant documents, or at rank k if that is less."""
    n = n_relevant(labels, judged, asked._replace(k=None))
    cut = min(int(asked.get("mult") * n + 0.9), asked.k or math.inf)
    return n_relevant_retrieved(labels, judged, asked._replace(k=int(cut))) / cut if cut else math.nan


def relative_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents among the first k over min(k, R), or over min(number retrieved, R) if there is no k."""
    n = n_relevant(labels, judged, asked)
    if not n:
        return math.nan
    most = n if asked.k is not None else min(n, len(labels))
    return n_relevant_retrieved(labels, judged, asked) / most if most else 0


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
