"""Inputs of the reference: pairs of a query and a document, candidates of a score matrix, and scores of a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.interactions import Interactions
from fastndcg.inputs.item_selection import ItemLists, ItemSelection
from fastndcg.inputs.models import Model
from fastndcg.inputs.table import Run
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.reference.definition import make_relevance
from fastndcg.reference.tie_orders import Document, Query, read_query
from fastndcg.scoring.embeddings import Embeddings


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


def list_candidates(liked: Interactions, scores: Array, selection: ItemSelection | None) -> Rankings:
    """Return rankings of the candidates of each user, in the order of their numbers."""
    selection = selection or ItemSelection()
    n_users, n_items = scores.shape
    exclude, candidates = selection.read_lists((n_users, n_items))
    columns: dict[str, list[Any]] = {name: [] for name in ("labels", "scores", "judged", "tie_keys", "pool")}
    offsets = [0]
    pool_offsets = [0]
    for user in range(n_users):
        start, stop = liked.offsets[user : user + 2].tolist()
        own_items = liked.items[start:stop].tolist()
        own_labels = dict(zip(own_items, liked.labels[start:stop].tolist(), strict=True))
        excluded_items = set() if exclude is None else set(list_items(exclude, user))
        items = range(n_items) if candidates is None else list_items(candidates, user)
        items = [item for item in items if item not in excluded_items]
        missing = own_labels.keys() - set(items)
        if missing and selection.missing_truth == "raise":
            raise InvalidInputError(
                f"items of `truth` must be candidates, but {min(missing)} of user {user} is not one"
            )
        for item in items:
            columns["labels"].append(own_labels.get(item, 0))
            columns["scores"].append(scores[user, item])
            columns["judged"].append(item in own_labels)
            columns["tie_keys"].append(item)
        is_counted = selection.missing_truth == "unretrieved"
        columns["pool"] += [label for item, label in own_labels.items() if is_counted or item not in missing]
        offsets.append(len(columns["labels"]))
        pool_offsets.append(len(columns["pool"]))
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Rankings(
        arrays["labels"].astype("f8"), arrays["scores"].astype("f8"), offsets, judged=arrays["judged"].astype(bool),
        tie_keys=arrays["tie_keys"].astype("i8"), pool=(arrays["pool"].astype("f8"), pool_offsets),
    )  # fmt: skip


def list_items(lists: ItemLists, user: int) -> list[int]:
    """Return the items of a user."""
    place = user * lists.step
    return lists.items[lists.offsets[place] : lists.offsets[place + 1]].tolist()  # type: ignore[no-any-return]


def list_scores(model: Model) -> Array:
    """Return the scores of all users for all items, exact before they are rounded. A query left out is not marked."""
    if not isinstance(model, Embeddings):
        return np.concatenate([model.score_rows(np.array([user])) for user in range(model.n_users)])
    factors = model.factors
    users, items = (list_numbers(vectors, factors.similarity) for vectors in (factors.users, factors.items))
    biases = [0.0] * len(items) if factors.item_biases is None else factors.item_biases.tolist()
    scores = [
        [compute_score(user, item, factors.similarity) + bias for item, bias in zip(items, biases, strict=True)]
        for user in users
    ]
    return np.array(scores, "f8").reshape(len(users), len(items)).astype(model.score_dtype)


def list_numbers(vectors: Any, similarity: str) -> list[list[float]]:
    """Return vectors as numbers. Packed bits are 0 and 1."""
    array = vectors.detach().cpu() if hasattr(vectors, "detach") else vectors
    if similarity == "hamming":
        array = np.unpackbits(np.asarray(array), axis=1)
    values = array.double().numpy() if hasattr(array, "double") else array.astype("f8")
    return list(values.tolist())


def compute_score(user: list[float], item: list[float], similarity: str) -> float:
    """Return the similarity of two vectors."""
    if similarity == "euclidean":
        return -math.dist(user, item)
    if similarity == "hamming":
        return -float(sum(a != b for a, b in zip(user, item, strict=True)))
    product = math.fsum(a * b for a, b in zip(user, item, strict=True))
    return product if similarity == "dot" else product / (math.hypot(*user) * math.hypot(*item))


def list_run(model: Model) -> Run:
    """Return the scores of all users and items as a run with ids."""
    scores = list_scores(model)
    queries, documents = (
        np.arange(n) if ids is None else ids.names()
        for ids, n in ((model.query_ids, model.n_users), (model.document_ids, model.n_items))
    )
    return Run(np.repeat(queries, model.n_items), np.tile(documents, model.n_users), scores.reshape(-1))
