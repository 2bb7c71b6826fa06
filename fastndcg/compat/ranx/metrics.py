"""
The metric functions of ``ranx.metrics``, on arrays.

Each takes judgments and runs in any form that `evaluate` takes, and returns a value for each query.

>>> from fastndcg.compat.ranx import metrics
>>> metrics.precision([np.array([[1, 1], [4, 1]])], [np.array([[1, 0.9], [2, 0.8], [4, 0.7]])], k=2)
array([0.5])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.compat.ranx.arrays import evaluate_arrays, rank, read_pairs
from fastndcg.compat.ranx.metric_names import make_metric, make_rbp
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array

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


def hit_rate(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return 1 for queries with a relevant document in the first k ranks, and 0 for others.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("hit_rate", k, rel_lvl), qrels, run)


def precision(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the share of relevant documents in the first k ranks.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("precision", k, rel_lvl), qrels, run)


def recall(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the share of the relevant documents that is in the first k ranks.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("recall", k, rel_lvl), qrels, run)


def f1(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the harmonic mean of `precision` and `recall`.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("f1", k, rel_lvl), qrels, run)


def r_precision(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the precision at the rank R, for R relevant documents. The cutoff `k` is ignored.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("r-precision", k, rel_lvl), qrels, run)


def bpref(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the binary preference. The cutoff `k` is ignored.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("bpref", k, rel_lvl), qrels, run)


def reciprocal_rank(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return 1 / rank of the first relevant document, 0 beyond rank k.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("mrr", k, rel_lvl), qrels, run)


def average_precision(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the average precision of the first k ranks.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("map", k, rel_lvl), qrels, run)


def dcg(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the discounted cumulative gain of Järvelin and Kekäläinen, whose gain is the label.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 up.
    """
    return _evaluate(make_metric("dcg", k, rel_lvl), qrels, run)


def dcg_burges(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the discounted cumulative gain of Burges et al., whose gain is 2**label - 1.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 up.
    """
    return _evaluate(make_metric("dcg_burges", k, rel_lvl), qrels, run)


def ndcg(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the normalised `dcg`.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("ndcg", k, rel_lvl), qrels, run)


def ndcg_burges(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Array:
    """
    Return the normalised `dcg_burges`.

    Parameters
    ----------
    qrels, run, k, rel_lvl
        See `hits`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.
    """
    return _evaluate(make_metric("ndcg_burges", k, rel_lvl), qrels, run)


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
