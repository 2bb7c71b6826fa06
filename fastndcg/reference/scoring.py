"""The scores of a model for all users and items, one after the other in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastndcg.inputs.qrels_run import Run
from fastndcg.inputs.recommendations.models import Model
from fastndcg.rankings.validation import Array
from fastndcg.scoring.embeddings import Embeddings


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
