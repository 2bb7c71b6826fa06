"""Each relevant document on its own: a query becomes one query for each of them, with its competitors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.reference.definition import make_relevance
from fastndcg.reference.tie_orders import Document, Query, read_query


class Pair(NamedTuple):
    """A query that has one relevant document, and its place in the rankings, None if it was not retrieved."""

    number: int
    query: Query
    place: int | None


def list_pairs(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, competitors: str
) -> list[Pair]:  # fmt: skip
    """Return the pairs of all queries: retrieved documents in the order of the input, then the others."""
    leveled = next((metric for metric in metrics if metric.get("rel") is not None), Metric("RR"))
    is_relevant = make_relevance(leveled, convention)
    pairs = []
    for number in range(rankings.n_queries):
        query = read_query(rankings, number, convention)
        documents = [document for group in query.tie_groups for document in group]
        rest = [label for label in query.judged if is_relevant(label)]
        retrieved = sorted((d for d in documents if is_relevant(d.label)), key=lambda document: document.place)
        for document in retrieved:
            rest.remove(document.label)
            groups = select_competitors(query, document, is_relevant, competitors)
            pairs.append(Pair(number, Query(query.name, groups, [document.label]), document.place))
        for label in rest:
            groups = select_competitors(query, None, is_relevant, competitors)
            pairs.append(Pair(number, Query(query.name, groups, [label]), None))
    return pairs


def select_competitors(
    query: Query, relevant: Document | None, is_relevant: Callable[[float], bool], competitors: str
) -> list[list[Document]]:  # fmt: skip
    """Return tie groups with one relevant document. Others are left out, or have the label 0."""
    groups = []
    for group in query.tie_groups:
        selected = []
        for document in group:
            if relevant is not None and document.place == relevant.place:
                selected.append(document)
            elif competitors == "all" or not is_relevant(document.label):
                selected.append(document._replace(label=0.0))
        if selected:
            groups.append(selected)
    return groups


def average_by_query(values: Array, numbers: list[int], n_queries: int) -> Array:
    """Return the means of queries over their pairs that have a value."""
    means = np.full((n_queries, values.shape[1]), math.nan)
    for query in range(n_queries):
        for column in range(values.shape[1]):
            own = [values[row, column] for row, number in enumerate(numbers) if number == query]
            some = [value for value in own if not math.isnan(value)]
            if some:
                means[query, column] = math.fsum(some) / len(some)
    return means


def list_document_ids(rankings: Rankings, pairs: list[Pair]) -> Array:
    """Return the names of the documents, -1 for a document that was not retrieved."""
    places = np.array([-1 if pair.place is None else pair.place for pair in pairs], int)
    retrieved = rankings.take_document_ids("labels", places[places >= 0])
    ids = np.full(len(pairs), -1, retrieved.dtype)
    ids[places >= 0] = retrieved
    return ids
