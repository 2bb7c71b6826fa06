"""Check that a pool holds the labels of all ranked documents."""

from __future__ import annotations

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array


def check_pool(rankings: Rankings) -> None:
    """Raise if a pool lacks a label of the ranked documents: recall would exceed 1, or DCG the ideal DCG."""
    if rankings.pool is None:
        return
    ranked_queries, ranked_labels = _list_positive(rankings.labels, rankings.offsets)
    pool_queries, pool_labels = _list_positive(*rankings.pool)
    queries = np.concatenate([ranked_queries, pool_queries])
    labels = np.concatenate([ranked_labels, pool_labels])
    order = np.lexsort((labels, queries))
    queries = queries[order]
    labels = labels[order]
    is_ranked = order < len(ranked_labels)
    firsts = np.flatnonzero((np.diff(queries, prepend=-1) != 0) | (np.diff(labels, prepend=0) != 0))
    if not len(firsts):
        return
    n_ranked = np.add.reduceat(is_ranked, firsts)
    n_pooled = np.add.reduceat(~is_ranked, firsts)
    if (n_ranked > n_pooled).any():
        first = int(np.argmax(n_ranked > n_pooled))
        query = rankings.query_name(int(queries[firsts[first]]))
        label = f"{labels[firsts[first]]:g}"
        raise InvalidInputError(
            f"`pool` must hold the labels of all that was ranked, but {query} ranks {n_ranked[first]} with label "
            f"{label} and its pool has {n_pooled[first]}. Add them"
        )


def _list_positive(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the query and the value of each positive label."""
    places = np.flatnonzero(labels > 0)
    queries = np.searchsorted(offsets, places, side="right") - 1
    return queries, labels[places].astype("f8")
