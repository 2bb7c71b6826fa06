"""
Functions for one query that users call in their own Numba loops: default convention, ties by expectation.

Call these functions on slices in functions compiled by Numba, or on arrays from Python:

>>> import numba
>>> import numpy as np
>>> from fastndcg.kernels import ndcg
>>> @numba.njit
... def evaluate_arrays(labels, scores, offsets, k):
...     values = np.empty(len(offsets) - 1)
...     for q in range(len(values)):
...         documents = slice(offsets[q], offsets[q + 1])
...         values[q] = ndcg(labels[documents], scores[documents], k)
...     return values
>>> labels, scores = np.array([1, 0, 2, 0, 1]), np.array([0.9, 0.1, 0.5, 0.3, 0.3])
>>> evaluate_arrays(labels, scores, np.array([0, 3, 5]), 10).round(5)
array([0.85972, 0.81546])

A loop over queries may be Numba's own ``prange``: calls share no state. The functions never raise, because exceptions
cannot leave a ``prange`` loop. The value is NaN for labels that are NaN, negative or above 2**53, and for NaN scores.
It is also NaN for labels and scores of different lengths.

Below are the multilabel and multiclass ranking metrics of drop-ins, whose rows have one score for each label:

scores    (n_rows, n_labels)  float32 or float64
relevant  (n_rows, n_labels)  uint8, 1 for each true label
columns   (n_rows,)           int64, column of the true label
best      (n_labels,)         float64, buffer
order, spare                  (n_labels,)      int32, buffers
counts    (n_labels + 1,)     int64, buffer
out       (n_rows,)           float64
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics import first_relevant
from fastndcg.kernels.metrics.counts import add_precisions
from fastndcg.kernels.metrics.hits import sum_gains
from fastndcg.kernels.ranking.candidates import Hits, Query, find_group_end_in_query
from fastndcg.kernels.ranking.rank import find_workspace_size, rank_many
from fastndcg.kernels.ranking.sort import sort_descending
from fastndcg.kernels.shared import AUTO, MAX_RANK
from fastndcg.kernels.simd import WIDE

HIGHEST_LABEL = 2.0**53  # float64 does not hold all whole numbers above


@kernel(allocates=True)
def dcg(labels, scores, k=MAX_RANK):
    """
    Compute DCG@k: the sum over ranks r = 1 … k of the label at rank r / log2(r + 1).

    Documents with equal scores count with the mean of their discounts. For other gains, pass the gains as labels.

    Parameters
    ----------
    labels : (n_documents,) array of bool, int or float
        Graded judgments from 0 to 2**53, 0 for not relevant.
    scores : (n_documents,) array of float or int
        What the system predicts, higher is better. Whole numbers up to 2**53.
    k : int, optional
        How many ranks count, 1 or more. By default all.

    Returns
    -------
    float
        0 or more. NaN if labels or scores are invalid.

    Examples
    --------
    >>> from fastndcg.kernels import dcg
    >>> labels, scores = np.array([1, 0, 2]), np.array([0.9, 0.1, 0.5])
    >>> round(dcg(labels, scores, 10), 5)
    2.26186
    """
    documents, candidates, values, is_valid = read(labels, scores)
    hits = find_hits(documents, candidates, values, len(scores), k)
    return add_discounted(hits, k) if is_valid else math.nan


@kernel(allocates=True)
def ndcg(labels, scores, k=MAX_RANK):
    """
    Compute nDCG@k: DCG@k over that of the ideal ranking.

    Documents with equal scores count with the mean of their discounts. For other gains, pass the gains as labels.

    Parameters
    ----------
    labels, scores, k
        See `dcg`.

    Returns
    -------
    float
        From 0 to 1. NaN if every label is 0, or labels or scores are invalid.

    Examples
    --------
    >>> from fastndcg.kernels import ndcg
    >>> labels, scores = np.array([1, 0, 2]), np.array([0.9, 0.1, 0.5])
    >>> round(ndcg(labels, scores, 10), 5)
    0.85972
    """
    documents, candidates, values, is_valid = read(labels, scores)
    hits = find_hits(documents, candidates, values, len(scores), k)
    idcg = ideal_dcg(candidates, k)
    return min(add_discounted(hits, k) / idcg, 1.0) if is_valid and idcg > 0.0 else math.nan


@kernel(allocates=True)
def average_precision(labels, scores, k=MAX_RANK, rel=1.0):
    """
    Compute AP@k: the sum of P@r over the ranks r = 1 … k of relevant documents, over the number of relevant documents.

    Equal scores give the mean over all orders of their documents.

    Parameters
    ----------
    labels, scores, k
        See `dcg`.
    rel : float, default 1
        The lowest relevant label, above 0.

    Returns
    -------
    float
        From 0 to 1. NaN if no document is relevant, or labels or scores are invalid.

    Examples
    --------
    >>> from fastndcg.kernels import average_precision
    >>> labels, scores = np.array([1, 0, 2]), np.array([0.9, 0.1, 0.5])
    >>> round(average_precision(labels, scores, 10), 5)
    1.0
    """
    documents, candidates, values, is_valid = read(labels, scores)
    hits = find_hits(documents, candidates, values, len(scores), k)
    return hits_average_precision(hits, candidates, rel, k) if is_valid else math.nan


@kernel(allocates=True)
def reciprocal_rank(labels, scores, k=MAX_RANK, rel=1.0):
    """
    Compute RR@k: 1 / rank of the first relevant document.

    Equal scores give the mean over all orders of their documents.

    Parameters
    ----------
    labels, scores, k
        See `dcg`.
    rel : float, default 1
        The lowest relevant label, above 0.

    Returns
    -------
    float
        From 0 to 1, 0 if no relevant document is among the first k. NaN if labels or scores are invalid.

    Examples
    --------
    >>> from fastndcg.kernels import reciprocal_rank
    >>> labels, scores = np.array([1, 0, 2]), np.array([0.9, 0.1, 0.5])
    >>> round(reciprocal_rank(labels, scores, 10), 5)
    1.0
    """
    documents, candidates, values, is_valid = read(labels, scores)
    hits = find_hits(documents, candidates, values, len(scores), k)
    return hits_reciprocal_rank(hits, rel, k) if is_valid else math.nan


@kernel(allocates=True)
def ranks(scores, out):
    """
    Write the rank of each document, 1 for the best. Equal scores have the mean of their ranks.

    Parameters
    ----------
    scores : (n_documents,) array of float or int
        What the system predicts, higher is better. Whole numbers up to 2**53.
    out : (n_documents,) float64 array
        Where the ranks go, from 1. All are NaN if a score is NaN, or if the lengths differ.

    Examples
    --------
    >>> from fastndcg.kernels import ranks
    >>> out = np.empty(3)
    >>> ranks(np.array([0.9, 0.1, 0.9]), out)
    >>> out
    array([1.5, 3. , 1.5])
    """
    _, _, values, is_valid = read(np.zeros(len(scores), np.uint8), scores)
    if is_valid and len(out) == len(scores):
        mean_ranks(values[: len(out)], out)
    else:
        out[:] = math.nan


class QueryHits(NamedTuple):
    """Hits of one query: documents with a higher score, sizes of tie groups, labels."""

    above: np.ndarray
    tie_sizes: np.ndarray
    labels: np.ndarray


@inline
def read(labels, scores):
    """
    Return the documents with a label above 0, their labels, all scores, and True if all numbers are valid.

    There are no documents if a number is invalid. The scores fill at least one vector, which the ranking kernels
    compare at once.
    """
    n = len(scores) if len(labels) == len(scores) else 0
    documents = np.empty(n, np.int32)
    candidates = np.empty(n)
    values = np.empty(max(n, WIDE))
    n_candidates = 0
    n_valid = 0
    for d in range(n):
        values[d] = scores[d]
        documents[n_candidates] = d
        candidates[n_candidates] = labels[d]
        label = candidates[n_candidates]
        n_valid += (values[d] == values[d]) & (label >= 0.0) & (label <= HIGHEST_LABEL)
        n_candidates += label > 0.0
    is_valid = n_valid == len(scores) and n_valid == len(labels)
    m = n_candidates if is_valid else 0
    return documents[:m], candidates[:m], values, is_valid


@kernel(allocates=True)
def find_hits(documents, candidates, values, n_documents, k):
    """Return the candidates in rank order, down to rank k, as hits."""
    m = len(candidates)
    hits = Hits(
        np.empty(m, np.int32), np.empty(m), np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32),
        np.empty(0, np.int64), np.empty(0, np.int64), np.empty(find_workspace_size(n_documents), np.uint64),
    )  # fmt: skip
    query = Query(0, 0, n_documents, 0, 0, m)
    n_hits, _ = rank_many(values, query, documents, candidates, k, AUTO, 0, hits)
    return QueryHits(hits.above[:n_hits], hits.ties[:n_hits], hits.labels[:n_hits])


@kernel
def add_discounted(hits, k):
    """Return DCG@k of hits: each document of a tie group counts with the mean discount of the group's ranks."""
    total = 0.0
    h = 0
    while h < len(hits.above):
        above = hits.above[h]
        size = hits.tie_sizes[h]
        end = find_group_end_in_query(hits.above, h, len(hits.above))
        gain = sum_gains(hits.labels, h, end)
        discount_sum = 0.0
        for r in range(above + 1, min(above + size, k) + 1):
            discount_sum += 1.0 / math.log2(r + 1.0)
        total += gain * (discount_sum / size)
        h = end
    return total


@kernel(allocates=True)
def ideal_dcg(candidates, k):
    """Return DCG@k of the ideal ranking of candidates' labels."""
    m = len(candidates)
    buffers = np.empty((2, m), np.int32)
    order = buffers[0]
    for i in range(m):
        order[i] = i
    sort_descending(candidates, m, buffers[1], order)
    total = 0.0
    for i in range(min(m, k)):
        total += candidates[order[i]] * (1.0 / math.log2(i + 2.0))
    return total


@kernel(allocates=True)
def hits_average_precision(hits, candidates, rel, k):
    """Return AP@k of hits."""
    n_relevant = 0
    for c in range(len(candidates)):
        n_relevant += candidates[c] >= rel
    out = np.empty(1)
    queries = np.zeros(len(hits.above), np.int32)
    add_precisions(queries, hits.above, hits.tie_sizes, hits.labels, rel, np.array([np.int64(k)]), out)
    return out[0] / n_relevant if n_relevant > 0 else math.nan


@kernel(allocates=True)
def hits_reciprocal_rank(hits, rel, k):
    """Return RR@k of hits."""
    out = np.empty(1)
    offsets = np.array([0, len(hits.above)])
    first_relevant.reciprocal_rank(hits.above, hits.tie_sizes, hits.labels, offsets, rel, k, out)
    return out[0]


@kernel(allocates=True)
def mean_ranks(values, out):
    """Write the rank of each value, equal values with the mean of their ranks."""
    n = len(values)
    order = np.arange(n).astype(np.int32)
    sort_descending(values, n, np.empty(n, np.int32), order)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and values[order[stop]] == values[order[start]]:
            stop += 1
        for i in range(start, stop):
            out[order[i]] = (start + 1 + stop) / 2
        start = stop


@kernel
def label_ranking_precision(scores, relevant, best, order, spare, counts, out):
    """
    Compute label ranking average precision.

    It is the mean over the true labels of the share of true labels among the labels with the same score or more.
    """
    n_labels = scores.shape[1]
    for q in range(out.shape[0]):
        n_relevant = 0
        for c in range(n_labels):
            if relevant[q, c] != 0:
                best[n_relevant] = scores[q, c]
                order[n_relevant] = n_relevant
                n_relevant += 1
        if n_relevant == 0 or n_relevant == n_labels:
            out[q] = 1.0
            continue
        sort_descending(best, n_relevant, spare, order)
        for i in range(n_relevant + 1):
            counts[i] = 0
        for c in range(n_labels):
            counts[count_higher(best, order, n_relevant, scores[q, c])] += 1
        total = 0.0
        n_documents = 0
        first = 0
        while first < n_relevant:
            stop = first + 1
            while stop < n_relevant and best[order[stop]] == best[order[first]]:
                stop += 1
            n_documents += counts[first]
            total += (stop - first) * (stop / n_documents)
            first = stop
        out[q] = total / n_relevant


@inline
def count_higher(best, order, n, score):
    """Return the number of n falling scores above a score, by binary search."""
    low = 0
    size = n
    while size > 0:
        half = size // 2
        if best[order[low + half]] > score:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@kernel
def n_before(scores, columns, out):
    """
    Count the labels that rank before the true one.

    These have a higher score, or the same score and a column further right.
    """
    for q in range(out.shape[0]):
        column = min(columns[q], scores.shape[1] - 1)  # labels may change after their columns were looked up
        score = scores[q, column]
        n = 0
        for c in range(column + 1):
            n += scores[q, c] > score
        for c in range(column + 1, scores.shape[1]):
            n += scores[q, c] >= score
        out[q] = n
