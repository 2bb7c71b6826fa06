"""Order the documents of each query by falling fused score, equal scores by a named policy."""

from __future__ import annotations

import numpy as np

from fastndcg.engine.spans import Span
from fastndcg.fusion.union import Union
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array


def order_documents(union: Union, fused: Array, ties: str) -> tuple[Array, Array]:
    """
    Return the rows of the ids of a union's documents, and their scores, by query and falling fused score.

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
    rows = np.empty(len(fused), "i8")
    ordered = np.empty(len(fused))
    scores = read_only(fused)
    ids = union.row_documents
    if ties.startswith("id_"):
        sort = kernels.order_by_ids if ids.are_texts else kernels.order_by_numbers
        keys = ids.ids if ids.are_texts else read_only(ids.order_numbers())
        option = ties == "id_descending"
    else:
        sort = kernels.order_by_keys
        keys = read_only(_make_keys(union, ties))
        option = len(keys) > 0

    def work(span: Span) -> None:
        sort(scores, keys, union.document_rows, option, union.offsets, *span, rows, ordered)

    union.run_on_queries(work)
    return read_only(rows), read_only(ordered)


def _make_keys(union: Union, ties: str) -> Array:
    """Return the last score of each document, of which the higher comes first, or no keys for the input order."""
    if ties == "input":
        return np.empty(0)
    keys = np.full(union.n_documents, np.nan)
    for row in union.scores:
        keys = np.where(np.isnan(row), keys, row)
    return keys
