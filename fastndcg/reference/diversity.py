"""
Metrics of judgments by subtopic, as functions of one order of a query's documents: see `fastndcg.reference`.

A document is the tuple of its judged subtopics, each with its label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from fastndcg.reference.asked import Asked

Document = tuple[tuple[int, float], ...]
Weight = Callable[[int], float]


def alpha_ndcg(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Discounted novelty over that of the greedy best order."""
    return share(documents, judged, asked, asked.discount)


def alpha_dcg(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Discounted novelty over that of documents that are relevant to all subtopics."""
    return share_of_limit(documents, judged, asked, asked.discount)


def nerr_ia(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Novelty by 1 / rank over that of the greedy best order."""
    return share(documents, judged, asked, lambda rank: 1 / rank)


def err_ia(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Novelty by 1 / rank over that of documents that are relevant to all subtopics."""
    return share_of_limit(documents, judged, asked, lambda rank: 1 / rank)


def nnrbp(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Novelty by patience over that of the greedy best order."""
    return share(documents, judged, asked, lambda rank: asked.get("beta") ** (rank - 1))


def nrbp(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """(1 − (1 − alpha) · beta) / n · novelty by patience, for n subtopics."""
    n = len(subtopics_of(judged, asked))
    alpha, beta = asked.get("alpha"), asked.get("beta")
    reached = novelty(documents, asked, lambda rank: beta ** (rank - 1))
    return (1 - (1 - alpha) * beta) / n * reached if n else math.nan


def precision_ia(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Mean over subtopics of the relevant documents among the first k, over k; over the number retrieved without k."""
    subtopics = subtopics_of(judged, asked)
    n_ranks = asked.k or len(documents)
    counts = [len(ranks_of(subtopic, documents, asked)) for subtopic in subtopics]
    return sum(counts) / len(subtopics) / max(n_ranks, 1) if subtopics else math.nan


def average_precision_ia(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Mean over subtopics of AP."""
    subtopics = subtopics_of(judged, asked)
    values = []
    for subtopic in subtopics:
        ranks = ranks_of(subtopic, documents, asked)
        n_relevant = len(ranks_of(subtopic, judged, asked._replace(k=None)))
        values.append(math.fsum(n / rank for n, rank in enumerate(ranks, 1)) / n_relevant)
    return math.fsum(values) / len(subtopics) if subtopics else math.nan


def subtopic_recall(documents: list[Document], judged: list[Document], asked: Asked) -> float:
    """Subtopics of the first k documents over those of all that are judged."""
    every = subtopics_of(judged, asked)
    return len(subtopics_of(documents[: asked.k], asked)) / len(every) if every else math.nan


def share(documents: list[Document], judged: list[Document], asked: Asked, weight: Weight) -> float:
    """Weighted novelty over that of the greedy best order."""
    best = novelty(best_order(judged, asked), asked, weight)
    return novelty(documents, asked, weight) / best if best else math.nan


def share_of_limit(documents: list[Document], judged: list[Document], asked: Asked, weight: Weight) -> float:
    """Weighted novelty over that of as many documents as k, each relevant to all subtopics."""
    every: Document = tuple((subtopic, math.inf) for subtopic in subtopics_of(judged, asked))
    limit = novelty([every] * max(asked.k or len(documents), 1), asked, weight)
    return novelty(documents, asked, weight) / limit if limit else math.nan


def novelty(documents: list[Document], asked: Asked, weight: Weight) -> float:
    """Sum over ranks r = 1 … k of weight(r) · (1 − alpha)^(documents above with the subtopic), over all subtopics."""
    keep = 1 - asked.get("alpha")
    found = Counter[int]()
    terms = []
    for rank, document in enumerate(documents[: asked.k], 1):
        for subtopic in sorted(subtopics_of([document], asked)):
            terms.append(weight(rank) * keep ** found[subtopic])
            found[subtopic] += 1
    return math.fsum(terms)


def best_order(judged: list[Document], asked: Asked) -> list[Document]:
    """The document that gains most next to those chosen, again and again; of those that gain alike the first."""
    keep = 1 - Fraction(asked.get("alpha"))
    found = Counter[int]()
    rest, chosen = list(judged), []

    def gain(document: Document) -> Fraction:
        return sum((keep ** found[subtopic] for subtopic in subtopics_of([document], asked)), Fraction(0))

    while rest:
        best = max(rest, key=gain)
        chosen.append(best)
        rest.remove(best)
        found.update(subtopics_of([best], asked))
    return chosen


def ranks_of(subtopic: int, documents: list[Document], asked: Asked) -> list[int]:
    """The ranks of the documents that are relevant to a subtopic, down to k."""
    first = documents[: asked.k]
    return [rank for rank, document in enumerate(first, 1) if subtopic in subtopics_of([document], asked)]


def subtopics_of(documents: list[Document], asked: Asked) -> set[int]:
    """The subtopics that some of the documents are relevant to."""
    return {subtopic for document in documents for subtopic, label in document if asked.is_relevant(label)}
