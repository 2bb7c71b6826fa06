"""A function for each popular metric: arrays in, one value a query out. Errors are those of `evaluate`."""

from __future__ import annotations

from typing import Any

from fastndcg.conventions import Convention
from fastndcg.evaluate import values_of
from fastndcg.rankings import Array


def ndcg(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, gain: Any = None,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Normalised discounted cumulative gain of every query.

    nDCG@k = DCG@k / IDCG@k, where DCG@k is the sum over ranks r = 1 … k of
    gain(label at rank r) · discount(r), and IDCG@k is DCG@k of the best possible order.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    gain : 'linear', 'exp2' or sequence of float, optional
        Gain of a label: itself, 2^label − 1, or that of a table. By default the convention's.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; NaN for a query without any gain, unless the convention says otherwise.

    References
    ----------
    K. Järvelin and J. Kekäläinen, 2002, doi:10.1145/582415.582418 (section 2.2).

    Examples
    --------
    >>> fn.ndcg([1, 0, 2], [0.9, 0.1, 0.5], [0, 3], k=10).round(5)
    array([0.85972])
    """
    return values_of("nDCG", k, convention, threads, labels, scores, offsets, gain=gain)


def dcg(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, gain: Any = None,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Discounted cumulative gain of every query.

    DCG@k is the sum over ranks r = 1 … k of gain(label at rank r) / log2(r + 1).

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    gain : 'linear', 'exp2' or sequence of float, optional
        Gain of a label: itself, 2^label − 1, or that of a table. By default the convention's.

    Returns
    -------
    (n_queries,) float64 array
        From 0 up; 0 for a query without any gain.

    References
    ----------
    K. Järvelin and J. Kekäläinen, 2002, doi:10.1145/582415.582418 (section 2.1).

    Examples
    --------
    >>> fn.dcg([1, 0, 2], [0.9, 0.1, 0.5], [0, 3]).round(5)  # 1/log2(2) + 2/log2(3)
    array([2.26186])
    """
    return values_of("DCG", k, convention, threads, labels, scores, offsets, gain=gain)


def average_precision(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Average precision of every query.

    AP@k is the sum of P@r over the ranks r = 1 … k that hold a relevant document, divided by the number of
    relevant documents. Its mean over queries is MAP.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; NaN for a query without relevant documents, unless the convention says otherwise.

    References
    ----------
    C. Buckley and E. M. Voorhees, 2000, doi:10.1145/345508.345543.

    Examples
    --------
    >>> fn.average_precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3])  # (1/1 + 2/3) / 2
    array([0.83333333])
    """
    return values_of("AP", k, convention, threads, labels, scores, offsets, rel=rel)


def reciprocal_rank(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Reciprocal rank of the first relevant document of every query.

    RR@k is 1 / rank of the first relevant document, 0 if none is among the first k. Its mean over queries is MRR.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.

    References
    ----------
    P. B. Kantor and E. M. Voorhees, 2000, doi:10.1023/A:1009902609570.

    Examples
    --------
    >>> fn.reciprocal_rank([0, 1, 1], [0.9, 0.5, 0.1], [0, 3])
    array([0.5])
    """
    return values_of("RR", k, convention, threads, labels, scores, offsets, rel=rel)


def precision(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Precision of every query.

    P@k is the number of relevant documents among the first k, divided by k; without k, by the number retrieved.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; 0 without k for a query without documents.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3], k=2)
    array([0.5])
    """
    return values_of("P", k, convention, threads, labels, scores, offsets, rel=rel)


def recall(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Recall of every query.

    R@k is the number of relevant documents among the first k, divided by the number of relevant documents.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; NaN for a query without relevant documents, unless the convention says otherwise.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.recall([1, 0, 1], [0.9, 0.5, 0.1], [0, 3], k=2)
    array([0.5])
    """
    return values_of("R", k, convention, threads, labels, scores, offsets, rel=rel)


def f_score(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, beta: float = 1, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    F-score of every query.

    F@k = (1 + beta²) · P@k · R@k / (beta² · P@k + R@k), the weighted harmonic mean of precision and recall.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    beta : int or float
        How many times as much recall matters as precision.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; NaN for a query without relevant documents, unless the convention says otherwise.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.f_score([1, 0, 1, 1], [0.9, 0.5, 0.1, 0.7], [0, 4], k=2)  # P = 1, R = 2/3
    array([0.8])
    """
    return values_of("F", k, convention, threads, labels, scores, offsets, beta=beta, rel=rel)


def success(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Success, or hit rate, of every query.

    Success@k is 1 if a relevant document is among the first k, else 0.

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        0 or 1, or the chance of 1 where ties decide.

    References
    ----------
    N. Craswell and D. Hawking, Overview of the TREC-2004 web track, 2004.

    Examples
    --------
    >>> fn.success([0, 1, 1], [0.9, 0.5, 0.1], [0, 3], k=1)
    array([0.])
    """
    return values_of("Success", k, convention, threads, labels, scores, offsets, rel=rel)


def r_precision(
    labels: Any, scores: Any, offsets: Any = None, *, k: int | None = None, rel: float = 1,
    convention: str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    R-precision of every query.

    Rprec is P at rank R, the number of relevant documents; with k, at rank min(k, R).

    Parameters
    ----------
    labels, scores, offsets, convention, threads
        See `evaluate`.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    rel : int or float
        A document is relevant if its label is at least this.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1; NaN for a query without relevant documents, unless the convention says otherwise.

    References
    ----------
    C. Buckley and E. M. Voorhees, Retrieval system evaluation, in: TREC, MIT Press 2005, chapter 3.

    Examples
    --------
    >>> fn.r_precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3])
    array([0.5])
    """
    return values_of("Rprec", k, convention, threads, labels, scores, offsets, rel=rel)
