"""
The metric functions of ``ranx.metrics``, on arrays.

Each takes judgments and runs in any form that `evaluate` takes, and returns a value for each query.

>>> from fastndcg.compat.ranx import metrics
>>> metrics.precision([np.array([[1, 1], [4, 1]])], [np.array([[1, 0.9], [2, 0.8], [4, 0.7]])], k=2)
array([0.5])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.compat.ranx.evaluation import evaluate_arrays, make_metric, make_rbp, rank, read_pairs
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array

__all__ = [
    "average_precision",
    "bpref",
    "dcg",
    "dcg_burges",
    "f1",
    "get_hit_lists",
    "hit_rate",
    "hits",
    "interpolated_precision_at_recall",
    "ndcg",
    "ndcg_burges",
    "precision",
    "r_precision",
    "rank_biased_precision",
    "recall",
    "reciprocal_rank",
]

RECALLS = tuple(tenth / 10 for tenth in range(11))


def hits(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the number of relevant documents in the first k ranks.

    Parameters
    ----------
    qrels : (n_queries, n_documents, 2) array, list of (n_documents, 2) arrays, Qrels or dict of dict
        The judgments. Rows of arrays are the id of a document, as a number, and its label.
    run : like `qrels`, or Run
        The rankings of the same queries. The rows of arrays are in rank order, and their scores are not read.
    k : int
        The cutoff, 0 for all ranks.
    rel_lvl : int
        The smallest relevant label, 1 or more.

    Returns
    -------
    (n_queries,) float64 array
        From 0 up.

    Raises
    ------
    MismatchError
        If the numbers of queries differ, or `k` or `rel_lvl` is too small.
    """
    return _evaluate(make_metric("hits", k, rel_lvl), qrels, run)


def _make_function(name: str, ranx_name: str, value: str) -> Callable[..., Array]:
    """Return a function of arrays, a cutoff and a level. `value` is the object of its docstring's first sentence."""

    def evaluate_metric(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
        return _evaluate(make_metric(ranx_name, k, rel_lvl), qrels, run)

    evaluate_metric.__name__ = evaluate_metric.__qualname__ = name
    evaluate_metric.__doc__ = f"""
    Return {value}.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`. The cutoff is ignored by `r_precision` and `bpref`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1, for DCG from 0 up.
    """
    return evaluate_metric


hit_rate = _make_function(
    "hit_rate", "hit_rate", "1 for queries with a relevant document in the first k ranks, and 0 for others"
)
precision = _make_function("precision", "precision", "the share of relevant documents in the first k ranks")
recall = _make_function("recall", "recall", "the share of the relevant documents that is in the first k ranks")
f1 = _make_function("f1", "f1", "the harmonic mean of `precision` and `recall`")
r_precision = _make_function("r_precision", "r-precision", "the precision at the rank R, for R relevant documents")
bpref = _make_function("bpref", "bpref", "the binary preference")
reciprocal_rank = _make_function("reciprocal_rank", "mrr", "1 / rank of the first relevant document, 0 beyond rank k")
average_precision = _make_function("average_precision", "map", "the average precision of the first k ranks")
dcg = _make_function("dcg", "dcg", "the discounted cumulative gain of Järvelin and Kekäläinen, whose gain is the label")
dcg_burges = _make_function(
    "dcg_burges", "dcg_burges", "the discounted cumulative gain of Burges et al., whose gain is 2**label - 1"
)
ndcg = _make_function("ndcg", "ndcg", "the normalised `dcg`")
ndcg_burges = _make_function("ndcg_burges", "ndcg_burges", "the normalised `dcg_burges`")


def rank_biased_precision(qrels: Any, run: Any, p: float, rel_lvl: int = 1) -> Array:
    """
    Return (1 - p) times the sum of p**(rank - 1) over the relevant documents.

    Parameters
    ----------
    qrels, run
        See `hits`.
    p : float
        The persistence, from 0 to below 1.
    rel_lvl : int
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. ranx multiplies by the label, and may exceed 1.
    """
    return _evaluate(make_rbp(p, rel_lvl), qrels, run)


def interpolated_precision_at_recall(qrels: Any, run: Any, rel_lvl: int = 1) -> Array:
    """
    Return the interpolated precision at the recalls 0, 0.1, … 1.

    Parameters
    ----------
    qrels, run, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries, 11) float64 array
        From 0 to 1.
    """
    return evaluate_arrays(qrels, run, [Metric("IPrec", recall=recall, rel=rel_lvl) for recall in RECALLS])


def get_hit_lists(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> list[Array]:
    """
    Return for each ranked document 1 if it is relevant, and 0 if not.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    list of (n_documents,) float64 arrays
        One array for each query, with the first k ranks.
    """
    make_metric("hits", k, rel_lvl)  # checks both numbers
    ranked = read_pairs(run, "run")
    labels = rank(read_pairs(qrels, "qrels"), ranked).labels
    hit_lists = np.split((labels >= rel_lvl).astype("f8"), ranked.offsets[1:-1])
    return [hit_list[: k or None] for hit_list in hit_lists]


def _evaluate(metric: Metric, qrels: Any, run: Any) -> Array:
    return evaluate_arrays(qrels, run, [metric])[:, 0]
