"""Order the documents of each query by falling fused score, equal scores by a named policy."""

from __future__ import annotations

import numpy as np

from fastndcg.engine.spans import Span
from fastndcg.fusion.union import Union
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array


def order_documents(union: Union, fused: Array, ties: str) -> Array:
    """
    Return the documents of a union by falling fused score, one query after the other.

    Parameters
    ----------
    union : Union
        See `unite`.
    fused : (n_documents,) float64 array
        Finite scores.
    ties : {'id_ascending', 'id_descending', 'input', 'last_score'}
        The order of equal scores.
    """
    kernels = load_kernels("fusion.order")
    order = np.empty(len(fused), "i8")
    scores = read_only(fused)
    ids = union.row_documents
    is_falling = ties == "id_descending"
    if ties.startswith("id_"):
        sort = kernels.order_by_ids if ids.are_texts else kernels.order_by_numbers
        names = ids.ids if ids.are_texts else read_only(ids.order_numbers())

        def sort_by_ids(span: Span) -> None:
            sort(scores, names, union.document_rows, is_falling, union.offsets, *span, order)

        union.run_on_queries(sort_by_ids)
        return order
    keys = read_only(_make_keys(union, ties))

    def sort_by_keys(span: Span) -> None:
        kernels.order_by_keys(scores, keys, len(keys) > 0, union.offsets, *span, order)

    union.run_on_queries(sort_by_keys)
    return order


def _make_keys(union: Union, ties: str) -> Array:
    """Return the last score of each document, of which the higher comes first, or no keys for the input order."""
    if ties == "input":
        return np.empty(0)
    keys = np.full(union.n_documents, np.nan)
    for row in union.scores:
        keys = np.where(np.isnan(row), keys, row)
    return keys
