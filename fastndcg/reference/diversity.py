"""
Metrics of judgments by subtopic.

Each function takes one order of a query's documents: see `fastndcg.reference`. A document is the tuple of its judged
subtopics, each with its label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from fastndcg.reference.definition import Definition

Document = tuple[tuple[int, float], ...]
Weight = Callable[[int], float]


def alpha_ndcg(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the discounted novelty, divided by that of the greedy ideal ranking."""
    return divide_by_ideal(documents, judged, definition, definition.discount)


def alpha_dcg(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the discounted novelty, divided by that of documents that are relevant to all subtopics."""
    return divide_by_limit(documents, judged, definition, definition.discount)


def nerr_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the novelty by 1 / rank, divided by that of the greedy ideal ranking."""
    return divide_by_ideal(documents, judged, definition, lambda rank: 1 / rank)


def err_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the novelty by 1 / rank, divided by that of documents that are relevant to all subtopics."""
    return divide_by_limit(documents, judged, definition, lambda rank: 1 / rank)


def nnrbp(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the novelty by patience, divided by that of the greedy ideal ranking."""
    return divide_by_ideal(documents, judged, definition, lambda rank: definition.get("beta") ** (rank - 1))


def nrbp(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return (1 − (1 − alpha) · beta) / n · novelty by patience, for n subtopics."""
    n = len(find_subtopics(judged, definition))
    alpha = definition.get("alpha")
    beta = definition.get("beta")
    total = novelty(documents, definition, lambda rank: beta ** (rank - 1))
    return (1 - (1 - alpha) * beta) / n * total if n else math.nan


def precision_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the mean over subtopics of the precision at rank k."""
    subtopics = find_subtopics(judged, definition)
    n_ranks = definition.k or len(documents)
    if definition.convention.precision_denominator == "min(k, n_retrieved)":
        n_ranks = min(n_ranks, len(documents))
    counts = [len(find_ranks(subtopic, documents, definition)) for subtopic in subtopics]
    return sum(counts) / len(subtopics) / max(n_ranks, 1) if subtopics else math.nan


def average_precision_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the mean over subtopics of AP."""
    subtopics = find_subtopics(judged, definition)
    values = []
    for subtopic in subtopics:
        ranks = find_ranks(subtopic, documents, definition)
        n_relevant = len(find_ranks(subtopic, judged, definition._replace(k=None)))
        values.append(math.fsum(n / rank for n, rank in enumerate(ranks, 1)) / n_relevant)
    return math.fsum(values) / len(subtopics) if subtopics else math.nan


def subtopic_recall(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the share of the subtopics of all judged documents that the first k documents cover."""
    subtopics = find_subtopics(judged, definition)
    return len(find_subtopics(documents[: definition.k], definition)) / len(subtopics) if subtopics else math.nan


def divide_by_ideal(documents: list[Document], judged: list[Document], definition: Definition, weight: Weight) -> float:
    """Return the weighted novelty, divided by that of the greedy ideal ranking."""
    ideal = novelty(find_greedy_ideal(judged, definition), definition, weight)
    return novelty(documents, definition, weight) / ideal if ideal else math.nan


def divide_by_limit(documents: list[Document], judged: list[Document], definition: Definition, weight: Weight) -> float:
    """Return the weighted novelty, divided by that of k documents that are relevant to all subtopics."""
    every: Document = tuple((subtopic, math.inf) for subtopic in find_subtopics(judged, definition))
    limit = novelty([every] * max(definition.k or len(documents), 1), definition, weight)
    return novelty(documents, definition, weight) / limit if limit else math.nan


def novelty(documents: list[Document], definition: Definition, weight: Weight) -> float:
    """Return the sum of weight(rank) · (1 − alpha)^(documents above with the subtopic) over ranks and subtopics."""
    keep = 1 - definition.get("alpha")
    counts = Counter[int]()
    terms = []
    for rank, document in enumerate(documents[: definition.k], 1):
        for subtopic in sorted(find_subtopics([document], definition)):
            terms.append(weight(rank) * keep ** counts[subtopic])
            counts[subtopic] += 1
    return math.fsum(terms)


def find_greedy_ideal(judged: list[Document], definition: Definition) -> list[Document]:
    """Return the documents in the order of a greedy search. Each step takes the first document of the highest gain."""
    keep = 1 - Fraction(definition.get("alpha"))
    counts = Counter[int]()
    remaining = list(judged)
    order: list[Document] = []

    def gain(document: Document) -> Fraction:
        return sum((keep ** counts[subtopic] for subtopic in find_subtopics([document], definition)), Fraction(0))

    while remaining:
        best = max(remaining, key=gain)
        order.append(best)
        remaining.remove(best)
        counts.update(find_subtopics([best], definition))
    return order


def find_ranks(subtopic: int, documents: list[Document], definition: Definition) -> list[int]:
    """Return the ranks of the first k documents that are relevant to a subtopic."""
    first = documents[: definition.k]
    return [rank for rank, document in enumerate(first, 1) if subtopic in find_subtopics([document], definition)]


def find_subtopics(documents: list[Document], definition: Definition) -> set[int]:
    """Return the subtopics that at least one of the documents is relevant to."""
    return {subtopic for document in documents for subtopic, label in document if definition.is_relevant(label)}
