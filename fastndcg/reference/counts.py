"""Numbers of documents, as functions of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

from fastndcg.reference.asked import Asked


def n_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many documents the first k ranks hold."""
    return len(labels[: asked.k])


def n_relevant(labels: list[float], judged: list[float], asked: Asked) -> float:
    """The number of relevant documents, or k if that is less."""
    return n_relevant_retrieved(sorted(judged, reverse=True), judged, asked)


def n_relevant_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many of the first k documents are relevant."""
    return sum(asked.is_relevant(label) for label in labels[: asked.k])
